"""Evaluations of datasets at LangSmith become experiments there: a run per query, feedback per metric."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langsmith_server import KEY, TENANT, LangSmithServer, id_of, signed_in

from rag_evaluation_framework import (
    ChunkLevelEvaluation,
    Corpus,
    Dataset,
    Document,
    DocumentId,
    EvaluationResult,
    RecursiveCharacterChunker,
    Sample,
    SpanCitation,
    TokenLevelEvaluation,
    Turn,
    UsageError,
    generate_chunk_id,
)
from rag_evaluation_framework.adapters import langsmith
from rag_evaluation_framework.adapters.langsmith import upload_to_langsmith
from rag_evaluation_framework.datasets.langsmith_examples import LANGSMITH
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore

pytest.importorskip("langsmith", reason="the extra 'langsmith' is not installed")

MULTIPART = "/runs/multipart"
TEXT = "Boats leave at noon from the old harbour."
CORPUS = Corpus([Document(DocumentId("boats.md"), TEXT), Document(DocumentId("cars.md"), "Cars are red.")])
CHUNKER = RecursiveCharacterChunker()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LangSmithServer]:
    with signed_in(monkeypatch, tmp_path) as running:
        yield running


def boats(count: int = 1) -> Dataset:
    """Questions about the first document; of the second half nothing is known to be relevant."""
    span = SpanCitation("boats.md", 0, 20, text=TEXT[:20])
    known = (count + 1) // 2
    samples = [
        Sample(
            id=f"q{number}",
            turns=(Turn(role="user", content=f"When do boats leave? {number}"),),
            relevant_spans=(span,) if number < known else (),
            relevant_chunk_ids=(generate_chunk_id(TEXT),) if number < known else (),
        )
        for number in range(count)
    ]
    return Dataset(samples=tuple(samples), dialect="langsmith")


def run_tokens(name: str | Path = "boats", **options: Any) -> EvaluationResult:
    evaluation = TokenLevelEvaluation(CORPUS, name, **options)
    return evaluation.run(CHUNKER, HashingEmbedder(), 1, ExactVectorStore())


def test_a_token_level_run_is_an_experiment_of_its_dataset(server: LangSmithServer) -> None:
    upload_to_langsmith(boats(2), "boats")
    result = run_tokens()
    [project] = server.projects.values()
    assert project["reference_dataset_id"] == id_of("boats")
    assert project["description"] == result.raw_results.head.target
    assert project["name"].startswith("recursive-")
    described = project["extra"]["metadata"]
    assert (described["level"], described["k"]) == ("token", 1)
    assert project["end_time"]
    assert result.experiment_url == (
        f"http://localhost/o/{TENANT}/datasets/{id_of('boats')}/compare?selectedSessions={project['id']}"
    )
    assert result.warnings == ()
    example_ids = {each["metadata"]["rag_eval_id"]: each["id"] for each in server.datasets["boats"]}
    runs = {run["extra"]["metadata"]["sample_id"]: run for run in server.runs.values()}
    assert {name: run["reference_example_id"] for name, run in runs.items()} == example_ids
    assert runs["q0"]["inputs"] == {"query": "When do boats leave? 0"}
    [hit] = result.raw_results.rows[0].response.hits
    spans = [{"doc_id": "boats.md", "start": 0, "end": len(TEXT)}]
    assert runs["q0"]["outputs"] == {"retrieved_chunk_ids": [hit.id], "spans": spans}
    assert {run["session_id"] for run in runs.values()} == {project["id"]}
    assert {(run["trace_id"], run["dotted_order"][-36:]) for run in runs.values()} == {
        (run["id"], run["id"]) for run in runs.values()
    }


def test_a_run_has_feedback_for_each_metric_and_the_reason_where_there_is_no_score(
    server: LangSmithServer,
) -> None:
    upload_to_langsmith(boats(4), "boats")
    result = run_tokens()
    by_sample: dict[str, dict[str, Any]] = {}
    for feedback in server.feedback.values():
        run = server.runs[feedback["run_id"]]
        assert feedback["session_id"] == run["session_id"]
        by_sample.setdefault(run["extra"]["metadata"]["sample_id"], {})[feedback["key"]] = feedback
    assert {name: each["score"] for name, each in by_sample["q0"].items()} == {
        name: round(value, 4) for name, value in result.per_query["q0"].items()
    }
    # 20 of the 41 characters that were found are relevant.
    assert by_sample["q0"]["span_precision"]["score"] == 0.4878
    assert result.per_query["q0"]["span_precision"] == 20 / 41
    # A score that is missing is missing, not 0.
    assert result.per_query["q3"] == {}
    for feedback in by_sample["q3"].values():
        assert "score" not in feedback
        assert feedback["comment"] == "skipped: the dataset has no relevant characters for this sample"


def test_a_chunk_level_run_is_an_experiment_too(server: LangSmithServer) -> None:
    upload_to_langsmith(boats(2), "boats")
    evaluation = ChunkLevelEvaluation(CORPUS, "boats")
    result = evaluation.run(CHUNKER, HashingEmbedder(), 1, ExactVectorStore())
    assert result.metrics == {"chunk_recall": 1.0, "chunk_precision": 1.0, "chunk_f1": 1.0}
    assert result.experiment_url is not None
    runs = {run["extra"]["metadata"]["sample_id"]: run for run in server.runs.values()}
    assert runs["q0"]["outputs"]["retrieved_chunk_ids"] == [generate_chunk_id(TEXT)]
    assert {feedback["key"] for feedback in server.feedback.values()} == set(result.metrics)


def test_each_run_of_an_evaluation_is_an_experiment_of_its_own(server: LangSmithServer) -> None:
    upload_to_langsmith(boats(2), "boats")
    evaluation = TokenLevelEvaluation(CORPUS, "boats")
    urls = {
        evaluation.run(CHUNKER, HashingEmbedder(), k, ExactVectorStore()).experiment_url for k in (1, 1, 2)
    }
    assert len(urls) == 3
    assert len(server.projects) == 3
    assert len(server.runs) == 6


def test_many_queries_go_in_few_requests_and_no_text_of_a_document_goes_at_all(
    server: LangSmithServer,
) -> None:
    upload_to_langsmith(boats(201), "boats")
    server.asked.clear()
    threads = threading.active_count()
    result = run_tokens()
    assert len(server.runs) == 201
    assert len(server.feedback) == 201 * 3
    assert len(server.sent("POST", MULTIPART)) == 3
    # The dataset, its three pages and the workspace; the project made and ended; the runs.
    assert len(server.asked) == 5 + 2 + 3
    assert threading.active_count() <= threads + 1  # the server's own thread for the connection
    sent = [asked.body for asked in server.asked if asked.method != "GET"]
    assert TEXT[:20] not in json.dumps(sent)
    # The queries were searched together, one after the other as far as anybody can tell.
    times = [
        (datetime.fromisoformat(run["start_time"]), datetime.fromisoformat(run["end_time"]))
        for run in server.runs.values()
    ]
    assert all(end == begin for (_, end), (begin, _) in pairwise(times))
    assert times[0][0] == datetime.fromisoformat(result.raw_results.head.started_at)


def test_examples_that_others_made_are_known_by_their_own_ids(server: LangSmithServer) -> None:
    span = {"doc_id": "boats.md", "start": 0, "end": 20, "text": TEXT[:20]}
    outputs = {"relevant_chunk_ids": ["pa_chunk_0123456789ab"], "spans": [span]}
    server.datasets["boats"] = [{"inputs": {"query": "When?"}, "outputs": outputs}]
    assert run_tokens().experiment_url is not None
    assert [run["reference_example_id"] for run in server.runs.values()] == [id_of("boats", 0)]


@pytest.mark.parametrize("lost", ["POST /sessions", f"POST {MULTIPART}", "PATCH /sessions/{id}"])
def test_a_reply_that_is_lost_leaves_nothing_twice_and_nothing_out(
    server: LangSmithServer, lost: str
) -> None:
    upload_to_langsmith(boats(102), "boats")  # more than go in one request
    server.lost = [lost]
    assert run_tokens().experiment_url is not None
    assert (len(server.projects), len(server.runs), len(server.feedback)) == (1, 102, 306)


def test_a_throttled_experiment_waits_as_long_as_it_is_told(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_to_langsmith(boats(2), "boats")
    waited: list[float] = []
    monkeypatch.setattr("rag_evaluation_framework.adapters.calls.time.sleep", waited.append)
    server.retry_after = "7"
    server.statuses = {MULTIPART: [429, 503]}
    assert run_tokens().experiment_url is not None
    assert waited == [7.0, 7.0]


@pytest.mark.parametrize("route", ["/sessions", MULTIPART, "/sessions/{id}"])
@pytest.mark.parametrize(("status", "attempts"), [(401, 1), (403, 1), (413, 1), (422, 1), (500, 4)])
def test_whatever_fails_the_results_are_there_with_a_warning(
    server: LangSmithServer, caplog: pytest.LogCaptureFixture, route: str, status: int, attempts: int
) -> None:
    caplog.set_level(logging.WARNING)
    upload_to_langsmith(boats(4), "boats")
    method = "PATCH" if "{id}" in route else "POST"
    server.statuses = {f"{method} {route}": [status] * 9}
    server.asked.clear()
    result = run_tokens()
    assert result.metrics["span_recall"] == 1.0
    assert len(result.per_query) == 4
    assert result.experiment_url is None
    [warning] = result.warnings
    assert warning.startswith("the experiment was not recorded: ")
    assert f"LangSmith at {server.url}" in warning
    assert KEY not in warning + caplog.text
    assert ("compare?selectedSessions=" in warning) == (route != "/sessions")
    assert len(server.sent(method, route)) == attempts


def test_a_server_that_is_slow_or_gone_costs_the_experiment_only(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_to_langsmith(boats(2), "boats")
    evaluation = TokenLevelEvaluation(CORPUS, "boats")
    assert len(evaluation.dataset) == 2
    monkeypatch.setattr(langsmith, "TIMEOUT_MS", (5_000, 100))
    server.delays = {MULTIPART: [0.3] * 4}
    result = evaluation.run(CHUNKER, HashingEmbedder(), 1, ExactVectorStore())
    assert "timeout: " in result.warnings[0]
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")
    result = evaluation.run(CHUNKER, HashingEmbedder(), 1, ExactVectorStore())
    assert result.metrics["span_recall"] == 1.0
    assert "connection-failed: LangSmith at http://127.0.0.1:9: cannot connect" in result.warnings[0]
    monkeypatch.delenv("LANGSMITH_API_KEY")
    result = evaluation.run(CHUNKER, HashingEmbedder(), 1, ExactVectorStore())
    assert "needs an API key. Set LANGSMITH_API_KEY" in result.warnings[0]


def test_experiments_can_be_switched_off(server: LangSmithServer, monkeypatch: pytest.MonkeyPatch) -> None:
    upload_to_langsmith(boats(2), "boats")
    assert run_tokens(upload_experiments=False).experiment_url is None
    monkeypatch.setenv("LANGSMITH_TEST_TRACKING", "false")
    assert run_tokens().experiment_url is None
    assert not server.projects
    assert run_tokens(upload_experiments=True).experiment_url is not None


def test_a_run_of_a_file_is_no_experiment_and_cannot_be_made_one(
    server: LangSmithServer, tmp_path: Path
) -> None:
    path = tmp_path / "boats.jsonl"
    LANGSMITH.write(boats(2), path)
    result = run_tokens(path)
    assert (result.experiment_url, result.warnings) == (None, ())
    assert not server.requests
    with pytest.raises(UsageError, match="an experiment needs a dataset in LangSmith"):
        run_tokens(path, upload_experiments=True)


def test_without_a_key_there_is_no_experiment(
    server: LangSmithServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LANGSMITH_API_KEY")
    (tmp_path / "langsmith").mkdir()
    LANGSMITH.write(boats(2), tmp_path / "langsmith" / "boats.jsonl")
    result = run_tokens()
    assert (result.metrics["span_recall"], result.experiment_url, result.warnings) == (1.0, None, ())
    assert not server.requests
