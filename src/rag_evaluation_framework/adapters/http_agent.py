"""An agent behind a URL; probing it.

Sent is ``POST {url}{path}`` with ``{"message": …}``, or with ``{"messages": […]}`` where the protocol is
``openai-compatible``. Headers beside those given: ``X-Thread-Id``, one for each sample, shared by the
turns of a conversation, and ``Idempotency-Key``, the same for every attempt at the same turn. A system
turn of the dataset goes to an ``openai-compatible`` agent only: the simple protocol has no place for it.

An attempt that fails in the middle of a conversation starts it over, under the same thread and keys.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from rag_evaluation_framework.adapters.http_client import (
    JSON_HEADERS,
    MAX_BODY_BYTES,
    HttpClient,
    Reply,
    check_host,
    header_mask,
    reply_value,
    unmasked,
)
from rag_evaluation_framework.errors import TargetError, UsageError, counted, shown
from rag_evaluation_framework.evaluation.answer_fields import AnswerReader, ReadAnswer
from rag_evaluation_framework.evaluation.manifest import DEFAULT_PATH, PROTOCOLS
from rag_evaluation_framework.evaluation.secrets import names_a_secret
from rag_evaluation_framework.evaluation.targets import Ask, replay
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.responses import EXPECTED, Request, Response

_CONTROL_CHARACTERS = frozenset(map(chr, [*range(32), 127]))


class HttpAgent:
    """Fulfils ``extensions.Target``.

    ``secret_headers`` are sent like ``headers`` and hidden wherever the agent sends them back, as are the
    password and the secret parameters of the URL; ``mask`` hides more. ``response_paths`` says where the
    answer, contexts, citations and usage stand in a reply that is not of a usual shape. ``body`` has fields
    to send with every message.
    """

    def __init__(
        self,
        url: str,
        *,
        path: str = DEFAULT_PATH,
        protocol: str = "simple",
        model: str | None = None,
        headers: Mapping[str, str] | None = None,
        secret_headers: Mapping[str, str] | None = None,
        response_paths: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
        mask: Callable[[str], str] | None = None,
    ) -> None:
        if protocol not in PROTOCOLS:
            raise UsageError(f"protocol: expected {' or '.join(PROTOCOLS)}, got {shown(protocol)}")
        self.address = joined_address(url, path)
        self.name = shown_address(self.address)
        self.reader = AnswerReader(response_paths)
        own_mask = header_mask([*(secret_headers or {}).values(), *secrets_in_address(url)])
        self.mask = _both(mask or unmasked, own_mask)
        self.takes_history = protocol == "openai-compatible"
        self._protocol = protocol
        self._body = {**(body or {}), **({} if model is None else {"model": model})}
        self._headers = {
            **JSON_HEADERS,
            **checked_headers({**(headers or {}), **(secret_headers or {})}),
        }
        _refuse_two_authorizations(self.address, self._headers)
        self._client = HttpClient(max_body_bytes=max_body_bytes)

    async def answer(self, request: Request) -> Response:
        """Put the sample to the agent, turn by turn within the attempt's time; the latency is that of all."""
        deadline = time.monotonic() + request.timeout
        latency_ms = 0.0

        async def read(ask: Ask) -> ReadAnswer:
            nonlocal latency_ms
            remaining = max(deadline - time.monotonic(), 0.001)
            reply = await self.send(
                ask, key=ask.key(request.key), thread_id=request.thread_id, timeout=remaining
            )
            latency_ms += reply.latency_ms
            return self.reader.read(reply_value(reply, url=self.address, mask=self.mask))

        response = await replay(request.sample, read, history=request.history)
        return replace(response, latency_ms=latency_ms)

    async def send(self, ask: Ask, *, key: str, thread_id: str, timeout: float) -> Reply:
        """Send one turn and return the reply as it came."""
        headers = {**self._headers, "X-Thread-Id": thread_id, "Idempotency-Key": key}
        message = (
            {"messages": ask.messages} if self._protocol == "openai-compatible" else {"message": ask.text}
        )
        body = strict_json.encode({**self._body, **message})
        return await self._client.post(self.address, body, headers=headers, timeout=timeout)

    async def close(self) -> None:
        await self._client.close()


def joined_address(url: str, path: str) -> str:
    """Put a path behind a URL; a query that the URL has stays at the end."""
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError as error:
        raise UsageError(f"url: expected http://host:port, got {shown_address(url)} ({error})") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"url: expected http://… or https://…, got {shown_address(url)}")
    try:
        check_host(parts.hostname)
    except TargetError as error:
        raise UsageError(f"url: {error.message}") from None
    whole = parts.path.rstrip("/") + "/" + path.lstrip("/") if path else parts.path
    return urlunsplit((parts.scheme, parts.netloc, whole, parts.query, ""))


