"""One process at a time works on a run. The lock says which; a dead process holds none."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rag_evaluation_framework.errors import UsageError, refused

# Whoever asks whether a run is held takes its lock for an instant; that is waited out.
_PATIENCE = 0.5
_TAKEN = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The process that works on a run."""

    pid: int
    host: str
    started: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.started}"


@contextmanager
def held_lock(path: Path) -> Iterator[None]:
    """Hold the lock of a run; one that another process holds is a :class:`UsageError` that names it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise refused("write", path, error) from error
    try:
        _take(descriptor, path)
        owner = LockOwner(os.getpid(), socket.gethostname(), _now())
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, msgspec.json.encode(owner), 0)
        except OSError as error:
            raise refused("write", path, error) from error
        yield
    finally:
        os.close(descriptor)


def lock_owner(path: Path) -> LockOwner | None:
    """Return who holds the lock, or ``None`` if nobody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refused("read", path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return _written_owner(descriptor)
        raise refused("read", path, error) from error
    finally:
        os.close(descriptor)
    return None


def _take(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise refused("lock", path, error) from error
            if time.monotonic() > deadline:
                owner = _written_owner(descriptor)
                raise UsageError(f"run {path.parent.name} is being worked on by {owner}") from None
            time.sleep(0.02)
        else:
            return


def _written_owner(descriptor: int) -> LockOwner:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=LockOwner)
    except msgspec.DecodeError:
        # Its owner took it this instant and has not written its name yet.
        return LockOwner(0, "an unknown host", "just now")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
