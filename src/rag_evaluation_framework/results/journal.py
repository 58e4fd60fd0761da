"""The journal of a run: a line for each finished sample, appended, checksummed, never rewritten.

::

    {"crc32":"9ae0daaf","entry":{"index":17,"result":{…},"timing":{…},"verdict":{…}}}

The checksum covers the bytes of the entry. It detects what a kill, or a full or failing disk, did to a line;
it does not protect against tampering. A line is written with one call, so a kill leaves it whole or leaves a
torn end. What is not intact is of two kinds:

- *a torn last line*: the beginning of a line without its end. A kill, a full disk or a power cut makes it.
  It was not yet acknowledged, so it is cut off when the run is resumed, and its sample is asked again.
- *damage*: a line that has its end and is not as it was written, wherever it stands. It held an acknowledged
  answer, so it is an error that names the line. :func:`set_damage_aside` sets it aside when the user
  says so; what it held is then asked again.

The journal of a complete run is compressed, in frames of whole lines that are read one by one; a small one
stays as it is. Whoever goes on with the run unpacks it first. Where a kill left both, they say the same.

A sample that has two lines counts once. If scores of the first line failed because a judge's endpoint did, a
later line with the same answer and new scores wins, and so it does if the sample was not drawn for the judge
in the first; if the sample itself failed because the target could not be reached or turned the caller away,
any later line wins, and so does a line with the same answer and scores and another verdict. A second line
that differs otherwise is reported as an inconsistency.
"""

from __future__ import annotations

import io
import os
import re
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import ENOENT
from itertools import count
from pathlib import Path
from shutil import copyfileobj
from threading import Lock
from typing import Any, BinaryIO, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import (
    FileProblems,
    InputError,
    Issue,
    StorageError,
    counted,
    invalid,
    refused,
)
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import MAX_LINE_BYTES, ReadOnce, open_stored, zstd
from rag_evaluation_framework.files.atomic import BINARY, atomic_writer, sync_folder
from rag_evaluation_framework.judging.verdict import AnswerVerdict, read_verdict
from rag_evaluation_framework.records.responses import Failure, may_be_mended
from rag_evaluation_framework.records.runs import (
    RunCounts,
    SampleResult,
    Timing,
    result_fields,
    result_from,
    timing_fields,
    timing_from,
)
from rag_evaluation_framework.records.samples import Usage
from rag_evaluation_framework.records.scores import NOT_DRAWN

_OPENING = b'{"crc32":"'
_MIDDLE = b'","entry":'
_ENTRY_STARTS = len(_OPENING) + 8 + len(_MIDDLE)
# An answer is cut off at its limit long before; what is longer is no line of ours.
_LONGEST_LINE = 2 * MAX_LINE_BYTES
_PIECE = 1 << 16


class JournalEntry(msgspec.Struct, frozen=True):
    """A finished sample: its place in the dataset (from 0), its result, its times, and its verdict.

    There is no verdict where only retrieval was measured, and in journals of version 1.
    """

    index: int
    result: SampleResult
    timing: Timing
    verdict: AnswerVerdict | None = None
    blame: bytes | None = None
    """The causes of failure that were found during scoring: the line of another file."""


class _GlancedResponse(msgspec.Struct):
    failure: Failure | None = None
    usage: Usage | None = None


class _GlancedDetails(msgspec.Struct):
    endpoint_error: Any = None


class _GlancedScore(msgspec.Struct):
    metric: str
    status: str = ""
    reason: str = ""
    details: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def may_be_retried(self) -> bool:
        """As the property of :class:`Score`, which says why."""
        if self.status != "failed":
            return False
        try:
            return msgspec.json.decode(self.details, type=_GlancedDetails).endpoint_error is not None
        except msgspec.DecodeError:  # a plug-in's details may be anything
            return False


class _GlancedResult(msgspec.Struct):
    sample_id: str
    response: _GlancedResponse
    scores: list[_GlancedScore]


class _GlancedTiming(msgspec.Struct):
    scores: list[_GlancedScore] = []
    run_seconds: float = 0.0


class Glance(msgspec.Struct):
    """The part of an entry that counting needs, read at a fraction of the cost of the whole."""

    index: int
    result: _GlancedResult
    timing: _GlancedTiming

    @property
    def failed(self) -> bool:
        return self.result.response.failure is not None

    @property
    def may_be_asked_again(self) -> bool:
        """Return True if there is no answer, for a reason that says nothing about the sample."""
        failure = self.result.response.failure
        return failure is not None and may_be_mended(failure.kind)

    @property
    def may_be_rescored(self) -> bool:
        """True if there is an answer, and a score is missing only because a model's endpoint failed."""
        return not self.failed and any(score.may_be_retried for score in self.result.scores)

    @property
    def is_undrawn(self) -> bool:
        """Return True if a score is missing only because the sample was not drawn for the judge."""
        return any(score.reason == NOT_DRAWN for score in self.result.scores)

    @property
    def metrics(self) -> set[str]:
        return {score.metric for score in (*self.result.scores, *self.timing.scores)}