def shown_address(address: str) -> str:
    """Return an address fit to be shown: without a user, a password or a query."""
    without_query = address.partition("?")[0].partition("#")[0]
    scheme, separator, rest = without_query.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers; a name or value that cannot be sent is an error that does not show the value."""
    for name, value in headers.items():
        if not name or not name.isascii() or _CONTROL_CHARACTERS.intersection(name) or set(name) & set(" :"):
            raise UsageError(f"header: expected a name such as Authorization, got {shown(name)}")
        if not isinstance(value, str) or _CONTROL_CHARACTERS.intersection(value):
            raise UsageError(f"header {name}: expected one line of text")
    return dict(headers)


def secrets_in_address(url: str) -> list[str]:
    """Return what is secret in a URL: its password, and the parameters whose names say so."""
    try:
        parts = urlsplit(url.strip())
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
    except ValueError:  # no URL; who opens it says so without showing it
        return []
    found = [value for name, value in parse_qsl(parts.query) if names_a_secret(name)]
    # Basic authentication sends the two together, in base 64.
    return [*found, parts.password or "", password, f"{user}:{password}"] if password else found


def _refuse_two_authorizations(address: str, headers: Mapping[str, str]) -> None:
    parts = urlsplit(address)
    if (parts.username or parts.password) and any(name.lower() == "authorization" for name in headers):
        raise UsageError(
            f"url: expected no user and password beside the header Authorization, got both for "
            f"{shown_address(address)}"
        )


def _both(first: Callable[[str], str], second: Callable[[str], str]) -> Callable[[str], str]:
    if unmasked in (first, second):
        return first if second is unmasked else second
    return lambda text: second(first(text))


# One question to an agent, and what would be read from its reply.

_SHOWN_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The outcome of one question: a reply, what was read from it, or why nothing could be."""

    address: str
    elapsed_ms: float
    status: int | None = None
    body: str = ""
    answer: ReadAnswer | None = None
    failure: TargetError | None = None

    @property
    def reached(self) -> bool:
        """Tell whether the agent gave any reply at all."""
        return self.status is not None

    def hints(self) -> list[str]:
        """Say what to try where something was not found."""
        if self.failure is not None:
            return [_HINTS[self.failure.kind]] if self.failure.kind in _HINTS else []
        found = self.answer.found if self.answer else {}
        hints = [
            f"no {part} found; if the reply has them, name their place under spec.api.responsePaths.{part}"
            for part in ("contexts", "citations", "usage")
            if part not in found
        ]
        if self.answer and (count := self.answer.unread_contexts):
            hints.append(f"{counted(count, 'context')} could not be read: expected {EXPECTED['contexts']}")
        if self.answer and (count := self.answer.unread_citations):
            hints.append(f"{counted(count, 'citation')} could not be read: expected {EXPECTED['citations']}")
        return hints


_HINTS = {
    "connection-failed": "is the agent running, and is this its port?",
    "connect-timeout": "is the host right, and does a firewall stand between?",
    "timeout": "the agent is slow; --timeout gives it longer",
    "no-answer": "if the reply has the answer elsewhere, --answer-path names its place: result.text",
    "html-page": "this is a page for people; the API may have another path: --path",
    "malformed-json": "the reply should be JSON; this may not be the chat endpoint: --path",
    "http-400": "the agent expects another body; try --protocol openai-compatible",
    "http-401": "the agent wants a key: --header 'Authorization: Bearer …'",
    "http-403": "the key given is not allowed to do this",
    "http-404": "nothing listens at this path: --path",
    "http-405": "this path takes no POST: --path",
    "http-422": "the agent expects another body; try --protocol openai-compatible",
}


async def probe(agent: HttpAgent, message: str, *, timeout: float) -> Probe:
    """Send one question and read the reply as a run would."""
    ask = Ask(({"role": "user", "content": message},), 1, 1)
    started = time.perf_counter()
    reply: Reply | None = None
    answer: ReadAnswer | None = None
    failure: TargetError | None = None
    try:
        reply = await agent.send(ask, key="probe", thread_id="probe", timeout=timeout)
        answer = agent.reader.read(reply_value(reply, url=agent.address, mask=agent.mask))
    except TargetError as error:
        failure = error
    finally:
        elapsed = (time.perf_counter() - started) * 1000
        await agent.close()
    text = agent.mask(reply.body.decode("utf-8", errors="replace")) if reply else ""
    return Probe(
        address=agent.name,
        elapsed_ms=reply.latency_ms if reply else elapsed,
        status=reply.status if reply else None,
        body=text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…",
        answer=answer,
        failure=failure,
    )
