"""Qdrant as a store: in memory (its local mode), in a folder, or a server.

Searches are exact, so the index that a server may build plays no part in the results. A point has its
chunk's document, positions and text as payload; of equal vectors there is one point, for the first chunk.
The collection is the store's own and goes with it. A server's key is read from ``QDRANT_API_KEY``.
"""

from __future__ import annotations

import contextlib
import os
import uuid
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from rag_evaluation_framework.adapters.extras import require_extra
from rag_evaluation_framework.adapters.http_agent import shown_address
from rag_evaluation_framework.errors import TargetError, UsageError
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.stores import CandidateStore, Matrix, Proposals

EXTRA = "qdrant"
KEY_VARIABLE = "QDRANT_API_KEY"

_FEATURE = "QdrantVectorStore"
_POINTS_AT_ONCE = 1000


class QdrantVectorStore(CandidateStore):
    """Fulfils ``extensions.BatchVectorStore``. ``url`` is a server, ``path`` a folder; without, memory."""

    def __init__(self, url: str | None = None, *, path: str | None = None) -> None:
        super().__init__()
        require_extra("qdrant_client", feature=_FEATURE, extra=EXTRA)
        if url is not None and path is not None:
            raise UsageError("qdrant: expected a url or a path, got both")
        self._url, self._path = url, path
        self._client: Any = None
        self._collection = ""
        self._finalizer: weakref.finalize[..., QdrantVectorStore] | None = None

    def __repr__(self) -> str:
        given = {"url": None if self._url is None else shown_address(self._url), "path": self._path}
        return str(
            Specification("qdrant", {name: value for name, value in given.items() if value is not None})
        )

    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        models = extra_module("qdrant_client.models", feature=_FEATURE, extra=EXTRA)
        with self._failures():
            self._open(models, vectors.shape[1])
            for start in range(0, len(chunks), _POINTS_AT_ONCE):
                batch = chunks[start : start + _POINTS_AT_ONCE]
                points = models.Batch(
                    ids=[first + start + offset for offset in range(len(batch))],
                    vectors=vectors[start : start + _POINTS_AT_ONCE].tolist(),
                    payloads=[_payload(chunk) for chunk in batch],
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

    def _drop(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._collection, self._finalizer = "", None

    def _open(self, models: Any, dimensions: int) -> None:
        """Make the collection when the first chunks come."""
        if self._collection:
            return
        if self._client is None:
            self._client = self._connect()
        name = f"rag-eval-{uuid.uuid4().hex}"
        # Vectors have length one, so the inner product is the cosine, and a row of zeros does no harm.
        vectors = models.VectorParams(size=dimensions, distance=models.Distance.DOT)
        self._client.create_collection(name, vectors_config=vectors)
        self._collection = name
        self._finalizer = weakref.finalize(self, _delete, self._client, name, _errors())

    def _connect(self) -> Any:
        client = extra_module("qdrant_client", feature=_FEATURE, extra=EXTRA).QdrantClient
        if self._url is not None:
            key = os.environ.get(KEY_VARIABLE) or None
            return client(url=self._url, api_key=key, check_compatibility=False)
        return client(":memory:") if self._path is None else client(path=self._path)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn what Qdrant and its connection raise into one clear error."""
        try:
            yield
        except _errors() as error:
            where = f" at {shown_address(self._url)}" if self._url is not None else ""
            raise TargetError("store-failed", f"qdrant{where}: {error}") from error


def _payload(chunk: PositionAwareChunk) -> dict[str, str | int]:
    place: dict[str, str | int] = {"doc_id": chunk.doc_id, "start": chunk.start, "end": chunk.end}
    return {"chunk_id": chunk.id, "content": chunk.content, **place}


def _errors() -> tuple[type[Exception], ...]:
    qdrant = extra_module("qdrant_client.http.exceptions", feature=_FEATURE, extra=EXTRA)
    return qdrant.ApiException, RuntimeError, ValueError, OSError


def _delete(client: Any, name: str, errors: tuple[type[Exception], ...]) -> None:
    """Drop a collection; a server that is gone has nothing left to drop."""
    with contextlib.suppress(*errors):
        client.delete_collection(name)
