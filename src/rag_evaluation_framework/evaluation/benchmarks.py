"""The speed of a retrieval or an agent: all questions are asked repeatedly, and each answer is timed.

Nothing is written down while it is timed and nothing is asked twice: a retry would pass for speed. A
retrieval is searched in this process, as many questions at once as the concurrency says; an agent has as many
requests under way. A repetition asks all questions and ends before the next begins.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, count, cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.components import (
    CHUNKERS,
    EMBEDDERS,
    RERANKERS,
    RETRIEVERS,
    VECTOR_STORES,
    component_from,
)
from rag_evaluation_framework.errors import ModelOutageError, RagEvalError, TargetError, counted, in_full
from rag_evaluation_framework.evaluation.frameworks import existing_index
from rag_evaluation_framework.evaluation.jobs import Job, prepared
from rag_evaluation_framework.evaluation.pipeline_targets import PipelineTarget
from rag_evaluation_framework.evaluation.run import run
from rag_evaluation_framework.extensions import Retriever, Target, component_text
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.runs import ResourceUsage, evaluation_environment
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.benchmark_history import (
    LATENCY,
    QUALITY,
    THROUGHPUT,
    Pace,
    add_record,
    compared,
    is_percentile,
    keep_quality,
    performance_records,
    same_before,
    throughput_figures,
)
from rag_evaluation_framework.results.resources import ResourceMeter
from rag_evaluation_framework.results.results_document import (
    EvaluationResultsStorage,
    check_id,
    results_document,
)
from rag_evaluation_framework.results.summaries import latency_figures
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.pipeline import (
    RetrievalPipeline,
    WholeDocuments,
    candidates_for,
    default_vector_store,
)
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever, FusedRetriever
from rag_evaluation_framework.retrieval.sweep import DENSE, FUSED, Cell
from rag_evaluation_framework.structs import asdict

OnStep = Callable[[str], None]
_POLL_SECONDS = 0.2
_METER_SECONDS = 0.1
_ENDS = ("mean", "min", "max")


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """The amount of asking: warm-up questions, repetitions, questions at once, and the time limit.

    ``timeout`` is in seconds, for one answer.
    """

    warmup: int = 5
    repetitions: int = 20
    concurrency: int = 1
    timeout: float = 30.0


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of each answer; seconds and answers of each repetition; failures by kind.

    ``resources`` are those of this process; ``None`` where what was asked runs elsewhere.
    """

    latencies: tuple[float, ...]
    seconds: tuple[float, ...]
    answered: tuple[int, ...]
    failures: Mapping[str, int]
    resources: ResourceUsage | None
    questions: int

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def paces(self) -> tuple[float, ...]:
        """Answers a second of each repetition."""
        return tuple(n / max(s, 1e-9) for n, s in zip(self.answered, self.seconds, strict=True))


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """The timings, and the results document of one pass over the questions."""

    timed: Timed
    document: Mapping[str, Any]
    indexed: Mapping[str, Any] = {}
    """Of a retrieval: the number of documents and chunks, and the seconds that indexing took."""


class KeptBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement beside those before it of the same, and where it is kept."""

    pace: Pace
    latency: Mapping[str, Any]
    earlier: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
    """Records of throughput and of latency, oldest first."""
    failures: Mapping[str, int]
    performance: Mapping[str, Any]
    metrics: Mapping[str, Any]
    indexed: Mapping[str, Any]
    files: tuple[Path, ...]
    results: Path | None


class Searched(msgspec.Struct, frozen=True, kw_only=True):
    """A retrieval that has indexed its documents, and how many chunks it is asked for."""

    pipeline: RetrievalPipeline
    cell: Cell
    indexed: Mapping[str, Any]

    @property
    def target(self) -> PipelineTarget:
        return PipelineTarget(self.pipeline, self.cell.k, name=str(self.cell))


def indexed_retrieval(
    documents: Corpus,
    *,
    chunker: str,
    embedder: str = "hashing",
    retriever: str = DENSE,
    store: str | None = None,
    index: str | None = None,
    reranker: str | None = None,
    k: int = 5,
    fetch_k: int | None = None,
) -> Searched:
    """Build a retrieval of its parts and index the documents; an ``index`` that exists is searched as it is.

    No part remembers what it did before, as those of a sweep do: every question is embedded each time.
    """
    found: Retriever
    cutter: Any = WholeDocuments() if index else component_from(CHUNKERS, chunker)
    if index is not None:
        found = existing_index(index)
    elif retriever in (DENSE, FUSED):
        vectors = default_vector_store() if store is None else component_from(VECTOR_STORES, store)
        dense = DenseRetriever(component_from(EMBEDDERS, embedder), vectors)
        found = dense if retriever == DENSE else FusedRetriever(lexical=BM25Retriever(), dense=dense)
    else:
        found = component_from(RETRIEVERS, retriever)
    ranker = None if reranker is None else component_from(RERANKERS, reranker)
    pipeline = RetrievalPipeline(cutter, retriever=found, reranker=ranker, fetch_k=fetch_k)
    cell = Cell(
        chunker=component_text(cutter),
        retriever=component_text(found),
        reranker=None if ranker is None else component_text(ranker),
        k=k,
        fetch_k=candidates_for(k, ranker, fetch_k=fetch_k),
    )
    begun = time.perf_counter()
    chunking = pipeline.index(documents)
    seconds = round(time.perf_counter() - begun, 3)
    size = {} if index else {"chunks": len(chunking.chunks)}
    return Searched(
        pipeline=pipeline, cell=cell, indexed={"documents": len(documents), **size, "index_seconds": seconds}
    )


def run_benchmark(
    job: Job, effort: Effort, *, searched: Searched | None = None, remote: bool = False, on_step: OnStep
) -> Benchmark:
    """Time the answers to the questions of a job, then score one pass over them, outside of the time.

    ``remote`` says that what is asked runs elsewhere, so that the memory of this process is not its own.
    """
    if searched is not None:
        job = replace(job, target=searched.target)
    with prepared(job) as plan, TemporaryDirectory(prefix="rag-eval-") as folder:
        (dataset, *_) = plan.datasets
        samples = list(dataset.selection())
        with ResourceMeter(interval=_METER_SECONDS) as meter:
            watch = _Watch(plan.target.name, len(samples), effort, on_step)
            if searched is not None:
                _searched_again(searched, [sample.question for sample in samples], watch)
            else:
                asyncio.run(_asked_again(plan.target, samples, watch))
                answers = _Answers(plan.target.name, watch.responses)
                plan = replace(plan, target=answers)
        on_step("Scoring the answers")
        evaluation = run(replace(plan, runs_directory=Path(folder), kept=None))
        document = plan.secrets.mask_value(results_document(evaluation))
    timed = watch.timed(None if remote else meter.usage)
    return Benchmark(timed=timed, document=document, indexed={} if searched is None else searched.indexed)


class _Watch:
    """Takes the times, and ends what only fails."""

    def __init__(self, asked: str, questions: int, effort: Effort, on_step: OnStep) -> None:
        self.asked = asked
        self.questions, self.effort, self._on_step = questions, effort, on_step
        self.responses: dict[str, Response | TargetError] = {}
        self._latencies: list[float] = []
        self._seconds: list[float] = []
        self._answered: list[int] = []
        self._failures: Counter[str] = Counter()
        self._begun = 0.0
        self._of_this = 0

    def begin(self, repetition: int) -> None:
        """Begin a repetition; the one of number 0 is to warm up."""
        told = (
            f"Asking {counted(self.questions, 'question')}: repetition {repetition:,} of "
            f"{self.effort.repetitions:,}"
        )
        self._on_step(told if repetition else "Warming up")
        self._of_this, self._begun = 0, time.perf_counter()

    def took(self, seconds: float, answers: int = 1) -> None:
        """Take note of answers that came together, after so many seconds."""
        self._latencies += [1000 * seconds] * answers
        self._of_this += answers

    def failed(self, error: TargetError, answers: int = 1) -> None:
        """Take note of a failure."""
        self._failures[error.kind] += answers
        self._last_error = error

    def end(self, repetition: int) -> None:
        """End a repetition; one in which nothing was answered ends the benchmark."""
        seconds = time.perf_counter() - self._begun
        if not self._of_this and (repetition or self.effort.warmup):
            error = self._last_error
            told = f"no answer from {self.asked}: {error.message}\n  Nothing was measured."
            raise ModelOutageError(error.kind, told)
        if repetition:
            self._seconds.append(seconds)
            self._answered.append(self._of_this)
            return
        self._latencies.clear()
        self._failures.clear()

    def timed(self, resources: ResourceUsage | None) -> Timed:
        return Timed(
            latencies=tuple(self._latencies),
            seconds=tuple(self._seconds),
            answered=tuple(self._answered),
            failures=dict(self._failures),
            resources=resources,
            questions=self.questions,
        )


# A retrieval.


def _searched_again(searched: Searched, questions: Sequence[str], watch: _Watch) -> None:
    """Search in a thread of its own, which a search that does not end leaves behind."""
    search = _Search(searched, watch)
    thread = threading.Thread(target=search.run, args=(questions,), name="benchmark", daemon=True)
    thread.start()
    limit = watch.effort.timeout
    while thread.is_alive():
        thread.join(_POLL_SECONDS)
        if time.perf_counter() - search.began > limit and thread.is_alive():
            told = f"{watch.asked}: no answer within {limit:g} s\n  Nothing was measured. Raise --timeout."
            raise ModelOutageError("timeout", told)
    if search.error is not None:
        raise search.error


class _Search:
    def __init__(self, searched: Searched, watch: _Watch) -> None:
        self._searched, self._watch = searched, watch
        self.began = time.perf_counter()
        self.error: BaseException | None = None

    def run(self, questions: Sequence[str]) -> None:
        effort = self._watch.effort
        size, warm = effort.concurrency, list(islice(cycle(questions), effort.warmup))
        try:
            for repetition in range(effort.repetitions + 1):
                asked = questions if repetition else warm
                self._watch.begin(repetition)
                for start in range(0, len(asked), size):
                    self._search(asked[start : start + size])
                self._watch.end(repetition)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.error = error

    def _search(self, batch: Sequence[str]) -> None:
        self.began = time.perf_counter()
        try:
            self._searched.pipeline.retrieve(batch, self._searched.cell.k)
        except TargetError as error:
            self._watch.failed(error, len(batch))
        except RagEvalError:
            raise
        except Exception as error:  # noqa: BLE001 - a pipeline has plug-ins: they may raise anything
            self._watch.failed(TargetError("pipeline-error", in_full(error)), len(batch))
        else:
            self._watch.took(time.perf_counter() - self.began, len(batch))


# An agent, or anything else that is asked.


async def _asked_again(target: Target, samples: Sequence[Sample], watch: _Watch) -> None:
    effort = watch.effort
    try:
        for repetition in range(effort.repetitions + 1):
            asked = iter(samples if repetition else islice(cycle(samples), effort.warmup))
            watch.begin(repetition)
            askers = [_asking(target, asked, watch) for _ in range(effort.concurrency)]
            await asyncio.gather(*askers)
            watch.end(repetition)
    finally:
        await target.close()


async def _asking(target: Target, samples: Any, watch: _Watch) -> None:
    """Ask one question after another, of those that nobody has asked yet."""
    timeout = watch.effort.timeout
    for sample in samples:
        request = Request(sample=sample, key=uuid4().hex, thread_id=uuid4().hex, timeout=timeout)
        begun = time.perf_counter()
        try:
            async with asyncio.timeout(timeout):
                response = await target.answer(request)
        except TimeoutError:
            error = TargetError("timeout", f"no answer within {timeout:g} s")
            watch.failed(error)
            watch.responses.setdefault(sample.id, error)
        except TargetError as error:
            watch.failed(error)
            watch.responses.setdefault(sample.id, error)
        else:
            watch.took(time.perf_counter() - begun)
            watch.responses[sample.id] = response


class _Answers:
    """The answers that were timed, as a target; fulfils ``extensions.Target``."""

    is_live = False

    def __init__(self, name: str, answers: Mapping[str, Response | TargetError]) -> None:
        self.name, self._answers = name, answers

    async def answer(self, request: Request) -> Response:
        """Return what was answered last, or raise what went wrong."""
        found = self._answers.get(request.sample.id)
        if isinstance(found, Response):
            return found
        raise found or TargetError("not-asked", "the question was not asked")

    async def close(self) -> None:
        """Nothing is held."""


# What is kept of it.


def keep_benchmark(
    found: Benchmark,
    effort: Effort,
    *,
    folder: Path,
    percentiles: Sequence[float],
    name: str | None = None,
    results: Path,
) -> KeptBenchmark:
    """Add the figures to the files of a project, and return them beside those before.

    With a ``name`` the results are kept too, in the folder ``results``, under it and the day.
    """
    now = datetime.now(UTC)
    latency, throughput = _records(found, effort, percentiles, now)
    if name is not None:
        throughput, latency = {**throughput, "name": name}, {**latency, "name": name}
    document = dict(found.document) | {"timestamp": now.isoformat(timespec="seconds")}
    performance = _performance(latency, throughput, found.timed)
    document["performance_metrics"] = performance
    document["configuration"] = {**document["configuration"], "benchmark": asdict(effort), **found.indexed}
    document["summary"] = {**document["summary"], "average_latency_ms": latency["mean"]}
    path = None
    if name is None:
        document["evaluation_id"] = f"benchmark_{now:%Y%m%d_%H%M%S}"
    else:
        path = _saved(document, check_id(f"benchmark_{name}_{now:%Y%m%d}"), results)
    earlier = {each: performance_records(folder, each) for each in (LATENCY, THROUGHPUT)}
    kept = [add_record(folder, LATENCY, latency), add_record(folder, THROUGHPUT, throughput)]
    kept += keep_quality(document, folder.parent / "quality")
    metrics = {each: value for section in QUALITY for each, value in document.get(section, {}).items()}
    return KeptBenchmark(
        pace=compared(throughput, earlier[THROUGHPUT]),
        latency=latency,
        earlier=same_before(throughput, earlier[THROUGHPUT], earlier[LATENCY]),
        failures=found.timed.failures,
        performance=performance,
        metrics={each: value for each, value in metrics.items() if value.get("value") is not None},
        indexed=found.indexed,
        files=tuple(kept),
        results=path,
    )


def _records(
    found: Benchmark, effort: Effort, percentiles: Sequence[float], now: datetime
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the records of latency and of throughput."""
    timed, about = found.timed, found.document.get("metadata", {})
    head = {
        "timestamp": now.isoformat(),
        "configuration": str(about.get("target", "")),
        "dataset_id": found.document.get("dataset_id"),
        "dataset_version": about.get("dataset_version"),
        "dataset_hash": about.get("dataset_hash"),
        "questions": timed.questions,
        "repetitions": effort.repetitions,
        "warmup_queries": effort.warmup,
        "concurrency": effort.concurrency,
        **evaluation_environment(),
    }
    counts = {"total_queries": len(timed.latencies) + timed.failed, "failed_queries": timed.failed}
    latency = {**head, **latency_figures(timed.latencies, percentiles), **counts}
    used = {} if timed.resources is None else timed.resources.to_dict()
    resources = {f"{what}_{each}": value for what, spread in used.items() for each, value in spread.items()}
    throughput = {
        **head,
        **throughput_figures(timed.paces),
        **counts,
        "total_time_seconds": round(sum(timed.seconds), 3),
        **resources,
        **found.indexed,
    }
    return _known(latency), _known(throughput)


def _known(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None}


def _performance(latency: Mapping[str, Any], throughput: Mapping[str, Any], timed: Timed) -> dict[str, Any]:
    """Return the section of a results document that tells of time and memory."""
    of_latency = {name: value for name, value in latency.items() if name in _ENDS or is_percentile(name)}
    paces = ("queries_per_second", "slow_repetition", "fast_repetition", "total_time_seconds")
    return {
        "latency_stats": {**of_latency, "n": len(timed.latencies)},
        "throughput": {name: throughput[name] for name in paces},
        **({} if timed.resources is None else {"resource_usage": timed.resources.to_dict()}),
        "api_usage": {"total_requests": throughput["total_queries"]},
    }


def _saved(document: dict[str, Any], evaluation_id: str, folder: Path) -> Path:
    """Keep a results document under an id of its own: the second of a day has a number."""
    storage = EvaluationResultsStorage(str(folder))
    names = chain([evaluation_id], (f"{evaluation_id}_{number:03}" for number in count(2)))
    for name in names:
        document["evaluation_id"] = name
        if not (folder / f"{name}.results.json").exists():
            return Path(storage.save_results(document, "benchmark"))
    raise AssertionError("names never end")
