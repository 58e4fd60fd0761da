"""Runs on the disk, each a folder named after it: begun, found by name, listed, resumed.

::

    runs/eval_run_20261115_001/
    ├── head.json       the format's version, and what was run: data, system, parameters, versions
    ├── data.jsonl.zst  the samples, in order
    ├── journal.jsonl   a checksummed line for each finished sample; of a complete run compressed (.zst)
    ├── lock            who works on the run now
    ├── judge_usage.json  what its judge has cost so far, if it has one
    ├── judged.json     how many samples were drawn for the judge, once a budget for it is used up
    ├── blame.jsonl.zst  where each answer failed, if the evaluation blames answers
    ├── documents.jsonl.zst  the documents that were needed or retrieved, once the run is complete
    ├── verdict.json    what was decided: the gate's verdict, thresholds, warnings
    └── results.json    the results document without its queries, once the run has been summed up

A run is *running* while a living process holds its lock, *complete* when every sample is in the journal and,
under a budget for the judge, all that was drawn is judged, *incomplete* when it can be resumed, and *broken*
when a file in it cannot be read. A complete run may still lack scores that a resume adds
(``RunCounts.rescorable``), and answers that it asks for again (``RunCounts.reaskable``).
"""

from __future__ import annotations

import hashlib
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from itertools import count
from pathlib import Path
from shlex import quote
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.project_settings import kept_names
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    RagEvalError,
    StorageError,
    UsageError,
    check_format,
    invalid,
    quoted,
    refused,
)
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import ReadOnce, open_reading, open_stored, read_bytes
from rag_evaluation_framework.files.atomic import remove_abandoned, sync_folder, write_bytes_atomically
from rag_evaluation_framework.files.process_locks import LockOwner, held_lock, lock_owner
from rag_evaluation_framework.files.project_root import is_runs_directory, project_root
from rag_evaluation_framework.records.runs import RunCounts, RunHead, SampleChoice, SampleResult
from rag_evaluation_framework.records.samples import RECORDED_ROWS, Sample
from rag_evaluation_framework.results import journal
from rag_evaluation_framework.results.answer_labels import AnswerLabels, read_labels
from rag_evaluation_framework.results.journal import (
    LISTS,
    JournalEntry,
    JournalIndex,
    SetAside,
    empty_index,
    entry_from,
    pack_journal,
    read_contents,
    read_entries,
    read_index,
)
from rag_evaluation_framework.results.run_data import (
    SAMPLES_FILE,
    Samples,
    count_samples,
    listed_samples,
    read_samples,
)
from rag_evaluation_framework.version import FORMAT_VERSION, __version__

RunState = Literal["running", "incomplete", "complete", "broken"]

NEW_RUN = "new"
"""The id of a head whose run has no id yet; creating its folder gives it the next free one."""

DEFAULT_RUNS_DIRECTORY = Path("runs")

CELLS = "cells"
"""The key that only the head of a sweep has: the names of its cells, each a run in a folder inside."""

JUDGE_BUDGET = "judge_budget"
"""The key in the head of a run that judges only some of its samples: the limit of calls, or of the width."""

RESULTS_NAME = "results.json"
"""The results of a run, without its queries."""

_FORMAT = "format_version"

_LATEST = 50
"""In so many of the latest runs a new one looks for what killed processes have left."""

# A name, not a way out of the folder, and nothing that hides.
_RUN_ID = re.compile(r"\w[\w.+-]{0,199}\Z")