_glances = msgspec.json.Decoder(Glance)


WrittenResult: TypeAlias = tuple[bytes, bool]
"""The text of a result in its entry, and whether nothing changes when it is read back."""


def written_result(result: SampleResult) -> WrittenResult:
    """Return the text of a result; :class:`InputError` for what JSON cannot hold."""
    text, is_same = strict_json.encode_and_tell({"result": result_fields(result)})
    return text[1:-1], is_same


def written_entry(entry: JournalEntry, result: WrittenResult | None = None) -> tuple[bytes, JournalEntry]:
    """Return the line of an entry, and the entry as it is read back from there; its result may be made.

    Raises :class:`InputError` for what JSON cannot hold.
    """
    text, is_same = result or written_result(entry.result)
    timing = timing_fields(entry.result, entry.timing)
    times, are_same = strict_json.encode_and_tell(timing)
    verdict = b"" if entry.verdict is None else b',"verdict":' + msgspec.json.encode(entry.verdict)
    content = b'{"index":%d,%s,"timing":%s%s}' % (entry.index, text, times, verdict)
    is_same = is_same and are_same and "scores" not in timing
    if not is_same or entry.result.response.latency_ms != entry.timing.latency_ms:
        entry = replace(entry_from(content), blame=entry.blame)
    return b"%s%08x%s%s}\n" % (_OPENING, zlib.crc32(content), _MIDDLE, content), entry


def intact_entry(line: bytes) -> bytes | None:
    """Return the bytes of the entry in a line, or ``None`` if the line is not as it was written."""
    if not line.startswith(_OPENING) or not line.endswith(b"}\n"):
        return None
    content = line[_ENTRY_STARTS:-2]
    if b"%08x%s" % (zlib.crc32(content), _MIDDLE) != line[len(_OPENING) : _ENTRY_STARTS]:
        return None
    return content


def entry_from(content: bytes) -> JournalEntry:
    """Read an intact entry; one that another version wrote in an unknown format is an error."""
    written: dict[str, Any] = msgspec.json.decode(content)
    try:
        timing = written["timing"]
        result, verdict = result_from(written["result"], timing), written.get("verdict")
        found = None if verdict is None else read_verdict(verdict)
        return JournalEntry(written["index"], result, timing_from(timing), found)
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise invalid("", "an entry in the form of this version", str(error)) from None


_NOT_THERE = -1


class Journal:
    """A journal open for appending.

    What :meth:`append` wrote survives a kill and, after :meth:`sync`, a power cut. ``end`` is where the last
    intact line ends; what lies beyond is cut off.
    """

    def __init__(self, path: Path, *, end: int) -> None:
        self.path = path
        _unpack(path)
        # An abandoned run's thread may still come back to write: never to a descriptor that was closed.
        self._lock = Lock()
        self._closed = False
        self._end = end
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | BINARY, 0o666)
            os.ftruncate(self._descriptor, end)
        except OSError as error:
            raise refused("write", path, error) from error
        sync_folder(path.parent)

    def append(self, line: bytes) -> None:
        """Write one line whole; if the disk refuses, none of it remains."""
        with self._lock:
            if self._closed:
                raise StorageError(f"cannot write {self.path}: the run has ended")
            try:
                written = os.write(self._descriptor, line)
                # Only a disk that is filling up takes part of a line; the next call says why.
                while written < len(line):
                    written += os.write(self._descriptor, line[written:])
            except OSError as error:
                # Where even this is refused, the torn end is cut off when the run is resumed.
                with suppress(OSError):
                    os.ftruncate(self._descriptor, self._end)
                raise refused("write", self.path, error) from error
            self._end += len(line)

    def sync(self) -> None:
        """Force everything written so far onto the disk."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise refused("write", self.path, error) from error

    def close(self) -> None:
        """Sync what was written as far as the disk allows, and refuse later appends."""
        with self._lock:
            if not self._closed:
                self._closed = True
                with suppress(OSError):
                    os.fsync(self._descriptor)
                os.close(self._descriptor)


class JournalIndex(msgspec.Struct):
    """Where each sample's line starts, in eight bytes a sample, and totals over the lines."""

    offsets: array[int]
    end: int = 0
    torn_bytes: int = 0
    done: int = 0
    failed: int = 0
    seconds: float = 0.0
    """For how long the run has been at work, up to its last line."""
    usage: Usage = msgspec.field(default_factory=Usage)
    metrics: frozenset[str] | None = None
    """The metrics of the first entry, ``None`` in an empty journal."""
    rescorable: set[int] = msgspec.field(default_factory=set)
    """The samples that have an answer, and scores that failed only because a model's endpoint did."""
    undrawn: set[int] = msgspec.field(default_factory=set)
    """The samples that were not drawn for the judge, so far."""
    reaskable: set[int] = msgspec.field(default_factory=set)
    """The samples that have no answer for a reason that says nothing about them, such as a wrong key."""
    problems: list[Issue] = []
    """Damaged lines, and lines that contradict an earlier one for the same sample."""

    def is_done(self, index: int) -> bool:
        return self.offsets[index] != _NOT_THERE

    @property
    def counts(self) -> RunCounts:
        return RunCounts(
            total=len(self.offsets),
            done=self.done,
            failed=self.failed,
            rescorable=len(self.rescorable),
            reaskable=len(self.reaskable),
        )


