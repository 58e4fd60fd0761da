"""Damaged journals mended at the user's word: what is damaged is set aside, and nothing else is lost.

The journal as it was stays in the run's folder, as ``journal.damaged-1.jsonl``; the next one has the next
number. The journal itself is written anew with its intact lines, at once or not at all. What the damaged
lines held is then missing, so that a resume asks it again, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO

import msgspec

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.files.access import open_stored
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.results.journal import (
    glanced,
    is_torn,
    journal_lines,
    opened_journal,
    stored_journal,
)
from rag_evaluation_framework.results.run_store import CELLS, DEFAULT_RUNS_DIRECTORY, RunFolder, tied_runs

_TIES = ("evaluation", "first_run")
_SHOWN = 10
_PIECE = 1 << 20


class SetAside(msgspec.Struct, frozen=True):
    """The lines of a journal that were damaged, and the copy in which they still are."""

    journal: Path
    damaged: int
    first: tuple[int, ...]
    """The numbers of the first of them."""
    copy: Path

    def __str__(self) -> str:
        numbers = ", ".join(map(str, self.first)) + (", …" if self.damaged > len(self.first) else "")
        lines = counted(self.damaged, f"damaged line ({numbers})", f"damaged lines ({numbers})")
        return f"{self.journal}: {lines} set aside; the journal as it was is now {self.copy.name}"


def set_damage_aside(
    run: str | Path, runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY
) -> tuple[SetAside, ...]:
    """Take the damaged lines out of the journals of a run and of those that belong to it.

    Journals without damage are not touched. Two results for one sample that differ are no damage: which of
    them is right nobody can say, and they stay.
    """
    mended = (_mended(folder) for folder in _folders(RunFolder.open(run, runs_directory)))
    return tuple(each for each in mended if each is not None)


def _folders(named: RunFolder) -> Iterator[RunFolder]:
    """Yield a run, the runs tied to it, and the cells of a sweep."""
    seen = {named.path}
    yield named
    for tie in _TIES:
        for folder in tied_runs(named, tie):
            if folder.path not in seen:
                seen.add(folder.path)
                yield folder
    if CELLS in named.head.configuration:
        yield from map(RunFolder.at, named.cells())


def _mended(folder: RunFolder) -> SetAside | None:
    journal, total = folder.journal_path, len(folder.index().offsets)
    with folder.held(), opened_journal(journal) as file:
        if file is None:
            return None
        damaged, first = 0, []
        for number, _ in _damaged_lines(file, total):
            damaged += 1
            first += [number] if damaged <= _SHOWN else []
        if not damaged:
            return None
        copy = _copied(stored_journal(journal))
        with atomic_writer(journal) as written:
            end = 0
            for _, (begins, ends) in _damaged_lines(file, total):
                _copy_bytes(file, end, begins, written)
                end = ends
            _copy_bytes(file, end, file.seek(0, os.SEEK_END), written)
        journal.with_name(f"{journal.name}.zst").unlink(missing_ok=True)
        return SetAside(journal, damaged, tuple(first), copy)


def _damaged_lines(file: BinaryIO, total: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the number of each damaged line, and where it begins and ends."""
    for number, offset, length, content in journal_lines(file):
        if glanced(content, total) is None and not is_torn(file, offset, length):
            yield number, (offset, offset + length)


def _copied(journal: Path) -> Path:
    """Keep the journal under a name of its own; writing it anew leaves what other names lead to."""
    endings = journal.name.removeprefix("journal")
    names = (journal.with_name(f"journal.damaged-{n}{endings}") for n in count(1))
    copy = next(name for name in names if not name.exists())
    with open_stored(journal) as file, atomic_writer(copy, overwrite=False) as written:
        copyfileobj(file, written)
    return copy


def _copy_bytes(file: BinaryIO, begins: int, ends: int, written: BinaryIO) -> None:
    file.seek(begins)
    for place in range(begins, ends, _PIECE):
        written.write(file.read(min(_PIECE, ends - place)))
