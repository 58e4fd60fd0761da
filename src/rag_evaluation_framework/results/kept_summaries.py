"""Summaries of runs and results, kept beside them so that a list of hundreds need not read every file whole.

A summary holds only while the files that it was made from are the same: their sizes, times and places on the
disk are compared each time, and where anything differs it is made again. Files that were written a moment ago
may be written again without a trace, so what is made from them is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import is_settled, read_bytes, stamp_of
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.version import __version__

SUMMARIES_FILE = "summaries.json"
"""What a directory of runs keeps for the lists of them; it may be deleted at any time."""

_FEWEST = 20
_SETTLED_NS = 2_000_000_000

Summary = TypeVar("Summary")


class Summaries:
    """The summaries of one kind in a directory: those that were kept, and those made now."""

    def __init__(self, directory: Path, kind: Literal["runs", "results"]) -> None:
        self._path, self._kind = directory / SUMMARIES_FILE, kind
        self._kept = _read(self._path).get(kind, {})
        self._now: dict[str, dict[str, Any]] = {}
        self._has_more = False

    def of(
        self, name: str, files: Sequence[Path], kind: type[Summary], *, make: Callable[[], Summary]
    ) -> Summary:
        """Return the summary of this name as it was kept, if its files are the same, or make it."""
        stamps = [stamp_of(path) for path in files]
        entry = self._kept.get(name)
        if isinstance(entry, dict) and entry.get("files") == stamps:
            with suppress(msgspec.ValidationError, KeyError):
                found = msgspec.convert(entry["summary"], kind)
                self._now[name] = entry
                return found
        made = make()
        if all(is_settled(each, since=_SETTLED_NS) for each in stamps if each is not None):
            self._now[name] = {"files": stamps, "summary": asdict(made)}  # type: ignore[call-overload]
            self._has_more = True
        return made

    def keep(self) -> None:
        """Write them for the next list, if there are many and some are new; a disk that refuses is let be."""
        if not self._has_more or len(self._now) < _FEWEST or not self._path.parent.is_dir():
            return
        document = {**_read(self._path), "version": __version__, self._kind: self._now}
        with suppress(RagEvalError, OSError):
            write_bytes_atomically(self._path, msgspec.json.encode(document))


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return what this version kept, by kind; nothing where that cannot be read."""
    if not path.is_file():
        return {}
    try:
        document = strict_json.decode(read_bytes(path), file=str(path))
    except RagEvalError:
        return {}
    if not isinstance(document, dict) or document.get("version") != __version__:
        return {}
    return {name: each for name, each in document.items() if isinstance(each, dict)}
