"""One run on the disk summed up, and its figures kept beside it.

The figures of a complete run are written into its folder. They hold while the journal, the list of samples,
the blame and the results document are the files they were, and for the same thresholds and metrics; then
nothing has to be read again. The file may be deleted at any time.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rag_evaluation_framework.errors import InputError, StorageError
from rag_evaluation_framework.files.access import read_bytes
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult, Timing
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.results.breakdowns import BlameSummary, FoundBlames, blame_summary, read_blames
from rag_evaluation_framework.results.evaluations import Evaluation, Kind, Row, rows_of_folder, summed_up
from rag_evaluation_framework.results.gate import (
    PassCounter,
    averaged,
    missed_bounds,
    sample_bounds,
    sample_passes,
    with_pass_rate,
)
from rag_evaluation_framework.results.journal import JournalEntry, read_entries
from rag_evaluation_framework.results.kept_data import MOST_HELD, MOST_HELD_BYTES, samples_at
from rag_evaluation_framework.results.run_folder import RunFolder, Samples, streamed
from rag_evaluation_framework.results.summaries import Columns, Counts, Figure, Performance
from rag_evaluation_framework.results.verdicts import Threshold
from rag_evaluation_framework.startup import dataclass, replace
from rag_evaluation_framework.version import __version__


def evaluation_of_run(
    folder: RunFolder,
    *,
    samples: Samples | None,
    thresholds: tuple[Threshold, ...],
    outcome: RunOutcome,
    kind: Kind,
    total: int,
    metrics: tuple[str, ...] = (),
    directions: Mapping[str, bool] | None = None,
    blamed_by: str | None = None,
    performance: Performance | None = None,
    finished: FinishedSamples | None = None,
    **more: Any,
) -> Evaluation:
    """Sum up one dataset's run: its figures, the share that passes and, if it is ``blamed_by`` a method,
    where its answers fail. ``metrics`` are all that it is scored by; what is ``finished`` is not read again.
    """
    # A run whose head lists no metrics is scored by what its results have.
    bounds = sample_bounds(thresholds, metrics)
    rows = RunRows(folder, samples, bounds, is_blamed=blamed_by is not None)
    rows.made_for = [list(map(str, thresholds)), list(metrics), blamed_by, kind, total, folder.head.seed]
    more |= {"thresholds": thresholds, "folder": folder.path}
    if outcome.completed and (kept := _read_figures(folder, rows.made_for)) is not None:
        return kept.evaluation(folder.head, rows, kind=kind, outcome=outcome, **more)
    passes, blame = PassCounter(bounds), None if blamed_by is None else rows.blame_summary(blamed_by)
    evaluation = summed_up(
        folder.head,
        passes.counted(rows.counted(finished)),
        kind=kind,
        outcome=outcome,
        rows=rows,
        total=total,
        order=metrics,
        directions=directions,
        performance=performance,
        blame=blame,
        **more,
    )
    whole = with_pass_rate(evaluation, passes)
    return averaged(whole, bounds) if folder.head.repeats > 1 else whole


class FinishedSamples:
    """What a run finishes, as it becomes durable: a small run over samples in memory is not read again."""

    def __init__(self, folder: RunFolder, samples: Samples, *, is_blamed: bool) -> None:
        self.blames = FoundBlames() if is_blamed else None
        self._folder, self._samples = folder, samples
        self._results: dict[int, tuple[SampleResult, Timing]] = {}

    def add(self, entries: Sequence[JournalEntry]) -> None:
        """Keep the blames of entries and, as long as they are few, their results."""
        if self.blames is not None:
            self.blames.add(entries)
        if _are_few(self._folder, self._samples):
            self._results |= {entry.index: (entry.result, entry.timing) for entry in entries}
        else:
            self._results.clear()

    def rows(self) -> list[Row]:
        """Return all rows in the order of the dataset; none if not all are here."""
        if not 0 < len(getattr(self._samples, "digits", ())) == len(self._results):
            return []
        found = [(sample, *self._results[place]) for place, sample in enumerate(streamed(self._samples))]
        if any(sample.id != result.sample_id for sample, result, _ in found):  # read in another order
            return []
        return [Row(place, result, sample, timing) for place, (sample, result, timing) in enumerate(found)]


def _are_few(folder: RunFolder, samples: Samples | None) -> bool:
    """Tell whether the rows of a run are held: its samples are in memory, and all of it is small."""
    path, known = folder.journal_path, len(getattr(samples, "digits", ()))
    return 0 < known <= MOST_HELD and path.is_file() and path.stat().st_size <= MOST_HELD_BYTES


class RunRows:
    """Reads the rows of a run in the order of its dataset: all of them, or those that fall short.

    Which do is known once all were read. The rows of a small run whose samples are in memory are read once:
    they are counted, written into the results document and shown.
    """

    are_checked = True
    """What the journal, the samples and the blame hold was checked when it was written."""

    def __init__(
        self, folder: RunFolder, samples: Samples | None, bounds: tuple[Threshold, ...], *, is_blamed: bool
    ) -> None:
        self._folder, self._samples, self._bounds, self._is_blamed = folder, samples, bounds, is_blamed
        self._held: list[Row] | None = None
        self._blames: dict[str, Blame] | None = None
        self.places: array[int] | None = None
        """The places of the samples that do not pass, have an error or are at fault, where they are known."""
        self.made_for: list[Any] = []
        self.are_kept = False
        """Whether the figures were read from the folder, and nothing has to be written there."""

    def counted(self, finished: FinishedSamples | None) -> Iterator[Row]:
        """Yield the finished samples, once their blames are summed up."""
        if not _are_few(self._folder, self._samples):
            yield from rows_of_folder(self._folder)
            return
        held, blames = [] if finished is None else finished.rows(), self._blames or {}
        rows = held or rows_of_folder(self._folder, self._samples)
        self._held = [self._decided(row, blames.get(row.id)) for row in rows]
        yield from self._held

    def blame_summary(self, method: str) -> BlameSummary | None:
        """Return how often which part was at fault, as far as that was found out."""
        if not self._folder.blame_path.is_file():
            return None
        found = read_blames(self._folder.blame_path)
        if len(getattr(self._samples, "digits", ())):
            self._blames = dict(found)
            found = iter(self._blames.items())
        return blame_summary((each for _, blame in found for each in blame.answers), method=method)

    def __call__(self) -> Iterator[Row]:
        """Yield the finished samples."""
        places = array("q")
        for row in self._all():
            if row.is_failing or row.is_at_fault:
                places.append(row.index)
            yield row
        self.places = places

    def _all(self) -> Iterator[Row]:
        if self._held is not None:
            yield from self._held
            return
        found = read_blames(self._folder.blame_path) if self._is_blamed else iter(())
        for row in rows_of_folder(self._folder, self._samples):
            yield self._decided(row, next((blame for sample_id, blame in found if sample_id == row.id), None))

    def short(self) -> Iterator[Row]:
        """Yield those that fall short and, as long as that is not known, all."""
        if self.places is None or self._samples is None:
            yield from self()
        elif self._held is not None:
            short = frozenset(self.places)
            yield from (row for row in self._all() if row.index in short)
        elif self.places:
            yield from self._at(self.places)

    def _at(self, places: array[int]) -> Iterator[Row]:
        index = self._folder.index()
        if index.problems:
            raise InputError(index.problems)
        samples = samples_at(self._folder.path, frozenset(places))
        if len(samples) < len(places):  # the run does not keep its samples
            yield from self()
            return
        ids = {sample.id for sample in samples.values()}
        blamed = read_blames(self._folder.blame_path, only=ids) if self._is_blamed else ()
        blames = dict(blamed)
        offsets = (index.offsets[place] for place in places)
        for entry in read_entries(self._folder.journal_path, offsets):
            row = Row(entry.index, entry.result, samples[entry.index], entry.timing)
            yield self._decided(row, blames.get(row.id))

    def _decided(self, row: Row, blame: Any) -> Row:
        passes = sample_passes(row.result, self._bounds)
        misses = missed_bounds(row.result, self._bounds) if passes is False else ()
        return Row(row.index, row.result, row.sample, row.timing, passes, misses, blame)


# The figures of a run, as they are kept.

FIGURES_FILE = "figures.json"
_NUMBERS = {"values": np.float64, "statuses": np.uint8, "draws": np.int8}
_MADE_FROM = ("journal.jsonl", "samples.jsonl", "blame.jsonl", "results.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptFigures:
    """What an evaluation holds but for its rows; numbers of samples are bytes in base 64."""

    version: str
    files: dict[str, list[int] | None]
    made_for: list[Any]
    metrics: list[Figure]
    counts: Counts
    performance: Performance
    intervals: dict[str, Any]
    blame: BlameSummary | None
    ids: tuple[str, ...]
    columns: dict[str, dict[str, str]]
    short: str

    def evaluation(self, head: RunHead, rows: RunRows, **more: Any) -> Evaluation:
        rows.places, rows.are_kept = array("q", base64.b64decode(self.short)), True
        columns: dict[str, Any] = {
            kind: {name: np.frombuffer(base64.b64decode(each), _NUMBERS[kind]) for name, each in kept.items()}
            for kind, kept in self.columns.items()
        }
        return Evaluation(
            head=head,
            metrics={figure.metric: figure for figure in self.metrics},
            counts=self.counts,
            columns=Columns(self.ids, **columns),
            performance=self.performance,
            intervals=self.intervals,
            blame=self.blame,
            read_rows=rows,
            **more,
        )


def written(evaluation: Evaluation) -> Evaluation:
    """Write the results document and the figures of a complete run into its folder, unless they are there.

    What was measured is reported all the same where the disk refuses.
    """
    rows, folder = evaluation.read_rows, evaluation.folder
    if folder is None or (isinstance(rows, RunRows) and rows.are_kept and evaluation.regressions is None):
        return evaluation
    try:
        evaluation.save(folder / "results.json")
    except StorageError as error:
        return replace(evaluation, outcome=replace(evaluation.outcome, completed=False, reason=str(error)))
    _keep_figures(evaluation)
    return evaluation


def are_figures_kept(folder: RunFolder) -> bool:
    """Tell whether the figures of a run are kept, and are those of its files as they are now."""
    return _read_figures(folder) is not None


def _keep_figures(evaluation: Evaluation) -> None:
    """Write the figures of a complete run into its folder, once all its rows were read.

    A disk that refuses them costs whoever looks at the run some time.
    """
    rows, folder = evaluation.read_rows, evaluation.folder
    if not isinstance(rows, RunRows) or rows.places is None or folder is None:
        return
    columns = evaluation.columns
    kept = _KeptFigures(
        version=__version__,
        files=_stamps(folder),
        made_for=rows.made_for,
        metrics=list(evaluation.metrics.values()),
        counts=evaluation.counts,
        performance=evaluation.performance,
        intervals=dict(evaluation.intervals),
        blame=evaluation.blame,
        ids=columns.ids,
        columns={
            kind: {name: _text(np.asarray(each).tobytes()) for name, each in getattr(columns, kind).items()}
            for kind in _NUMBERS
        },
        short=_text(rows.places.tobytes()),
    )
    with suppress(StorageError, TypeError, ValueError):  # a plug-in's details may be anything
        write_bytes_atomically(folder / FIGURES_FILE, msgspec.json.encode(kept))


def _read_figures(folder: RunFolder, made_for: Sequence[Any] | None = None) -> _KeptFigures | None:
    path = folder.path / FIGURES_FILE
    if not path.is_file():
        return None
    try:
        kept = msgspec.json.decode(read_bytes(path), type=_KeptFigures)
    except (StorageError, InputError, msgspec.MsgspecError):
        return None
    is_ours = kept.version == __version__ and kept.files == _stamps(folder.path)
    return kept if is_ours and made_for in (None, kept.made_for) else None


def _stamps(folder: Path) -> dict[str, list[int] | None]:
    """Return what changes with every writing of the files that figures are made from."""
    found: dict[str, list[int] | None] = {}
    for name in _MADE_FROM:
        try:
            stat = (folder / name).stat()
        except OSError:
            found[name] = None
        else:
            found[name] = [stat.st_size, stat.st_mtime_ns, stat.st_ino]
    return found


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
