"""Scores the answers in a run's journal again: no target is asked, and the run does not change."""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.datasets.recognition import annotated_truth
from rag_evaluation_framework.datasets.rows import dialect_of_run
from rag_evaluation_framework.errors import JUDGE_BUDGET, ModelOutageError, UsageError
from rag_evaluation_framework.evaluation.blame import find_blame
from rag_evaluation_framework.evaluation.hit_views import located_for
from rag_evaluation_framework.evaluation.judge_budget import Draft, samples_for, unjudged
from rag_evaluation_framework.evaluation.run import judge_usage, rescored_head
from rag_evaluation_framework.evaluation.scored_answers import (
    check_scorers,
    rescored_result,
    scored_result,
    waits_to_score,
    writable_result,
)
from rag_evaluation_framework.evaluation.scoring import MetricScorer, are_blamed, scorers_for
from rag_evaluation_framework.extensions import Scorer
from rag_evaluation_framework.judging.methods import Methods, with_documents
from rag_evaluation_framework.judging.verdict import AnswerCounts, decide_result
from rag_evaluation_framework.records.runs import OnProgress, Progress, RunHead, SampleResult
from rag_evaluation_framework.records.samples import NOTHING_ANNOTATED, AnnotatedTruth, Sample
from rag_evaluation_framework.records.scores import Blame, Score
from rag_evaluation_framework.results.evaluations import Evaluation, Kind, Row, rows_of_folder, summed_up
from rag_evaluation_framework.results.run_data import Samples, as_they_were, kept_samples, listed_samples
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.results.summaries import NO_COLUMNS, Performance
from rag_evaluation_framework.workers import Workforce, crew_of, in_order

_ROWS_PER_THREAD = 4
# Somebody who watches sees that the scoring is alive, even when nothing finishes.
_TELL_SECONDS = 1.0


_Found: TypeAlias = tuple[tuple[Score, ...], Blame | None]
"""The scores of an answer, and where it failed if that is told."""
_lines = msgspec.json.Decoder(_Found)


class _Rescoring(msgspec.Struct, frozen=True):
    """Scores the answer of a row anew and, where answers are blamed, tells where it failed."""

    scorers: tuple[Scorer, ...]
    truth: AnnotatedTruth
    methods: Methods | None

    def __call__(self, row: Row) -> _Found:
        if row.sample is None:
            return row.result.scores, None
        sample = self.truth.applied(row.sample)
        scored = scored_result(sample, row.result.response, self.scorers)
        return self.blamed(row, writable_result(sample, scored, self.scorers))

    def blamed(self, row: Row, result: SampleResult) -> _Found:
        """Return the scores of an answer and, where that is told, where it failed."""
        if self.methods is None or row.sample is None:
            return result.scores, None
        sample = self.truth.applied(row.sample)
        texts = self.methods.documents.texts
        return result.scores, find_blame(sample, result, decide_result(sample, result), texts)

    def name_of(self, row: Row) -> str:
        """Say which row it is."""
        return f"sample {row.id}"


def _in_processes(
    rows: Iterator[Row], work: _Rescoring, *, workers: Workforce, total: int
) -> Iterator[tuple[Row, _Found]]:
    """Score rows in several processes where that is worth it, and yield them in order with what was found."""
    waiting: deque[Row] = deque()

    def sent() -> Iterator[Row]:
        for row in rows:
            waiting.append(row)
            yield row

    for found in in_order(work, sent(), workers=workers, total=total):
        yield waiting.popleft(), found


