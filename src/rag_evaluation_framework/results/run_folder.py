"""A run on the disk: a folder of its own, named after it.

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

The samples guard a resume by their fingerprints. They pair by id; the same samples in another order are the
same data; anything added, removed or edited is refused with the counts. Where a sample was read (its file and
line) is not part of its fingerprint.

A run is *running* while a living process holds its lock, *complete* when every sample is in the journal and,
under a budget for the judge, all that was drawn is judged, *incomplete* when it can be resumed, and *broken*
when a file in it cannot be read. A complete run may still lack scores that a resume adds
(``RunCounts.rescorable``), and answers that it asks for again (``RunCounts.reaskable``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import partial
from itertools import count, zip_longest
from operator import attrgetter
from pathlib import Path
from shlex import quote
from shutil import copyfileobj
from typing import Any, BinaryIO, Literal, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.dialect import IdDigests
from rag_evaluation_framework.datasets.project_settings import kept_names
from rag_evaluation_framework.errors import (
    InputError,
    StorageError,
    UsageError,
    check_format,
    counted,
    invalid,
    quoted,
    refused,
)
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import (
    Limits,
    ReadOnce,
    compressing,
    named_compression,
    open_reading,
    read_bytes,
)
from rag_evaluation_framework.files.atomic import (
    Aside,
    atomic_writer,
    remove_abandoned,
    sync_folder,
    write_bytes_atomically,
)
from rag_evaluation_framework.files.process_locks import LockOwner, held_lock, lock_owner
from rag_evaluation_framework.files.project_root import is_runs_directory, project_root
from rag_evaluation_framework.files.strict_json import numbered_lines
from rag_evaluation_framework.records.documents import require_unique
from rag_evaluation_framework.records.runs import RunCounts, RunHead, SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.answer_labels import AnswerLabels, read_labels
from rag_evaluation_framework.results.journal import (
    LISTS,
    JournalEntry,
    JournalIndex,
    empty_index,
    entry_from,
    pack_journal,
    read_contents,
    read_entries,
    read_index,
)
from rag_evaluation_framework.version import FORMAT_VERSION

# The samples of a run: their ids and fingerprints, and they themselves, written before the first request.

SAMPLES_FILE = "data.jsonl.zst"
"""The samples of a run as they were when it began."""

Samples: TypeAlias = Sequence[Sample] | Callable[[], Iterator[Sample]]
"""Samples in memory, or a function that begins reading them anew each time it is called."""


_FINGERPRINTED = tuple(name for name in Sample.__struct_fields__ if name not in ("id", "origin"))
_fingerprinted_values, _EMPTY = attrgetter(*_FINGERPRINTED), (None, (), dict[str, Any]())


def streamed(samples: Samples) -> Iterator[Sample]:
    """Start reading the samples."""
    return samples() if callable(samples) else iter(samples)


def fingerprint(sample: Sample) -> str:
    """Return 32 hexadecimal digits that identify the content of a sample, its id left out."""
    return _digits(_content(sample))


def _digits(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _content(sample: Sample) -> bytes:
    # Only what is filled in, so that a field that a later version adds changes nothing.
    values = zip(_FINGERPRINTED, _fingerprinted_values(sample), strict=True)
    content = {name: value for name, value in values if value or value not in _EMPTY}
    try:
        if sample.recorded is not None:
            written = _encoder.encode(sample.recorded)[:-1]
            for empty in (b',"latency_ms":null', b',"usage":null'):
                written = written.removesuffix(empty)
            content["recorded"] = msgspec.Raw(written + b"}")
        return _encoder.encode(content)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise invalid("", "a sample that can be written as JSON", str(error)).located(
            within=sample.id
        ) from None


class ContentHash:
    """The SHA-256 over ids and fingerprints, in order: what a run's head calls ``dataset_hash``."""

    def __init__(self, samples: Samples = ()) -> None:
        self._digest = hashlib.sha256()
        for identifier, digits in _listed(samples):
            self.add(identifier, digits)

    def add(self, identifier: str, digits: str) -> None:
        """Add the next sample."""
        self._digest.update(_list_line(identifier, digits))

    def __str__(self) -> str:
        return f"sha256:{self._digest.hexdigest()}"


def _list_line(identifier: str, digits: str) -> bytes:
    return msgspec.json.encode((identifier, digits)) + b"\n"


def content_hash(samples: Samples) -> str:
    """Return the hash over all samples."""
    return str(ContentHash(samples))


