"""Scores the answers in a run's journal again: no target is asked, and the run does not change."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.blame import BLAMED_BY, are_blamed, blamed
from rag_evaluation_framework.evaluation.resources import JUDGE, judge_change, judge_fields, judge_usage
from rag_evaluation_framework.evaluation.scoring import (
    MetricScorer,
    check_scorers,
    located_for,
    scored_result,
    scorers_for,
    writable_result,
)
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.judging.methods import ScoringMethods, with_documents
from rag_evaluation_framework.records.runs import OnProgress, Progress, RunHead
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Blame, Score
from rag_evaluation_framework.results.breakdowns import (
    BlameSummary,
    blame_fields,
    blame_summary,
    read_blame,
)
from rag_evaluation_framework.results.evaluations import (
    Evaluation,
    Kind,
    Row,
    Rows,
    rows_of_folder,
    summed_up,
)
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.sample_list import Samples, listed_samples
from rag_evaluation_framework.results.summaries import NO_COLUMNS, Performance

_FIELDS = tuple(field.name for field in fields(Score))
_ROWS_PER_THREAD = 4
# Somebody who watches sees that the scoring is alive, even when nothing finishes.
_TELL_SECONDS = 1.0


def rescored_rows(
    folder: RunFolder,
    samples: Samples,
    scorers: Sequence[MetricScorer],
    *,
    threads: int = 16,
    on_progress: OnProgress | None = None,
) -> Iterator[Row]:
    """Yield the rows of a run with the scores of these scorers in place of those it had.

    ``samples`` must hold every sample of the run as it was; it may hold others too. If a scorer is slow, such
    as a judge, so many ``threads`` wait for it at once, and ``on_progress`` is called with the dataset's id
    after each row and at least once a second.
    """
    check_scorers(scorers)

    def rescored(row: Row) -> Row:
        if row.sample is None:
            return row
        result = scored_result(row.sample, row.response, scorers)
        return replace(row, result=writable_result(row.sample, result, scorers))

    rows = rows_of_folder(folder, samples)
    if any(scorer.is_slow for scorer in scorers):
        return _InThreads(rescored, threads, _Teller(folder, on_progress)).rows(rows)
    return map(rescored, rows)


class _Teller:
    """Reports how far the scoring of a run is."""

    def __init__(self, folder: RunFolder, on_progress: OnProgress | None) -> None:
        self._on_progress, self._dataset = on_progress, folder.head.dataset_id
        self._total = 0 if on_progress is None else folder.counts.done
        self._began = time.monotonic()
        self._failed = 0

    def scored(self, row: Row) -> None:
        """Take note of a row."""
        self._failed += row.result.response.failure is not None

    def tell(self, done: int) -> None:
        if self._on_progress is not None:
            elapsed = time.monotonic() - self._began
            progress = Progress(total=self._total, done=done, failed=self._failed, elapsed=elapsed)
            self._on_progress(self._dataset, progress)


class _InThreads:
    """Scores rows in threads, and gives them back in order; no more than a few hundred are held."""

    def __init__(self, rescored: Callable[[Row], Row], threads: int, teller: _Teller) -> None:
        self._rescored, self._threads, self._teller = rescored, threads, teller
        self._given = 0
        self._waiting: deque[Future[Row]] = deque()

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="scoring")
        try:
            for row in rows:
                self._waiting.append(pool.submit(self._rescored, row))
                if len(self._waiting) > _ROWS_PER_THREAD * self._threads:
                    yield self._next()
            while self._waiting:
                yield self._next()
        finally:
            # Nobody waits for a judge any more where this ends early; whoever opened the judge closes it.
            pool.shutdown(wait=False, cancel_futures=True)

    def _next(self) -> Row:
        while not wait([self._waiting[0]], timeout=_TELL_SECONDS).done:
            self._teller.tell(self._given + sum(each.done() for each in self._waiting))
        row = self._waiting.popleft().result()
        self._given += 1
        self._teller.scored(row)
        self._teller.tell(self._given)
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescoring:
    """A run on the disk, and what its answers are scored by now."""

    folder: RunFolder
    samples: Samples
    scorers: Sequence[MetricScorer]
    methods: ScoringMethods
    are_blamed: bool = False
    """Whether it is told where the answers fail."""

    @classmethod
    def planned(
        cls,
        folder: RunFolder,
        dataset: Path,
        *,
        metrics: Sequence[str],
        methods: ScoringMethods,
        format: str | None = None,  # noqa: A002  # as the command line calls it
    ) -> Rescoring:
        """Plan to score a run of a dataset; its documents are read if a metric looks something up in them."""
        dialect = recognise(dataset, format=format)
        methods = with_documents(methods, metrics, dialect=dialect, path=dataset)
        scorers = scorers_for(metrics, methods)

        def samples() -> Iterator[Sample]:
            return dialect.stream(dataset)

        def listed() -> Iterator[Sample]:
            return listed_samples(samples, folder.samples_path)

        contexts = located_for(scorers, listed, dialect=dialect.name)
        scorers = scorers if contexts is None else contexts.scorers(scorers)
        return cls(
            folder=folder,
            samples=samples,
            scorers=scorers,
            methods=methods,
            are_blamed=are_blamed(scorers, is_golden=dialect.name in GOLDEN_DIALECTS),
        )

    @property
    def head(self) -> RunHead:
        """The head of the run, with what it is scored by now."""
        return rescored_head(self.folder, self.scorers, self.methods)


class RescoredRows:
    """The rows of a run, scored when they are summed up; later readings find what was found in ``kept``."""

    def __init__(self, rescoring: Rescoring, *, kept: IO[bytes]) -> None:
        self._rescoring, self._kept = rescoring, kept
        weakref.finalize(self, kept.close)

    def __call__(self) -> Iterator[Row]:
        """Yield the rows as they were scored and blamed, in the order of the dataset."""
        rows = rows_of_folder(self._rescoring.folder, self._rescoring.samples)
        for row, (scores, found) in zip(rows, self._found(), strict=True):
            yield replace(row, result=replace(row.result, scores=scores), blame=found)

    def blame(self) -> BlameSummary | None:
        """Sum up where the answers fail; ``None`` if that is not told."""
        if not self._rescoring.are_blamed:
            return None
        blames = (each for _, found in self._found() if found is not None for each in found.answers)
        return blame_summary(blames, method=BLAMED_BY)

    def _found(self) -> Iterator[tuple[tuple[Score, ...], Blame | None]]:
        self._kept.seek(0)
        for line in self._kept:
            scores, found = strict_json.decode(line)
            yield tuple(Score(**score) for score in scores), None if found is None else read_blame(found)

    def scored(self, on_progress: OnProgress | None) -> Iterator[Row]:
        """Score the rows, and keep what is found."""
        self._kept.seek(0)
        planned, documents = self._rescoring, self._rescoring.methods.documents.texts
        rows = rescored_rows(
            planned.folder,
            planned.samples,
            planned.scorers,
            threads=planned.methods.threads,
            on_progress=on_progress,
        )
        for row in rows:
            scores = [{name: getattr(score, name) for name in _FIELDS} for score in row.result.scores]
            found = None
            if planned.are_blamed and row.sample is not None:
                found = blame_fields(blamed(row.sample, row.result.response, documents))
            self._kept.write(strict_json.encode([scores, found]) + b"\n")
            yield row


def scored_again(
    evaluation: Evaluation | RunFolder,
    metrics: Sequence[str],
    methods: ScoringMethods,
    *,
    dataset: str | Path | None = None,
    format: str | None = None,  # noqa: A002  # as the command line calls it
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Score the answers of an evaluation by other metrics; nobody is asked, and the run does not change.

    What is expected of each sample is read from the ``dataset``, by default the one that the run recorded.
    """
    if isinstance(evaluation, Evaluation) and evaluation.parts:
        parts = {
            name: scored_again(part, metrics, methods, seed=seed, on_progress=on_progress)
            for name, part in evaluation.parts.items()
            if part.is_begun
        }
        (only,) = parts.values() if len(parts) == 1 else (None,)
        return replace(
            evaluation,
            parts=parts,
            metrics={} if only is None else only.metrics,
            columns=NO_COLUMNS if only is None else only.columns,
            verdict=None,
            comparison=None,
            refusals=None,
        )
    rows_of: Rows | None = None
    kind: Kind
    if isinstance(evaluation, RunFolder):
        folder, kind, keep = evaluation, "answers", None
    elif evaluation.folder is None:
        raise UsageError("expected an evaluation whose run is kept, got one without a folder")
    else:
        folder, kind, keep = RunFolder.open(evaluation.folder), evaluation.kind, evaluation.kept
        rows_of = evaluation.read_rows
    rescoring = _rescoring(rows_of, folder, metrics, methods, dataset=dataset, format=format)
    kept = TemporaryFile()  # noqa: SIM115  # it lives as long as the evaluation, whose rows are read from it
    rows = RescoredRows(rescoring, kept=kept)
    counts = folder.counts
    scored = summed_up(
        rescoring.head,
        rows.scored(on_progress),
        kind=kind,
        outcome=counts.outcome,
        rows=rows,
        total=counts.total,
        order=[scorer.name for scorer in rescoring.scorers],
        directions={scorer.name: scorer.higher_is_better for scorer in rescoring.scorers},
        intervals={"seed": seed},
        performance=Performance(judge_usage=judge_usage(rescoring.methods)),
        folder=folder.path,
        kept=(kept, keep),
    )
    return replace(scored, blame=rows.blame())