def _in_threads(
    rows: Iterator[Row], work: Callable[[Row], _Found], *, threads: int, tell: Callable[[int, int], None]
) -> Iterator[tuple[Row, _Found]]:
    """Score rows in threads, and yield them in order; no more than a few hundred are held."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="scoring")
    waiting: deque[tuple[Row, Future[_Found]]] = deque()
    done = failed = 0
    try:
        while True:
            more = islice(rows, _ROWS_PER_THREAD * threads - len(waiting))
            waiting.extend((row, pool.submit(work, row)) for row in more)
            if not waiting:
                return
            while not wait([waiting[0][1]], timeout=_TELL_SECONDS).done:
                tell(done + sum(each.done() for _, each in waiting), failed)
            row, found = waiting.popleft()
            scored = found.result()
            done += 1
            failed += row.result.response.failure is not None
            tell(done, failed)
            yield row, scored
    finally:
        # Nobody waits for a judge any more where this ends early; whoever opened the judge closes it.
        pool.shutdown(wait=False, cancel_futures=True)


class RescoredRows:
    """The rows of a run, scored when they are summed up; later readings find what was found in a file."""

    def __init__(
        self,
        folder: RunFolder,
        samples: Samples,
        scorers: Sequence[MetricScorer],
        methods: Methods,
        *,
        is_golden: bool = False,
        truth: AnnotatedTruth = NOTHING_ANNOTATED,
    ) -> None:
        self.folder, self.scorers, self.methods, self._truth = folder, scorers, methods, truth
        self._samples, self._are_blamed = samples, are_blamed(scorers, is_golden=is_golden)
        self._kept = TemporaryFile()  # noqa: SIM115  # it lives as long as the rows, which are read from it
        weakref.finalize(self, self._kept.close)

    @classmethod
    def of_dataset(
        cls,
        folder: RunFolder,
        dataset: Path,
        metrics: Sequence[str],
        methods: Methods,
        *,
        format: str | None = None,  # noqa: A002  # as the command line calls it
    ) -> RescoredRows:
        """Score a run of a dataset; its documents are read if a metric looks something up in them."""
        dialect = dialect_of_run(folder.head.configuration, dataset, format=format)
        truth = annotated_truth(dataset)
        knew_annotations = "annotations" in folder.head.configuration
        methods = with_documents(methods, metrics, dialect=dialect, path=dataset)
        scorers = scorers_for(metrics, methods)

        samples: Samples = partial(dialect.stream, dataset)
        samples = partial(as_they_were, samples, folder.samples_path) if knew_annotations else samples

        def listed() -> Iterator[Sample]:
            return map(truth.applied, listed_samples(samples, folder.samples_path))

        is_golden = dialect.name in GOLDEN_DIALECTS
        contexts = located_for(scorers, listed) if is_golden else None
        scorers = scorers if contexts is None else contexts.scorers(scorers)
        return cls(folder, samples, scorers, methods, is_golden=is_golden, truth=truth)

    def __call__(self) -> Iterator[Row]:
        """Yield the rows as they were scored and blamed, in the order of the dataset."""
        for row, (scores, found) in zip(self._rows(), self._found(), strict=True):
            yield self._rescored(row, scores, found)

    def _rescored(self, row: Row, scores: tuple[Score, ...], found: Blame | None) -> Row:
        result = replace(row.result, scores=scores)
        if row.sample is None:
            return replace(row, result=result, blame=found)
        sample = self._truth.applied(row.sample)
        verdict = decide_result(sample, result)
        caused = None if verdict is None else verdict.with_cause(found)
        return replace(row, sample=sample, result=result, blame=found, verdict=caused)

    def _found(self) -> Iterator[_Found]:
        self._kept.seek(0)
        return map(_lines.decode, self._kept)

    def scored(
        self, *, on_progress: OnProgress | None, workers: Workforce, blame: bool, seed: int
    ) -> Iterator[Row]:
        """Score the rows, blame them unless that is not wanted, and keep what is found.

        If a scorer is slow, such as a judge, threads wait for it, and ``on_progress`` is called with the
        dataset's id after each row and at least once a second; else so many ``workers`` score.
        """
        check_scorers(self.scorers)
        self._are_blamed, self._seed = self._are_blamed and blame, seed
        total, began = self.folder.counts.done, time.monotonic()

        def tell(done: int, failed: int) -> None:
            if on_progress is not None:
                elapsed = time.monotonic() - began
                progress = Progress(total=total, done=done, failed=failed, elapsed=elapsed)
                on_progress(self.folder.head.dataset_id, progress)

        methods = self.methods.without_judge if self._are_blamed else None
        work = _Rescoring(tuple(self.scorers), self._truth, methods)
        if self.methods.budget is not None:
            scored = self._scored_in_part(work, tell=tell, workers=workers, total=total)
        elif waits_to_score(self.scorers, crew_of(workers)):
            self.methods.load()
            scored = _in_threads(self._rows(), work, threads=self.methods.threads, tell=tell)
        else:
            scored = _in_processes(self._rows(), work, workers=workers, total=total)
        for row, (scores, found) in scored:
            self._kept.write(msgspec.json.encode((scores, found)) + b"\n")
            yield self._rescored(row, scores, found)

    def _scored_in_part(
        self, work: _Rescoring, *, tell: Callable[[int, int], None], workers: Workforce, total: int
    ) -> Iterator[tuple[Row, _Found]]:
        """Score rows without the judge, let it judge those that are drawn, and yield them all in order."""
        budget: Any = self.methods.budget
        samples = samples_for(budget, self.scorers, self.methods)
        budget.made.left = budget.calls
        first = _Rescoring(tuple(unjudged(self.scorers)), self._truth, None)
        judging = partial(_judge_drawn, self.scorers, self._truth)
        with TemporaryFile() as kept:
            for _, found in _in_processes(self._rows(), first, workers=workers, total=total):
                kept.write(msgspec.json.encode(found) + b"\n")

            def results() -> Iterator[SampleResult]:
                kept.seek(0)
                for row, line in zip(self._rows(), kept, strict=True):
                    yield replace(row.result, scores=_lines.decode(line)[0])

            draft = Draft(
                results(), self.scorers, samples=samples, precision=budget.precision, seed=self._seed
            )
            judged: dict[int, SampleResult] = {}
            while places := draft.next():
                wanted = dict.fromkeys(places)
                both = zip(self._rows(), results(), strict=True)
                drawn = {
                    place: replace(row, result=result)
                    for place, (row, result) in enumerate(both)
                    if place in wanted
                }
                ordered = iter([drawn[place] for place in places])
                made = _in_threads(ordered, judging, threads=self.methods.threads, tell=tell)
                for place, (row, (scores, _)) in zip(places, made, strict=True):
                    judged[place] = replace(row.result, scores=scores)
                    draft.take(place, judged[place])
                if budget.made.left is not None and budget.made.left < 1:
                    break
            for place, (row, result) in enumerate(zip(self._rows(), results(), strict=True)):
                yield row, work.blamed(row, judged.get(place, result))

    def _rows(self) -> Iterator[Row]:
        return rows_of_folder(self.folder, self._samples)


def _judge_drawn(scorers: Sequence[MetricScorer], truth: AnnotatedTruth, row: Row) -> _Found:
    """Judge the answer of a row that was drawn; where no call is left, it stays as it is."""
    if row.sample is None:
        return row.result.scores, None
    sample = truth.applied(row.sample)
    try:
        made = rescored_result(sample, row.result, scorers)
    except ModelOutageError as error:
        if error.kind != JUDGE_BUDGET:
            raise
        return row.result.scores, None
    return writable_result(sample, made, scorers).scores, None


def scored_again(
    evaluation: Evaluation | RunFolder,
    metrics: Sequence[str],
    methods: Methods,
    *,
    dataset: str | Path | None = None,
    format: str | None = None,  # noqa: A002  # as the command line calls it
    seed: int = 0,
    workers: Workforce = 1,
    blame: bool = True,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Score the answers of an evaluation by other metrics; nobody is asked, and the run does not change.

    What is expected of each sample is read from the ``dataset``, by default the one that the run recorded.
    """
    wish: dict[str, Any] = {"seed": seed, "workers": workers, "blame": blame, "on_progress": on_progress}
    if isinstance(evaluation, Evaluation) and evaluation.parts:
        begun = {name: part for name, part in evaluation.parts.items() if part.is_begun}
        parts = {name: scored_again(part, metrics, methods, **wish) for name, part in begun.items()}
        return _together(evaluation, parts)
    folder, kind, kept = _run_of(evaluation)
    samples = _known_samples(evaluation, folder) if dataset is None else None
    if samples is not None:
        rows = RescoredRows(folder, samples, scorers_for(metrics, methods), methods)
    else:
        path = Path(dataset) if dataset is not None else recorded_dataset(folder)
        rows = RescoredRows.of_dataset(folder, path, metrics, methods, format=format)
    scored = summed_up(
        _with_blame(rescored_head(folder, rows.scorers, rows.methods), wanted=blame),
        rows.scored(**wish),
        kind=kind,
        outcome=folder.counts.outcome,
        rows=rows,
        total=folder.counts.total,
        order=[scorer.name for scorer in rows.scorers],
        directions={scorer.name: scorer.higher_is_better for scorer in rows.scorers},
        intervals={"seed": seed},
        performance=Performance(),
        folder=folder.path,
        kept=kept,
    )
    # Only now is it known what the judge has cost, and where a local model worked.
    performance = replace(scored.performance, judge_usage=judge_usage(rows.methods))
    head = replace(scored.head, configuration={**scored.head.configuration, **rows.methods.local_model})
    return replace(scored, head=head, performance=performance)


