"""PostgreSQL with the extension pgvector: a table of the run's own, or one that exists already.

A run's table holds numbers and vectors, is filled by binary COPY and dropped when the store goes: at the end,
after an error, after Ctrl-C. ``index`` says how it is searched: ``exact`` (every vector), ``hnsw`` or
``ivfflat``, with pgvector's own names and usual values for their settings, as an application has them; what
such an index misses, ``recall_against_exact`` says. ``halfvec=true`` keeps half the digits in half the room.

The server is given by ``dsn``, else by ``PGVECTOR_DSN``, else by the settings of libpq (``PGHOST``,
``PGUSER``, ``PGPASSWORD``, a password file …). Its password is never shown.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from rag_evaluation_framework.adapters.extras import (
    CollectionStore,
    IndexSettings,
    IndexSystem,
    checked_index_settings,
    require_extra,
)
from rag_evaluation_framework.errors import TargetError, UnknownNameError, UsageError
from rag_evaluation_framework.evaluation.frameworks import NEAREST, Call, ExistingIndex
from rag_evaluation_framework.extensions import Embedder, Specification, component_text, extra_module
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.embedders import embedded
from rag_evaluation_framework.retrieval.stores import Matrix, Proposals

EXTRA = "pgvector"
DSN_VARIABLE = "PGVECTOR_DSN"

_FEATURE = "PgvectorStore"
_SECRET = ("password", "sslpassword", "oauth_client_secret")
# pgvector's own usual values; without one it follows from the rows.
_SETTINGS: IndexSettings = {
    "exact": {},
    "hnsw": {"m": (16, 2, 100), "ef_construction": (64, 4, 1000), "ef_search": (40, 1, 1000)},
    "ivfflat": {"lists": (None, 1, 32768), "probes": (None, 1, 32768)},
}
_ROWS_A_LIST = 1000
_ROWS_FOR_WORKERS = 100_000
_ROWS_AT_ONCE = 4096
# The most numbers that an index takes, for vectors and for halves; a page of a table takes so many bytes.
_INDEXED = {"vector": 2000, "halfvec": 4000}
_BYTES_IN_A_PAGE = 7900
_COPY_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_END = b"\xff\xff"

Name = str | tuple[str, ...]
"""Name of a table, a column or an index: a word, or a schema and a word."""


class PgvectorStore(CollectionStore):
    """A fresh table of PostgreSQL with pgvector. ``index`` is exact, hnsw or ivfflat."""

    name = "pgvector"

    def __init__(
        self,
        dsn: str | None = None,
        *,
        index: str = "exact",
        halfvec: bool = False,
        m: int | None = None,
        ef_construction: int | None = None,
        ef_search: int | None = None,
        lists: int | None = None,
        probes: int | None = None,
    ) -> None:
        require_extra("psycopg", feature=_FEATURE, extra=EXTRA)
        super().__init__(_shown_server(dsn), is_lasting=True)
        self._dsn, self._index = dsn, index
        self._address = os.environ.get(DSN_VARIABLE, "") if dsn is None else dsn
        self._settings = checked_index_settings("pgvector", index, _SETTINGS, locals())
        if index == "hnsw" and (self._settings["ef_construction"] or 0) < 2 * (self._settings["m"] or 0):
            found = self._settings["ef_construction"]
            raise UsageError(f"pgvector: ef_construction: expected at least twice m, got {found}")
        self._type = "halfvec" if halfvec else "vector"
        self._indexed = 0

    def __repr__(self) -> str:
        given = {
            "dsn": None if self._dsn is None else _without_secrets(self._dsn),
            "index": None if self._index == "exact" else self._index,
            "halfvec": True if self._type == "halfvec" else None,
        }
        return str(Specification("pgvector", drop_nulls({**given, **self._settings})))

    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        rows = first + len(vectors)
        with self._failures():
            self._open(vectors.shape[1])
            # To fill a table and then index it is far faster; a few more rows go into the index as it is.
            is_renewed = self._index != "exact" and rows >= 2 * self._indexed
            if is_renewed:
                self._client.run("DROP INDEX IF EXISTS {}", self._index_name)
            self._client.copy(self._collection, first, vectors, half=self._type == "halfvec")
            if is_renewed:
                self._client.run(self._index_statement(rows), self._index_name, self._collection)
                self._indexed = rows

    def _propose(self, queries: Matrix, count: int) -> Proposals:
        far = f"embedding <#> %(query)s::{self._type}"
        statement = f"SELECT id, {far} AS far FROM {{}} ORDER BY far LIMIT %(k)s"  # noqa: S608 - one of two words
        asked = [{"query": str(query), "k": count} for query in queries.tolist()]
        with self._failures():
            replies = self._client.rows_of(statement, asked, self._collection, settings=self._searching())
        nearest_first = (sorted(rows, key=lambda row: (row[1], row[0])) for rows in replies)
        return [([number for number, _ in rows], [-far for _, far in rows]) for rows in nearest_first]

    def _searching(self) -> dict[str, str]:
        """Return the settings of a search: the index is used however small the table is."""
        if self._index == "exact":
            # To start workers for every query costs as much as it takes to search so few rows.
            is_small = len(self._occurrences) < _ROWS_FOR_WORKERS
            return {"max_parallel_workers_per_gather": "0"} if is_small else {}
        used = {"enable_seqscan": "off"}
        # An index that finds fewer than are asked for looks further, where pgvector knows how to (0.8).
        order = {"hnsw": "strict_order", "ivfflat": "relaxed_order"}[self._index]
        further = {f"{self._index}.iterative_scan": order} if self._client.version >= (0, 8) else {}
        if self._index == "hnsw":
            return {**used, **further, "hnsw.ef_search": str(self._settings["ef_search"])}
        return {**used, **further, "ivfflat.probes": str(self._probes)}

    @property
    def effort(self) -> str | None:
        if self._index == "hnsw":
            return f"ef_search={self._settings['ef_search']}"
        return f"probes={self._probes}" if self._index == "ivfflat" else None

    @property
    def _probes(self) -> int:
        return self._settings["probes"] or isqrt(self._lists(self._indexed))

    def _lists(self, rows: int) -> int:
        """Return how many lists so many rows have: as pgvector advises, where nothing is said."""
        advised = rows // _ROWS_A_LIST if rows <= _ROWS_A_LIST**2 else isqrt(rows)
        return self._settings["lists"] or max(1, advised)

    def _index_statement(self, rows: int) -> str:
        if self._index == "hnsw":
            told = {name: self._settings[name] for name in ("m", "ef_construction")}
        else:
            told = {"lists": self._lists(rows)}
        options = ", ".join(f"{name} = {value}" for name, value in told.items())
        return (
            f"CREATE INDEX {{}} ON {{}} USING {self._index} (embedding {self._type}_ip_ops) WITH ({options})"
        )

    @property
    def _index_name(self) -> str:
        return f"{self._collection}_index"

    def _create(self, collection: str, dimensions: int) -> None:
        most = _INDEXED[self._type]
        if self._index != "exact" and dimensions > most:
            halves = "" if self._type == "halfvec" else f", {_INDEXED['halfvec']:,} with halfvec=true"
            raise UsageError(
                f"pgvector: expected vectors of at most {most:,} numbers for {self._index}{halves}, "
                f"got {dimensions:,}. index=exact has no limit"
            )
        self._indexed = 0
        # What is lost when the server falls is made again; so nothing is written twice.
        column = f"embedding {self._type}({dimensions})"
        self._client.run(f"CREATE UNLOGGED TABLE {{}} (id integer, {column})", collection)
        if dimensions * (2 if self._type == "halfvec" else 4) < _BYTES_IN_A_PAGE:
            # Beside its number and not in a table of long values, which every search would have to look into.
            self._client.run("ALTER TABLE {} ALTER embedding SET STORAGE PLAIN", collection)

    def _connect(self) -> Any:
        return _Server(self._address)

    def _errors(self) -> tuple[type[Exception], ...]:
        return _raised()


# One connection, and what is asked of it.


class _Server:
    """A connection to a database with the extension; one thread at a time asks."""

    def __init__(self, dsn: str | None, *, read_only: bool = False) -> None:
        self._dsn = dsn if dsn is not None else os.environ.get(DSN_VARIABLE, "")
        self._psycopg = extra_module("psycopg", feature=_FEATURE, extra=EXTRA)
        self._sql = extra_module("psycopg.sql", feature=_FEATURE, extra=EXTRA)
        self._lock = threading.Lock()
        self._connection = self._psycopg.connect(self._dsn, autocommit=True, prepare_threshold=None)
        weakref.finalize(self, self._connection.close)
        self._connection.read_only = read_only
        found = self.run("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        if not found:
            raise TargetError(
                "store-failed",
                f"pgvector at {_shown_server(dsn)}: the database does not have the extension vector. "
                "Install it: CREATE EXTENSION vector;",
            )
        self.version = tuple(int(part) for part in found[0][0].split(".")[:2])

    def run(self, statement: str, *names: Name, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement, in which ``{}`` stands for a name, and return its rows, if it has any."""
        with self._lock, self._connection.transaction():
            cursor = self._connection.execute(self._named(statement, names), values)
            return [] if cursor.description is None else list(cursor.fetchall())

    def rows_of(
        self, statement: str, asked: Sequence[Mapping[str, Any]], *names: Name, settings: Mapping[str, str]
    ) -> list[list[tuple[Any, ...]]]:
        """Return the rows that one statement has for each of many values, all sent at once."""
        with self._lock, self._connection.transaction(), self._connection.cursor(binary=True) as cursor:
            for name, value in settings.items():
                cursor.execute("SELECT set_config(%s, %s, true)", (name, value))
            cursor.executemany(self._named(statement, names), asked, returning=True)
            replies = [cursor.fetchall()]
            while cursor.nextset():
                replies.append(cursor.fetchall())
        return replies

    def copy(self, table: str, first: int, vectors: Matrix, *, half: bool) -> None:
        """Write vectors under the numbers from ``first`` on, in PostgreSQL's own binary form."""
        statement = self._named("COPY {} (id, embedding) FROM STDIN WITH (FORMAT BINARY)", (table,))
        with (
            self._lock,
            self._connection.transaction(),
            self._connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            copy.write(_COPY_HEADER)
            for start in range(0, len(vectors), _ROWS_AT_ONCE):
                copy.write(_copied(first + start, vectors[start : start + _ROWS_AT_ONCE], half=half))
            copy.write(_COPY_END)

    def delete_collection(self, collection: str) -> None:
        """Drop a table; where this connection is lost, over another."""
        if self._connection.closed or self._connection.broken:
            self._connection = self._psycopg.connect(self._dsn, autocommit=True)
            weakref.finalize(self, self._connection.close)
        self.run("DROP TABLE IF EXISTS {}", collection)

    def quoted(self, name: Name) -> str:
        """Return a name as an SQL identifier, with any characters."""
        text: str = self._named("{}", (name,)).as_string(self._connection)
        return text

    def _named(self, statement: str, names: Sequence[Name]) -> Any:
        parts = ((name,) if isinstance(name, str) else name for name in names)
        return self._sql.SQL(statement).format(*(self._sql.Identifier(*each) for each in parts))


def _copied(first: int, vectors: Matrix, *, half: bool) -> bytes:
    """Return rows as COPY takes them: two fields, each after its length in bytes, the greatest byte first."""
    count, size = vectors.shape
    number = np.dtype(">f2" if half else ">f4")
    names = ["fields", "id_bytes", "id", "vector_bytes", "size", "unused", "numbers"]
    formats = [">i2", ">i4", ">i4", ">i4", ">i2", ">i2", (number, (size,))]
    rows = np.zeros(count, np.dtype({"names": names, "formats": formats}))
    rows["fields"], rows["id_bytes"], rows["id"] = 2, 4, np.arange(first, first + count)
    rows["vector_bytes"], rows["size"] = 4 + size * number.itemsize, size
    rows["numbers"] = vectors
    return rows.tobytes()


def _raised() -> tuple[type[Exception], ...]:
    psycopg = extra_module("psycopg", feature=_FEATURE, extra=EXTRA)
    return psycopg.Error, OSError


def _parse_connection_string(dsn: str) -> dict[str, Any]:
    """Return the parts of a connection string; one that is none is refused without being shown."""
    psycopg = extra_module("psycopg", feature=_FEATURE, extra=EXTRA)
    try:
        parts: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        example = "postgresql://user@host:5432/database"
        raise UsageError(f"pgvector: dsn: expected a connection string such as {example}") from None
    return parts


def _without_secrets(dsn: str) -> str:
    psycopg = extra_module("psycopg", feature=_FEATURE, extra=EXTRA)
    kept = {name: value for name, value in _parse_connection_string(dsn).items() if name not in _SECRET}
    text: str = psycopg.conninfo.make_conninfo(**kept)
    return text


def _shown_server(dsn: str | None) -> str:
    """Return host, port and name of a database, as far as they are given."""
    told = _parse_connection_string(dsn if dsn is not None else os.environ.get(DSN_VARIABLE, ""))
    host = told.get("host") or told.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    port = told.get("port") or os.environ.get("PGPORT") or "5432"
    name = told.get("dbname") or os.environ.get("PGDATABASE")
    return f"{host}:{port}" + (f"/{name}" if name else "")


# A table that exists already: its columns are named, or told by their names and types.

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "text": ("content", "text", "page_content", "chunk_text", "chunk", "passage", "body", "document"),
    "document": ("source", "doc_id", "document_id", "file_name", "filename", "file_path", "file", "path"),
    "metadata": ("metadata", "metadata_", "cmetadata", "meta"),
    "id": ("id", "chunk_id", "node_id", "uuid"),
    "start": ("start", "start_index", "start_char", "start_offset"),
    "end": ("end", "end_index", "end_char", "end_offset"),
}
_TEXT = ("text", "character varying")
_WHOLE = ("integer", "bigint")
_TYPES = {"text": _TEXT, "metadata": ("json", "jsonb"), "start": _WHOLE, "end": _WHOLE}
_VECTORS = ("vector", "halfvec")
_OPERATORS = {"cosine": "<=>", "ip": "<#>", "l2": "<->"}


