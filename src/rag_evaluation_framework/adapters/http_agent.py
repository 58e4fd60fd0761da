"""An agent behind a URL.

What is sent where is a shape of :mod:`rag_evaluation_framework.evaluation.agent_shapes`, or a template of the
user's. Headers beside those given: ``X-Thread-Id``, one for each sample, shared by the turns of a
conversation, and ``Idempotency-Key``, the same for every attempt at the same turn. ``{{thread}}`` is that
thread too, or, where the reply is known to name one, nothing in the first turn and then what it names. A
system turn of the dataset goes only to agents that are sent ``{{messages}}``.

An attempt that fails in the middle of a conversation starts it over, under the same thread and keys.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from msgspec.structs import replace

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
from rag_evaluation_framework.errors import TargetError, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.agent_shapes import (
    METHODS,
    SHAPES,
    AnswerReader,
    Events,
    ReadAnswer,
    filled,
    filled_text,
    has_question,
    placeholders_in,
)
from rag_evaluation_framework.evaluation.agent_shapes import shape as shape_of
from rag_evaluation_framework.evaluation.secrets import secrets_in_address, shown_address
from rag_evaluation_framework.evaluation.targets import Ask, replay
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.responses import Request, Response

_CONTROL_CHARACTERS = frozenset(map(chr, [*range(32), 127]))
_TICKET = re.compile(r"[\w.-]{1,200}", re.ASCII)
_ACCEPT = "application/json, text/event-stream;q=0.9, */*;q=0.5"


class HttpAgent:
    """An agent behind a URL.

    Args:
        url: Address of the agent. Its password and secret parameters are hidden in all output.
        path: Path of the request, which may have placeholders; by default the protocol's own.
        protocol: Name of the request format.
        model: Name of the model, for protocols that need one.
        method: HTTP method.
        headers: Headers of each request.
        secret_headers: Headers that are hidden where the agent sends them back.
        response_paths: Paths of the answer, contexts, citations, usage and thread in the reply, where its
            shape is unusual.
        body: A template with a placeholder (``{"question": "{{question}}"}``), else additional fields.
        max_body_bytes: Maximum size of a reply.
        mask: Function that hides further secrets in a text.

    Example:
        >>> from rag_evaluation_framework import HttpAgent
        >>> agent = HttpAgent("http://localhost:4000", path="/ask", body={"question": "{{question}}"})
    """

    def __init__(
        self,
        url: str,
        *,
        path: str | None = None,
        protocol: str = "simple",
        model: str | None = None,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        secret_headers: Mapping[str, str] | None = None,
        response_paths: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
        mask: Callable[[str], str] | None = None,
    ) -> None:
        if protocol not in SHAPES:
            raise UnknownNameError("protocol", protocol, list(SHAPES))
        if method not in METHODS:
            raise UsageError(f"method: expected one of {', '.join(METHODS)}, got {shown(method)}")
        shape = SHAPES[protocol]
        self.address = joined_address(url, shape.path if path is None else path)
        self.name = shown_address(self.address)
        paths = {**shape.reply, **(response_paths or {})}
        self.reader = AnswerReader(paths)
        self._names_thread = "thread" in paths
        own_mask = header_mask([*(secret_headers or {}).values(), *secrets_in_address(url)])
        self.mask = _both(mask or unmasked, own_mask)
        own = dict(body or {})
        named = {} if model is None or shape.names_model else {"model": model}
        self._body: Mapping[str, Any] | None = own if has_question(own) else {**shape.body, **named, **own}
        if method == "GET":
            self._body = None
        self._ticket = shape.ticket
        self.model = model or shape.model
        self._method = method
        places = placeholders_in([self._body, self.address])
        self.takes_history = bool(places & {"messages", "history", "history_parts"})
        self._headers = {
            **JSON_HEADERS,
            "Accept": _ACCEPT,
            **checked_headers({**(headers or {}), **(secret_headers or {})}),
        }
        self._filled_headers = [name for name, text in self._headers.items() if placeholders_in(text)]
        _refuse_two_authorizations(self.address, self._headers)
        self._client = HttpClient(max_body_bytes=max_body_bytes)

    async def answer(self, request: Request) -> Response:
        """Put the sample to the agent, turn by turn within the attempt's time; the latency is that of all."""
        deadline = time.monotonic() + request.timeout
        latency_ms = 0.0
        thread = self.first_thread(request.thread_id)

        async def read(ask: Ask) -> ReadAnswer:
            nonlocal latency_ms, thread
            remaining = max(deadline - time.monotonic(), 0.001)
            key = ask.key(request.key)
            reply = await self.send(
                ask, key=key, thread_id=request.thread_id, thread=thread, timeout=remaining
            )
            latency_ms += reply.latency_ms
            answer = self.read(reply)
            thread = answer.thread or thread
            return answer

        response = await replay(request.sample, read, history=request.history)
        return replace(response, latency_ms=round(latency_ms, 3))

    def first_thread(self, thread_id: str) -> str | None:
        """Return what stands for the thread in the first turn: nothing where the agent itself names it."""
        return None if self._names_thread else thread_id

    async def send(self, ask: Ask, *, key: str, thread_id: str, thread: str | None, timeout: float) -> Reply:
        """Send one turn and return the reply as it came; of a call that is answered later, the late one."""
        deadline = time.monotonic() + timeout
        values = {
            "question": ask.text,
            "input": ask.text,
            "messages": list(ask.messages),
            "history": list(ask.messages[:-1]),
            "history_parts": [
                {**message, "content": [{"type": "text", "text": message["content"]}]}
                for message in ask.messages[:-1]
            ],
            "thread": thread,
            "model": self.model,
        }
        headers = {**self._headers, "X-Thread-Id": thread_id, "Idempotency-Key": key}
        for name in self._filled_headers:
            headers[name] = " ".join(filled_text(headers[name], values).split())
        address = filled_text(self.address, values, in_address=True)
        body = None if self._body is None else strict_json.encode(filled(self._body, values))
        reply = await self._client.request(
            address, body, headers=headers, timeout=timeout, method=self._method
        )
        if self._ticket is None or not 200 <= reply.status < 300:
            return reply
        remaining = max(deadline - time.monotonic(), 0.001)
        late = await self._client.request(
            self._late_address(reply), None, headers=headers, timeout=remaining, method="GET"
        )
        return replace(late, latency_ms=reply.latency_ms + late.latency_ms)

    async def look(self, address: str, body: Any = None, *, timeout: float) -> Any:
        """Return what the agent tells of itself at an address, as JSON; ``None`` where there is nothing."""
        written = None if body is None else strict_json.encode(body)
        method = "GET" if body is None else "POST"
        try:
            reply = await self._client.request(
                address, written, headers=self._headers, timeout=timeout, method=method
            )
            return reply_value(reply, url=address, mask=self.mask)
        except TargetError:
            return None

    def read(self, reply: Reply) -> ReadAnswer:
        """Read the answer from a reply, which may be a stream."""
        value = reply_value(reply, url=self.address, mask=self.mask, takes_streams=True)
        if self._ticket is not None and isinstance(value, Events):
            # Those before are what the answer was on its way.
            value = Events(value.values[-1:])
        return self.reader.read(value)

    def _late_address(self, reply: Reply) -> str:
        value = reply_value(reply, url=self.address, mask=self.mask)
        ticket = value.get(self._ticket) if isinstance(value, dict) else None
        if not isinstance(ticket, str) or not _TICKET.fullmatch(ticket):
            raise TargetError("no-answer", f"expected {self._ticket} in the reply, got {shape_of(value)}")
        return joined_address(self.address, ticket)

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
    path, _, query = path.partition("?")
    whole = parts.path.rstrip("/") + "/" + path.lstrip("/") if path else parts.path
    queries = "&".join(each for each in (query, parts.query) if each)
    return urlunsplit((parts.scheme, parts.netloc, whole, queries, ""))


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers; a name or value that cannot be sent is an error that does not show the value."""
    for name, value in headers.items():
        if not name or not name.isascii() or _CONTROL_CHARACTERS.intersection(name) or set(name) & set(" :"):
            raise UsageError(f"header: expected a name such as Authorization, got {shown(name)}")
        if not isinstance(value, str) or _CONTROL_CHARACTERS.intersection(value):
            raise UsageError(f"header {name}: expected a single line of text")
    return dict(headers)


def _refuse_two_authorizations(address: str, headers: Mapping[str, str]) -> None:
    parts = urlsplit(address)
    if (parts.username or parts.password) and any(name.lower() == "authorization" for name in headers):
        raise UsageError(
            "url: expected either a user and password or the header Authorization, got both for "
            f"{shown_address(address)}"
        )


def _both(first: Callable[[str], str], second: Callable[[str], str]) -> Callable[[str], str]:
    if unmasked in (first, second):
        return first if second is unmasked else second
    return partial(_masked_twice, first, second)


def _masked_twice(first: Callable[[str], str], second: Callable[[str], str], text: str) -> str:
    return second(first(text))