class RunFolder:
    """A run on the disk. It can be read while a process works on it, as far as it is finished."""

    def __init__(self, path: Path, head: RunHead, format_version: int = FORMAT_VERSION) -> None:
        self.path = path
        self.head = head
        self.format_version = format_version
        self.journal_path = path / "journal.jsonl"
        self.results_path = path / RESULTS_NAME
        self.judge_usage_path = path / "judge_usage.json"
        self.judged_path = path / "judged.json"
        """The file of the draw for the judge under a budget, once all of it is judged."""

    @property
    def samples_path(self) -> Path:
        """The file of its samples; that of the cells of a sweep is the sweep's."""
        is_cell = not (self.path / SAMPLES_FILE).is_file() and is_run(self.path.parent)
        return (self.path.parent if is_cell else self.path) / SAMPLES_FILE

    @property
    def blame_path(self) -> Path:
        """The file that says where each answer failed, which version 1 did not compress."""
        old = self.path / "blame.jsonl"
        return old if old.is_file() else self.path / "blame.jsonl.zst"

    @classmethod
    def create(
        cls, runs_directory: str | Path, head: RunHead, *, now: Callable[[], datetime] | None = None
    ) -> RunFolder:
        """Make the folder of a new run; two processes never get the same one.

        A head with the id :data:`NEW_RUN` gets ``eval_run_<UTC date>_<nnn>``; any other id is taken as it is
        and must be free. ``started_at`` is filled in if missing. Parent folders are made as needed.
        """
        started = now() if now else datetime.now(UTC)
        for folder in (Path(runs_directory), *run_paths(Path(runs_directory))[-_LATEST:]):
            remove_abandoned(folder)
        path = _claimed_folder(Path(runs_directory), head.run_id, started)
        head = replace(
            head, run_id=path.name, started_at=head.started_at or started.isoformat(timespec="seconds")
        )
        _write_head(path / "head.json", head, FORMAT_VERSION, overwrite=False)
        sync_folder(path.parent)
        return cls(path, head)

    @classmethod
    def at(cls, path: Path) -> RunFolder:
        """Open the run in a folder."""
        return cls(path, *_read_head(path / "head.json"))

    @classmethod
    def open(cls, path_or_id: str | Path, runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY) -> RunFolder:
        """Open a run by its id in the runs directory or any end of it that only one has, or by the path of
        its folder or of the results there.
        """
        for path in (Path(runs_directory) / path_or_id, Path(path_or_id)):
            path = path.parent if path.name == RESULTS_NAME else path
            if is_run(path):
                return cls.at(path)
        if ended := runs_ending_in(str(path_or_id), Path(runs_directory)):
            if len(ended) == 1:
                return cls.at(ended[0])
            names = ", ".join(path.name for path in ended[-3:])
            raise UsageError(
                f"{path_or_id} matches {len(ended):,} runs ({names}). Give a longer end of the id"
            )
        if Path(path_or_id).is_file():
            found = f"the file {path_or_id}: a results file has the figures of a run, not its journal"
            raise UsageError(f"expected a run by its id or the path of its folder, got {found}")
        raise no_such_run(path_or_id, runs_directory)

    def finish(self) -> None:
        """Compress the journal of a complete run, whose lock is held; that of version 1 stays plain."""
        if self.format_version > 1:
            pack_journal(self.journal_path)

    def amended(self, head: RunHead) -> RunFolder:
        """Give a run another head: one that has no answers yet, or that knows more of how it was scored."""
        _write_head(self.path / "head.json", head, self.format_version, overwrite=True)
        return RunFolder(self.path, head, self.format_version)

    @property
    def owner(self) -> LockOwner | None:
        """The process that works on the run now; ``None`` if none does."""
        return lock_owner(self.path / "lock")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run's lock in a ``with`` block; :class:`UsageError` names the process that has it.

        A link in the folder is refused: what is written to the run would replace what the link points to.
        """
        if links := [path.name for path in self.path.iterdir() if path.is_symlink()]:
            found = f"{', '.join(links)}, which lead elsewhere; put the files themselves there"
            raise UsageError(f"{self.path}: expected no links in a run that is written to, got {found}")
        with held_lock(self.path / "lock"):
            remove_abandoned(self.path)
            yield

    @property
    def state(self) -> RunState:
        """Return True if the run is going on, can be resumed or is complete."""
        return self.summary().state

    def summary(self) -> ListedRun:
        """Return how far the run is: by its figures, or by its journal."""
        found = partial(ListedRun, self.path, self)
        is_running = self.owner is not None
        figures = None if is_running else read_figures(self.path)
        if figures is not None:
            return found("complete", figures[0].counts)
        try:
            index = self.index()
        except (InputError, StorageError) as error:
            return found("running" if is_running else "broken", error=str(error))
        has_begun = self.samples_path.exists() or CELLS in self.head.configuration
        is_done = has_begun and index.done == len(index.offsets) and not self.awaits_judge
        state: RunState = "broken" if index.problems else "complete" if is_done else "incomplete"
        wrong = "; ".join(map(str, index.problems)) or None
        return found("running" if is_running else state, index.counts, wrong)

    @property
    def awaits_judge(self) -> bool:
        """Return True if a budget of the judge is not used up yet."""
        return JUDGE_BUDGET in self.head.configuration and not self.judged_path.is_file()

    @property
    def counts(self) -> RunCounts:
        """The progress of the run; reads the journal. A run that never began has 0 samples."""
        return replace(self.index().counts, awaits_judge=self.awaits_judge)

    def index(self) -> JournalIndex:
        """Read where each sample's entry starts in the journal, and what is wrong with the journal.

        Of a sweep, whose cells have a journal each, only the number of done samples and the errors are read.
        """
        if CELLS in self.head.configuration:
            return self._index_of_cells()
        path = self.samples_path
        listed = LISTS.of(path, lambda: count_samples(path)) if path.exists() else 0
        return read_index(self.journal_path, total=listed)

    def _index_of_cells(self) -> JournalIndex:
        configuration = self.head.configuration
        whole = empty_index(len(configuration[CELLS]) * int(configuration["samples"]))
        for path in self.cells():
            index = RunFolder.at(path).index()
            whole.done += index.done
            whole.failed += index.failed
            whole.problems += index.problems
        return whole

    def cells(self) -> list[Path]:
        """Return the folders of those cells of a sweep that were begun, by name."""
        return [path for path in run_paths(self.path) if is_run(path)]

    def document(self) -> Mapping[str, Any]:
        """Return the results as they are kept, if they are; those of version 1 have their queries."""
        return read_object(self.results_path)

    def samples(self) -> Iterator[Sample]:
        """Yield the samples of the run as they were when it began, in order; none of one that did not."""
        return read_samples(self.samples_path) if self.samples_path.is_file() else iter(())

    def answers(self, samples: Samples | None = None) -> Iterator[tuple[JournalEntry, Sample]]:
        """Yield the entry of each finished sample, and the sample; other ``samples`` may be more, in another
        order, but one that is missing or was edited since is a :class:`UsageError`.
        """
        own = self.samples() if samples is None else listed_samples(samples, self.samples_path)
        listed = enumerate(own)
        for entry in self.entries():
            yield entry, next(sample for place, sample in listed if place == entry.index)

    def results(self) -> Iterator[SampleResult]:
        """Yield the result of each finished sample, as :meth:`entries` do."""
        return (entry.result for entry in self.entries())

    def entries(self) -> Iterator[JournalEntry]:
        """Yield each finished sample once, in the order of the dataset, with its place there and its times.

        Memory does not grow with the run. Damage in the middle of the journal, or two different results for
        one sample, is an :class:`InputError` before anything is yielded.
        """
        return map(entry_from, self.contents())

    def contents(self) -> Iterator[bytes]:
        """Yield the bytes of the entry of each finished sample, as :meth:`entries` do."""
        index = self.index()
        if index.problems:
            raise InputError(index.problems)
        yield from read_contents(self.journal_path, index.offsets)

    def entry_at(self, offset: int) -> JournalEntry:
        """Read the entry that starts at an offset of the journal."""
        return next(read_entries(self.journal_path, [offset]))


class PassingFolder:
    """A folder for runs that are not to be kept; it is there as long as this object is."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="rag-eval-"))
        weakref.finalize(self, rmtree, self.path, ignore_errors=True)


