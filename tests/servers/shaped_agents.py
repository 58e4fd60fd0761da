"""Agents as common servers put them on the wire, each as its public documentation has it.

Every one knows the same answer, cites the same document, and says in a conversation how many messages it
has seen. ``shaped_agent("dify")`` serves one; ``asked`` has what it received.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from serving import QuietHandler, serving

ANSWER = "The first ferry leaves at 06:40."
CONTEXT = "Ferries leave at 06:40 and 09:10."
USAGE = {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}
PIECES = ("The first ", "ferry leaves", " at 06:40.")


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """What goes back; bytes go as they are, with their type."""

    status: int
    value: Any
    type: str = "application/json"


Agent = Callable[[Asked], Reply]


def not_found(_: object = None) -> Reply:
    return Reply(404, {"detail": "Not Found"})


def events(*told: tuple[str | None, Any]) -> Reply:
    """Return a stream of server-sent events; a text goes as it is."""
    lines = []
    for kind, data in told:
        lines += [f"event: {kind}"] if kind else []
        lines += [f"data: {data if isinstance(data, str) else json.dumps(data)}", ""]
    return Reply(200, "\n".join([*lines, ""]).encode(), "text/event-stream; charset=utf-8")


def missing(*place: str) -> Reply:
    """Return FastAPI's refusal of a body that lacks a field."""
    error = {"type": "missing", "loc": list(place), "msg": "Field required", "input": {}}
    return Reply(422, {"detail": [error]})


def openapi(path: str, schema: dict[str, Any]) -> dict[str, Any]:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Asked"}}}}
    return {
        "openapi": "3.1.0",
        "paths": {
            "/health": {"get": {}},
            "/items": {"post": {"requestBody": {"content": {}}}},
            path: {"post": {"requestBody": body}},
        },
        "components": {"schemas": {"Asked": schema}},
    }


def fastapi(asked: Asked) -> Reply:
    schema = {
        "properties": {"question": {}, "top_k": {}, "session_id": {}},
        "required": ["question", "session_id"],
    }
    if asked.path == "/openapi.json":
        return Reply(200, openapi("/rag/ask", schema))
    if asked.path != "/rag/ask":
        return not_found()
    for name in ("question", "session_id"):
        if name not in asked.body:
            return missing("body", name)
    sources = [{"id": "boats.md#1", "text": CONTEXT, "score": 0.9}]
    return Reply(200, {"data": {"answer": ANSWER, "sources": sources}, "usage": USAGE})


def question_only(asked: Asked) -> Reply:
    """Has no description, and says by hand what it wants."""
    if asked.path != "/api/v2/tell":
        return Reply(404, b"<html>no</html>", "text/html")
    if "q" not in asked.body:
        return Reply(400, {"error": "the field 'q' is required"})
    return Reply(200, ANSWER.encode(), "text/plain")


def in_address(asked: Asked) -> Reply:
    if asked.path == "/openapi.json":
        parameter = {"name": "q", "in": "query", "required": True}
        return Reply(200, {"paths": {"/search": {"get": {"parameters": [parameter]}}}})
    if asked.method == "GET" and asked.path.startswith("/search?q="):
        return Reply(200, {"answer": ANSWER, "results": [], "asked": asked.path})
    return not_found()


def chat_completions(asked: Asked) -> Reply:
    if asked.path != "/v1/chat/completions":
        return not_found()
    seen = len(asked.body["messages"])
    message = {"role": "assistant", "content": f"{ANSWER} ({seen})" if seen > 1 else ANSWER}
    if not asked.body.get("stream"):
        return Reply(200, {"object": "chat.completion", "choices": [{"message": message}], "usage": USAGE})
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in PIECES]
    first = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
    last = {"choices": [], "usage": USAGE}
    return events(*((None, chunk) for chunk in (first, *chunks, last)), (None, "[DONE]"))


