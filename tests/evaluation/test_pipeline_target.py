"""A retrieval pipeline on the same line as every other target: asked, journalled, resumed and scored."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from simulated_targets import final_bytes, new_folder

from rag_evaluation_framework import (
    ChunkLevelEvaluation,
    Corpus,
    Dataset,
    DocumentId,
    Options,
    PositionAwareChunk,
    RecursiveCharacterChunker,
    Request,
    Response,
    Sample,
    TokenLevelEvaluation,
    Turn,
    UsageError,
    generate_chunk_id,
    generate_pa_chunk_id,
    read_dataset,
)
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.evaluation.pipeline_targets import PipelineTarget, SearchesMany
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.extensions import Scorer, Target
from rag_evaluation_framework.records.runs import RunOutcome, SampleResult
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from run_files import plain_journal

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
QUESTIONS = HANDBOOK / "questions.eval.json"
CHUNKS = ("chunk_recall", "chunk_precision", "chunk_f1")
SPANS = ("span_recall", "span_precision", "span_iou", "span_f1")


@cache
def corpus() -> Corpus:
    return Corpus.from_folder(HANDBOOK / "documents")


@cache
def questions() -> Dataset:
    return read_dataset(QUESTIONS)


@cache
def pipeline() -> RetrievalPipeline:
    made = RetrievalPipeline(
        RecursiveCharacterChunker(400, 40), HashingEmbedder(), vector_store=ExactVectorStore()
    )
    made.index(corpus())
    return made


class Watched:
    """A pipeline that remembers how it was asked; some questions it is told not to answer."""

    def __init__(self, inner: SearchesMany, *, refused: frozenset[str] = frozenset()) -> None:
        self.batches: list[int] = []
        self.asked: Counter[str] = Counter()
        self._inner, self._refused = inner, refused
        self._busy = threading.Lock()

    def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[PositionAwareChunk]]:
        assert self._busy.acquire(blocking=False), "two searches at once"
        try:
            self.batches.append(len(queries))
            self.asked.update(queries)
            if refused := self._refused.intersection(queries):
                raise ValueError(f"cannot embed {min(refused)}")
            return self._inner.retrieve(queries, k)
        finally:
            self._busy.release()


class OneChunk:
    """Finds the same chunk for every question."""

    def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[PositionAwareChunk]]:
        chunk = PositionAwareChunk(generate_pa_chunk_id("aaaa"), "aaaa", DocumentId("1.md"), 0, 4)
        return [[chunk] for _ in queries]


def test_a_pipeline_says_when_it_finds_nothing() -> None:
    class Nothing(OneChunk):
        def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[PositionAwareChunk]]:
            return [[] for _ in queries]

    async def retrieved_nothing(pipeline: SearchesMany) -> bool:
        return (await PipelineTarget(pipeline).answer(request("a"))).retrieved_nothing

    assert asyncio.run(retrieved_nothing(Nothing()))
    assert not asyncio.run(retrieved_nothing(OneChunk()))


def request(question: str, *, timeout: float = 10.0) -> Request:
    sample = Sample(id=question, turns=(Turn(role="user", content=question),))
    return Request(sample=sample, key="k", thread_id="t", timeout=timeout)


def run(
    directory: Path,
    target: Target,
    scorers: Sequence[Scorer],
    *,
    folder: RunFolder | None = None,
    concurrency: int = 16,
    dataset: Dataset | None = None,
) -> tuple[RunOutcome, RunFolder]:
    folder = folder or new_folder(directory)
    asked = (dataset or questions()).samples
    outcome = run_samples(asked, target, scorers, folder=folder, options=Options(concurrency=concurrency))
    return outcome, folder


def values(results: Sequence[SampleResult], metrics: Sequence[str]) -> dict[str, dict[str, float | None]]:
    return {
        result.sample_id: {score.metric: score.value for score in result.scores if score.metric in metrics}
        for result in results
    }


def test_a_run_of_the_pipeline_has_the_span_scores_of_the_token_level_evaluation(tmp_path: Path) -> None:
    by_default = SPANS[:3]
    outcome, folder = run(tmp_path, PipelineTarget(pipeline(), k=5), scorers_for(by_default))
    assert (outcome.completed, outcome.failed) == (True, 0)
    evaluated = TokenLevelEvaluation(corpus(), QUESTIONS).run(
        RecursiveCharacterChunker(400, 40), HashingEmbedder(), k=5, vector_store=ExactVectorStore()
    )
    found = list(folder.results())
    expected = [row.result for row in evaluated.raw_results.rows]
    assert values(found, by_default) == values(expected, by_default)
    assert len(found) == 168
    assert 0 < evaluated.metrics["span_recall"] < 1
    for ours, theirs in zip(found, expected, strict=True):
        assert [hit.span for hit in ours.response.hits] == [hit.span for hit in theirs.response.hits]


def test_a_run_with_distinct_texts_has_the_chunk_scores_of_the_chunk_level_evaluation(tmp_path: Path) -> None:
    chunker = RecursiveCharacterChunker(400)
    distinct = RetrievalPipeline(chunker, HashingEmbedder(), vector_store=ExactVectorStore(), distinct=True)
    chunking = distinct.index(corpus())
    examples = [
        {
            "id": f"q{number}",
            "inputs": {"query": chunk.content[:60]},
            "outputs": {"relevant_chunk_ids": [generate_chunk_id(chunk.content)]},
        }
        for number, chunk in enumerate(chunking.chunks[::40])
    ]
    path = tmp_path / "chunks.jsonl"
    path.write_text("".join(json.dumps(example) + "\n" for example in examples), encoding="utf-8")
    dataset = read_dataset(path)
    scorers = scorers_for(CHUNKS)
    _, folder = run(tmp_path / "run", PipelineTarget(distinct, k=3), scorers, dataset=dataset)
    evaluated = ChunkLevelEvaluation(corpus(), path).run(
        chunker, HashingEmbedder(), k=3, vector_store=ExactVectorStore()
    )
    found = list(folder.results())
    assert values(found, CHUNKS) == values([row.result for row in evaluated.raw_results.rows], CHUNKS)
    assert evaluated.metrics["chunk_recall"] > 0


def test_questions_asked_together_are_one_search_and_never_two_at_once(tmp_path: Path) -> None:
    watched = Watched(pipeline())
    target = PipelineTarget(watched, batch_size=30)
    _, folder = run(tmp_path, target, ())
    assert watched.batches == [30, 30, 30, 30, 30, 18]
    assert folder.counts.done == 168
    texts = [tuple(chunk.content for chunk in found) for found in pipeline().retrieve(["ferry"], 5)]
    assert asyncio.run(target.answer(request("ferry"))).contexts == texts[0]

    async def side_by_side() -> list[Response]:
        return await asyncio.gather(*(target.answer(request(question)) for question in ("ferry", "pier")))

    assert [len(response.hits) for response in asyncio.run(side_by_side())] == [5, 5]


@pytest.mark.parametrize("refused", [0, 1, 7])
def test_the_number_of_workers_changes_nothing_even_where_a_question_breaks_its_batch(
    tmp_path: Path, refused: int
) -> None:
    broken = frozenset(sample.question for sample in questions().samples[5 : 5 + refused])
    scorers = scorers_for(SPANS)
    found = set()
    for concurrency in (1, 64):
        target = PipelineTarget(Watched(pipeline(), refused=broken))
        outcome, folder = run(tmp_path / str(concurrency), target, scorers, concurrency=concurrency)
        assert (outcome.completed, outcome.failed) == (True, refused)
        found.add(final_bytes(folder))
    assert len(found) == 1
    failures = [result.response.failure for result in folder.results() if result.response.failure]
    assert {failure.kind for failure in failures} <= {"pipeline-error"}
    assert all(failure.message.startswith("ValueError: cannot embed") for failure in failures)


def test_a_resumed_run_searches_for_nothing_twice_and_ends_like_a_whole_one(tmp_path: Path) -> None:
    scorers = scorers_for(SPANS)
    _, folder = run(tmp_path / "cut", PipelineTarget(pipeline()), scorers)
    journal = plain_journal(folder.path).read_bytes()
    lines = journal.splitlines(keepends=True)
    # As after a kill: half of the lines, and the torn beginning of the next one.
    folder.journal_path.write_bytes(b"".join(lines[:84]) + lines[84][:25])
    kept = folder.counts.done
    watched = Watched(pipeline())
    outcome, _ = run(tmp_path, PipelineTarget(watched), scorers, folder=folder)
    assert outcome.completed
    assert 0 < kept < 168
    assert (watched.asked.total(), max(watched.asked.values())) == (168 - kept, 1)
    _, whole = run(tmp_path / "whole", PipelineTarget(pipeline()), scorers)
    assert final_bytes(folder) == final_bytes(whole)


def test_hits_are_an_answer_and_metrics_of_texts_have_no_score_for_them(tmp_path: Path) -> None:
    _, folder = run(tmp_path, PipelineTarget(pipeline(), k=2), scorers_for(["token_f1"]))
    for result in folder.results():
        assert (result.response.text, result.response.failure) == (None, None)
        assert result.response.context_origin == "system"
        assert result.response.contexts == tuple(hit.text for hit in result.response.hits)
        assert [(score.status, score.value) for score in result.scores] == [("failed", None)]


def test_a_search_that_takes_too_long_is_a_timeout_that_may_be_tried_again() -> None:
    released = threading.Event()

    class Slow(OneChunk):
        def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[PositionAwareChunk]]:
            released.wait(10)
            return super().retrieve(queries, k)

    async def ask() -> Response:
        target = PipelineTarget(Slow())
        with pytest.raises(TargetError, match="timeout: no answer in time") as caught:
            await target.answer(request("a", timeout=0.05))
        assert caught.value.retry
        later = asyncio.ensure_future(target.answer(request("b")))
        await asyncio.sleep(0)
        released.set()
        return await later

    assert asyncio.run(ask()).contexts == ("aaaa",)


def test_what_may_pass_is_told_to_all_and_a_wrong_number_of_answers_is_an_error() -> None:
    class Overloaded(OneChunk):
        calls = 0

        def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[PositionAwareChunk]]:
            self.calls += 1
            raise TargetError("http-503", "embedder is busy", retry=True)

    class Forgetful(OneChunk):
        def retrieve(self, queries: Sequence[str], k: int) -> Sequence[Sequence[PositionAwareChunk]]:
            return super().retrieve(queries, k)[1:]

    async def three(pipeline: SearchesMany) -> list[str]:
        outcomes = await PipelineTarget(pipeline).answer_many([request(question) for question in "abc"])
        return [str(outcome) for outcome in outcomes]

    overloaded = Overloaded()
    assert asyncio.run(three(overloaded)) == ["http-503: embedder is busy"] * 3
    assert overloaded.calls == 1
    expected = "pipeline-error: expected the chunks of 1 query, got those of 0"
    assert asyncio.run(three(Forgetful())) == [expected] * 3


def test_a_pipeline_is_named_by_its_chunker_and_refused_without_an_index() -> None:
    assert isinstance(PipelineTarget(OneChunk()), Target)
    assert PipelineTarget(OneChunk(), 3).name == "pipeline(pipeline=OneChunk, k=3)"
    chunker = RecursiveCharacterChunker(400, 40)
    assert str(chunker) in PipelineTarget(pipeline()).name
    with pytest.raises(UsageError, match=r"expected index\(corpus\)"):
        PipelineTarget(RetrievalPipeline(chunker, HashingEmbedder(), vector_store=ExactVectorStore()))
    with pytest.raises(UsageError, match="k: expected a whole number"):
        PipelineTarget(OneChunk(), 0)
    with pytest.raises(UsageError, match="batch_size: expected a whole number"):
        PipelineTarget(OneChunk(), batch_size=0)
