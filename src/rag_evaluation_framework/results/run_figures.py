"""The figures of a complete run, kept in its folder when it ends: one file, tied to what the run holds.

The first line is what lists of runs tell, the second has the scores in columns and the worst answers, for
whoever opens the run. Both hold while the files that they were made from hold the same, wherever these were
copied to. The file may be deleted at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from rag_evaluation_framework.errors import RagEvalError, StorageError
from rag_evaluation_framework.files.access import open_reading, open_stored
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.records.runs import RunCounts
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.version import __version__

FIGURES_FILE = "figures.json"
_MADE_FROM = (
    *("head.json", "data.jsonl.zst", "journal.jsonl", "journal.jsonl.zst", "blame.jsonl", "blame.jsonl.zst"),
    *("results.json", "judged.json"),
)
_ENDS = 4096


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """How far a complete run is; ``labels`` is the digest of those that its answers were read with."""

    version: str
    files: Mapping[str, str | None]
    counts: RunCounts
    labels: str = ""


_figures = msgspec.json.Decoder(RunFigures)


def read_figures(folder: Path) -> tuple[RunFigures, bytes] | None:
    """Return the figures that a run keeps, and the second line; ``None`` if its files are others."""
    path = folder / FIGURES_FILE
    try:
        with open_reading(path, max_line_bytes=None) as lines:
            found = _figures.decode(lines.readline())
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
