"""References to files and secrets, and keeping secrets out of everything."""

from __future__ import annotations

import dataclasses
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

import msgspec

from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    ModelError,
    RagEvalError,
    StorageError,
    TargetError,
    UsageError,
    in_full,
    shown,
)
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.files.json_scanner import ValuePath, written_path
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.structs import replace

# Secrets that were resolved, and the one way to keep them out of whatever is written or shown.
#
# A secret is hidden as it is, and in the forms in which it may come back: as JSON, in percents, in base
# 64, as hexadecimal digits, and of each form every beginning of :data:`PREFIX` characters or more: services
# quote keys that they cut off. Secrets shorter than :data:`SHORTEST` cannot be hidden without eating into
# ordinary words, so they are refused where they are read.

MASK = "***"
SHORTEST = 6
PREFIX = 12

_TELLING_NAME = re.compile(r"key|token|secret|pass|auth|sig|credential|cookie|bearer", re.IGNORECASE)


def names_a_secret(name: str) -> bool:
    """Tell from its name that a header, a parameter or a variable holds a secret: ``X-Api-Key``."""
    return _TELLING_NAME.search(name) is not None


def shown_address(address: str) -> str:
    """Return an address fit to be shown: without a user, a password or a query."""
    without_query = address.partition("?")[0].partition("#")[0]
    scheme, separator, rest = without_query.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def secrets_in_address(url: str) -> list[str]:
    """Return the secrets in a URL: its password, and the parameters with the names of secrets."""
    try:
        parts = urlsplit(url.strip())
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
    except ValueError:  # no URL; who opens it says so without showing it
        return []
    found = [value for name, value in parse_qsl(parts.query) if names_a_secret(name)]
    # Basic authentication sends the two together, in base 64.
    return [*found, parts.password or "", password, f"{user}:{password}"] if password else found


class Secrets:
    """Values that must never be shown; :meth:`mask` hides them in a text."""

    def __init__(self) -> None:
        self._forms: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._forms)

    def __repr__(self) -> str:
        return "Secrets(…)"

    def add(self, value: str) -> None:
        """Hide this value from now on. Of ``Bearer abc123`` the last word is hidden by itself too."""
        forms = set(self._forms)
        for secret in {value, value.strip(), *value.split()[-1:]}:
            if len(secret) >= SHORTEST:
                forms |= _forms_of(secret)
        # The longest first, so that no end of a secret is left beside its mask.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

    def mask(self, text: str) -> str:
        """Return the text with every secret replaced by ``***``."""
        for form in self._forms:
            at = -1
            while (at := text.find(form[:PREFIX], at + 1)) >= 0:
                end = at + len(form)
                while not form.startswith(text[at:end]):
                    end -= 1
                text = f"{text[:at]}{MASK}{text[end:]}"
        return text

    @contextmanager
    def masked_errors(self) -> Iterator[None]:
        """Hide the secrets in the message of an error of ours that comes out of the block."""
        try:
            yield
        except RagEvalError as error:
            masked = self.mask(str(error))
            if masked == str(error):
                raise
            if isinstance(error, ModelError):
                raise type(error)(error.kind, self.mask(error.message)) from None
            raise UsageError(masked) from None

    def mask_value(self, value: Any) -> Any:
        """Return a JSON value, or a record of such, with the secrets in its texts and keys replaced."""
        return masked_value(value, self.mask) if self._forms else value


