"""Embeddings on disk by (model, text): a text is embedded once, whichever run or process asks for it first.

One SQLite file in a folder, in write-ahead mode, which many processes read and write at once. A text is
known by its hash, a model by what the embedder calls itself. What was embedded is on disk batch by batch,
so a run that breaks off begins where it stopped.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np

from rag_evaluation_framework.errors import InputError, Issue, UsageError
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.files.sqlite_files import opened, transaction
from rag_evaluation_framework.retrieval.embedding import check_texts, embedded
from rag_evaluation_framework.retrieval.vectors import Matrix

FILE_NAME = "embeddings.sqlite3"

_ASKED_AT_ONCE = 500
_EMBEDDED_AT_ONCE = 1024
_TABLES = """
CREATE TABLE IF NOT EXISTS models (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS embeddings (
    model INTEGER NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text)
) WITHOUT ROWID;
"""


class CachedEmbedder:
    """Fulfils ``extensions.Embedder``: asks the embedder it wraps only for what the folder does not hold.

    ``model`` names what embeds, so that another model's vectors are never taken for its own. Without it the
    embedder's ``cache_key`` is used where it has one (a model in a local folder gives the hash of its
    weights), else its text.
    """

    def __init__(self, embedder: Embedder, path: str | Path, *, model: str | None = None) -> None:
        self.embedder = embedder
        self.folder = Path(path)
        self.embedded_texts = 0
        """How many texts the wrapped embedder was asked for."""
        self._model = model
        if model is None and _is_nameless(embedder):
            kind = type(embedder).__name__
            raise UsageError(f"embedding cache: expected model=… or an embedder with a repr, got {kind}")

    def __repr__(self) -> str:
        return repr(self.embedder)

    @property
    def cache_key(self) -> str:
        """What the model is called in the cache."""
        return self._model or str(getattr(self.embedder, "cache_key", None) or self.embedder)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one vector a text; equal texts are looked up and embedded once."""
        check_texts(texts)
        keys = [_key(text) for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        with self._opened() as database:
            number = _model_number(database, self.cache_key)
            vectors = _read(database, number, list(distinct))
        missing = [key for key in distinct if key not in vectors]
        for start in range(0, len(missing), _EMBEDDED_AT_ONCE):
            batch = missing[start : start + _EMBEDDED_AT_ONCE]
            fresh = embedded(self.embedder, [distinct[key] for key in batch])
            self.embedded_texts += len(batch)
            rows = dict(zip(batch, (row.astype("<f4").tobytes() for row in fresh), strict=True))
            with self._opened() as database:
                _write(database, number, rows)
            vectors |= rows
        return self._matrix(keys, vectors)

    def _matrix(self, keys: Sequence[bytes], vectors: Mapping[bytes, bytes]) -> Matrix:
        sizes = {len(vector) for vector in vectors.values()}
        if len(sizes) > 1:
            found = "sizes " + ", ".join(str(size // 4) for size in sorted(sizes))
            place = f"{self.folder / FILE_NAME}: {self.cache_key}"
            raise InputError([Issue("wrong-size", "vectors of one size for one model", found, place)])
        if not keys:
            return embedded(self.embedder, [])
        joined = np.frombuffer(b"".join(vectors[key] for key in keys), dtype="<f4")
        return joined.reshape(len(keys), -1).astype(np.float32)

    def _opened(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open the file for one call, so that a copy of this object works in every process and thread."""
        return opened(self.folder / FILE_NAME, tables=_TABLES, what="embedding cache")


def _is_nameless(embedder: Embedder) -> bool:
    """Tell whether all that an embedder says of itself is its address in memory."""
    kind = type(embedder)
    is_default = kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__
    return is_default and not hasattr(embedder, "cache_key")


def _model_number(database: sqlite3.Connection, name: str) -> int:
    found = database.execute("SELECT number FROM models WHERE name = ?", (name,)).fetchone()
    if found is None:
        with transaction(database):
            database.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (name,))
        found = database.execute("SELECT number FROM models WHERE name = ?", (name,)).fetchone()
    return int(found[0])


def _read(database: sqlite3.Connection, model: int, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    vectors: dict[bytes, bytes] = {}
    for start in range(0, len(keys), _ASKED_AT_ONCE):
        some = keys[start : start + _ASKED_AT_ONCE]
        marks = ",".join("?" * len(some))
        query = f"SELECT text, vector FROM embeddings WHERE model = ? AND text IN ({marks})"  # noqa: S608  # question marks only
        vectors.update(database.execute(query, (model, *some)))
    return vectors


def _write(database: sqlite3.Connection, model: int, rows: Mapping[bytes, bytes]) -> None:
    with transaction(database):
        database.executemany(
            "INSERT OR IGNORE INTO embeddings (model, text, vector) VALUES (?, ?, ?)",
            [(model, key, vector) for key, vector in rows.items()],
        )


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