def empty_index(total: int) -> JournalIndex:
    """Return the index of a run over so many samples of which none is done."""
    return JournalIndex(array("q", [_NOT_THERE]) * total)


_INDEXES: ReadOnce[JournalIndex] = ReadOnce()
LISTS: ReadOnce[int] = ReadOnce()
"""The number of samples that are in the latest lists."""


def read_index(path: Path, *, total: int) -> JournalIndex:
    """Return the index of the journal of a run over ``total`` samples; one that does not exist is empty.

    The same index is returned while the file is the same: who is given it does not change it.
    """
    return _INDEXES.of(stored_journal(path), lambda: _read_index(path, total), key=total)


def _read_index(path: Path, total: int) -> JournalIndex:
    index = empty_index(total)
    problems = FileProblems(str(path))
    with opened_journal(path) as file:
        if file is None:
            return index
        for number, offset, length, content in journal_lines(file):
            if content is None and is_torn(file, offset, length):
                index.torn_bytes = length
                break
            index.end = offset + length
            glance = glanced(content, total)
            if content is None or glance is None:
                problems.add(damaged_line(length).located(line=number))
                continue
            index.seconds = max(index.seconds, glance.timing.run_seconds)
            if not index.is_done(glance.index):
                _count(index, glance, offset)
            elif glance.index in index.reaskable:
                # Its sample had no answer before; what both cost was spent.
                index.done -= 1
                index.failed -= 1
                _count(index, glance, offset)
            elif _may_replace(index, glance, content, file=file):
                _place(index, glance, offset)
            else:
                expected = f"one result for sample {glance.result.sample_id!r}"
                problems.add(Issue("inconsistent-journal", expected, "a second, different one", line=number))
    index.problems += problems.issues
    return index


def read_entries(path: Path, offsets: Iterable[int]) -> Iterator[JournalEntry]:
    """Yield the entries that start at these offsets of an index, those that are there."""
    return map(entry_from, read_contents(path, offsets))


def read_contents(path: Path, offsets: Iterable[int]) -> Iterator[bytes]:
    """Yield the bytes of the entries that start at these offsets, those that are there."""
    with opened_journal(path) as file:
        for offset in offsets:
            if file is not None and offset != _NOT_THERE:
                yield _content_at(file, offset)


_PACKED = ".zst"
_LEAST_PACKED = 1 << 15
_FRAME = 1 << 18
_READ_AT_ONCE = 1 << 16
_FRAME_BEGINS = re.compile(rb"\x28\xb5\x2f\xfd")


def stored_journal(path: Path) -> Path:
    """Return the file that holds a journal: itself, or the compressed one of a complete run."""
    packed = path.with_name(path.name + _PACKED)
    return packed if packed.is_file() and not path.is_file() else path


def pack_journal(path: Path) -> None:
    """Compress the journal of a complete run; one that the disk refuses to compress stays as it is.

    Its lock is held. It takes the journal's place at once, so that a kill leaves the one, the other or both.
    """
    with suppress(StorageError, OSError):
        if not path.is_file() or path.stat().st_size < _LEAST_PACKED:
            return
        with path.open("rb") as file, atomic_writer(path.with_name(path.name + _PACKED)) as packed:
            while lines := file.readlines(_FRAME):
                packed.write(zstd.compress(b"".join(lines)))
        path.unlink()
        sync_folder(path.parent)


