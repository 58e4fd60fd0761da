"""A scripted language model behind ``POST /v1/chat/completions``, or one that misbehaves: a real HTTP server.

    def reply(asked: dict[str, Any]) -> ChatReply | str: …

    with running_chat(reply) as server:
        model = OpenAIChatModel("scripted", base_url=server.url)

``reply`` gets the request's JSON and returns the text to answer with, or a :class:`ChatReply`; the functions
below make the usual misbehaviours. It is called for one request after the other, in the server's thread, so
a script may count without a lock; it must not wait (``ChatReply.delay`` does). What it raises is kept in
``server.errors`` and raised where the block ends, so an assertion in a script fails the test.

``server.requests`` has every request's JSON in the order of arrival, ``server.headers`` its headers.
``at_once`` is how many requests are with the server now, ``most_at_once`` the most there ever were.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from fault_agent import Connection, read_request

HANG_SECONDS = 3600.0
PATH = "/v1/chat/completions"

Asked = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ChatReply:
    """What the server does with one request; a plain text is ``ChatReply(content=text)``."""

    content: str | None = ""
    refusal: str | None = None
    finish_reason: str | None = "stop"
    usage: Mapping[str, Any] | None = None
    """In place of the usual count: the words of all messages, and those of the reply."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """The body as it goes out, in place of a completion."""
    fault: Literal["hang", "reset"] | None = None


Served = TypeVar("Served", bound="ChatServer")
Script = Callable[[Asked], "ChatReply | str"]


def in_turn(*replies: ChatReply | str) -> Script:
    """Give these replies one after the other, the last one for ever."""
    waiting = list(replies)
    return lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]


def in_prose(text: str) -> str:
    """Put a reply between sentences, as chatty models do."""
    return f"Sure! Here is what I think about {{this}}:\n\n{text}\n\nLet me know [if] you need more."


def fenced(text: str, language: str = "json") -> str:
    """Put a reply into a code fence."""
    return f"```{language}\n{text}\n```"


def thinking(text: str, thoughts: str = 'Perhaps {"label": "none"}? No.') -> str:
    """Put a model's thoughts before its reply."""
    return f"<think>\n{thoughts}\n</think>\n\n{text}"


def truncated(text: str) -> ChatReply:
    """Stop because the limit of tokens was reached."""
    return ChatReply(content=text, finish_reason="length")


def refused(reason: str = "I'm sorry, I can't help with that.") -> ChatReply:
    """Refuse in the field that is for it."""
    return ChatReply(content=None, refusal=reason)


def filtered(text: str | None = None) -> ChatReply:
    """Stop because of a content filter."""
    return ChatReply(content=text, finish_reason="content_filter")


def failing(status: int = 500, message: str = "as told", **headers: str) -> ChatReply:
    """Answer with an error of the protocol; ``Retry_After="1"`` sets that header."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
    return ChatReply(status=status, body=body, headers=fields)


def throttled(retry_after: str = "0.01") -> ChatReply:
    """Ask for less."""
    return failing(429, "Rate limit reached", Retry_After=retry_after)


def garbage(body: bytes = b"\x00\x1f not JSON {") -> ChatReply:
    """Send bytes that are no reply, as a success."""
    return ChatReply(body=body)


def hanging() -> ChatReply:
    """Never answer."""
    return ChatReply(fault="hang")


def reset() -> ChatReply:
    """Close the connection without a word."""
    return ChatReply(fault="reset")


def only_with(supported: set[str], reply: Script) -> Script:
    """Answer 400, as endpoints do, to a ``response_format`` whose type is not among these."""

    def script(asked: Asked) -> ChatReply | str:
        wanted = asked.get("response_format", {}).get("type")
        if wanted is not None and wanted not in supported:
            return failing(400, f"'response_format.type' : value {wanted!r} is not supported by this model")
        return reply(asked)

    return script


def last_message(asked: Asked) -> str:
    """Return the text of the request's last message."""
    return str(asked["messages"][-1]["content"])


def is_repair(asked: Asked) -> bool:
    """Tell whether the request asks once more, because of a reply that was of no use."""
    return "An earlier reply to this could not be used" in last_message(asked)


class ChatServer:
    """Where the server is, what it was asked, and what went wrong in its script."""

    def __init__(self, script: Script, *, key: str | None) -> None:
        self.url = ""
        self.requests: list[Asked] = []
        self.headers: list[dict[str, str]] = []
        self.errors: list[BaseException] = []
        self.at_once = 0
        self.most_at_once = 0
        self._script = script
        self._key = key

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await read_request(reader)) is not None and not writer.is_closing():
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                try:
                    self.headers.append(asked.headers)
                    to = Connection(asked, writer, "", chance=None)  # type: ignore[arg-type]  # draws nothing
                    await self._answer(to)
                finally:
                    self.at_once -= 1
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the caller hung up, or the block ended
        finally:
            writer.close()

    async def _answer(self, to: Connection) -> None:
        body = to.asked.body
        if to.asked.path != PATH:
            reply = failing(404, f"no {to.asked.path}")
        elif self._key is not None and to.asked.headers.get("authorization") != f"Bearer {self._key}":
            given = to.asked.headers.get("authorization", "none")
            reply = failing(401, f"Incorrect API key provided: {given}")
        else:
            self.requests.append(body)
            reply = self._scripted(body)
        await asyncio.sleep(HANG_SECONDS if reply.fault == "hang" else reply.delay)
        if reply.fault == "reset":
            to.abort()
            return
        content = json.dumps(_completion(body, reply)).encode() if reply.body is None else reply.body
        await to.send(content, status=reply.status, headers=dict(reply.headers))

    def _scripted(self, asked: Asked) -> ChatReply:
        try:
            reply = self._script(asked)
        except BaseException as error:  # noqa: BLE001  # an assertion of the test, raised where the test sees it
            self.errors.append(error)
            return failing(400, f"the script raised {type(error).__name__}")
        return ChatReply(content=reply) if isinstance(reply, str) else reply


def _completion(asked: Asked, reply: ChatReply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    read = sum(len(str(message["content"]).split()) for message in asked["messages"])
    written = len((reply.content or "").split())
    usual = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        "usage": usual if reply.usage is None else dict(reply.usage),
    }


@contextmanager
def running_chat(reply: Script, *, key: str | None = None) -> Iterator[ChatServer]:
    """Serve for as long as the block lasts; with ``key``, only who sends it."""
    with serving_chat(ChatServer(reply, key=key)) as state:
        yield state


@contextmanager
def serving_chat(state: Served) -> Iterator[Served]:
    """Serve for as long as the block lasts."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listening = asyncio.run_coroutine_threadsafe(
        asyncio.start_server(state.serve, "127.0.0.1", 0, backlog=1024, limit=1 << 24), loop
    ).result()
    state.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield state
    finally:
        asyncio.run_coroutine_threadsafe(_shut(listening), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    if state.errors:
        raise state.errors[0]


async def _shut(listening: asyncio.Server) -> None:
    listening.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