def is_run(path: Path) -> bool:
    """Return True if a folder is that of a run."""
    return (path / "head.json").is_file()


def is_results_of_run(path: Path) -> bool:
    """Return True if a file has the results of a run beside its journal."""
    return path.name == RESULTS_NAME and is_run(path.parent)


_LABELS: ReadOnce[AnswerLabels] = ReadOnce()


def labels_file(runs_directory: Path | None = None) -> Path:
    """Return where labels are: in the project, else in ``answers`` beside the folder of the runs."""
    if (root := project_root()) is not None:
        return root / "data" / "answers" / "labels.jsonl"
    return (Path() if runs_directory is None else runs_directory.parent) / "answers" / "labels.jsonl"


def labels_beside(runs_directory: Path | None = None) -> AnswerLabels | None:
    """Return the labels for runs of this folder, or of the current one; ``None`` without any."""
    path = labels_file(runs_directory)
    if not path.is_file():
        return None
    return _LABELS.of(path, lambda: AnswerLabels(read_labels(path)))


def short_id(path: Path) -> str:
    """Return the shortest end of a run's id that no other run beside it has: ``001``."""
    parts = path.name.split("_")
    for number in range(1, len(parts)):
        end = "_".join(parts[-number:])
        if len(runs_ending_in(end, path.parent)) == 1:
            return end
    return path.name


