"""SQLite files that many open at once."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rag_evaluation_framework.files.sqlite import opened, transaction

_TABLES = "CREATE TABLE IF NOT EXISTS kept (number INTEGER PRIMARY KEY) WITHOUT ROWID;"


def test_all_that_open_a_new_file_at_the_same_moment_may_write_to_it(tmp_path: Path) -> None:
    at_once = 8

    def write(path: Path, number: int, together: threading.Barrier) -> None:
        together.wait()
        with opened(path, tables=_TABLES, what="numbers") as database, transaction(database):
            database.execute("INSERT INTO kept VALUES (?)", (number,))

    with ThreadPoolExecutor(at_once) as pool:
        for round_ in range(25):
            path, together = tmp_path / f"{round_}.sqlite3", threading.Barrier(at_once)
            list(pool.map(write, [path] * at_once, range(at_once), [together] * at_once))
            with opened(path, tables=_TABLES, what="numbers") as database:
                assert database.execute("SELECT count(*) FROM kept").fetchone() == (at_once,)


def test_a_file_in_use_by_others_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite3"
    with opened(path, tables=_TABLES, what="numbers") as first:
        assert isinstance(first, sqlite3.Connection)
        with opened(path, tables=_TABLES, what="numbers") as second:
            assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)