def _rescoring(
    rows_of: Rows | None,
    folder: RunFolder,
    metrics: Sequence[str],
    methods: ScoringMethods,
    *,
    dataset: str | Path | None,
    format: str | None,  # noqa: A002
) -> Rescoring:
    path = dataset
    recorded = folder.head.configuration.get("dataset_path")
    if path is None and recorded is None and rows_of is not None:
        scorers = scorers_for(metrics, methods)
        samples = tuple(row.sample for row in rows_of() if row.sample is not None)
        is_blamed = are_blamed(scorers, is_golden=False)
        return Rescoring(
            folder=folder, samples=samples, scorers=scorers, methods=methods, are_blamed=is_blamed
        )
    if path is None:
        path = recorded_dataset(folder)
    return Rescoring.planned(folder, Path(path), metrics=metrics, methods=methods, format=format)


def recorded_dataset(folder: RunFolder) -> Path:
    """Return the dataset where the run had it; :class:`UsageError` if it is no longer there."""
    recorded = folder.head.configuration.get("dataset_path")
    if not isinstance(recorded, str):
        raise UsageError(
            f"run {folder.head.run_id} does not record where its dataset is: give it with --dataset FILE"
        )
    path = Path(recorded)
    if not path.exists():
        raise UsageError(
            f"no dataset at {path}, where run {folder.head.run_id} had it: give it with --dataset FILE"
        )
    return path


