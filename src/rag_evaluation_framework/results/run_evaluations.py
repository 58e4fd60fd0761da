"""One run on the disk summed up, and its worst answers; its figures are kept beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from heapq import nsmallest
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework.errors import InputError, StorageError
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.judging.verdict import AnswerCounts, verdict_as_read
from rag_evaluation_framework.records.runs import RunHead, RunOutcome
from rag_evaluation_framework.records.samples import question_numbers
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.results.answer_labels import AnswerLabels
from rag_evaluation_framework.results.breakdowns import read_blames
from rag_evaluation_framework.results.evaluations import Evaluation, Kind, Row, rows_of_folder, summed_up
from rag_evaluation_framework.results.gate import (
    PassCounter,
    averaged,
    sample_bounds,
    sample_passes,
    with_pass_rate,
)
from rag_evaluation_framework.results.journal import read_entries
from rag_evaluation_framework.results.results_document import keep_results
from rag_evaluation_framework.results.run_data import Samples, samples_at
from rag_evaluation_framework.results.run_store import (
    UNSTABLE_FILE,
    RunFolder,
    keep_figures,
    labels_beside,
    read_figures,
    read_value,
)
from rag_evaluation_framework.results.summaries import Columns, Counts, Figure, Performance
from rag_evaluation_framework.results.verdicts import Regressions, Threshold


def evaluation_of_run(
    folder: RunFolder,
    *,
    samples: Samples | None = None,
    thresholds: tuple[Threshold, ...],
    outcome: RunOutcome,
    kind: Kind,
    total: int,
    metrics: tuple[str, ...] = (),
    directions: Mapping[str, bool] | None = None,
    performance: Performance | None = None,
    **more: Any,
) -> Evaluation:
    """Sum up one dataset's run: its figures, the share that passes and, where its folder tells that, where
    its answers fail. ``metrics`` are all that it is scored by.
    """
    # A run whose head lists no metrics is scored by what its results have.
    bounds = sample_bounds(thresholds, metrics)
    rows = RunRows(folder, samples, bounds, is_blamed=folder.blame_path.is_file())
    rows.made_for = [list(map(str, thresholds)), list(metrics), kind, total, folder.head.seed]
    more |= {"thresholds": thresholds, "folder": folder.path}
    kept = _read_figures(folder, rows.made_for) if outcome.completed else None
    if kept is not None:
        rows.asked, performance = set(np.frombuffer(kept.asked, np.uint64).tolist()), kept.performance
    if kept is not None and kept.labels == rows.labels_digest:
        return kept.evaluation(folder.head, rows, kind=kind, outcome=outcome, **more)
    passes = PassCounter(bounds)
    evaluation = summed_up(
        folder.head,
        passes.counted(rows()),
        kind=kind,
        outcome=outcome,
        rows=rows,
        total=total,
        order=metrics,
        directions=directions,
        performance=performance,
        **more,
    )
    answers = evaluation.answers.with_unstable(read_value(folder.path / UNSTABLE_FILE, frozenset[str]) or ())
    evaluation = replace(with_pass_rate(evaluation, passes), answers=answers)
    evaluation = averaged(evaluation, bounds) if folder.head.repeats > 1 else evaluation
    measured = {name: each for name, each in evaluation.metrics.items() if name not in evaluation.unmeasured}
    evaluation = replace(evaluation, metrics=measured)
    if kept is not None:  # only labels have changed since
        _keep_figures(evaluation)
    return evaluation


KEPT = 30
"""The number of the worst rows that are known by default."""

WorstRows: TypeAlias = tuple[tuple[tuple[int, float, int], Row], ...]
"""Rows with what they are ordered by: how bad the state is, how good the scores are, and the place."""


def worst_rows(run: Evaluation, most: int = KEPT) -> WorstRows:
    """Return the worst rows of one run; where it knows them already, its rows are not read."""
    if isinstance(run.read_rows, RunRows) and most <= KEPT:
        return run.read_rows.worst(directions_of(run))
    return _worst_of(run.rows, directions_of(run), most)


def rows_at(run: Evaluation, places: Sequence[int]) -> Iterator[Row]:
    """Yield the rows of one run at some places, in its order; on the disk only these are read."""
    if isinstance(run.read_rows, RunRows):
        return run.read_rows.at(places)
    wanted = frozenset(places)
    return (row for row in run.rows if row.index in wanted)


def _worst_of(rows: Iterable[Row], directions: Mapping[str, bool], most: int = KEPT) -> WorstRows:
    listed = (
        (((0 if row.verdict is None else row.verdict.severity), _mean_share(row, directions), row.index), row)
        for row in rows
        if (row.has_failed if row.verdict is None else any(each.is_listed for each in row.verdict.answers))
    )
    return tuple(nsmallest(most, listed, key=itemgetter(0)))


def directions_of(run: Evaluation) -> dict[str, bool]:
    """Return of each metric whether more is better."""
    return {name: figure.higher_is_better for name, figure in run.metrics.items()}


def _mean_share(row: Row, directions: Mapping[str, bool]) -> float:
    """Return how good the scores of a sample are together."""
    shares = [
        share
        for score in row.scores
        if (share := score.goodness(higher_is_better=directions.get(score.metric, True))) is not None
        and 0 <= share <= 1
    ]
    return sum(shares) / len(shares) if shares else 0.0


class RunRows:
    """Reads the rows of a run in the order of its dataset"""

    are_checked = True
    """True: the contents of the journal, the samples and the blame were checked when they were written."""

    def __init__(
        self,
        folder: RunFolder,
        samples: Samples | None,
        bounds: tuple[Threshold, ...] | None,
        *,
        is_blamed: bool,
    ) -> None:
        self._folder, self._samples, self._bounds, self._is_blamed = folder, samples, bounds, is_blamed
        self._worst: WorstRows | None = None
        self.kept_worst: list[tuple[int, float, int]] | None = None
        """The sort keys of the worst rows, as the folder keeps them."""
        self.made_for: list[Any] = []
        self.labels, self.asked = labels_beside(folder.path.parent), set[int]()
        """The labels that its answers are read with, and the numbers of its questions."""
        self.holds: Any = None
        """An object that has to live as long as it reads: a temporary folder."""
        self.are_kept = False
        """True if the figures were read from the folder, and nothing has to be written there."""

    @property
    def labels_digest(self) -> str:
        """A digest that changes with every label of its questions; empty without any."""
        return "" if self.labels is None else self.labels.digest(self.asked)

    def __call__(self) -> Iterator[Row]:
        """Yield the finished samples with their verdicts, and with what is known of causes."""
        found = read_blames(self._folder.blame_path) if self._is_blamed else iter(())
        for row in rows_of_folder(self._folder, self._samples):
            blame = next((blame for sample_id, blame in found if sample_id == row.id), None)
            self.asked |= set() if row.sample is None or self.are_kept else question_numbers(row.sample)
            yield _decided(row, blame, self._bounds)

    def worst(self, directions: Mapping[str, bool]) -> WorstRows:
        """Return the worst rows: those that the folder knows, or of all."""
        if self._worst is None and self.kept_worst is None:
            self._worst = _worst_of(self(), directions)
        elif self._worst is None and self.kept_worst is not None:
            rows = {row.index: row for row in self.at(sorted(order[-1] for order in self.kept_worst))}
            self._worst = tuple((order, rows[order[-1]]) for order in self.kept_worst)
        return self._worst or ()

    def at(self, places: Sequence[int]) -> Iterator[Row]:
        """Yield the finished samples at some places of the dataset, in its order."""
        if not places:
            return
        index = self._folder.index()
        if index.problems:
            raise InputError(index.problems)
        samples = samples_at(self._folder.path, frozenset(places))
        if len(samples) < len(places):  # the run does not keep its samples
            wanted = frozenset(places)
            yield from (row for row in self() if row.index in wanted)
            return
        ids = {sample.id for sample in samples.values()}
        blames = dict(read_blames(self._folder.blame_path, only=ids)) if self._is_blamed else {}
        for entry in read_entries(self._folder.journal_path, (index.offsets[place] for place in places)):
            sample = samples[entry.index]
            verdict = verdict_as_read(sample, entry.result, entry.verdict, self.labels)
            row = Row(entry.index, entry.result, sample, entry.timing, verdict=verdict)
            yield _decided(row, blames.get(row.id), self._bounds)


def _decided(row: Row, blame: Blame | None, bounds: tuple[Threshold, ...] | None) -> Row:
    passes = None if bounds is None else sample_passes(row.result, bounds)
    verdict = None if row.verdict is None else row.verdict.with_cause(blame)
    return replace(row, passes=passes, blame=blame, verdict=verdict)


_NUMBERS = {"values": np.float64, "statuses": np.uint8, "draws": np.int8}
_AS_THEY_ARE = ("counts", "answers", "performance", "intervals")


class _KeptFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an evaluation except its rows; numbers of samples are bytes in base 64."""

    made_for: list[Any]
    labels: str
    asked: bytes
    metrics: list[Figure]
    counts: Counts
    answers: AnswerCounts
    performance: Performance
    intervals: dict[str, Any]
    ids: tuple[str, ...]
    columns: dict[str, dict[str, bytes]]
    worst: list[tuple[int, float, int]]

    def evaluation(self, head: RunHead, rows: RunRows, **more: Any) -> Evaluation:
        rows.kept_worst, rows.are_kept = self.worst, True
        columns: dict[str, Any] = {
            kind: {name: np.frombuffer(each, _NUMBERS[kind]) for name, each in kept.items()}
            for kind, kept in self.columns.items()
        }
        return Evaluation(
            head=head,
            metrics={figure.metric: figure for figure in self.metrics},
            columns=Columns(self.ids, **columns),
            read_rows=rows,
            **{name: getattr(self, name) for name in _AS_THEY_ARE},
            **more,
        )


