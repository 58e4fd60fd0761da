"""Chroma as a store: embedded in this process, in a folder, or a server.

Every store indexes into a collection of its own, which goes when the store does. An entry has its chunk's
document, positions and text as metadata; of equal vectors there is one entry, for the first chunk. Chroma
searches an approximate index (HNSW). With its own settings it found 52 to 95 % of the true nearest ten among
10,000 vectors of 384 numbers; with those here 99.9 % and more, in 1 to 2 ms a query.
``recall_against_exact`` says what it finds of the vectors at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rag_evaluation_framework.adapters.extras import (
    CollectionStore,
    MeasuredIndex,
    database_folder,
    place_of,
    require_extra,
)
from rag_evaluation_framework.errors import TargetError, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.frameworks import NEAREST, ExistingIndex, chroma_contexts
from rag_evaluation_framework.extensions import Embedder, Specification, component_text, extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.embedders import embedded
from rag_evaluation_framework.retrieval.stores import Matrix, Proposals, share_found, unit_vectors

EXTRA = "chroma"
PORT = 8000

MAX_NEIGHBORS = 32
EF_CONSTRUCTION = 200
EF_SEARCH = 1000

_FEATURE = "ChromaVectorStore"
_READ_AT_ONCE = 4096
_MOST_READ = 1 << 27  # numbers, in 512 MB: Chroma searches exactly only where its vectors are read


class ChromaVectorStore(CollectionStore):
    """A collection of Chroma. ``host`` is a server, ``path`` a folder; without, memory.

    Args:
        host: Host of a Chroma server.
        port: Port of the server.
        ssl: True for HTTPS.
        path: Folder of a local database.
        max_neighbors: Neighbors per node of the HNSW index.
        ef_construction: Candidates while the index is built.
        ef_search: Candidates per search.

    Raises:
        UsageError: Both a host and a path are given, or a number is below 1.
    """

    name = "chroma"

    def __init__(
        self,
        host: str | None = None,
        port: int = PORT,
        *,
        ssl: bool = False,
        path: str | None = None,
        max_neighbors: int = MAX_NEIGHBORS,
        ef_construction: int = EF_CONSTRUCTION,
        ef_search: int = EF_SEARCH,
    ) -> None:
        is_lasting = host is not None or path is not None
        super().__init__(None if host is None else f"{host}:{port}", is_lasting=is_lasting)
        require_extra("chromadb", feature=_FEATURE, extra=EXTRA)
        if host is not None and path is not None:
            raise UsageError("chroma: expected a host or a path, got both")
        self._settings = {
            "max_neighbors": max_neighbors,
            "ef_construction": ef_construction,
            "ef_search": ef_search,
        }
        for name, value in self._settings.items():
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"chroma: {name}: expected a whole number of at least 1, got {shown(value)}")
        self._host, self._port, self._ssl, self._path = host, port, ssl, path
        self._folder = None if path is None else str(Path(path).resolve())

    def __repr__(self) -> str:
        given: dict[str, Any] = {} if self._host is None else {"host": self._host, "port": self._port}
        given |= {"ssl": True} if self._ssl else {}
        given |= {} if self._path is None else {"path": self._path}
        return str(Specification("chroma", {**given, **self._settings}))

    @property
    def effort(self) -> str | None:
        return f"ef_search={self._settings['ef_search']}"

    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        with self._failures():
            self._open(vectors.shape[1])
            step = self._client.get_max_batch_size()
            for start in range(0, len(chunks), step):
                batch = chunks[start : start + step]
                self._collection.add(
                    ids=[str(first + start + offset) for offset in range(len(batch))],
                    embeddings=vectors[start : start + step],
                    documents=[chunk.content for chunk in batch],
                    metadatas=[place_of(chunk) for chunk in batch],
                )

    def _propose(self, queries: Matrix, count: int) -> Proposals:
        with self._failures():
            reply = self._collection.query(query_embeddings=queries, n_results=count, include=["distances"])
        return [
            ([int(number) for number in numbers], [-distance for distance in distances])
            for numbers, distances in zip(reply["ids"], reply["distances"], strict=True)
        ]

    def _open(self, dimensions: int) -> None:
        super()._open(dimensions)
        # What is kept in memory goes with the process; only servers and folders have to be cleaned up.
        if self._finalizer is not None:
            self._finalizer.atexit = self._is_lasting

    def _create(self, collection: str, dimensions: int) -> None:
        # Vectors have length one, so the inner product is the cosine, and a row of zeros does no harm.
        configuration = {"hnsw": {"space": "ip", **self._settings}}
        self._client.create_collection(collection, configuration=configuration, embedding_function=None)

    def _opened(self, collection: str) -> Any:
        return self._client.get_collection(collection, embedding_function=None)

    def _connect(self) -> Any:
        return _connected(self._host, self._port, ssl=self._ssl, path=self._folder)

    def _errors(self) -> tuple[type[Exception], ...]:
        return _raised()


def _connected(host: str | None, port: int, *, ssl: bool, path: str | None) -> Any:
    chromadb = extra_module("chromadb", feature=_FEATURE, extra=EXTRA)
    if host is not None:
        return chromadb.HttpClient(host=host, port=port, ssl=ssl)
    return chromadb.EphemeralClient() if path is None else chromadb.PersistentClient(path)


def _raised() -> tuple[type[Exception], ...]:
    httpx = extra_module("httpx", feature=_FEATURE, extra=EXTRA)
    chroma = extra_module("chromadb.errors", feature=_FEATURE, extra=EXTRA)
    return chroma.ChromaError, httpx.HTTPError, ValueError, OSError


def existing_collection(
    collection: str,
    *,
    host: str | None = None,
    port: int = PORT,
    ssl: bool = False,
    path: str | None = None,
    embedder: Embedder | None = None,
) -> ExistingIndex:
    """Return a collection on a server or in a folder as an index that is searched and never written to.

    Questions are embedded as the collection embeds its texts or, where that is not kept with it, by
    ``embedder``.
    """
    given = dict(locals())
    require_extra("chromadb", feature=_FEATURE, extra=EXTRA)
    # Chroma opens a path once in a process: one that is relative would mean what it meant first.
    folder = database_folder("Chroma", path, host=host)
    where = path if host is None else f"{host}:{port}"
    try:
        client = _connected(host, port, ssl=ssl, path=folder)
        known = [each.name for each in client.list_collections()]
        by: dict[str, Any] = {} if embedder is None else {"embedding_function": None}
        opened = client.get_collection(collection, **by) if collection in known else None
    except _raised() as error:
        raise UsageError(f"chroma at {where}: {error}") from error
    if opened is None:
        raise UnknownNameError(f"collection at {where}", collection, known)
    place = {"path": path} if host is None else {"host": host, "port": port}
    by = {} if embedder is None else {"embedder": component_text(embedder)}
    settings = opened.configuration_json
    settings = settings.get("hnsw") or settings.get("spann") or {}
    told = Specification("chroma", {"collection": collection, **place, **by})

    def nearest(question: str, _: Any, k: int | None) -> Any:
        asked: dict[str, Any] = {"query_texts": [question]}
        if embedder is not None:
            asked = {"query_embeddings": embedded(embedder, [question], role="query")}
        try:
            return chroma_contexts(opened.query(**asked, n_results=k or NEAREST))
        except _raised() as error:
            advice = "" if embedder else ". If the collection has no embedder of its own, set embedder=…"
            raise TargetError("store-failed", f"{error}{advice}") from error

    def recall(questions: Sequence[str], k: int) -> float:
        own: Any = embedder or opened.configuration.get("embedding_function")
        if own is None:
            raise TargetError("recall-unknown", "the collection has no embedder of its own. Set embedder=…")
        try:
            queries = embedded(embedder, questions, role="query") if embedder else own.embed_query(questions)
            return _recall(opened, np.asarray(queries, np.float32), k, space=settings.get("space", "l2"))
        except _raised() as error:
            raise TargetError("store-failed", str(error)) from error

    return MeasuredIndex(
        recall,
        kind="Chroma",
        given=opened,
        call=nearest,
        called=str(told),
        effort=f"ef_search={settings['ef_search']}" if "ef_search" in settings else None,
        opened=partial(existing_collection, **{**given, "path": folder}),
    )


def _recall(collection: Any, queries: Matrix, k: int, *, space: str) -> float:
    """Return the share of the true k nearest that the collection finds, by reading all of its vectors."""
    count, size = collection.count(), queries.shape[1]
    if not 0 < count * size <= _MOST_READ:
        told = f"expected a collection of 1 to {_MOST_READ // size:,} vectors, got {count:,}"
        raise TargetError("recall-unknown", told)
    found = collection.query(query_embeddings=queries, n_results=k, include=[])["ids"]
    parts = [
        collection.get(limit=_READ_AT_ONCE, offset=start, include=["embeddings"])
        for start in range(0, count, _READ_AT_ONCE)
    ]
    numbers = {each: number for number, each in enumerate(each for part in parts for each in part["ids"])}
    vectors = np.concatenate([np.asarray(part["embeddings"], np.float32) for part in parts])
    if space == "l2":  # the nearest has the greatest product with the query, less half its square
        vectors = np.hstack([vectors, -(vectors**2).sum(axis=1, keepdims=True) / 2])
        queries = np.hstack([queries, np.ones((len(queries), 1), np.float32)])
    elif space == "cosine":
        vectors = unit_vectors(vectors)
    vectors /= max(1e-30, np.linalg.norm(vectors, axis=1).max())  # in proportion: none is longer than one
    return share_found(unit_vectors(queries), vectors, [[numbers[each] for each in of] for of in found], k)
