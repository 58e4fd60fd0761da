"""Runs of every kind, in memory and on the disk, for the tests of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rag_evaluation_framework import (
    CharacterSpan,
    ContextCitation,
    Evaluation,
    Hit,
    Response,
    Sample,
    Score,
    SpanCitation,
    Turn,
    Usage,
)
from rag_evaluation_framework.records.citations import TokenSpanCitation
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.runs import Run, RunHead, RunOutcome, SampleResult, Timing
from rag_evaluation_framework.results.evaluations import Row, summed_up
from rag_evaluation_framework.results.journal import Journal, JournalEntry, written_entry
from rag_evaluation_framework.results.run_data import content_hash, keep_samples
from rag_evaluation_framework.results.run_store import NEW_RUN, RunFolder

SAMPLES = (
    Sample(
        id="q1",
        turns=(Turn(role="user", content="What is 退款?"),),
        reference="A refund.",
        relevant_documents={"a.md": 2, "b.md": 1, "c.md": 0},
        difficulty="easy",
        tags=("refunds",),
    ),
    Sample(id="q2", turns=(Turn(role="user", content="And who pays?"),), reference="The shop."),
    Sample(id="q3", turns=(Turn(role="user", content="When?"),)),
)
ANSWERED = Response(
    text="A refund [1].",
    hits=(
        Hit(id="chunk_1", score=0.9, span=CharacterSpan("a.md", 0, 10)),
        Hit(id="chunk_2", score=0.4, span=CharacterSpan("a.md", 5, 20)),
    ),
    contexts=("Refunds take a week.",),
    context_origin="system",
    citations=(
        SpanCitation("a.md", 0, 9, page=1, text="A refund.", confidence=0.5),
        TokenSpanCitation("a.md", 0, 3, "cl100k"),
        ContextCitation(1),
    ),
    usage=Usage(input_tokens=30, output_tokens=4, cost_usd=0.25),
    latency_ms=120.0,
)
PLAIN = Response(text="The shop.", usage=Usage(input_tokens=10, output_tokens=6), latency_ms=80.0)
FAILED = Response(failure=Failure(kind="http-503", message="the agent is down"))
RESULTS = (
    SampleResult(
        "q1",
        ANSWERED,
        (
            Score.scored("ndcg@5", 1.0, method="exact"),
            Score.scored("span_recall", 0.5, method="exact"),
            Score.scored("citation_span_f1", 0.75, method="exact"),
            Score.scored("token_f1", 0.8, method="lexical", details={"overlap": 2}),
            Score.scored("house_style", 3.0, method="judge:small"),
            Score.scored("latency", 120.0, method="timing"),
        ),
    ),
    SampleResult(
        "q2",
        PLAIN,
        (
            Score.scored("ndcg@5", 0.0, method="exact"),
            Score.skipped("span_recall", "no relevant spans", method="exact"),
            Score.skipped("citation_span_f1", "no citations", method="exact"),
            Score.scored("token_f1", 0.4, method="lexical"),
            Score.failed("house_style", "the judge said nothing", method="judge:small"),
            Score.scored("latency", 80.0, method="timing"),
        ),
    ),
    SampleResult(
        "q3",
        FAILED,
        tuple(
            Score.failed(metric, "no answer: http-503", method="timing" if metric == "latency" else "unknown")
            for metric in ("ndcg@5", "span_recall", "citation_span_f1", "token_f1", "house_style", "latency")
        ),
    ),
)


def head(**changes: Any) -> RunHead:
    fields: dict[str, Any] = {
        "run_id": "eval_run_20261115_001",
        "dataset_id": "refunds_v1.0.0",
        "dataset_version": "1.0.0",
        "dataset_hash": content_hash(SAMPLES),
        "target": "shop-agent",
        "configuration": {"retrieval_k": 5, "chunker": "recursive(chunk_size=200, overlap=50)"},
        "metric_versions": {"ndcg@5": 1, "token_f1": 1},
        "seed": 7,
        "packages": {"rag-evaluation-framework": "0.1.0", "python": "3.11.9"},
        "started_at": "2026-11-15T04:00:00+00:00",
    }
    return RunHead(**{**fields, **changes})


def run(**changes: Any) -> Run:
    return Run(head(**changes), RESULTS)


def evaluated(
    results: Sequence[SampleResult] = RESULTS,
    *,
    samples: Sequence[Sample] = (),
    total: int | None = None,
    intervals: dict[str, Any] | None = None,
    **changes: Any,
) -> Evaluation:
    """Sum up a run in memory; ``changes`` are those of its head."""
    known = {sample.id: sample for sample in samples}
    rows = [Row(place, each, known.get(each.sample_id)) for place, each in enumerate(results)]
    return summed_up(
        head(**changes),
        rows,
        kind="answers",
        outcome=RunOutcome(completed=True, interrupted=False, done=len(rows), failed=0, remaining=0),
        rows=lambda: rows,
        total=total,
        intervals=intervals,
    )


def on_disk(
    directory: Path,
    results: Sequence[SampleResult] = RESULTS,
    *,
    samples: Sequence[Sample] = SAMPLES,
    order: Sequence[int] | None = None,
    delay: float = 0.0,
    **changes: Any,
) -> RunFolder:
    """Write a run's folder. ``order`` is the order of the journal, ``delay`` is added to every time."""
    folder = RunFolder.create(directory, head(**{"run_id": NEW_RUN, **changes}))
    keep_samples(samples, folder.path)
    places = {sample.id: place for place, sample in enumerate(samples)}
    journal = Journal(folder.journal_path, end=0)
    for entry in _entries(results, places, order or range(len(results)), delay):
        journal.append(written_entry(entry)[0])
    journal.close()
    return folder


def _entries(
    results: Sequence[SampleResult], places: dict[str, int], order: Sequence[int], delay: float
) -> Iterator[JournalEntry]:
    for number in order:
        result, latency = results[number], results[number].response.latency_ms
        timing = Timing(
            started_at=f"2026-11-15T04:00:{number:02}.000+00:00",
            attempts=1 + number,
            requests=2 + number,
            elapsed_ms=500.0,
            run_seconds=1.5 + number,
            latency_ms=None if latency is None else latency + delay,
        )
        yield JournalEntry(places[result.sample_id], result, timing)


def scored(
    values: dict[str, float], metric: str = "token_f1", *, method: str = "lexical"
) -> tuple[SampleResult, ...]:
    """Return results of one metric by sample id."""
    return tuple(
        SampleResult(name, Response(text="x"), (Score.scored(metric, value, method=method),))
        for name, value in values.items()
    )
