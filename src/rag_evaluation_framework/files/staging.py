"""A file on its way: written beside its target under a temporary name, then moved into place at once.

The temporary file is locked for as long as its writer lives, so that what a killed process left behind can
be told from what a living one is writing.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.files.refusals import refused

TEMPORARY_NAME = re.compile(r"\.rag-eval-[0-9a-f]{16}\.tmp\Z")

# Where hard links are missing (FAT, some network shares) ``link`` fails with one of these.
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class RawFile(io.FileIO):
    """An open file whose refusals (disk full, input/output error) name the file that was meant."""

    def __init__(self, descriptor: int, meant: Path) -> None:
        super().__init__(descriptor, "wb")
        self._meant = meant

    def write(self, data: bytes, /) -> int:  # type: ignore[override]  # any buffer, as FileIO takes
        try:
            return super().write(data)
        except OSError as error:
            raise refused("write", self._meant, error) from error


class StagedFile:
    """A temporary file in the folder of its target. :meth:`place` it, and always :meth:`discard` it."""

    def __init__(self, target: Path, status: os.stat_result | None) -> None:
        self.target = target
        try:
            self.temporary, descriptor = _create_locked(target.parent)
        except OSError as error:
            raise refused("write", target, error) from error
        self._raw = RawFile(descriptor, target)
        self._placed = False
        if status is not None:
            # A file system that refuses has no permission bits to keep.
            with suppress(OSError):
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        self.stream = cast("BinaryIO", io.BufferedWriter(self._raw))

    def finish(self) -> None:
        """Bring everything written so far onto the disk."""
        self.stream.flush()
        try:
            os.fsync(self._raw.fileno())
        except OSError as error:
            raise refused("write", self.target, error) from error

    def place(self, *, overwrite: bool = True) -> None:
        """Move the finished file into place. Without ``overwrite``, a file that is there is an error."""
        try:
            if overwrite:
                self.temporary.replace(self.target)
            else:
                self._place_exclusively()
        except FileExistsError:
            raise exists_already(self.target) from None
        except OSError as error:
            raise refused("write", self.target, error) from error
        self._placed = True
        sync_folder(self.target.parent)

    def _place_exclusively(self) -> None:
        try:
            os.link(self.temporary, self.target)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            # Claiming the name comes next best: only a kill right here would leave an empty file.
            os.close(os.open(self.target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            self.temporary.replace(self.target)
        else:
            self.temporary.unlink()

    def close(self) -> None:
        """Give up the lock; the file stays where it is."""
        # The raw file first: what is left in the buffer after a failure is not to be written.
        self._raw.close()

    def discard(self) -> None:
        """Close, and remove the temporary file if it has not been placed."""
        if not self._placed:
            with suppress(OSError):
                self.temporary.unlink()
        self.close()


def target_of(path: str | Path) -> tuple[Path, os.stat_result | None]:
    """Return the file a path leads to, links followed, and its status, ``None`` if there is no file yet."""
    try:
        target = Path(os.path.realpath(path))
        status = target.stat()
    except FileNotFoundError:
        return target, None
    except (OSError, ValueError) as error:
        raise refused("write", path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise refused("write", path, IsADirectoryError(errno.EISDIR, ""))
    return target, status


def exists_already(path: Path) -> UsageError:
    """Build the error for a file that must be new and is not."""
    return UsageError(f"expected no file at {path}, got one that exists already")


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder onto the disk."""
    # Some file systems refuse to sync a folder; a rename is then as durable as they make it.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_abandoned(descriptor: int) -> bool:
    """Tell whether nobody holds the lock of an open file; the caller holds it from now on."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _create_locked(folder: Path) -> tuple[Path, int]:
    while True:
        temporary = folder / f".rag-eval-{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        # Where files cannot be locked nothing counts as abandoned, so nothing needs to be locked.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # In the instant between creating and locking, a recovery may have taken it for abandoned.
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)