def rescored_head(
    folder: RunFolder, scorers: Sequence[MetricScorer], methods: ScoringMethods | None = None
) -> RunHead:
    """Return the head of a run with the metrics it is scored by now, their methods and versions, and with the
    judge of ``methods`` in place of the one it had.
    """
    before = {name: value for name, value in folder.head.configuration.items() if name != JUDGE}
    metrics = {scorer.name: scorer.method for scorer in scorers}
    return replace(
        folder.head,
        configuration={**before, "metrics": metrics, **judge_fields(methods or ScoringMethods())},
        metric_versions={scorer.name: scorer.version for scorer in scorers},
    )


# How a resumed run is scored: as it began or, while it has no answers, as is wanted now.


def check_scored_alike(folder: RunFolder, scorers: Sequence[MetricScorer], methods: ScoringMethods) -> None:
    """Raise :class:`UsageError` if a run that has answers would go on with scores made in another way."""
    if not folder.counts.done:
        return
    began = folder.head.configuration.get("metrics", {})
    for scorer in scorers:
        if began.get(scorer.name, scorer.method) != scorer.method:
            raise UsageError(
                f"cannot resume with another method: expected {scorer.name} by {began[scorer.name]}, "
                f"got {scorer.method}"
            )
    if changed := judge_change(folder.head, methods):
        raise UsageError(f"cannot resume with another judge: expected {changed[0]}, got {changed[1]}")


def scored_as_wanted(
    folder: RunFolder, scorers: Sequence[MetricScorer], methods: ScoringMethods
) -> RunFolder:
    """Return a run to go on with. One that has no answers yet, because the judge's address was wrong for
    example, takes today's methods and judge.
    """
    if folder.counts.done:
        return folder
    has_judge = any(scorer.questions for scorer in scorers)
    head = rescored_head(folder, scorers, methods if has_judge else None)
    return folder if head == folder.head else folder.amended(head)
