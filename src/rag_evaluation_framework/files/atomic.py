"""One file or a group of files, the old or the new, whole, even after a kill.

The new content goes to a temporary file in the same folder, is flushed to the disk and renamed over the
old one. A failure before that (a full disk, an exception, a kill) leaves the old file unchanged.

- A symbolic link is followed: the file it points to is replaced, the link stays.
- Permission bits of an existing file are kept; a new file gets what the umask allows.
- Other hard links to the old file keep the old content.
- Devices and pipes (``/dev/stdout``) cannot be replaced and are written to directly.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import secrets
import stat
import tempfile
import time
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    StorageError,
    UsageError,
    invalid,
    is_disk_full,
    refused,
)
from rag_evaluation_framework.files.access import read_bytes

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None  # type: ignore[assignment]

# A file on its way: written beside its target under a temporary name, then moved into place at once.
#
# The temporary file is locked for as long as its writer lives, so that what a killed process left behind
# can be told from what a living one is writing.

TEMPORARY_NAME = re.compile(r"\.rag-eval-[0-9a-f]{16}\.tmp\Z")

BINARY = getattr(os, "O_BINARY", 0)
"""Opens a file for bytes as they are, where a system would else write other line ends."""

# Windows renames no file that is open. It is closed first, and without its lock for that instant, so that
# leftovers count as abandoned only when they are old.
_CLOSED_FIRST = os.name == "nt"
_OLD_SECONDS = 60.0
_POLL_SECONDS = 0.005
_BUFFERED = 1 << 17  # the results of a long run are written in few calls

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
        self.is_placed = False
        if status is not None:
            # A file system that refuses has no permission bits to keep.
            with suppress(OSError, AttributeError):
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        self.stream = cast("BinaryIO", io.BufferedWriter(self._raw, _BUFFERED))

    def finish(self) -> None:
        """Bring everything written so far onto the disk."""
        self.stream.flush()
        try:
            os.fsync(self._raw.fileno())
        except OSError as error:
            raise refused("write", self.target, error) from error
        if _CLOSED_FIRST:
            self.close()

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
        self.is_placed = True
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
        if not self.is_placed:
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
    return UsageError(f"{path} already exists")


def check_writable(folders: Iterable[Path], *, option: str | None = None) -> None:
    """Raise :class:`StorageError` for a folder that cannot be written into; it need not exist yet.

    ``option`` names another folder, where one can be chosen.
    """
    for folder in folders:
        there = folder
        while not there.exists() and there != there.parent:
            there = there.parent
        try:
            if not there.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as error:
            refusal = refused("write", folder, error)
            if option is None or is_disk_full(refusal):
                raise refusal from error
            reason = (error.strerror or str(error)).lower()
            told = f"{folder} is not writable ({reason}). Choose another folder with {option}."
            raise StorageError(told) from error


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder onto the disk."""
    # Some file systems refuse to sync a folder; a rename is then as durable as they make it.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock_taken(descriptor: int, *, patience: float = math.inf) -> bool:
    """Take the lock of an open file, if it is free within so many seconds; closing the file gives it back."""
    deadline = time.monotonic() + patience
    while not (is_taken := _is_locked(descriptor)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return is_taken


def _is_locked(descriptor: int) -> bool:
    """Lock a file if it is free."""
    if fcntl is None:
        from filelock import lock_descriptor

        return lock_descriptor(descriptor, blocking=False)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _create_locked(folder: Path) -> tuple[Path, int]:
    while True:
        temporary = folder / f".rag-eval-{secrets.token_hex(8)}.tmp"
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | BINARY, 0o666)
        # Where files cannot be locked nothing counts as abandoned, so nothing needs to be locked.
        with suppress(OSError):
            lock_taken(descriptor)
        # In the instant between creating and locking, a recovery may have taken it for abandoned.
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)


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


