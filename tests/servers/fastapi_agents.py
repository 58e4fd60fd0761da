"""Agents written with the real FastAPI, served by uvicorn in a thread."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from shaped_agents import ANSWER, CONTEXT, PIECES, USAGE
from sse_starlette.sse import EventSourceResponse


class Question(BaseModel):
    """What is asked, in a session that has to be named."""

    query: str
    session_id: str
    top_k: int = 5


class Typed(BaseModel):
    """What is asked, by the last of the usual names."""

    user_query: str


def described() -> FastAPI:
    """Return an agent whose own description says what it takes."""
    app = FastAPI()

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/documents")
    def upload(body: dict[str, Any]) -> dict[str, str]:
        return {"answer": "not this one"}

    @app.post("/v2/rag")
    def answer(asked: Question) -> dict[str, Any]:
        return {
            "result": {"answer": ANSWER, "documents": [{"text": CONTEXT, "id": "boats.md"}]},
            "usage": USAGE,
        }

    return app


def undescribed() -> FastAPI:
    """Return an agent that does not describe itself, and streams events."""
    app = FastAPI(openapi_url=None)

    @app.post("/tell")
    async def tell(asked: Typed) -> EventSourceResponse:
        async def events() -> AsyncIterator[dict[str, str]]:
            for piece in PIECES:
                yield {"event": "token", "data": json.dumps({"token": piece})}
            yield {"event": "end", "data": json.dumps({"contexts": [CONTEXT], "usage": USAGE})}

        return EventSourceResponse(events())

    return app


def plain_text() -> FastAPI:
    """Return an agent that takes the question in the address and streams the bare text."""
    app = FastAPI()

    @app.get("/ask")
    async def ask(q: str) -> StreamingResponse:
        async def pieces() -> AsyncIterator[str]:
            for piece in PIECES:
                yield piece

        return StreamingResponse(pieces(), media_type="text/plain")

    return app


APPS = {app.__name__: app for app in (described, undescribed, plain_text)}


@contextmanager
def fastapi_agent(name: str) -> Iterator[str]:
    """Serve an agent for as long as the block lasts, at the address that it is given."""
    server = uvicorn.Server(uvicorn.Config(APPS[name](), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
