"""FAISS and LanceDB as stores: vector indexes in this process, exact or approximate.

FAISS keeps its vectors in memory. LanceDB keeps them in a folder, a temporary one unless ``path`` names
another, in a table of the store's own that goes with it. What an approximate index misses,
``recall_against_exact`` says.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from math import isqrt
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import numpy as np

from rag_evaluation_framework.adapters.extras import (
    CollectionStore,
    IndexSettings,
    checked_index_settings,
    require_extra,
)
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.stores import CandidateStore, Matrix, Proposals

# FAISS's own usual values; without one it follows from the vectors.
_OF_FAISS: IndexSettings = {
    "exact": {},
    "hnsw": {"m": (32, 2, 256), "ef_construction": (40, 1, 10_000), "ef_search": (16, 1, 10_000)},
    "ivf": {"lists": (None, 1, 65_536), "probes": (1, 1, 65_536)},
}
_OF_LANCEDB: IndexSettings = {
    "exact": {},
    "hnsw": {"m": (20, 2, 256), "ef_construction": (300, 1, 10_000), "ef_search": (None, 1, 10_000)},
    "ivf": {"lists": (None, 1, 65_536), "probes": (20, 1, 65_536)},
}
_ROOTS_A_LIST = 4


class _IndexedStore(CandidateStore):
    """A store that has several kinds of index; its text says which, with what settings."""

    name: str
    _kind: str
    _settings: dict[str, int | None]
    _path: str | None = None

    def __repr__(self) -> str:
        index = None if self._kind == "exact" else self._kind
        return str(
            Specification(self.name, drop_nulls({"path": self._path, "index": index, **self._settings}))
        )

    @property
    def effort(self) -> str | None:
        name = {"hnsw": "ef_search", "ivf": "probes"}.get(self._kind)
        value = self._settings.get(name or "")
        return name if name is None or value is None else f"{name}={value}"


class FaissStore(_IndexedStore):
    """FAISS in memory. ``index`` is exact, hnsw or ivf."""

    name = "faiss"

    def __init__(
        self,
        index: str = "exact",
        *,
        m: int | None = None,
        ef_construction: int | None = None,
        ef_search: int | None = None,
        lists: int | None = None,
        probes: int | None = None,
    ) -> None:
        super().__init__()
        require_extra("faiss", feature="FaissStore", extra="faiss")
        self._kind, self._settings = index, checked_index_settings("faiss", index, _OF_FAISS, locals())
        self._index: Any = None

    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        if self._index is None:
            self._index = self._made(vectors)
        self._index.add(vectors)

    def _propose(self, queries: Matrix, count: int) -> Proposals:
        nearness, numbers = self._index.search(queries, count)
        # Where an index finds fewer than are asked for, it puts -1 in their place.
        return [
            (of_one[of_one >= 0].tolist(), scores[of_one >= 0].tolist())
            for of_one, scores in zip(numbers, nearness, strict=True)
        ]

    def _drop(self) -> None:
        self._index = None

    def _made(self, vectors: Matrix) -> Any:
        """Return an index for vectors of this size; the lists of ``ivf`` are learned from these."""
        faiss = extra_module("faiss", feature="FaissStore", extra="faiss")
        dimensions, settings = vectors.shape[1], self._settings
        if self._kind == "hnsw":
            index = faiss.IndexHNSWFlat(dimensions, settings["m"], faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction, index.hnsw.efSearch = (
                settings["ef_construction"],
                settings["ef_search"],
            )
            return index
        flat = faiss.IndexFlatIP(dimensions)
        if self._kind == "exact":
            return flat
        lists = min(settings["lists"] or _ROOTS_A_LIST * isqrt(len(vectors)), len(vectors))
        index = faiss.IndexIVFFlat(flat, dimensions, max(1, lists), faiss.METRIC_INNER_PRODUCT)
        index.own_fields = True
        flat.this.disown()
        index.cp.min_points_per_centroid = 1  # few vectors for a list are the user's choice
        index.train(vectors)
        index.nprobe = settings["probes"]
        return index


class LanceDBStore(_IndexedStore, CollectionStore):
    """A table of LanceDB. ``path`` is a folder, else a temporary one; ``index`` is exact, hnsw or ivf."""

    name = "lancedb"
    drops = "drop_table"

    def __init__(
        self,
        path: str | None = None,
        *,
        index: str = "exact",
        m: int | None = None,
        ef_construction: int | None = None,
        ef_search: int | None = None,
        lists: int | None = None,
        probes: int | None = None,
    ) -> None:
        super().__init__(path, is_lasting=path is not None)
        require_extra("lancedb", feature="LanceDBStore", extra="lancedb")
        self._path, self._kind = path, index
        self._folder = None if path is None else str(Path(path).resolve())
        self._settings = checked_index_settings("lancedb", index, _OF_LANCEDB, locals())

    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        with self._failures():
            self._open(vectors.shape[1])
            self._collection.add(_arrow(first, vectors))
            if self._kind != "exact":
                # Rows that are not in the index are searched beside it, exactly; so it is made again for all.
                self._collection.create_index("vector", config=self._config(), replace=True)

    def _propose(self, queries: Matrix, count: int) -> Proposals:
        with self._failures():
            asked = self._collection.search(queries).distance_type("dot").limit(count)
            if self._kind == "ivf":
                asked = asked.nprobes(self._settings["probes"])
            elif self._kind == "hnsw" and self._settings["ef_search"] is not None:
                asked = asked.ef(self._settings["ef_search"])
            found = asked.select(["id", "_distance"]).to_arrow().to_pydict()
        proposals: list[tuple[list[int], list[float]]] = [([], []) for _ in queries]
        owners = found.get("query_index", [0] * len(found["id"]))
        for owner, number, distance in zip(owners, found["id"], found["_distance"], strict=True):
            proposals[owner][0].append(number)
            proposals[owner][1].append(-distance)
        return proposals

    def _config(self) -> Any:
        kinds = extra_module("lancedb.index", feature="LanceDBStore", extra="lancedb")
        settings = self._settings
        if self._kind == "ivf":
            return kinds.IvfFlat(distance_type="dot", num_partitions=settings["lists"])
        told = {"m": settings["m"], "ef_construction": settings["ef_construction"]}
        return kinds.HnswSq(distance_type="dot", num_partitions=1, **told)

    def _create(self, collection: str, dimensions: int) -> None:
        self._client.create_table(collection, _arrow(0, np.zeros((0, dimensions), np.float32)))

    def _opened(self, collection: str) -> Any:
        return self._client.open_table(collection)

    def _connect(self) -> Any:
        lancedb = extra_module("lancedb", feature="LanceDBStore", extra="lancedb")
        folder = mkdtemp(prefix="rag-eval-") if self._folder is None else self._folder
        if self._folder is None:
            weakref.finalize(self, rmtree, folder, ignore_errors=True)
        return lancedb.connect(folder)

    def _errors(self) -> tuple[type[Exception], ...]:
        return RuntimeError, ValueError, OSError


def _arrow(first: int, vectors: Matrix) -> Any:
    arrow = extra_module("pyarrow", feature="LanceDBStore", extra="lancedb")
    numbers = arrow.FixedSizeListArray.from_arrays(arrow.array(vectors.ravel()), vectors.shape[1])
    ids = arrow.array(np.arange(first, first + len(vectors)))
    return arrow.table({"id": ids, "vector": numbers})