def in_runs(folder: Path) -> str:
    """Return the option that says where runs are kept; nothing where they are kept by default."""
    return "" if is_runs_directory(folder) else f" --runs-dir {quote(str(folder))}"


def runs_ending_in(end: str, directory: Path) -> list[Path]:
    """Return the runs whose id ends so, in at least three characters."""
    if len(end) < 3 or "/" in end:
        return []
    return [path for path in run_paths(directory) if path.name.endswith(end)]


def no_such_run(given: str | Path, runs_directory: str | Path, *, nor: str = "") -> UsageError:
    """Return the error for a run that is not there: the nearest, or the latest, and how to see them all."""
    directory = Path(runs_directory)
    known = [path.name for path in reversed(run_paths(directory))]
    near = get_close_matches(str(given), known, n=1, cutoff=0.8)
    hint = (
        f'Did you mean "{near[0]}"?' if near else f"The latest is {known[0]}." if known else "There is none."
    )
    listed = f" List all: rag-eval runs{in_runs(directory)}" if known else ""
    return UsageError(f"there is no run {quoted(str(given))} in {directory}{nor}. {hint}{listed}")


def run_paths(directory: Path) -> list[Path]:
    """Return the folders in a directory that may be runs, by name."""
    try:
        return sorted(path for path in directory.iterdir() if path.is_dir() and _RUN_ID.match(path.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refused("read", directory, error) from error


def _claimed_folder(directory: Path, run_id: str, started: datetime) -> Path:
    """Make a folder that did not exist: the one asked for, or the next one of its day."""
    if run_id != NEW_RUN and not _RUN_ID.match(run_id):
        raise invalid("run_id", "letters, digits, '_', '-', '+' and '.'", run_id)
    prefix = f"eval_run_{started:%Y%m%d}_"
    names: Iterable[str] = [run_id]
    if run_id == NEW_RUN:
        known = [path.name for path in run_paths(directory)]
        known += [] if project_root() is None else kept_names(directory)
        names = (f"{prefix}{n:03}" for n in count(last_number(known, prefix) + 1))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name in names:
            try:
                (directory / name).mkdir()
            except FileExistsError:
                continue
            return directory / name
    except OSError as error:
        raise refused("write", directory, error) from error
    raise UsageError(f"expected a new run, got {run_id!r}, which exists already in {directory}")


def last_number(names: Iterable[str], prefix: str) -> int:
    """Return the highest of the numbers that follow a prefix in some names; 0 without any."""
    taken = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
    return max((int(number) for number in taken if number.isdecimal()), default=0)


def _write_head(path: Path, head: RunHead, version: int, *, overwrite: bool) -> None:
    fields = {_FORMAT: version, **msgspec.structs.asdict(head)}
    write_bytes_atomically(path, strict_json.encode(fields, indent=2) + b"\n", overwrite=overwrite)


def _read_head(path: Path) -> tuple[RunHead, int]:
    fields = strict_json.decode(read_bytes(path), file=str(path))
    known = set(RunHead.__struct_fields__)
    try:
        version = check_format(fields.get(_FORMAT), path.parent)
        return RunHead(**{name: value for name, value in fields.items() if name in known}), version
    except (AttributeError, TypeError):
        raise invalid("", "the head of a run", fields).located(str(path)) from None
    except InputError as error:
        raise error.located(str(path)) from None


T = TypeVar("T")


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one reading of a dataset; a run keeps it, and a resume reads no unchanged file again.

    ``of`` stands for the bytes of the file and for what it was read by; without it nobody can tell whether
    the file is the same. ``content`` is the hash over the ids and fingerprints of the samples.
    """

    of: str | None = None
    content: str | None = None
    samples: int = 0
    calls: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    answers: int = 0
    references: int = 0
    incomplete: tuple[Issue, ...] = ()


COUNTED_FILE, UNSTABLE_FILE, ASKINGS_FILE = "counted.json", "unstable.json", "askings.json"
"""The files for the counts of its dataset; for the questions that are correct only at times; for the answers
that were correct when asked again, by question: a digit for each, 1 or 0."""


def read_value(path: Path, kind: type[T]) -> T | None:
    """Return what a small file of a run holds; what cannot be read is not known."""
    with suppress(OSError, InputError, msgspec.MsgspecError):
        return msgspec.json.decode(read_bytes(path), type=kind)
    return None


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a required file of a run; empty without the file."""
    found: dict[str, Any] = strict_json.decode(read_bytes(path), file=str(path)) if path.is_file() else {}
    return found


def keep_value(path: Path, value: object) -> None:
    """Write a small file of a run; on a disk that refuses it, what was measured is reported all the same."""
    with suppress(StorageError):
        write_bytes_atomically(path, msgspec.json.encode(value) + b"\n")


FIGURES_FILE = "figures.json"
_MADE_FROM = (
    *("head.json", "data.jsonl.zst", "journal.jsonl", "journal.jsonl.zst", "blame.jsonl", "blame.jsonl.zst"),
    *("results.json", "judged.json"),
)
_ENDS = 4096


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a complete run; ``labels`` is the digest of those that its answers were read with."""

    version: str
    files: Mapping[str, str | None]
    counts: RunCounts
    labels: str = ""


_heads_of_figures = msgspec.json.Decoder(RunFigures)


def read_figures(folder: Path) -> tuple[RunFigures, bytes] | None:
    """Return the figures that a run keeps, and the second line; ``None`` if its files are others."""
    path = folder / FIGURES_FILE
    try:
        with open_reading(path, max_line_bytes=None) as lines:
            found = _heads_of_figures.decode(lines.readline())
            is_ours = found.version == __version__ and found.files == stamps_of(folder)
            return (found, lines.read()) if is_ours else None
    except (RagEvalError, OSError, msgspec.MsgspecError):
        return None


def keep_figures(folder: RunFolder, labels: str, columns: bytes) -> None:
    """Write the figures of a complete run; a disk that refuses them costs whoever looks at it some time."""
    files, counts = stamps_of(folder.path), folder.counts
    first = msgspec.json.encode(RunFigures(version=__version__, files=files, counts=counts, labels=labels))
    with suppress(StorageError):
        write_bytes_atomically(folder.path / FIGURES_FILE, first + b"\n" + columns)


def stamps_of(folder: Path) -> dict[str, str | None]:
    """Return of each file that figures are made from what changes with what it holds."""
    return {name: _stamp(folder / name) for name in _MADE_FROM}


def _stamp(path: Path) -> str | None:
    """Return the size of a file and a hash of its ends; the last line of a journal has a checksum."""
    try:
        with open_stored(path) as file:
            size = file.seek(0, 2)
            file.seek(0)
            ends = file.read(_ENDS)
            file.seek(max(size - _ENDS, 0))
            return f"{size}:{hashlib.blake2b(ends + file.read(_ENDS), digest_size=16).hexdigest()}"
    except StorageError:
        return None


class ListedRun(msgspec.Struct, frozen=True):
    """The progress of a run; one that cannot be opened has no folder, and ``error`` gives the reason.

    ``counts`` are samples done and failed, of how many, and what a resume would do again; those of a broken
    run may be unknown.
    """

    path: Path
    folder: RunFolder | None = None
    state: RunState = "broken"
    counts: RunCounts | None = None
    error: str | None = None

    @property
    def is_resumable(self) -> bool:
        """Return True if a resume has something left to do."""
        has_more = self.counts is not None and bool(self.counts.rescorable or self.counts.reaskable)
        return self.state in ("incomplete", "broken") or (self.state == "complete" and has_more)


def list_runs(runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY) -> list[ListedRun]:
    """Return the runs of a directory by name; a directory that does not exist has none."""
    found = []
    for path in run_paths(Path(runs_directory)):
        try:
            found.append(RunFolder.at(path).summary())
        except RagEvalError as error:
            found.append(ListedRun(path, error=str(error)))
    return found


def runs_in(directory: Path) -> Iterator[RunFolder]:
    """Open the runs of a directory by name; those that cannot be opened are passed over."""
    for path in run_paths(directory):
        with suppress(RagEvalError):
            yield RunFolder.at(path)


def latest_run(runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY) -> RunFolder:
    """Open the run that began last; one that belongs to another's evaluation is found by that."""
    if not (begun := [*runs_in(Path(runs_directory))]):
        raise UsageError(f"no run given, and no runs in {runs_directory}")
    return _latest(begun)


_COMMANDS = {"golden": "golden", "models": "evaluate-models", CELLS: "retrieval", "generation": "generate"}


def command_of(head: RunHead) -> str:
    """Return the command that begins such runs."""
    usual = "score" if head.target == RECORDED_ROWS else "evaluate"
    return next((command for field, command in _COMMANDS.items() if field in head.configuration), usual)


def latest_resumable(command: str, runs_directory: Path) -> RunFolder:
    """Open the latest run of a command with something left to do; without any, its latest."""
    same = [run for run in runs_in(runs_directory) if command_of(run.head) == command]
    if not same:
        raise UsageError(f"--resume: no run of rag-eval {command} in {runs_directory}")
    return _latest([run for run in same if run.summary().is_resumable] or same)


def start_time(run: RunFolder) -> tuple[str, str]:
    """Return what orders runs by when they began."""
    return run.head.started_at or "", run.head.run_id


def _latest(runs: Sequence[RunFolder]) -> RunFolder:
    last = max(runs, key=start_time)
    leader = last.head.configuration.get("evaluation")
    return last if not isinstance(leader, str) else RunFolder.open(leader, last.path.parent)


def tied_runs(named: RunFolder, tie: str) -> Iterator[RunFolder]:
    """Yield the runs that belong together, found by one of them: the leader, then the others by name.

    The configuration of the others has the leader's id as ``tie``. Only heads are read, and runs that cannot
    be opened are skipped.
    """
    directory, leader_id = named.path.parent, named.head.configuration.get(tie)
    leader = RunFolder.open(leader_id, directory) if leader_id else named
    yield leader
    if tie == "evaluation" and len(leader.head.configuration.get("datasets", ())) == 1:
        return
    yield from (run for run in runs_in(directory) if run.head.configuration.get(tie) == leader.head.run_id)


def set_damage_aside(run: str | Path, runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY) -> list[SetAside]:
    """Take the damaged lines out of the journals of a run, those tied to it and the cells of a sweep.

    What the damaged lines held is then missing, so that a resume asks it again, and nothing else.
    """
    named = RunFolder.open(run, runs_directory)
    tied = (each for tie in ("evaluation", "first_run") for each in tied_runs(named, tie))
    cells = map(RunFolder.at, named.cells() if CELLS in named.head.configuration else ())
    found = []
    for folder in {each.path: each for each in (named, *tied, *cells)}.values():
        total = len(folder.index().offsets)
        with folder.lock():
            found.append(journal.set_damage_aside(folder.journal_path, total=total))
    return [each for each in found if each is not None]


class RunGroup:
    """The runs of an evaluation by dataset; the leader is the first."""

    def __init__(self, leader: RunFolder, *others: RunFolder) -> None:
        self.leader = leader
        self.runs = {run.head.dataset_id: run for run in (leader, *others)}

    @classmethod
    def open(cls, path_or_id: str | Path, runs_directory: Path) -> RunGroup:
        """Find an evaluation by any of its runs, in the runs directory or by path."""
        return cls(*tied_runs(RunFolder.open(path_or_id, runs_directory), "evaluation"))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets of the evaluation, including those not begun."""
        listed = self.leader.head.configuration.get("datasets")
        return tuple(listed) if isinstance(listed, list) else tuple(self.runs)

    @property
    def choice(self) -> SampleChoice:
        """The choice of the samples."""
        return msgspec.convert({**self._selection(), "seed": self.leader.head.seed}, SampleChoice)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that replaced the manifest's, if any did."""
        return tuple(self._selection().get("metrics", ()))

    def _selection(self) -> dict[str, Any]:
        written = self.leader.head.configuration.get("selection")
        if not isinstance(written, dict):
            raise UsageError(f"run {self.leader.head.run_id} was not begun by an evaluation of a manifest")
        return written


RESULTS_FILE = "golden.results.json"
"""The name of the results of all splits in the folder of the first run of golden sets."""


def group_fields(
    choice: SampleChoice,
    *,
    datasets: tuple[str, ...],
    chosen: tuple[str, ...] = (),
    metrics: tuple[str, ...] = (),
    leader: RunHead | None = None,
) -> dict[str, Any]:
    """Return the fields of a head's configuration by which the runs of an evaluation are found again, and
    the datasets that were ``chosen`` by name.
    """
    selection = {
        **({"datasets": list(chosen)} if chosen else {}),
        "tags": list(choice.tags),
        "sample_size": choice.sample_size,
        "allow_missing": choice.allow_missing,
        "metrics": list(metrics),
        **({"repeats": choice.repeats} if choice.repeats > 1 else {}),
    }
    fields: dict[str, Any] = {"datasets": list(datasets), "selection": selection}
    return fields if leader is None else {**fields, "evaluation": leader.run_id}
