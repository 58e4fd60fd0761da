"""Cohere's SDK against a server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from component_server import ComponentServer, relevance, running_components

from rag_evaluation_framework import CohereReranker, UsageError
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation import attempts
from stored_texts import chunks_of

pytest.importorskip("cohere", reason="the extra 'cohere' is not installed")

KEY = "co-verysecret-0123456789"


CHUNKS = chunks_of(["lunch at noon", "parental leave", "leave for parents", "parental leave of thirty days"])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ComponentServer]:
    monkeypatch.setenv("CO_API_KEY", KEY)
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    with running_components() as running:
        yield running


def test_candidates_come_back_by_score_and_ties_as_they_came(server: ComponentServer) -> None:
    found = CohereReranker(base_url=server.url).rerank("parental leave days", CHUNKS, 3)
    assert [it.content for it in found] == [CHUNKS[3].content, CHUNKS[1].content, CHUNKS[2].content]
    assert server.requests == [
        {
            "model": "rerank-v3.5",
            "query": "parental leave days",
            "documents": [it.content for it in CHUNKS],
            "top_n": 4,
        }
    ]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_the_address_is_that_of_the_sdks_environment_unless_it_is_given(
    server: ComponentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CO_API_URL", server.url)
    reranker = CohereReranker()
    assert len(reranker.rerank("parental leave days", CHUNKS, 3)) == 3
    assert len(server.requests) == 1
    assert server.url in str(reranker)
    assert CohereReranker(base_url="https://elsewhere.example").base_url == "https://elsewhere.example"
    monkeypatch.delenv("CO_API_URL")
    assert CohereReranker().base_url == "https://api.cohere.com"


def test_searches_are_those_that_cohere_bills(server: ComponentServer) -> None:
    reranker = CohereReranker(base_url=server.url, price=0.002)
    assert str(reranker) == str(CohereReranker(base_url=server.url))
    server.answers["/v2/rerank"] = lambda asked: {
        **relevance(asked),
        "meta": {"billed_units": {"search_units": 3}},
    }
    reranker.rerank("leave", CHUNKS, 2)
    assert (reranker.searches_used, reranker.price) == (3, 0.002)


def test_where_cohere_does_not_say_a_hundred_documents_are_one_search(server: ComponentServer) -> None:
    reranker = CohereReranker(base_url=server.url)
    reranker.rerank("leave", chunks_of(["text"] * 100), 1)
    assert reranker.searches_used == 1
    reranker.rerank("leave", chunks_of(["text"] * 101), 1)
    assert reranker.searches_used == 1 + 2
    reranker.rerank("leave", [], 1)
    assert reranker.searches_used == 3


def test_failures_that_pass_are_tried_again_in_one_layer(server: ComponentServer) -> None:
    reranker = CohereReranker(base_url=server.url)
    server.statuses = [429, 503, 500]
    assert len(reranker.rerank("leave", CHUNKS, 2)) == 2
    assert len(server.requests) == 4
    server.requests.clear()
    server.statuses = [500] * 20
    with pytest.raises(TargetError, match=r"http-500: reranker cohere\(.*\) at http://"):
        reranker.rerank("leave", CHUNKS, 2)
    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_final_failures_are_asked_once_and_show_no_key(server: ComponentServer, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(TargetError, match=f"http-{status}: .*as told") as caught:
        CohereReranker(base_url=server.url).rerank("leave", CHUNKS, 2)
    assert KEY not in str(caught.value)
    assert len(server.requests) == 1


def test_scores_that_do_not_cover_the_candidates_are_refused(server: ComponentServer) -> None:
    server.answers["/v2/rerank"] = lambda _: {"id": "1", "results": [{"index": 0, "relevance_score": 1.0}]}
    with pytest.raises(TargetError, match="expected 4 scores, one per candidate, got 1"):
        CohereReranker(base_url=server.url).rerank("leave", CHUNKS, 2)


def test_a_server_that_is_not_there_and_one_that_is_slow_are_clear_errors(
    server: ComponentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TargetError, match=r"connection-failed: .*http://127\.0\.0\.1:9: cannot connect"):
        CohereReranker(base_url="http://127.0.0.1:9").rerank("leave", CHUNKS, 2)
    server.delay = 0.5
    with pytest.raises(TargetError, match=r"timeout: .*timed out before the reply was complete"):
        CohereReranker(base_url=server.url, timeout=0.05).rerank("leave", CHUNKS, 2)


def test_it_is_built_without_a_key_and_reranks_only_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CO_API_KEY", "COHERE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    reranker = CohereReranker()
    assert str(reranker) == "cohere(model=rerank-v3.5)"
    with pytest.raises(UsageError, match=r"cohere needs an API key\. Set CO_API_KEY"):
        reranker.rerank("leave", CHUNKS, 2)