def existing_table(
    table: str,
    *,
    embedder: Embedder,
    dsn: str | None = None,
    text: str | None = None,
    vector: str | None = None,
    document: str | None = None,
    metadata: str | None = None,
    id: str | None = None,  # noqa: A002 - what the column is called in most tables
    start: str | None = None,
    end: str | None = None,
    distance: str | None = None,
    where: str | None = None,
    ef_search: int | None = None,
    probes: int | None = None,
) -> ExistingIndex:
    """Return a table, or a view, as an index that is searched in read-only transactions.

    ``embedder`` is the one that its vectors were made with. Columns that are not named are guessed by name
    and type; ``distance`` (cosine, ip or l2) is that of the table's index, else cosine. ``where`` is a
    condition in SQL, for a table of several collections; ``ef_search`` and ``probes`` are pgvector's.
    """
    given = {**locals(), "dsn": os.environ.get(DSN_VARIABLE) if dsn is None else dsn}
    require_extra("psycopg", feature=_FEATURE, extra=EXTRA)
    named = {part: given[part] for part in ("vector", *_COLUMNS)}
    if distance is not None and distance not in _OPERATORS:
        raise UnknownNameError("distance of pgvector", distance, list(_OPERATORS))
    place = _shown_server(dsn)
    try:
        opened = _Table(_Server(dsn, read_only=True), table, named, place, distance=distance, where=where)
    except _raised() as error:
        raise UsageError(f"pgvector at {place}: {error}") from error
    settings = drop_nulls({"hnsw.ef_search": ef_search, "ivfflat.probes": probes})
    used = {name: str(value) for name, value in settings.items()}
    address = None if dsn is None else _without_secrets(dsn)
    told: dict[str, Any] = {"table": table, "dsn": address, **opened.told, "where": where}
    told |= {"ef_search": ef_search, "probes": probes, "embedder": component_text(embedder)}
    return ExistingIndex(
        IndexSystem(
            kind="pgvector",
            given=opened,
            call=_search(opened, embedder, used),
            called=str(Specification("pgvector", drop_nulls(told))),
            # Of a view nobody knows whether it has an index.
            exact=_search(opened, embedder, {"enable_indexscan": "off"}),
            effort=opened.effort(used),
            opened=partial(existing_table, **given),
        )
    )