def write_text_atomically(path: str | Path, text: str) -> None:
    """Write a whole text file at once, in UTF-8, line ends as they are."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        found = f"a lone surrogate at character {error.start}"
        raise InputError([Issue("lone-surrogate", "Unicode characters", found, file=str(path))]) from None
    write_bytes_atomically(path, data)


@contextmanager
def _direct_writer(target: Path) -> Iterator[BinaryIO]:
    try:
        raw = RawFile(os.open(target, os.O_WRONLY | BINARY), target)
    except OSError as error:
        raise refused("write", target, error) from error
    stream = cast("BinaryIO", io.BufferedWriter(raw))
    try:
        yield stream
        stream.flush()
    finally:
        # The raw file: what could not be written is not tried again.
        raw.close()


# Writing several files so that all are the old ones or all are the new ones, even after a kill.
#
# A file system renames one file at a time, so a *commit record* makes several renames one step:
#
# 1. every new file is staged beside its target and brought onto the disk;
# 2. the record, which lists the renames to do, appears in the folder of the last file: from here the new
#    files count;
# 3. the renames are done, the last file's last, and the record is removed.
#
# A kill before step 2 leaves the old files, a kill after it leaves a record, and :func:`recover` brings the
# files to the one state or the other. A reader that needs them to belong together calls it first, for the
# folder of the last file; writing a group does so by itself. Steps 2 and 3 run under a lock on that folder,
# one writer or recovery after another.
#
# A record can only move a temporary file, named as ours are, within the folder where it lies. A folder
# that came from a stranger can therefore do nothing with one to the files outside it.

_RECORD_NAME = re.compile(r"\.rag-eval-[0-9a-f]{16}\.commit\Z")
_LEFTOVER = re.compile(r"\.rag-eval-[0-9a-f]{16}\.(?:tmp|commit)\Z")


@contextmanager
def atomic_group(
    paths: Sequence[str | Path], *, overwrite: bool = True, optional: Iterable[str | Path] = ()
) -> Iterator[tuple[BinaryIO, ...]]:
    """Open several files for writing; all appear at the end of the ``with`` block, or none does.

    Without ``overwrite`` any file that exists already is a :class:`UsageError`; the last look is taken right
    before the commit. An ``optional`` file in which nothing was written appears only in place of an old one.
    """
    may_be_absent = {target_of(path)[0] for path in optional}
    folders = list(dict.fromkeys(target_of(path)[0].parent for path in reversed(paths)))
    if folders:
        recover(folders[0], beside=folders[1:])
    staged: list[StagedFile] = []
    try:
        for path in paths:
            staged.append(_staged(path, {file.target for file in staged}, overwrite=overwrite))
        yield tuple(file.stream for file in staged)
        for file in staged:
            file.finish()
            if not overwrite and file.target.exists():
                raise exists_already(file.target)
        written = [
            file
            for file in staged
            if file.target not in may_be_absent or file.target.exists() or file.temporary.stat().st_size
        ]
        if written:
            _commit(folders[0], written)
    finally:
        for file in staged:
            file.discard()


def recover(folder: str | Path, *, beside: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Finish what a killed writer had committed in a folder; remove what it had not, there and ``beside``.

    Returns the files that were brought to their new content. A folder without leftovers, or that does not
    exist, is left alone; a living writer's commit is waited for.
    """
    folders = (Path(folder), *beside)
    if not any(_named(each, _LEFTOVER) for each in folders):
        return ()
    with locked(folders[0]):
        finished = _finish_records(folders[0])
        for temporary in (path for each in folders for path in _named(each, TEMPORARY_NAME)):
            _remove_if_abandoned(temporary)
    return tuple(finished)


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files that killed processes have left in a folder, never those of living ones."""
    with suppress(StorageError):
        for temporary in _named(folder, TEMPORARY_NAME):
            _remove_if_abandoned(temporary)


def _staged(path: str | Path, others: Collection[Path], *, overwrite: bool) -> StagedFile:
    """Stage one file of a group."""
    target, status = target_of(path)
    if target in others:
        raise UsageError(f"expected different output files, got {path} twice")
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path}: expected a regular file, got a device or a pipe")
    if status is not None and not overwrite:
        raise exists_already(target)
    return StagedFile(target, status)


def _commit(folder: Path, files: Sequence[StagedFile]) -> None:
    """Put staged files in place together; the record of it stands in the folder meanwhile."""
    renames = [
        [os.path.relpath(file.target.parent, folder), file.temporary.name, file.target.name] for file in files
    ]
    with locked(folder):
        _finish_records(folder)  # of somebody who was killed since we began
        # The standard encoder: it also carries names that are not valid UTF-8.
        record = folder / f".rag-eval-{secrets.token_hex(8)}.commit"
        write_bytes_atomically(record, json.dumps({"renames": renames}).encode("ascii"))
        for file in files:
            file.is_placed = True
        _finish_records(folder)


def _finish_records(folder: Path) -> list[Path]:
    """Finish the pending renames of a folder's records and return the targets."""
    targets = []
    for record in _named(folder, _RECORD_NAME):
        renames = _renames_in(record)
        for place, temporary, name in renames:
            target = folder / place / name
            try:
                (folder / place / temporary).replace(target)
                targets.append(target)
            except FileNotFoundError:
                continue  # done already, before the kill
            except OSError as error:
                raise refused("write", target, error) from error
        for place in dict.fromkeys(place for place, _, _ in renames):
            sync_folder(folder / place)
        try:
            record.unlink()
        except OSError as error:
            raise refused("remove", record, error) from error
    return targets


