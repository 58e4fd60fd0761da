"""A small SQLite file that many processes and threads read and write at once, such as a cache.

It is opened for one piece of work at a time, in write-ahead mode. A failure of SQLite or the disk is a
:class:`StorageError` that names the file.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rag_evaluation_framework.errors import StorageError

_BUSY_SECONDS = 30.0
_PAUSE_SECONDS = 0.005
_PRIMARY_CODE = 0xFF


@contextmanager
def opened(path: Path, *, tables: str, what: str) -> Iterator[sqlite3.Connection]:
    """Open a file, making it and its tables where they are missing; ``what`` names it in errors.

    ``tables`` are ``CREATE TABLE IF NOT EXISTS …`` statements with a semicolon after each.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)) as database:
            _write_ahead(database)
            # A commit survives the death of the process; what a power cut may lose is only made again.
            database.execute("PRAGMA synchronous = NORMAL")
            if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
                with transaction(database):
                    for statement in tables.split(";"):
                        database.execute(statement)
            yield database
    except (sqlite3.Error, OSError) as error:
        raise StorageError(f"{what} {path}: {error}") from error


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Make what the block writes durable together, or not at all."""
    # IMMEDIATE waits for its turn at once; a lock taken later, in the middle, would fail without waiting.
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:  # whatever ends the block, Ctrl-C too: raised again
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _write_ahead(database: sqlite3.Connection) -> None:
    """Change to write-ahead mode, which a file keeps once it has it."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # Of several that change a new file at once SQLite lets the others fail without waiting.
            is_busy = error.sqlite_errorcode & _PRIMARY_CODE == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_SECONDS)
