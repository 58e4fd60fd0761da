"""How an agent is talked to, as a manifest's ``spec.api`` says.

::

    api:
      chatEndpoint: {path: /v1/chat, protocol: openai-compatible}
      model: my-model                       # named in the request
      auth:                                 # one of these
        token: $secret:agent-key            # Authorization: Bearer …
        header: X-Api-Key                   # … or a header of your own
        value: $secret:agent-key
      headers: {X-Tenant: $env:TENANT}
      responsePaths: {answer: result.text, contexts: result.sources[*].text}

``protocol`` may also stand beside ``chatEndpoint``. An ``auth`` that only describes how the agent checks
tokens (``type: jwt, jwksUri: …``) gives nothing to send and is left alone, as is everything else in
``spec.api``. Secret, and hidden wherever the agent sends them back, are ``auth``, what has a ``$secret:`` in
it, and headers and ``$env:`` variables whose names say so (``X-Api-Key``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.evaluation.manifests.manifest_reader import ManifestReader
from rag_evaluation_framework.evaluation.manifests.references import FILE_MARK, has_reference, resolved
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets, names_a_secret
from rag_evaluation_framework.files.json_scanner import ValuePath, written_path

DEFAULT_PATH = "/v1/chat"
PROTOCOLS = ("simple", "openai-compatible")
REPLY_PARTS = ("answer", "contexts", "citations", "usage")

_API: ValuePath = ("spec", "api")
_AUTH: ValuePath = (*_API, "auth")
_AUTH_KEYS = ("type", "header", "value", "token")


@dataclass(frozen=True, slots=True)
class WrittenHeader:
    """A header as the manifest writes it, its references not resolved, and where it stands."""

    name: str
    value: str
    place: ValuePath
    file: str | None = None
    line: int | None = None

    @property
    def is_secret(self) -> bool:
        if self.place[:3] == _AUTH or "$secret:" in self.value:
            return True
        return names_a_secret(self.name) or (has_reference(self.value) and names_a_secret(self.value))


@dataclass(frozen=True, slots=True)
class ResolvedHeaders:
    """Headers as they are sent; the secret ones are hidden wherever they come back."""

    plain: dict[str, str] = field(default_factory=dict, repr=False)
    secret: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentApi:
    """What is sent where, and where the answer stands in the reply."""

    path: str = DEFAULT_PATH
    protocol: str = "simple"
    model: str | None = None
    headers: tuple[WrittenHeader, ...] = ()
    response_paths: Mapping[str, str] = field(default_factory=dict, hash=False)

    def resolved_headers(self, environment: Mapping[str, str], *, secrets: Secrets) -> ResolvedHeaders:
        """Return the headers to send, secret ones hidden from now on; all that is missing is one error."""
        found = ResolvedHeaders()
        issues: list[Issue] = []
        for header in self.headers:
            try:
                value = resolved(header.value, environment, secrets=secrets)
            except InputError as error:
                issues += error.located(header.file, header.line, written_path(header.place)).issues
                continue
            if header.is_secret:
                secrets.add(value)
            (found.secret if header.is_secret else found.plain)[header.name] = value
        if issues:
            raise InputError(issues)
        return found


def read_api(reader: ManifestReader) -> AgentApi:
    """Read ``spec.api``; problems go to the reader."""
    reader.mapping(*_API)
    reader.check_keys(("chatEndpoint", "responsePaths"), *_API)
    endpoint = (*_API, "chatEndpoint")
    reader.mapping(*endpoint)
    path = reader.optional_text(*endpoint, "path")
    if path is not None and ("://" in path or any(character.isspace() for character in path)):
        reader.problem((*endpoint, "path"), f"a path such as {DEFAULT_PATH}", repr(path))
    return AgentApi(
        path=path or DEFAULT_PATH,
        protocol=_protocol(reader),
        model=reader.optional_text(*_API, "model"),
        headers=(*_auth_header(reader), *_headers(reader)),
        response_paths=_response_paths(reader),
    )


def _protocol(reader: ManifestReader) -> str:
    for place in ((*_API, "chatEndpoint", "protocol"), (*_API, "protocol")):
        found = reader.optional_text(*place)
        if found is not None and found not in PROTOCOLS:
            reader.problem(place, " or ".join(PROTOCOLS), repr(found))
        if found is not None:
            return found
    return "simple"


def _auth_header(reader: ManifestReader) -> tuple[WrittenHeader, ...]:
    written = reader.mapping(*_AUTH)
    reader.check_keys(_AUTH_KEYS, *_AUTH)
    token = reader.optional_text(*_AUTH, "token")
    value = reader.optional_text(*_AUTH, "value")
    name = reader.optional_text(*_AUTH, "header") or "Authorization"
    if token is not None and value is not None:
        reader.problem(_AUTH, "token or value", "both")
    if token is not None:
        return (_header(reader, name, f"Bearer {token}", (*_AUTH, "token")),)
    if value is not None:
        return (_header(reader, name, value, (*_AUTH, "value")),)
    if "header" in written:
        reader.problem(_AUTH, "a value for the header", "none")
    return ()


def _headers(reader: ManifestReader) -> tuple[WrittenHeader, ...]:
    place = (*_API, "headers")
    return tuple(
        _header(reader, name, value, (*place, name))
        for name in reader.mapping(*place)
        if (value := reader.text(*place, name))
    )


def _header(reader: ManifestReader, name: str, value: str, place: ValuePath) -> WrittenHeader:
    if FILE_MARK in value:
        reader.problem(place, "a text, $env: or $secret:", f"{FILE_MARK}, which is for datasets")
    return WrittenHeader(name, value, place, reader.file, reader.line(place))


def _response_paths(reader: ManifestReader) -> dict[str, str]:
    place = (*_API, "responsePaths")
    found: dict[str, str] = {}
    for part in reader.mapping(*place):
        if part not in REPLY_PARTS:
            reader.problem((*place, part), f"one of {', '.join(REPLY_PARTS)}", part)
        elif text := reader.text(*place, part):
            found[part] = text
    return found
