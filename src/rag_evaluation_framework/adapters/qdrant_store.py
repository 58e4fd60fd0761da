"""Qdrant as a store: in memory (its local mode), in a folder, or a server.

Searches are exact, so the index that a server may build plays no part in the results. A point has its
chunk's document, positions and text as payload; of equal vectors there is one point, for the first chunk.
The collection is the store's own and goes with it. A server's key is read from ``QDRANT_API_KEY``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from rag_evaluation_framework.adapters.extras import (
    CollectionStore,
    MeasuredIndex,
    database_folder,
    place_of,
    require_extra,
)
from rag_evaluation_framework.errors import TargetError, UnknownNameError, UsageError
from rag_evaluation_framework.evaluation.frameworks import NEAREST, ExistingIndex
from rag_evaluation_framework.evaluation.secrets import shown_address
from rag_evaluation_framework.extensions import Embedder, Specification, component_text, extra_module
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.embedders import embedded
from rag_evaluation_framework.retrieval.stores import Matrix, Proposals

EXTRA = "qdrant"
KEY_VARIABLE = "QDRANT_API_KEY"

_FEATURE = "QdrantVectorStore"
_POINTS_AT_ONCE = 1000
# By folder or address: a folder can be opened once at a time, so whoever searches it shares its client.
_FOLDERS: WeakValueDictionary[str, Any] = WeakValueDictionary()


class QdrantVectorStore(CollectionStore):
    """A collection of Qdrant. ``url`` is a server, ``path`` a folder; without, memory."""

    name = "qdrant"

    def __init__(self, url: str | None = None, *, path: str | None = None) -> None:
        super().__init__(None if url is None else shown_address(url), is_lasting=url is not None)
        require_extra("qdrant_client", feature=_FEATURE, extra=EXTRA)
        if url is not None and path is not None:
            raise UsageError("qdrant: expected a url or a path, got both")
        self._url, self._path = url, path

    def __repr__(self) -> str:
        return str(Specification("qdrant", drop_nulls({"url": self._server, "path": self._path})))

    def __getstate__(self) -> dict[str, Any]:
        if self._path is not None and self._collection is not None:
            advice = "To share it between processes, use a server (url=…) or memory"
            raise UsageError(f"qdrant: {self._path} is already open in this process. {advice}")
        return super().__getstate__()

    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        models = extra_module("qdrant_client.models", feature=_FEATURE, extra=EXTRA)
        with self._failures():
            self._open(vectors.shape[1])
            for start in range(0, len(chunks), _POINTS_AT_ONCE):
                batch = chunks[start : start + _POINTS_AT_ONCE]
                points = models.Batch(
                    ids=[first + start + offset for offset in range(len(batch))],
                    vectors=vectors[start : start + _POINTS_AT_ONCE].tolist(),
                    payloads=[{**place_of(chunk), "content": chunk.content} for chunk in batch],
                )
                self._client.upsert(self._collection, points=points, wait=True)

    def _propose(self, queries: Matrix, count: int) -> Proposals:
        models = extra_module("qdrant_client.models", feature=_FEATURE, extra=EXTRA)
        # Local mode knows no other search than the exact one and warns when it is asked for.
        exact = models.SearchParams(exact=True) if self._url is not None else None
        requests = [models.QueryRequest(query=query, limit=count, params=exact) for query in queries.tolist()]
        with self._failures():
            replies = self._client.query_batch_points(self._collection, requests=requests)
        return [
            ([point.id for point in reply.points], [point.score for point in reply.points])
            for reply in replies
        ]

    def _create(self, collection: str, dimensions: int) -> None:
        models = extra_module("qdrant_client.models", feature=_FEATURE, extra=EXTRA)
        # Vectors have length one, so the inner product is the cosine, and a row of zeros does no harm.
        vectors = models.VectorParams(size=dimensions, distance=models.Distance.DOT)
        self._client.create_collection(collection, vectors_config=vectors)

    def _connect(self) -> Any:
        return _connected(self._url, self._path)

    def _errors(self) -> tuple[type[Exception], ...]:
        return _raised()


def _connected(url: str | None, path: str | None) -> Any:
    client = extra_module("qdrant_client", feature=_FEATURE, extra=EXTRA).QdrantClient
    if url is not None:
        key = os.environ.get(KEY_VARIABLE) or None
        return client(url=url, api_key=key, check_compatibility=False)
    return client(":memory:") if path is None else client(path=path)


def _raised() -> tuple[type[Exception], ...]:
    qdrant = extra_module("qdrant_client.http.exceptions", feature=_FEATURE, extra=EXTRA)
    return qdrant.ApiException, RuntimeError, ValueError, OSError


def existing_collection(
    collection: str,
    *,
    embedder: Embedder,
    url: str | None = None,
    path: str | None = None,
    vector: str | None = None,
) -> ExistingIndex:
    """Return a collection on a server or in a folder as an index that is searched and never written to.

    ``embedder`` is the one that its vectors were made with, ``vector`` the name of a named vector. The text
    of a point is in its payload as ``page_content``, ``text`` or ``content``.
    """
    given = dict(locals())
    require_extra("qdrant_client", feature=_FEATURE, extra=EXTRA)
    folder = database_folder("Qdrant", path, url=url)
    where = path if url is None else shown_address(url)
    try:
        client = _FOLDERS.get(folder or url or "") or _connected(url, folder)
        _FOLDERS[folder or url or ""] = client
        known = [each.name for each in client.get_collections().collections]
        has_index = url is not None and collection in known  # local mode has none
        # What a search takes that is not told otherwise, as none is here.
        effort = client.get_collection(collection).config.hnsw_config.ef_construct if has_index else None
    except _raised() as error:
        raise UsageError(f"qdrant at {where}: {error}") from error
    if collection not in known:
        raise UnknownNameError(f"collection at {where}", collection, known)
    place = {"path": path} if url is None else {"url": where}
    told = Specification("qdrant", {"collection": collection, **place, "embedder": component_text(embedder)})

    def points(query: Sequence[float], k: int, **how: Any) -> list[Any]:
        try:
            return list(client.query_points(collection, query=query, limit=k, using=vector, **how).points)
        except _raised() as error:
            raise TargetError("store-failed", str(error)) from error

    def nearest(question: str, _: Any, k: int | None) -> Any:
        [query] = embedded(embedder, [question], role="query").tolist()
        found = points(query, k or NEAREST)
        return [{"id": point.id, "score": point.score, **(point.payload or {})} for point in found]

    def recall(questions: Sequence[str], k: int) -> float | None:
        models = extra_module("qdrant_client.models", feature=_FEATURE, extra=EXTRA)
        # Local mode knows no other search than the exact one and warns when it is asked for.
        exact = {} if url is None else {"search_params": models.SearchParams(exact=True)}
        queries = embedded(embedder, questions, role="query").tolist()
        return _share_found((points(query, k), points(query, k, **exact)) for query in queries)

    return MeasuredIndex(
        recall,
        kind="Qdrant",
        given=client,
        call=nearest,
        called=str(told),
        effort=None if effort is None else f"hnsw_ef={effort}",
        opened=partial(existing_collection, **{**given, "path": folder}),
    )


def _share_found(searches: Iterable[tuple[Sequence[Any], Sequence[Any]]]) -> float | None:
    """Return which share of the true points searches found; one as near as the last of them is one too."""
    found = true = 0
    for points, truth in searches:
        ids = {each.id for each in truth}
        found += sum(each.id in ids or each.score == truth[-1].score for each in points)
        true += len(truth)
    return found / true if true else None