def keep_samples(samples: Samples, folder: Path) -> None:
    """Write the samples of a new run, or those that the runs in a folder share; a repeated id is an error."""
    spooled: SpooledSamples | None = getattr(samples, "spooled", None)
    if spooled is not None and spooled.put(folder):
        return
    digests, path = IdDigests(), folder / SAMPLES_FILE
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        for sample in streamed(samples):
            digests.add(sample.id)
            stream.write(_kept_line(sample, _content(sample)))
        if digests.repeated():
            _refuse_repetitions(samples)


def _kept_line(sample: Sample, content: bytes) -> bytes:
    about = msgspec.json.encode({"id": sample.id, "origin": sample.origin})
    return b'%s,"content":%s}\n' % (about[:-1], content)


class SpooledSamples:
    """The samples of a run that has no folder yet, written while they are read to be counted.

    So a file that is too large to be held is read once. They wait in a file without a name in ``folder``, or
    above it where it is not there yet, and are given up where the disk refuses them or an id repeats.
    """

    def __init__(self, folder: Path) -> None:
        folder = next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
        self._data, self._digests = Aside(folder), IdDigests()
        self._stream = compressing(cast("BinaryIO", self._data), named_compression(SAMPLES_FILE))

    def add(self, sample: Sample) -> str:
        """Take the next sample, and return its fingerprint."""
        content = _content(sample)
        self._stream.write(_kept_line(sample, content))
        self._digests.add(sample.id)
        return _digits(content)

    def put(self, folder: Path) -> bool:
        """Move them into the folder of a run; False if they were given up, or are in another run."""
        self._stream.close()
        data = self._data.read()
        if data is None or self._digests.repeated():
            return False
        with atomic_writer(folder / SAMPLES_FILE) as written:
            copyfileobj(data, written)
        self._data.give_up()
        return True


# What we wrote ourselves may repeat itself as often as it likes.
OWN_LIMITS = Limits(max_ratio=float("inf"))


class _KeptSample(msgspec.Struct):
    id: str
    content: msgspec.Raw


_kept_samples = msgspec.json.Decoder(_KeptSample)