def _search(table: _Table, embedder: Embedder, settings: Mapping[str, str]) -> Call:
    """Return the call that finds what is nearest to a question under these settings of the server."""

    def nearest(question: str, _: Any, k: int | None) -> Any:
        query = embedded(embedder, [question], role="query")[0].tolist()
        try:
            return table.nearest(query, k or NEAREST, settings)
        except _raised() as error:
            raise TargetError("store-failed", str(error).partition("\n")[0]) from error

    return nearest


class _Table:
    """A table of somebody's: which columns it has, and how it is searched."""

    def __init__(
        self,
        server: _Server,
        table: str,
        named: Mapping[str, str | None],
        place: str,
        *,
        distance: str | None,
        where: str | None,
    ) -> None:
        self._server, self._name = server, tuple(table.split("."))
        types = self._types(place)
        columns = _columns(table, types, named)
        self._kept = [part for part in columns if part != "vector"]
        self.index, distance = self._indexed(columns["vector"], distance)
        self.told: dict[str, str] = {
            part: columns[part] for part in ("vector", "text", "document") if part in columns
        }
        self.told["distance"] = distance
        far = f"{{}} {_OPERATORS[distance]} %(query)s::{types[columns['vector']]}"
        chosen = "".join("{}, " for _ in self._kept)
        # In the condition no sign stands for a name or a value.
        plain = (where or "").replace("{", "{{").replace("}", "}}").replace("%", "%%")
        condition = f"WHERE ({plain})" if where is not None else ""
        # The condition is the user's own, in a transaction that can only read.
        self._statement = f"SELECT {chosen}{far} AS far FROM {{}} {condition} ORDER BY far LIMIT %(k)s"  # noqa: S608
        self._names: tuple[Name, ...] = (
            *(columns[part] for part in self._kept),
            columns["vector"],
            self._name,
        )

    def nearest(self, query: Sequence[float], k: int, settings: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the rows nearest to a vector as contexts; a greater score is nearer."""
        asked = {"query": str(query), "k": k}
        [rows] = self._server.rows_of(self._statement, [asked], *self._names, settings=settings)
        return [_context(dict(zip(self._kept, row[:-1], strict=True)), row[-1]) for row in rows]

    def _types(self, place: str) -> dict[str, str]:
        """Return the type of every column."""
        found = self._server.run(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            values=[self._server.quoted(self._name)],
        )
        if not found:
            known = self._server.run(
                "SELECT DISTINCT attrelid::regclass::text FROM pg_attribute "
                "JOIN pg_class ON pg_class.oid = attrelid WHERE relkind IN ('r', 'v', 'm', 'p') "
                "AND format_type(atttypid, NULL) IN ('vector', 'halfvec')"
            )
            names = sorted(name for (name,) in known)
            raise UnknownNameError(f"table with vectors at {place}", ".".join(self._name), names)
        return dict(found)

    def _indexed(self, column: str, distance: str | None) -> tuple[str | None, str]:
        """Return the kind of the column's index, for this distance or any, and its distance; else cosine."""
        found = self._server.run(
            "SELECT amname, split_part(opcname, '_', 2) FROM pg_index "
            "JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey) "
            "JOIN pg_opclass ON pg_opclass.oid = ANY (indclass) JOIN pg_am ON pg_am.oid = opcmethod "
            "WHERE indrelid = to_regclass(%s) AND attname = %s "
            "AND opcname ~ '^(vector|halfvec)_(cosine|ip|l2)_ops$'",
            values=[self._server.quoted(self._name), column],
        )
        fits = [(kind, near) for kind, near in found if distance in (None, near)]
        return fits[0] if fits else (None, distance or "cosine")

    def effort(self, settings: Mapping[str, str]) -> str | None:
        """Return the search effort of the table's index: the given setting, else the server's."""
        name = {"hnsw": "hnsw.ef_search", "ivfflat": "ivfflat.probes"}.get(self.index or "")
        if name is None:
            return None
        told = settings.get(name)
        if told is None:  # pgvector knows its settings once a vector was read in this session
            self._server.run("SELECT '[1]'::vector")
            told = self._server.run("SELECT current_setting(%s, true)", values=[name])[0][0]
        return f"{name.partition('.')[2]}={told}" if told else name.partition(".")[2]


def _context(row: Mapping[str, Any], far: float) -> dict[str, Any]:
    metadata = row.get("metadata")
    told = dict(metadata) if isinstance(metadata, Mapping) else {}
    told |= {"source": str(row["document"])} if row.get("document") is not None else {}
    number = {} if row.get("id") is None else {"id": str(row["id"])}
    known = drop_nulls({part: row.get(part) for part in ("start", "end")})
    return {"text": row["text"] or "", "score": -far, "metadata": {**number, **told}, **known}


def _columns(table: str, types: Mapping[str, str], named: Mapping[str, str | None]) -> dict[str, str]:
    """Return the column of each part: the one that is named, else one that has a usual name and type."""
    wrong = [
        f"{part}: {UnknownNameError('column', column, list(types))}"
        for part, column in named.items()
        if column is not None and column not in types
    ]
    columns = drop_nulls(named)
    vectors = [column for column, kind in types.items() if kind in _VECTORS]
    texts = [column for column, kind in types.items() if kind in _TEXT]
    if len(vectors) == 1:
        columns.setdefault("vector", vectors[0])
    for part, usual in _COLUMNS.items():
        free = [column for column in usual if column in types and column not in columns.values()]
        fits = [column for column in free if part not in _TYPES or types[column] in _TYPES[part]]
        if part not in columns and fits:
            columns[part] = fits[0]
    for part, among in (("vector", vectors), ("text", texts)):
        if part not in columns:
            found = ", ".join(among) or "no column of this type"
            wrong.append(f"the setting {part} is missing; set it to a column ({found})")
    if wrong:
        raise UsageError("\n".join(f"pgvector: table {table}: {problem}" for problem in wrong))
    return columns
