"""Where the answers of a run fail, answer by answer."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.files.access import compressing, named_compression, open_reading
from rag_evaluation_framework.files.atomic import Aside, atomic_writer
from rag_evaluation_framework.files.strict_json import encode, encode_unchecked
from rag_evaluation_framework.records.scores import BLAME_KINDS, Blame
from rag_evaluation_framework.results.journal import JournalEntry
from rag_evaluation_framework.results.run_data import OWN_LIMITS

# The file has a line for each finished sample, in the order of the dataset: its id and its blame. An
# answer is blamed once, however many reports show it, and memory does not grow with the run.


def blame_line(sample_id: str, blame: Blame | None) -> bytes:
    """Return the line of a sample."""
    line = [sample_id, blame_fields(blame)]
    try:
        return encode_unchecked(line) + b"\n"  # texts and the numbers of turns need no check but this
    except ValueError:  # half of a surrogate pair, which is said with its place
        return encode(line) + b"\n"


class FoundBlames:
    """The lines that are found while the answers of a run are scored, out of memory once it is their turn."""

    def __init__(self, folder: Path) -> None:
        self._lines, self._found = Aside(folder), 0
        self._waiting: dict[int, bytes] = {}

    def add(self, entries: Iterable[JournalEntry]) -> None:
        """Keep the lines of entries, in the order of the dataset."""
        self._waiting |= {each.index: each.blame for each in entries if each.blame is not None}
        while (line := self._waiting.pop(self._found, None)) is not None:
            self._lines.write(line)
            self._found += 1

    def of_all(self, total: int) -> Iterator[bytes] | None:
        """Return the lines of so many samples in the order of the dataset; ``None`` if not all are here."""
        return self._lines.read() if self._found == total else None


def write_blames(path: Path, lines: Iterable[bytes]) -> None:
    """Write the lines of samples."""
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        stream.writelines(lines)


def read_blames(path: Path, *, only: Container[str] | None = None) -> Iterator[tuple[str, Blame | None]]:
    """Yield what :func:`write_blames` wrote, of ``only`` some samples where they are named."""
    with open_reading(path, limits=OWN_LIMITS, max_line_bytes=None) as lines:
        for sample_id, written in map(_lines.decode, lines):
            if only is None or sample_id in only:
                yield sample_id, read_blame(msgspec.json.decode(written))


_lines = msgspec.json.Decoder(tuple[str, msgspec.Raw])


def blame_fields(blame: Blame | None) -> Any:
    """Return a blame with its turns as plain values."""
    return msgspec.to_builtins(blame, str_keys=True)


def read_blame(written: Any) -> Blame | None:
    """Return the blame that :func:`blame_fields` made plain values of; older kinds may tell no cause."""
    if not isinstance(written, Mapping):
        return None
    if turns := written.get("turns"):
        return Blame.of_turns({int(number): read_blame(each) for number, each in turns.items()})
    return msgspec.convert(written, Blame) if written.get("kind") in BLAME_KINDS else None