def write_results(evaluation: Evaluation) -> Evaluation:
    """Write the results document and the figures of a complete run into its folder, unless they are there.

    What was measured is reported all the same where the disk refuses.
    """
    rows, folder = evaluation.read_rows, evaluation.folder
    if folder is None or (isinstance(rows, RunRows) and rows.are_kept and evaluation.regressions is None):
        return evaluation
    try:
        keep_results(evaluation, folder)
    except StorageError as error:
        return replace(evaluation, outcome=replace(evaluation.outcome, completed=False, reason=str(error)))
    _keep_figures(evaluation)
    return evaluation


def _keep_figures(evaluation: Evaluation) -> None:
    """Write the figures of a complete run into its folder.

    A disk that refuses them costs whoever looks at the run some time.
    """
    rows, folder = evaluation.read_rows, evaluation.folder
    if not isinstance(rows, RunRows) or folder is None:
        return
    columns = evaluation.columns
    kept = _KeptFigures(
        made_for=rows.made_for,
        labels=rows.labels_digest,
        asked=np.array(sorted(rows.asked), np.uint64).tobytes(),
        metrics=list(evaluation.metrics.values()),
        ids=columns.ids,
        columns={
            kind: {name: np.asarray(each).tobytes() for name, each in getattr(columns, kind).items()}
            for kind in _NUMBERS
        },
        worst=[order for order, _ in worst_rows(evaluation)],
        **{name: getattr(evaluation, name) for name in _AS_THEY_ARE},
    )
    with suppress(TypeError, ValueError):  # a plug-in's details may be anything
        keep_figures(RunFolder.at(folder), rows.labels_digest, msgspec.json.encode(kept))


