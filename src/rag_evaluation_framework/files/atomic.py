"""Writing one file so that it is the old one or the new one, whole, at every moment.

The new content goes to a temporary file in the same folder, is flushed to the disk and renamed over the
old one. Whatever fails before that (a full disk, an exception, a kill) leaves the old file as it was.

- A symbolic link is followed: the file it points to is replaced, the link stays.
- Permission bits of an existing file are kept; a new file gets what the umask allows.
- Other hard links to the old file keep the old content.
- Devices and pipes (``/dev/stdout``) cannot be replaced and are written to directly.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.files.refusals import refused
from rag_evaluation_framework.files.staging import RawFile, StagedFile, exists_already, target_of


@contextmanager
def atomic_writer(path: str | Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a file for writing that appears at the end of the ``with`` block, and only if it succeeds.

    Without ``overwrite`` a file that is there already, or appears meanwhile, is a :class:`UsageError`.
    What the disk refuses is a :class:`StorageError` that names the file.
    """
    target, status = target_of(path)
    if status is not None and not stat.S_ISREG(status.st_mode):
        with _direct_writer(target) as stream:
            yield stream
        return
    if status is not None and not overwrite:
        raise exists_already(target)
    staged = StagedFile(target, status)
    try:
        yield staged.stream
        staged.finish()
        staged.place(overwrite=overwrite)
    finally:
        staged.discard()


def write_bytes_atomically(path: str | Path, data: bytes, *, overwrite: bool = True) -> None:
    """Write a whole file at once."""
    with atomic_writer(path, overwrite=overwrite) as stream:
        stream.write(data)


def write_text_atomically(path: str | Path, text: str, *, overwrite: bool = True) -> None:
    """Write a whole text file at once, in UTF-8, line ends as they are."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        found = f"half a surrogate pair at character {error.start}"
        raise InputError([Issue("lone-surrogate", "Unicode characters", found, file=str(path))]) from None
    write_bytes_atomically(path, data, overwrite=overwrite)


@contextmanager
def _direct_writer(target: Path) -> Iterator[BinaryIO]:
    try:
        raw = RawFile(os.open(target, os.O_WRONLY | os.O_CLOEXEC), target)
    except OSError as error:
        raise refused("write", target, error) from error
    stream = cast("BinaryIO", io.BufferedWriter(raw))
    try:
        yield stream
        stream.flush()
    finally:
        # The raw file: what could not be written is not tried again.
        raw.close()