def read_list(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the id and fingerprint of each sample of a run, in order."""
    with open_reading(path, limits=OWN_LIMITS, max_line_bytes=None) as stream:
        for number, line in numbered_lines(stream, file=str(path)):
            if isinstance(line, InputError):
                raise line.located(str(path), number)
            try:
                found = _kept_samples.decode(line)
            except msgspec.DecodeError:
                raise invalid("", "a sample of a run", line).located(str(path), number) from None
            yield found.id, _digits(bytes(found.content))


def _count_samples(path: Path) -> int:
    with open_reading(path, limits=OWN_LIMITS, max_line_bytes=None) as stream:
        return sum(1 for _ in stream)


def _are_kept_at(samples: Samples, path: Path) -> bool:
    """Tell whether samples are read from the file that a run keeps them in."""
    return isinstance(samples, partial) and samples.args == (path,)


def placed(samples: Samples, path: Path) -> Iterator[tuple[int, Sample]]:
    """Yield each sample with its place in the list. Call :func:`check_unchanged` first.

    Data that changes while the run goes on is an error, not a misaligned result.
    """
    if _are_kept_at(samples, path):
        yield from enumerate(streamed(samples))
        return
    index_of: dict[str, int] | None = None
    for index, (sample, listed) in enumerate(zip_longest(streamed(samples), read_list(path))):
        if index_of is None and (sample is None or listed is None or listed[0] != sample.id):
            index_of = {identifier: place for place, (identifier, _) in enumerate(read_list(path))}
        place = index if index_of is None or sample is None else index_of.get(sample.id)
        if sample is None or place is None:
            raise UsageError("the dataset was changed while the run was going on")
        yield place, sample


def listed_samples(samples: Samples, path: Path) -> Iterator[Sample]:
    """Yield the sample of each line of a run's list, in the order of the list."""
    if _are_kept_at(samples, path):
        yield from streamed(samples)
        return
    stream, by_id = streamed(samples), dict[str, Sample]()
    for identifier, digits in read_list(path):
        sample = next((each for each in stream if each.id == identifier), None)
        if sample is None:  # the dataset is in another order now
            by_id = by_id or {sample.id: sample for sample in streamed(samples)}
            sample = by_id.get(identifier)
        if sample is None or fingerprint(sample) != digits:
            raise _other_data(samples, path)
        yield sample


def _other_data(samples: Samples, path: Path) -> UsageError:
    total, changes = _changes(samples, path)
    told = {"missing": changes["removed"], "edited since": changes["changed"]}
    found = ", ".join(f"{n:,} {what}" for what, n in told.items() if n)
    return UsageError(
        f"expected the dataset with the {counted(total, 'sample')} of the run as before, got {found}"
    )


def _changes(samples: Samples, path: Path) -> tuple[int, dict[str, int]]:
    """Return how many samples a run has, and how many were added, removed and changed since."""
    then = dict(read_list(path))
    now = {sample.id: fingerprint(sample) for sample in streamed(samples)}
    return len(then), {
        "added": len(now.keys() - then.keys()),
        "removed": len(then.keys() - now.keys()),
        "changed": sum(then[identifier] != now[identifier] for identifier in now.keys() & then.keys()),
    }


def check_unchanged(samples: Samples, path: Path) -> None:
    """Raise :class:`UsageError`, with the counts, if the samples are not those of the list."""
    if all(now == then for now, then in zip_longest(_listed(samples), read_list(path))):
        return
    total, counts = _changes(samples, path)
    if any(counts.values()):
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        raise UsageError(
            f"cannot resume over other data: expected the {counted(total, 'sample')} the run began with, "
            f"got {told}; start a new run, or bring the dataset back"
        )
    _refuse_repetitions(samples)


def _listed(samples: Samples) -> Iterable[tuple[str, str]]:
    return ((sample.id, fingerprint(sample)) for sample in streamed(samples))


def _refuse_repetitions(samples: Samples) -> None:
    require_unique((sample.id for sample in streamed(samples)), what="sample id", path="samples")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_encoder = msgspec.json.Encoder(enc_hook=_plain, order="deterministic")

RunState = Literal["running", "incomplete", "complete", "broken"]

NEW_RUN = "new"
"""The id of a head whose run has no id yet; creating its folder gives it the next free one."""

DEFAULT_RUNS_DIRECTORY = Path("runs")

CELLS = "cells"
"""What only the head of a sweep has: the names of its cells, each a run in a folder inside."""

JUDGE_BUDGET = "judge_budget"
"""What the head of a run has that judges only some of its samples: how many calls, or how narrow."""

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
        """What was drawn for the judge under a budget, once all of it is judged."""

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
                f"{path_or_id} is the end of {len(ended):,} runs ({names}): write more of the id"
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
    def held(self) -> Iterator[None]:
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
        """Whether the run is going on, can be resumed or is complete; reads the journal."""
        if self.owner is not None:
            return "running"
        try:
            return self.state_by(self.index())
        except (InputError, StorageError):
            return "broken"

    def state_by(self, index: JournalIndex) -> RunState:
        """Return the state of a run that nobody works on, by its journal."""
        if index.problems:
            return "broken"
        has_begun = self.samples_path.exists() or CELLS in self.head.configuration
        is_done = index.done == len(index.offsets) and not self.awaits_judge
        return "complete" if has_begun and is_done else "incomplete"

    @property
    def awaits_judge(self) -> bool:
        """Whether a budget of the judge is not used up yet."""
        return JUDGE_BUDGET in self.head.configuration and not self.judged_path.is_file()

    @property
    def counts(self) -> RunCounts:
        """How far the run is; reads the journal. A run that never began has 0 samples."""
        return replace(self.index().counts, awaits_judge=self.awaits_judge)

    def index(self) -> JournalIndex:
        """Read where each sample's entry starts in the journal, and what is wrong with the journal.

        Of a sweep, whose cells have a journal each, only how many are done and what is wrong is told.
        """
        if CELLS in self.head.configuration:
            return self._index_of_cells()
        path = self.samples_path
        listed = LISTS.of(path, lambda: _count_samples(path)) if path.exists() else 0
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
        path = self.results_path
        found: Mapping[str, Any] = (
            strict_json.decode(read_bytes(path), file=str(path)) if path.is_file() else {}
        )
        return found

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


def is_run(path: Path) -> bool:
    """Tell whether a folder is that of a run."""
    return (path / "head.json").is_file()


def is_results_of_run(path: Path) -> bool:
    """Tell whether a file has the results of a run beside its journal."""
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
    hint = f"Did you mean {near[0]}?" if near else f"The latest is {known[0]}." if known else "There is none."
    listed = f" All: rag-eval runs{in_runs(directory)}" if known else ""
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
