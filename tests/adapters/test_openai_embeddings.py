"""OpenAI's embeddings over HTTP: batches in order, one layer of retries, keys that never show."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest
from component_server import DIMENSIONS, ComponentServer, embeddings, running_components

from rag_evaluation_framework import InputError, OpenAIEmbedder, UsageError
from rag_evaluation_framework.adapters import openai
from rag_evaluation_framework.components import EMBEDDERS, component_from
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation import attempts
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder

KEY = "sk-verysecret-0123456789"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ComponentServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    with running_components() as running:
        yield running


def embedder_of(server: ComponentServer, **options: int) -> OpenAIEmbedder:
    return OpenAIEmbedder("small", base_url=f"{server.url}/v1", **options)  # type: ignore[arg-type]


def test_vectors_come_back_in_the_order_of_the_texts(server: ComponentServer) -> None:
    texts = [f"text number {number}" for number in range(150)]
    embedder = embedder_of(server)
    assert np.allclose(embedder.embed(texts), HashingEmbedder(DIMENSIONS).embed(texts))
    assert sorted(len(asked["input"]) for asked in server.requests) == [22, 64, 64]
    assert {asked["model"] for asked in server.requests} == {"small"}
    assert embedder.tokens_used == 450
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}


def test_a_price_is_kept_for_reports_and_is_no_part_of_the_name(server: ComponentServer) -> None:
    address = f"{server.url}/v1"
    embedder = component_from(EMBEDDERS, f"openai(model=small, base_url='{address}', price=0.02)")
    assert isinstance(embedder, OpenAIEmbedder)
    assert embedder.price == 0.02
    assert str(embedder) == str(OpenAIEmbedder("small", address))
    embedder.embed(["three small words", "two words"])
    assert (embedder.tokens_used, embedder.characters_used) == (5, 26)


def test_tokens_that_the_server_does_not_tell_are_unknown_from_then_on(server: ComponentServer) -> None:
    embedder = embedder_of(server)
    embedder.embed(["a"])
    server.answers["/v1/embeddings"] = lambda asked: {"data": embeddings(asked)["data"]}
    embedder.embed(["b"])
    server.answers.clear()
    embedder.embed(["c"])
    assert embedder.tokens_used is None


def test_long_texts_share_no_batch_that_is_too_long(
    server: ComponentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "_BATCH_CHARACTERS", 100)
    embedder_of(server).embed(["x" * 60, "y" * 60, "z" * 300, "a", "b"])
    assert sorted(len(asked["input"]) for asked in server.requests) == [1, 1, 1, 2]


def test_an_empty_text_is_sent_as_a_space(server: ComponentServer) -> None:
    assert embedder_of(server).embed(["", "b"]).shape == (2, DIMENSIONS)
    assert server.requests[0]["input"] == [" ", "b"]


def test_fewer_dimensions_are_asked_for_and_checked(server: ComponentServer) -> None:
    assert embedder_of(server, dimensions=8).embed(["a b c"]).shape == (1, 8)
    assert server.requests[0]["dimensions"] == 8
    server.answers["/v1/embeddings"] = lambda _: {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}
    with pytest.raises(InputError, match="expected vectors of 8 numbers, got 2"):
        embedder_of(server, dimensions=8).embed(["a b c"])


def test_failures_that_pass_are_tried_again_and_the_others_are_not(server: ComponentServer) -> None:
    server.statuses = [429, 500, 503]
    assert embedder_of(server).embed(["a"]).shape == (1, DIMENSIONS)
    assert len(server.requests) == 4
    server.requests.clear()
    server.statuses = [401]
    with pytest.raises(TargetError, match=r"http-401: embedder openai\(.*\) at http://.*: Unauthorized"):
        embedder_of(server).embed(["a"])
    assert len(server.requests) == 1
    server.requests.clear()
    server.statuses = [500] * 9
    with pytest.raises(TargetError, match="http-500"):
        embedder_of(server).embed(["a"])
    assert len(server.requests) == 4


def test_a_notebook_whose_event_loop_runs_already_may_ask_too(server: ComponentServer) -> None:
    async def cell() -> tuple[int, ...]:
        return embedder_of(server).embed(["a", "b"]).shape

    assert asyncio.run(cell()) == (2, DIMENSIONS)


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        ({"data": []}, TargetError, "expected 1 embedding, one per text, got 0"),
        ({"data": [{"index": 5, "embedding": [1]}]}, TargetError, "expected 1 embedding, one per text"),
        ({"object": "error"}, TargetError, "expected data with embeddings, got"),
        ([1, 2], TargetError, "expected data with embeddings, got"),
        ({"data": [{"index": 0, "embedding": "QUJD"}]}, InputError, "expected a list of vectors"),
        ({"data": [{"index": 0, "embedding": [1.0, None]}]}, InputError, "expected a"),
        (b"<html>no</html>", TargetError, "html-page"),
    ],
)
def test_a_reply_that_holds_no_vectors_says_so(
    server: ComponentServer, reply: object, error: type[Exception], message: str
) -> None:
    server.answers["/v1/embeddings"] = lambda _: reply
    with pytest.raises(error, match=message):
        embedder_of(server).embed(["a"])


def test_it_is_built_without_a_key_and_embeds_only_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    embedder = OpenAIEmbedder()
    assert str(embedder) == "openai(model=text-embedding-3-small)"
    with pytest.raises(UsageError, match=r"needs an API key\. Set OPENAI_API_KEY, or name"):
        embedder.embed(["a"])


def test_a_key_never_shows_in_an_error(server: ComponentServer) -> None:
    server.answers["/v1/embeddings"] = lambda _: f"oops {KEY}".encode()
    with pytest.raises(TargetError) as caught:
        embedder_of(server).embed(["a"])
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "ftp://x"},
        {"base_url": "https://user:pw@host/v1"},
        {"concurrency": 0},
        {"timeout": 0},
        {"price": -1},
    ],
)
def test_what_cannot_be_asked_is_refused_when_built(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        OpenAIEmbedder(**options)  # type: ignore[arg-type]