def _renames_in(record: Path) -> list[Any]:
    """Read a record, and make sure that it can do no more than ours do."""
    data = read_bytes(record)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    match content:
        case {"renames": list(renames), **rest} if not rest and all(map(_is_rename, renames)):
            return renames
    raise invalid("", "a record of files to rename", data[:40], code="damaged-record").located(str(record))


def _is_rename(rename: Any) -> bool:
    match rename:
        case [str(folder), str(temporary), str(name)]:
            is_plain = name not in ("", ".", "..") and not set("/\0").intersection(name)
            return is_plain and "\0" not in folder and TEMPORARY_NAME.match(temporary) is not None
    return False


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; wait for whoever holds it."""
    with ExitStack() as lock:
        # A file system without locks, or a folder that is gone, is no reason to stop.
        with suppress(OSError):
            descriptor = _open_lockable(folder)
            lock.callback(os.close, descriptor)
            lock_taken(descriptor)
        yield


def _open_lockable(folder: Path) -> int:
    """Open what is locked for a folder: itself or, where no folder can be opened, a file in it."""
    if hasattr(os, "O_DIRECTORY"):
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    return os.open(folder / ".rag-eval.lock", os.O_RDWR | os.O_CREAT, 0o666)


def _named(folder: Path, name: re.Pattern[str]) -> list[Path]:
    try:
        return sorted(
            path
            for path in folder.iterdir()
            if name.match(path.name) and path.is_file() and not path.is_symlink()
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        raise refused("read", folder, error) from error


def _remove_if_abandoned(temporary: Path) -> None:
    # What is locked still, or cannot be removed (a read-only folder), does no harm.
    with suppress(OSError):
        if _CLOSED_FIRST and time.time() - temporary.stat().st_mtime < _OLD_SECONDS:
            return
        descriptor = os.open(temporary, os.O_RDONLY)
        try:
            # With the lock in hand its writer is dead. If it left a record where we did not look, this file
            # is part of a commit, and the next recovery finishes that.
            is_abandoned = lock_taken(descriptor, patience=0) and not _named(temporary.parent, _RECORD_NAME)
            if is_abandoned and not _CLOSED_FIRST:
                temporary.unlink()
        finally:
            os.close(descriptor)
        if is_abandoned and _CLOSED_FIRST:
            temporary.unlink()


class Aside:
    """Bytes that wait for their place in a file without a name, of which a kill leaves nothing.

    Where the disk refuses them, they are given up.
    """

    def __init__(self, folder: Path) -> None:
        self._file: BinaryIO | None = None
        with suppress(OSError):
            self._file = cast("BinaryIO", tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
            weakref.finalize(self, _let_go, self._file)

    def write(self, data: bytes) -> None:
        """Add some, unless they were given up."""
        try:
            if self._file is not None and not self._file.closed:  # the last part of a stream nobody ended
                self._file.write(data)
        except OSError:
            self.give_up()

    def read(self) -> BinaryIO | None:
        """Return all of them from their beginning; ``None`` if they were given up."""
        try:
            if self._file is not None:
                self._file.seek(0)
        except OSError:
            self.give_up()
        return self._file

    def give_up(self) -> None:
        """Give the disk back what they take."""
        if self._file is not None:
            _let_go(self._file)
            self._file = None


def _let_go(file: BinaryIO) -> None:
    with suppress(OSError):  # a full disk refuses what was not written yet
        file.close()