def _unpack(path: Path) -> None:
    """Put the plain journal in place of the compressed one, if there is one."""
    if stored_journal(path) != path:
        with opened_journal(path) as file, atomic_writer(path) as plain:
            copyfileobj(cast("BinaryIO", file), plain)
    try:
        path.with_name(path.name + _PACKED).unlink(missing_ok=True)
    except OSError as error:
        raise refused("write", path, error) from error


class _Frames(io.RawIOBase):
    """The bytes of a compressed journal, at any place. A frame that is damaged reads as one damaged line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._place, self._ends = file, 0, [0]
        self._frames: list[tuple[int, int]] = []
        self._held: tuple[int, bytes] = (-1, b"")
        start = 0
        while found := self._next_frame(start):
            length, size = found
            self._frames.append((start, length))
            start += length
            self._ends.append(self._ends[-1] + size)

    def _next_frame(self, start: int) -> tuple[int, int] | None:
        """Return how long the frame is that starts there, and how long its lines are."""
        self._file.seek(start)
        data = b""
        while piece := self._file.read(_READ_AT_ONCE):
            data += piece
            with suppress(zstd.ZstdError):
                length = zstd.get_frame_size(data)
                size = zstd.get_frame_info(data).decompressed_size
                if size is not None and 0 < size <= _LONGEST_LINE:
                    return length, size
        # What follows damage is found by the sign that every frame begins with.
        length = next((found.start() for found in _FRAME_BEGINS.finditer(data, 1)), len(data))
        return (length, length) if data else None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = os.SEEK_SET, /) -> int:
        self._place = place + (0, self._place, self._ends[-1])[whence]
        return self._place

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]  # as BufferedReader calls
        number = bisect_right(self._ends, self._place) - 1
        if number >= len(self._frames):
            return 0
        if self._held[0] != number:
            self._held = (number, self._lines_of(number))
        start = self._place - self._ends[number]
        data = self._held[1][start : start + len(buffer)]
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)

    def _lines_of(self, number: int) -> bytes:
        start, length = self._frames[number]
        size = self._ends[number + 1] - self._ends[number]
        self._file.seek(start)
        with suppress(zstd.ZstdError):
            lines = zstd.decompress(self._file.read(length))
            if len(lines) == size:
                return lines
        return bytes(size - 1) + b"\n"

    def close(self) -> None:
        self._file.close()
        super().close()


@contextmanager
def opened_journal(path: Path) -> Iterator[BinaryIO | None]:
    """Open a journal for reading; ``None`` if it does not exist. Errors name the file."""
    file = None
    # Another process may pack or unpack it at this moment: one of the two is always there.
    for place in (path, path.with_name(path.name + _PACKED), path):
        try:
            file = open_stored(place)
            break
        except StorageError as error:
            if error.errno != ENOENT:
                raise
    if file is None:
        yield None
        return
    if place != path:
        file = cast("BinaryIO", io.BufferedReader(_Frames(file), _PIECE))
    with file:
        try:
            yield file
        except InputError as error:
            raise error.located(str(place)) from None


def journal_lines(file: BinaryIO) -> Iterator[tuple[int, int, int, bytes | None]]:
    """Yield number, offset, length and, where it is intact, the entry of each line.

    The caller may seek elsewhere in the file between two lines.
    """
    offset = number = 0
    while True:
        file.seek(offset)
        line, length = _line(file)
        if not line:
            return
        number += 1
        yield number, offset, length, intact_entry(line)
        offset += length


def _line(file: BinaryIO) -> tuple[bytes, int]:
    """Read a line in pieces, and say how long it is; of one that is too long only the beginning is kept."""
    piece = file.readline(_PIECE)
    if piece.endswith(b"\n") or len(piece) < _PIECE:
        return piece, len(piece)
    kept, length = bytearray(piece), len(piece)
    while not piece.endswith(b"\n") and (piece := file.readline(_PIECE)):
        length += len(piece)
        kept += piece if length < _LONGEST_LINE else b""
    return bytes(kept if length < _LONGEST_LINE else kept[:_PIECE]), length


def is_torn(file: BinaryIO, offset: int, length: int) -> bool:
    """Return True if a line that is not intact is the beginning of one that was being written.

    It begins as ours do (or is what a power cut left, zeros) and has no end, and what is there is not whole:
    a line that lost only its end to damage held an answer.
    """
    if length >= _LONGEST_LINE:
        return False
    file.seek(offset)
    line = file.read(length)
    begins = line.startswith(_OPENING[:length]) or not line.strip(b"\0")
    return begins and not line.endswith(b"\n") and intact_entry(line[:-1] + b"\n") is None


def glanced(content: bytes | None, total: int) -> Glance | None:
    """Read the part of an entry that counting needs; ``None`` where it is none of a run over ``total``."""
    if content is None:
        return None
    try:
        glance = _glances.decode(content)
    except msgspec.DecodeError:
        return None
    return glance if 0 <= glance.index < total else None


def _place(index: JournalIndex, glance: Glance, offset: int) -> None:
    index.offsets[glance.index] = offset
    (index.rescorable.add if glance.may_be_rescored else index.rescorable.discard)(glance.index)
    (index.undrawn.add if glance.is_undrawn else index.undrawn.discard)(glance.index)
    (index.reaskable.add if glance.may_be_asked_again else index.reaskable.discard)(glance.index)


def _count(index: JournalIndex, glance: Glance, offset: int) -> None:
    _place(index, glance, offset)
    index.done += 1
    index.failed += glance.failed
    index.usage = index.usage.plus(glance.result.response.usage)
    if index.metrics is None:
        index.metrics = frozenset(glance.metrics)


def _may_replace(index: JournalIndex, glance: Glance, content: bytes, *, file: BinaryIO) -> bool:
    """Return True if a line may take the place of its sample's earlier one.

    It has the same answer and scores, perhaps with another verdict, or new scores that were still to come.
    """
    first, second = (_result_of(each) for each in (_content_at(file, index.offsets[glance.index]), content))
    is_open = glance.index in index.rescorable or glance.index in index.undrawn
    return bool(first == second or (is_open and first["response"] == second["response"]))


def _result_of(content: bytes) -> Any:
    """Return what two entries for the same sample must agree on; with new scores, on its response."""
    return msgspec.json.decode(content)["result"]


def _content_at(file: BinaryIO, offset: int) -> bytes:
    file.seek(offset)
    line = file.readline()
    content = intact_entry(line)
    if content is None:
        raise InputError([damaged_line(len(line))])
    return content


def damaged_line(length: int) -> Issue:
    """Build the issue of a line that is not as it was written."""
    expected = "an intact line of a journal (--resume RUN --ask-damaged sets it aside and asks again)"
    return Issue("damaged-line", expected, f"{length:,} bytes that are not as they were written")


class SetAside(msgspec.Struct, frozen=True):
    """The lines of a journal that were damaged, and the copy in which they still are."""

    journal: Path
    damaged: tuple[int, ...]
    copy: Path

    def __str__(self) -> str:
        numbers = ", ".join(map(str, self.damaged[:_SHOWN])) + (", …" if len(self.damaged) > _SHOWN else "")
        lines = counted(len(self.damaged), f"damaged line ({numbers})", f"damaged lines ({numbers})")
        return f"{self.journal}: {lines} set aside; the journal as it was is now {self.copy.name}"


_SHOWN = 10


def set_damage_aside(path: Path, *, total: int) -> SetAside | None:
    """Take the damaged lines out of a journal, whose lock is held; ``None`` without any.

    The journal as it was stays beside it, as ``journal.damaged-1.jsonl``; the next one has the next number.
    The journal itself is written anew with its intact lines, at once or not at all. Two results for one
    sample that differ are no damage: which of them is right nobody can say, and they stay.
    """
    with opened_journal(path) as file:
        damaged: dict[int, tuple[int, int]] = {}
        for number, offset, length, content in journal_lines(file) if file is not None else ():
            if glanced(content, total) is None and not is_torn(cast("BinaryIO", file), offset, length):
                damaged[number] = (offset, offset + length)
        if file is None or not damaged:
            return None
        copy = _copied(stored_journal(path))
        with atomic_writer(path) as written:
            end = 0
            for begins, ends in (*damaged.values(), (file.seek(0, os.SEEK_END),) * 2):
                file.seek(end)
                for place in range(end, begins, _COPIED_AT_ONCE):
                    written.write(file.read(min(_COPIED_AT_ONCE, begins - place)))
                end = ends
        path.with_name(path.name + _PACKED).unlink(missing_ok=True)
        return SetAside(path, tuple(damaged), copy)


_COPIED_AT_ONCE = 1 << 20


def _copied(journal: Path) -> Path:
    """Keep the journal under a name of its own; writing it anew leaves what other names lead to."""
    endings = journal.name.removeprefix("journal")
    names = (journal.with_name(f"journal.damaged-{n}{endings}") for n in count(1))
    copy = next(name for name in names if not name.exists())
    with open_stored(journal) as file, atomic_writer(copy, overwrite=False) as written:
        copyfileobj(file, written)
    return copy
