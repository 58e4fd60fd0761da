"""A server that embeds as OpenAI and Cohere do, and reranks as Cohere does, or fails as told.

Vectors are hashed n-grams; a document's relevance is the share of the query's words that it has.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from serving import QuietHandler, serving

from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.text.tokens import word_tokens

DIMENSIONS = 24

Answer = Callable[[dict[str, Any]], Any]


def embeddings(asked: dict[str, Any]) -> dict[str, Any]:
    texts = asked["input"]
    vectors = HashingEmbedder(asked.get("dimensions", DIMENSIONS)).embed(texts).tolist()
    rows = [{"object": "embedding", "index": number, "embedding": it} for number, it in enumerate(vectors)]
    tokens = sum(len(text.split()) for text in texts)
    # The protocol promises an index, not an order.
    return {"object": "list", "data": rows[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def typed_embeddings(asked: dict[str, Any]) -> dict[str, Any]:
    """Cohere's ``/v2/embed``: a query's vector is not that of a document with the same text."""
    texts = [f"{asked['input_type']} {text}" for text in asked["texts"]]
    vectors = HashingEmbedder(DIMENSIONS).embed(texts).tolist()
    tokens = sum(len(text.split()) for text in asked["texts"])
    meta = {"billed_units": {"input_tokens": tokens}}
    return {"id": "1", "texts": asked["texts"], "embeddings": {"float": vectors}, "meta": meta}


def relevance(asked: dict[str, Any]) -> dict[str, Any]:
    wanted = set(word_tokens(asked["query"]))
    shares = [len(wanted & set(word_tokens(it))) / max(len(wanted), 1) for it in asked["documents"]]
    order = sorted(range(len(shares)), key=lambda number: -shares[number])[: asked["top_n"]]
    results = [{"index": number, "relevance_score": shares[number]} for number in order]
    return {"id": "1", "results": results, "meta": {"api_version": {"version": "2"}}}


@dataclass
class ComponentServer:
    """What the server was asked, and the faults it is to answer with first."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """Statuses for the next replies, before the server answers."""
    retry_after: str = "0"
    answers: dict[str, Answer] = field(default_factory=dict)
    """Answers in place of the usual ones, by path."""
    delay: float = 0.0

    def answer(self, path: str, asked: dict[str, Any]) -> tuple[int, Any]:
        self.requests.append(asked)
        time.sleep(self.delay)
        if self.statuses:
            return self.statuses.pop(0), {"message": "as told"}
        usual: dict[str, Answer] = {
            "/v1/embeddings": embeddings,
            "/v2/embed": typed_embeddings,
            "/v2/rerank": relevance,
        }
        found = {**usual, **self.answers}.get(path)
        return (404, {"message": f"no {path}"}) if found is None else (200, found(asked))


@contextmanager
def running_components() -> Iterator[ComponentServer]:
    """Run a server in a thread for as long as the block lasts."""
    state = ComponentServer()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, value = state.answer(self.path, json.loads(self.sent()))
            self.reply(status, value, {"Retry-After": state.retry_after} if status in (429, 503) else None)

    with serving(Handler) as state.url:
        yield state
