"""One process at a time works on a run. The lock says which; a dead process holds none."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rag_evaluation_framework.errors import UsageError, refused
from rag_evaluation_framework.files.atomic import BINARY, lock_taken

# Whoever asks whether a run is held takes its lock for an instant; that is waited out.
_PATIENCE = 0.5
_INSTANT = 0.05
# Where a lock keeps others from reading what it covers, that is the first byte, which says nothing.
_OWNER_STARTS = 1


class LockOwner(msgspec.Struct, frozen=True):
    """The process that works on a run."""

    pid: int
    host: str
    started: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.started}"


def lock_owner(path: Path) -> LockOwner | None:
    """Return the process that holds a lock now; ``None`` if none does."""
    try:
        descriptor = _opened_lock(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refused("read", path, error) from error
    try:
        return None if lock_taken(descriptor, patience=_INSTANT) else _written_owner(descriptor)
    except OSError as error:
        raise refused("read", path, error) from error
    finally:
        os.close(descriptor)


@contextmanager
def held_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a run in a ``with`` block; :class:`UsageError` names the process that has it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | BINARY, 0o666)
    except OSError as error:
        raise refused("write", path, error) from error
    with ExitStack() as opened:
        opened.callback(os.close, descriptor)
        _take(descriptor, path)
        # A lock file can be deleted while it is held; its folder keeps a second writer off all the same.
        with suppress(OSError):  # Windows opens no folder, and some network shares lock none
            folder = os.open(path.parent, os.O_RDONLY)
            opened.callback(os.close, folder)
            if not lock_taken(folder, patience=_PATIENCE):
                raise UsageError(f"run {path.parent.name} is in use; its lock file was deleted")
        owner = LockOwner(os.getpid(), socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"))
        try:
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            os.write(descriptor, b" " * _OWNER_STARTS + msgspec.json.encode(owner))
        except OSError as error:
            raise refused("write", path, error) from error
        yield


def _take(descriptor: int, path: Path) -> None:
    try:
        is_taken = lock_taken(descriptor, patience=_PATIENCE)
    except OSError as error:
        raise refused("lock", path, error) from error
    if not is_taken:
        raise UsageError(f"run {path.parent.name} is in use by {_written_owner(descriptor)}")


def _opened_lock(path: Path) -> int:
    """Open a lock to look at it: for writing where that is allowed, since some systems lock no other."""
    flags = BINARY | getattr(os, "O_NONBLOCK", 0)
    try:
        return os.open(path, os.O_RDWR | flags)
    except OSError:
        return os.open(path, os.O_RDONLY | flags)


def _written_owner(descriptor: int) -> LockOwner:
    try:
        os.lseek(descriptor, _OWNER_STARTS, os.SEEK_SET)
        return msgspec.json.decode(os.read(descriptor, 4096), type=LockOwner)
    except (msgspec.DecodeError, OSError):
        # Its owner took it this instant and has not written its name yet.
        return LockOwner(0, "an unknown host", "just now")
