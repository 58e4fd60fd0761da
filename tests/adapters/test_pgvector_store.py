"""pgvector beyond what every store promises: its kinds of index, its table, its password."""

from __future__ import annotations

import gc
import re
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.adapters.pgvector_store import PgvectorStore
from rag_evaluation_framework.components import VECTOR_STORES, component_from
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from stored_texts import numbered_chunks, random_vectors

TABLES = tables_beside(__file__)

psycopg = pytest.importorskip("psycopg", reason="the extra 'pgvector' is not installed")


def tables(address: str) -> dict[str, str]:
    """Return the tables of runs that there are, and the index of each as SQL."""
    gc.collect()
    with psycopg.connect(address) as connection:
        return dict(
            connection.execute(
                "SELECT relname, coalesce(indexdef, '') FROM pg_class "
                "LEFT JOIN pg_indexes ON tablename = relname WHERE relkind = 'r' AND relname LIKE 'rag_ev%'"
            ).fetchall()
        )


@pytest.mark.parametrize(
    ("settings", "made"), TABLES["an_approximate_index_is_made_as_told_and_says_what_it_misses"]
)
def test_an_approximate_index_is_made_as_told_and_says_what_it_misses(
    settings: str, made: str, postgres: str
) -> None:
    store: Any = component_from(VECTOR_STORES, f'pgvector(dsn="{postgres}", {settings})')
    vectors, queries = random_vectors(1_000, 48), random_vectors(40, 48, seed=1)
    store.add(numbered_chunks(900), vectors[:900])
    store.add(numbered_chunks(1_000)[900:], vectors[900:])  # into the index that is there
    [statement] = tables(postgres).values()
    assert made in statement
    exact = ExactVectorStore()
    exact.add(numbered_chunks(1_000), vectors)
    truth = exact.search_many(queries, 10)
    found = store.search_many(queries, 10)
    shared = [
        len({it.id for it in ours} & {it.id for it in theirs})
        for ours, theirs in zip(found, truth, strict=True)
    ]
    recall = store.recall_against_exact(queries, 10)
    assert recall == pytest.approx(sum(shared) / 400)
    assert 0.1 < recall < 0.99
    # More than the index looks at by itself.
    assert len(store.search(queries[0].tolist(), 200)) == 200
    store.clear()
    assert tables(postgres) == {}


def test_every_way_out_drops_the_table(postgres: str) -> None:
    store = PgvectorStore(postgres)
    store.add(numbered_chunks(3), random_vectors(3, 8))
    assert len(tables(postgres)) == 1
    store._client._connection.close()  # a connection that is lost meanwhile
    store.clear()
    assert tables(postgres) == {}
    gone = PgvectorStore(postgres)
    gone.add(numbered_chunks(3), random_vectors(3, 8))
    del gone
    assert tables(postgres) == {}
    program = textwrap.dedent(
        """
        import sys, time
        sys.path[:0] = sys.argv[2].split(":")
        from test_pgvector_store import PgvectorStore, numbered_chunks, random_vectors
        store = PgvectorStore(sys.argv[1])
        store.add(numbered_chunks(3), random_vectors(3, 8))
        print("filled", flush=True)
        time.sleep(60)
        """
    )
    given = [sys.executable, "-c", program, postgres, ":".join(sys.path)]
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "filled\n"
        assert len(tables(postgres)) == 1
        process.send_signal(signal.SIGINT)
    assert tables(postgres) == {}


def test_a_password_never_shows() -> None:
    text = 'pgvector(dsn="postgresql://me:hunter2@127.0.0.1:9/db")'
    store: Any = component_from(VECTOR_STORES, text)
    assert str(store) == 'pgvector(dsn="user=me dbname=db host=127.0.0.1 port=9")'
    with pytest.raises(
        TargetError, match=r"store-failed: pgvector at 127\.0\.0\.1:9/db: .*refused"
    ) as raised:
        store.add(numbered_chunks(1), [[1.0, 2.0]])
    said = [str(raised.value)]
    for wrong in (
        'pgvector(dsn="postgresql://me:hunter2@127.0.0.1:9/db", inde=hnsw)',
        "pgvector(dsn=\"host=x password=hunter2\", m='a')",
        'pgvector(dsn="postgresql://me:hunter2@host/db", index=)',
        'pgvector(dsn="pasword=hunter2 host=x")',
    ):
        with pytest.raises(UsageError) as refused:
            component_from(VECTOR_STORES, wrong)
        said.append(str(refused.value))
    assert not [line for line in said if "hunter2" in line]
    assert "postgresql://me:***@127.0.0.1:9/db" in said[1]
    assert said[1].endswith('unknown setting "inde". Did you mean "index"?')


def test_the_server_is_read_from_the_environment(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGVECTOR_DSN", postgres)
    store = PgvectorStore(halfvec=True)
    store.add(numbered_chunks(2), [[3.0, 4.0], [4.0, -3.0]])
    assert str(store) == "pgvector(halfvec=true)"
    assert [it.start for it in store.search([1.0, 0.0], 2)] == [100, 0]


def test_a_database_without_the_extension_says_how_to_add_it(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE plain")
    store = PgvectorStore(re.sub("/tests_[a-z0-9]+", "/plain", postgres))
    with pytest.raises(
        TargetError, match=r"/plain: the database does not have the extension vector\. Install it: CREATE"
    ):
        store.add(numbered_chunks(1), [[1.0, 2.0]])


def test_settings_that_make_no_sense_are_refused_together(postgres: str) -> None:
    with pytest.raises(UsageError) as raised:
        PgvectorStore(index="ivfflat", ef_search=10, m=3, lists=0)
    assert str(raised.value).splitlines() == [
        "pgvector: m: applies only to index=hnsw, got index=ivfflat",
        "pgvector: ef_search: applies only to index=hnsw, got index=ivfflat",
        "pgvector: lists: expected a whole number from 1 to 32,768, got 0",
    ]
    with pytest.raises(UsageError, match="ef_construction: expected at least twice m, got 64"):
        PgvectorStore(index="hnsw", m=50)
    with pytest.raises(UsageError, match=r'unknown index of pgvector "hsnw". Did you mean "hnsw"\?'):
        PgvectorStore(index="hsnw")
    wide = PgvectorStore(postgres, index="hnsw")
    with pytest.raises(
        UsageError, match=r"at most 2,000 numbers for hnsw, 4,000 with halfvec=true, got 2,001"
    ):
        wide.add(numbered_chunks(1), random_vectors(1, 2_001))