def _run_of(evaluation: Evaluation | RunFolder) -> tuple[RunFolder, Kind, Any]:
    """Return the folder of a run, its kind, and what has to live as long as it is read."""
    if isinstance(evaluation, RunFolder):
        return evaluation, "answers", None
    if evaluation.folder is None:
        raise UsageError("expected an evaluation whose run is kept, got one without a folder")
    return RunFolder.open(evaluation.folder), evaluation.kind, evaluation.kept


def _known_samples(evaluation: Evaluation | RunFolder, folder: RunFolder) -> Samples | None:
    """Return the samples that no dataset has to be read for: those of traces, which may be gone or have
    become more, as the run keeps them, and those that were never in a file.
    """
    told = folder.head.configuration
    if "traces" in told and (kept := kept_samples(folder.path)):
        return kept
    if isinstance(evaluation, Evaluation) and told.get("dataset_path") is None:
        return evaluation.samples
    return None


def _together(evaluation: Evaluation, parts: Mapping[str, Evaluation]) -> Evaluation:
    """Return an evaluation with its parts scored again; the figures of a single one are the whole's."""
    (only,) = parts.values() if len(parts) == 1 else (None,)
    wanted = all("blame" not in part.head.configuration for part in parts.values())
    return replace(
        evaluation,
        parts=parts,
        head=_with_blame(evaluation.head, wanted=wanted),
        metrics={} if only is None else only.metrics,
        columns=NO_COLUMNS if only is None else only.columns,
        answers=AnswerCounts.together(part.answers for part in parts.values()),
        verdict=None,
        comparison=None,
    )


def _with_blame(head: RunHead, *, wanted: bool) -> RunHead:
    """Return a head that says whether it was looked for where answers fail."""
    told = {name: value for name, value in head.configuration.items() if name != "blame"}
    return replace(head, configuration=told if wanted else {**told, "blame": False})


def recorded_dataset(folder: RunFolder) -> Path:
    """Return the dataset where the run had it; :class:`UsageError` if it is no longer there."""
    recorded = folder.head.configuration.get("dataset_path")
    if not isinstance(recorded, str):
        raise UsageError(
            f"run {folder.head.run_id} does not record where its dataset is: give it with --dataset FILE"
        )
    if not os.path.exists(recorded):  # noqa: PTH110  # a name that is too long is no file, not an error
        raise UsageError(
            f"no dataset at {recorded}, where run {folder.head.run_id} had it: give it with --dataset FILE"
        )
    return Path(recorded)
