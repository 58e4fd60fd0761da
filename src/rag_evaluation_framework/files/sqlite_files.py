"""A small SQLite file that many processes and threads read and write at once, such as a cache.

It is opened for one piece of work at a time, in write-ahead mode. Whatever SQLite or the disk refuses is a
:class:`StorageError` that names the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rag_evaluation_framework.errors import StorageError

_BUSY_SECONDS = 30.0


@contextmanager
def opened(path: Path, *, tables: str, what: str) -> Iterator[sqlite3.Connection]:
    """Open a file, making it and its tables where they are missing; ``what`` names it in errors.

    ``tables`` are ``CREATE TABLE IF NOT EXISTS …`` statements with a semicolon after each.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)) as database:
            database.execute("PRAGMA journal_mode = WAL")
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
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