class _Asked(msgspec.Struct):
    asked: bytes


def may_concern(labels: AnswerLabels | None, folder: Path) -> bool:
    """Return False if no labels are about questions of a run, nor were, as its figures tell."""
    found = read_figures(folder)
    if labels is None or found is None or found[0].labels:
        return labels is not None
    asked = msgspec.json.decode(found[1], type=_Asked).asked
    return bool(labels.digest(np.frombuffer(asked, np.uint64).tolist()))


def _read_figures(folder: RunFolder, made_for: Sequence[Any] | None = None) -> _KeptFigures | None:
    found = read_figures(folder.path)
    try:
        kept = None if found is None else msgspec.json.decode(found[1], type=_KeptFigures)
    except msgspec.MsgspecError:
        return None
    return kept if kept is not None and made_for in (None, kept.made_for) else None


VERDICT_FILE = "verdict.json"
_DECIDED_OVER = ("kind", "parts_are", "target", "missing", "left_out", "warnings")


def keep_verdict(evaluation: Evaluation) -> None:
    """Write what was decided into the folder of the first run; without a folder nothing is kept."""
    if evaluation.folder is None:
        return
    verdict, moved = evaluation.verdict, evaluation.regressions
    written = {
        **{name: getattr(evaluation, name) for name in _DECIDED_OVER},
        "labels": labels_digest(evaluation),
        "verdict": None if verdict is None else replace(verdict, regressions=None),
        "regressions": None if moved is None else _regression_fields(moved),
        "parts": {
            name: {
                "directions": {each.metric: each.higher_is_better for each in part.metrics.values()},
                "unmeasured": dict(part.unmeasured),
            }
            for name, part in evaluation.parts.items()
            if part.has_started
        },
    }
    content = msgspec.json.format(msgspec.json.encode(written, enc_hook=dict), indent=2)
    with suppress(StorageError):  # a full disk has been told of before, and the figures stand
        write_bytes_atomically(evaluation.folder / VERDICT_FILE, content + b"\n")


def labels_digest(evaluation: Evaluation) -> str:
    """Return what changes with every label of the questions of its runs; empty without any."""
    return "".join(getattr(part.read_rows, "labels_digest", "") for part in evaluation.runs)


def _regression_fields(moved: Regressions) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(replace(moved, answers={}))
    return {**fields, "answers": [[*key, text] for key, text in moved.answers.items()]}