def masked_value(value: Any, mask: Callable[[str], str]) -> Any:
    """Return a JSON value, or a record of such, with what ``mask`` hides replaced in its texts and keys."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {masked_value(key, mask): masked_value(item, mask) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(masked_value(item, mask) for item in value)
    is_record = isinstance(value, msgspec.Struct) or dataclasses.is_dataclass(value)
    if is_record and not isinstance(value, type):
        names = getattr(value, "__struct_fields__", None) or value.__dataclass_fields__
        written = {name: getattr(value, name) for name in names}
        masked = {name: masked_value(old, mask) for name, old in written.items()}
        return value if masked == written else replace(value, **masked)
    return value


def _forms_of(secret: str) -> set[str]:
    data = secret.encode("utf-8", "surrogateescape")
    encoded = b64encode(data).decode("ascii")
    url_safe = urlsafe_b64encode(data).decode("ascii")
    return {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        escape(secret),
        quote(data, safe=""),
        quote_plus(data),
        encoded,
        encoded.rstrip("="),
        data.hex(),
        data.hex().upper(),
        url_safe,
        url_safe.rstrip("="),
    }


# References in a manifest: ``$file:path``, ``$env:NAME``, ``$secret:name`` and ``${NAME}``.
#
# - ``$file:`` is a path from the manifest's folder and stays inside it, links followed.
# - ``$env:NAME`` is the environment variable of that name.
# - ``$secret:name`` is the file of that name in the folder that ``RAG_EVAL_SECRETS_DIR`` names; else the
#   environment variable of that name; else, of ``agent-key``, the variable ``AGENT_KEY``.
# - ``${NAME}`` is ``$secret:NAME`` as a shell writes it.
#
# ``$env:`` and ``$secret:`` may stand within a text: ``Bearer $secret:agent-key``. They are resolved when
# a request is about to be made and not before, so a manifest can be read where its secrets are not. What
# is missing or empty is an error.

SECRETS_FOLDER = "RAG_EVAL_SECRETS_DIR"
FILE_MARK = "$file:"

_REFERENCE = re.compile(
    r"\$(?:env:(?P<variable>\w*)|secret:(?P<secret>(?:\w(?:[\w.-]*\w)?)?)|\{(?P<braced>\w*)\})", re.ASCII
)


def file_inside(text: str, folder: Path) -> Path:
    """Return the path of a ``$file:`` reference, or of a plain path, which must lie inside the folder."""
    written = text.removeprefix(FILE_MARK).strip()
    if not written or "\0" in written:
        raise InputError([Issue("invalid-reference", "the path of a file", shown(text))])
    path = folder / written
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a circle of links
        inside = False
    if not inside:
        expected = "a path inside the manifest's folder"
        raise InputError([Issue("reference-outside", expected, shown(text))])
    return path


def has_reference(text: str) -> bool:
    """Return True if a text refers to an environment variable or a secret."""
    return _REFERENCE.search(text) is not None


def resolved(text: str, environment: Mapping[str, str], *, secrets: Secrets) -> str:
    """Return a text with its references filled in; what ``$secret:`` stands for is hidden from now on.

    Every missing reference of the text is in one error, which never shows a value.
    """
    issues: list[Issue] = []

    def value_of(match: re.Match[str]) -> str:
        variable, secret = match["variable"], match["secret"] or match["braced"]
        try:
            if not variable and not secret:
                raise InputError([Issue("invalid-reference", f"a name after {match[0]}", "no name")])
            return _variable(variable, environment) if variable else _secret(secret, environment, secrets)
        except InputError as error:
            issues.extend(error.issues)
            return ""

    filled = _REFERENCE.sub(value_of, text)
    if issues:
        raise InputError(issues)
    return filled


def _variable(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "")
    if not value:
        found = "an unset variable" if name not in environment else "an empty variable"
        raise InputError([Issue("missing-reference", f"the environment variable {name}", found)])
    return value


def _secret(name: str, environment: Mapping[str, str], secrets: Secrets) -> str:
    given = _secret_file(name, environment) or environment.get(name) or environment.get(_as_variable(name))
    value = (given or "").strip()
    if not value:
        places = f"a file {name} in {SECRETS_FOLDER}, or the environment variable {_as_variable(name)}"
        raise InputError([Issue("missing-reference", f"the secret {name}: {places}", "neither")])
    if len(value) < SHORTEST:
        expected = f"a secret {name} of at least {SHORTEST} characters (for other values, use $env:)"
        raise InputError([Issue("short-secret", expected, "a shorter secret, which cannot be masked")])
    secrets.add(value)
    return value


def _secret_file(name: str, environment: Mapping[str, str]) -> str | None:
    folder = environment.get(SECRETS_FOLDER)
    if not folder:
        return None
    path = Path(folder) / name
    try:
        return read_text(path) if path.is_file() else None
    except (StorageError, InputError):
        # What cannot be read is no secret; its text must not be in the message.
        found = "an unreadable file"
        raise InputError([Issue("missing-reference", f"the secret {name}", found)]) from None


def _as_variable(name: str) -> str:
    return re.sub(r"[.-]", "_", name).upper()


class WrittenText(msgspec.Struct, frozen=True):
    """A header or a field as a manifest writes it, its references not resolved, and where it stands."""

    name: str
    value: str
    place: ValuePath
    file: str | None = None
    line: int | None = None
    is_key: bool = False

    @property
    def is_secret(self) -> bool:
        if self.is_key or "$secret:" in self.value or "${" in self.value or names_a_secret(self.name):
            return True
        return has_reference(self.value) and names_a_secret(self.value)


def resolved_texts(
    texts: tuple[WrittenText, ...], environment: Mapping[str, str], secrets: Secrets
) -> dict[ValuePath, str]:
    """Return what the texts say with their references filled in, by place; what is missing is one error."""
    values: dict[ValuePath, str] = {}
    issues: list[Issue] = []
    for text in texts:
        try:
            values[text.place] = resolved(text.value, environment, secrets=secrets)
        except InputError as error:
            issues += error.located(text.file, text.line, written_path(text.place)).issues
            continue
        if text.is_secret:
            secrets.add(values[text.place])
    if issues:
        raise InputError(issues)
    return values


def with_texts(value: Any, place: ValuePath, values: Mapping[ValuePath, str]) -> Any:
    """Return a JSON value with the texts at some of its places replaced."""
    if isinstance(value, Mapping):
        return {name: with_texts(inner, (*place, name), values) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_texts(inner, (*place, number), values) for number, inner in enumerate(value)]
    return values.get(place, value)


# A target whose answers and failures contain no secret, whatever the system under test sends back.


class MaskedTarget:
    """Fulfils ``extensions.Target`` by asking another one; hides secrets before anybody sees the answer."""

    def __init__(self, target: Target, secrets: Secrets) -> None:
        self.name = secrets.mask(target.name)
        self.is_live = getattr(target, "is_live", True)
        self.is_local = getattr(target, "is_local", False)
        self.embedding_roles: dict[str, str] = getattr(target, "embedding_roles", {})
        self.version: str | None = getattr(target, "version", None)
        self._target = target
        self._secrets = secrets

    @property
    def held_by(self) -> Callable[[Sample], Response] | None:
        """Return the function that gives the recorded answers of a target, if it has them."""
        held_by = getattr(self._target, "held_by", None)
        return None if held_by is None else partial(self._masked, held_by)

    def _masked(self, held_by: Callable[[Sample], Response], sample: Sample) -> Response:
        try:
            response = held_by(sample)
        except TargetError as error:
            raise self._reworded(error) from None
        masked: Response = self._secrets.mask_value(response)
        return masked

    def _reworded(self, error: TargetError) -> TargetError:
        answered = self._secrets.mask_value(error.answered)
        return error.reworded(self._secrets.mask(error.message), answered=answered)

    async def answer(self, request: Request) -> Response:
        """Ask the target."""
        try:
            response = await self._target.answer(request)
        except TargetError as error:
            raise self._reworded(error) from None
        except Exception as error:  # noqa: BLE001 - a target is a plug-in: its mistake must not tell secrets
            raise TargetError("target-error", self._secrets.mask(in_full(error))) from None
        masked: Response = self._secrets.mask_value(response)
        return masked

    async def close(self) -> None:
        await self._target.close()
