"""Embeddings behind ``POST /v1/embeddings`` as OpenAI serves them: a real HTTP server in a thread.

A vector counts the pairs of letters of its text, hashed, so that similar spelling gives near vectors.

    with running_embeddings() as embeddings: …
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from serving import QuietHandler, serving

DIMENSIONS = 128


@dataclass
class EmbeddingServer:
    """Where the server is and which texts it was asked for."""

    url: str = ""
    texts: list[str] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        texts = body["input"]
        self.texts.extend(texts)
        data = [
            {"object": "embedding", "index": number, "embedding": _vector(text)}
            for number, text in enumerate(texts)
        ]
        tokens = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _vector(text: str) -> list[float]:
    vector = [0.0] * DIMENSIONS
    for first, second in pairwise(text.lower()):
        vector[zlib.crc32(f"{first}{second}".encode()) % DIMENSIONS] += 1.0
    return vector


@contextmanager
def running_embeddings() -> Iterator[EmbeddingServer]:
    """Serve for as long as the block lasts."""
    server = EmbeddingServer()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            server.keys.add(self.headers["Authorization"])
            if self.path == "/v1/embeddings":
                self.reply(200, server.reply(json.loads(self.sent())))
            else:
                self.reply(404, {"error": "no such path"})

    with serving(Handler) as address:
        server.url = f"{address}/v1"
        yield server
