"""Qdrant as a store: in memory (its local mode), in a folder, or a server.

Searches are exact, so the index that a server may build plays no part in the results. A point has its
chunk's document, positions and text as payload; of equal vectors there is one point, for the first chunk.
The collection is the store's own and goes with it. A server's key is read from ``QDRANT_API_KEY``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from rag_evaluation_framework.adapters.extras import CollectionStore, place_of, require_extra
from rag_evaluation_framework.adapters.http_agent import shown_address
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.stores import Matrix, Proposals

EXTRA = "qdrant"
KEY_VARIABLE = "QDRANT_API_KEY"

_FEATURE = "QdrantVectorStore"
_POINTS_AT_ONCE = 1000


class QdrantVectorStore(CollectionStore):
    """A collection of Qdrant. ``url`` is a server, ``path`` a folder; without, memory."""

    name = "qdrant"

    def __init__(self, url: str | None = None, *, path: str | None = None) -> None:
        super().__init__(None if url is None else shown_address(url))
        require_extra("qdrant_client", feature=_FEATURE, extra=EXTRA)
        if url is not None and path is not None:
            raise UsageError("qdrant: expected a url or a path, got both")
        self._url, self._path = url, path

    def __repr__(self) -> str:
        given = {"url": self._server, "path": self._path}
        return str(
            Specification("qdrant", {name: value for name, value in given.items() if value is not None})
        )

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

    def _create(self, collection: str, dimensions: int) -> str:
        models = extra_module("qdrant_client.models", feature=_FEATURE, extra=EXTRA)
        # Vectors have length one, so the inner product is the cosine, and a row of zeros does no harm.
        vectors = models.VectorParams(size=dimensions, distance=models.Distance.DOT)
        self._client.create_collection(collection, vectors_config=vectors)
        return collection

    def _connect(self) -> Any:
        client = extra_module("qdrant_client", feature=_FEATURE, extra=EXTRA).QdrantClient
        if self._url is not None:
            key = os.environ.get(KEY_VARIABLE) or None
            return client(url=self._url, api_key=key, check_compatibility=False)
        return client(":memory:") if self._path is None else client(path=self._path)

    def _errors(self) -> tuple[type[Exception], ...]:
        qdrant = extra_module("qdrant_client.http.exceptions", feature=_FEATURE, extra=EXTRA)
        return qdrant.ApiException, RuntimeError, ValueError, OSError