def responses(asked: Asked) -> Reply:
    if asked.path != "/v1/responses":
        return not_found()
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}], "summary": []}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]}
    done = {
        "object": "response",
        "output": [thought, said],
        "usage": {"input_tokens": 12, "output_tokens": 9},
    }
    if not asked.body.get("stream"):
        return Reply(200, done)
    return events(
        ("response.created", {"type": "response.created", "response": {"output": [], "usage": None}}),
        ("response.reasoning_text.delta", {"type": "response.reasoning_text.delta", "delta": "Hm."}),
        *(
            ("response.output_text.delta", {"type": "response.output_text.delta", "delta": piece})
            for piece in PIECES
        ),
        ("response.output_text.done", {"type": "response.output_text.done", "text": ANSWER}),
        ("response.completed", {"type": "response.completed", "response": done}),
    )


def dify(asked: Asked) -> Reply:
    if asked.path != "/v1/chat-messages":
        return not_found()
    if asked.headers.get("authorization") != "Bearer app-5f3a9c":
        return Reply(401, {"code": "unauthorized", "message": "Access token is invalid", "status": 401})
    if asked.body.get("conversation_id") not in (None, "", "c-7"):
        return Reply(404, {"code": "not_found", "message": "Conversation Not Exists."})
    resource = {
        "position": 1,
        "document_name": "boats.md",
        "segment_id": "s1",
        "score": 0.9,
        "content": CONTEXT,
    }
    metadata = {
        "usage": {**USAGE, "total_price": "0.001", "currency": "USD"},
        "retriever_resources": [resource],
    }
    turn = "again" if asked.body.get("conversation_id") else "first"
    answer = f"{ANSWER} ({turn})"
    if asked.body["response_mode"] == "blocking":
        reply = {"event": "message", "conversation_id": "c-7", "mode": "chat", "answer": answer}
        return Reply(200, {**reply, "metadata": metadata})
    pieces = [
        {"event": "message", "conversation_id": "c-7", "answer": piece} for piece in (*PIECES, f" ({turn})")
    ]
    end = {"event": "message_end", "conversation_id": "c-7", "metadata": metadata}
    return events(*((None, each) for each in (*pieces, end)))


def json_lines(asked: Asked) -> Reply:
    lines = [{"token": piece} for piece in PIECES]
    lines.append({"contexts": [CONTEXT], "usage": USAGE})
    return Reply(200, "\n".join(map(json.dumps, lines)).encode(), "application/x-ndjson")


def tokens(asked: Asked) -> Reply:
    """Streams bare pieces of text, one of which could be a number in JSON."""
    return events(*((None, piece) for piece in ("It leaves at ", "6", ", they say", "[DONE]")))


def growing(asked: Asked) -> Reply:
    """Sends the answer as far as it has got each time."""
    return events((None, {"text": "The first"}), (None, {"text": ANSWER}))


def broken(asked: Asked) -> Reply:
    """Begins to answer, and then says that it cannot."""
    return events((None, {"answer": "The"}), ("error", {"message": "no model", "key": "app-5f3a9c"}))


AGENTS: dict[str, Agent] = {
    agent.__name__: agent
    for agent in (
        *(fastapi, question_only, in_address, chat_completions, responses),
        *(dify, json_lines, tokens, growing, broken, not_found),
    )
}


@dataclass
class RunningAgent:
    """An agent that listens, and what it was sent."""

    url: str
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def shaped_agent(name: str) -> Iterator[RunningAgent]:
    """Serve one of the agents for as long as the block lasts."""
    received: list[Asked] = []

    class Handler(QuietHandler):
        agent: ClassVar[Agent] = staticmethod(AGENTS[name])

        def do_POST(self) -> None:
            body = self.sent()
            headers = {key.lower(): value for key, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, json.loads(body) if body else {})
            received.append(asked)
            reply = self.agent(asked)
            self.reply(reply.status, reply.value, {"Content-Type": reply.type})

        def do_GET(self) -> None:
            self.do_POST()

    with serving(Handler) as url:
        yield RunningAgent(url, received)
