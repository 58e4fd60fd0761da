"""The files of a folder that may be evaluation data, and those that must not be opened.

A link inside a folder is followed only to a file of the same folder: anything else it leads to was not given
by the user. Pipes and devices are never opened, since reading them may never end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.files.compression import plain_name
from rag_evaluation_framework.files.refusals import refused

_DATA_SUFFIXES = frozenset(
    {
        ".json",
        ".jsonl",
        ".ndjson",
        ".yaml",
        ".yml",
        ".csv",
        ".tsv",
        ".parquet",
        ".h5",
        ".hdf5",
        ".trec",
        ".qrels",
    }
)


def data_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder whose names may be those of data, sorted; hidden ones are left out."""
    inside = folder.resolve()
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(directory, name)
            if (
                not name.startswith(".")
                and Path(plain_name(path)).suffix in _DATA_SUFFIXES
                and not _repeats(path, inside)
            ):
                yield path


def check_regular(path: Path, *, within: Path | None = None) -> None:
    """Raise unless a path is a regular file and, with ``within``, one that really is in that folder."""
    try:
        mode = path.stat().st_mode
        leaves = within is not None and not path.resolve().is_relative_to(within.resolve())
    except (OSError, ValueError) as error:
        raise refused("read", path, error) from error
    if leaves:
        found = "a link that leads out of it"
        raise InputError([Issue("link-out-of-folder", "a file of the folder", found, file=str(path))])
    if not stat.S_ISREG(mode):
        raise InputError([Issue("not-a-file", "a regular file", _named(mode), file=str(path))])


def _repeats(path: Path, inside: Path) -> bool:
    """Tell whether a link leads to a file of the folder, which is met under its own name."""
    return path.is_symlink() and path.exists() and path.resolve().is_relative_to(inside)


def _named(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")
