"""Vectors, exact search, the exact store, what vendors' stores share."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, UsageError, counted, shown
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.workers import Workforce, crew_for, crew_of, in_order

# Vectors as a store keeps them: one float32 matrix, checked, each row of length one.
#
# Whatever comes in (lists of lists, arrays of any float type) is checked here once: as many rows as there
# should be, all of one size, every number finite. Nearness is the cosine everywhere, so rows are brought
# to length one; a row of zeros has no direction, stays as it is and is at cosine 0 from everything.

Matrix = npt.NDArray[np.float32]
T = TypeVar("T")

# What a processor's cache holds as float64.
_ROWS_AT_ONCE = 256
# A length of one, as far as float32 can make it.
_UNIT_ERROR = 2.0**-22


def checked_vectors(
    values: Any, source: str, *, rows: int | None = None, dimensions: int | None = None
) -> Matrix:
    """Return vectors as a float32 matrix, or raise an error that names ``source`` and what is wrong.

    >>> checked_vectors([[1, 2], [3, 4]], "embeddings", rows=2).shape
    (2, 2)
    >>> checked_vectors([[1, 2], [3, 4]], "embeddings", rows=3)
    Traceback (most recent call last):
    ...
    rag_evaluation_framework.errors.InputError: embeddings: expected 3 vectors, got 2
    """
    matrix = _matrix(values, source)
    if rows is not None and len(matrix) != rows:
        raise _wrong(source, counted(rows, "vector"), str(len(matrix)), code="wrong-count")
    if not len(matrix):
        return matrix.reshape(0, dimensions or 0)
    if not matrix.shape[1]:
        raise _wrong(source, "vectors of at least one number", "empty vectors", code="wrong-size")
    if dimensions is not None and matrix.shape[1] != dimensions:
        raise _wrong(source, f"vectors of {dimensions} numbers", str(matrix.shape[1]), code="wrong-size")
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise _wrong(
            f"{source}[{row}][{column}]", "a finite number", str(matrix[row, column]), code="not-finite"
        )
    return matrix


def unit_vectors(vectors: Matrix) -> Matrix:
    """Return the rows brought to length one; rows that have it stay as they are, and rows of zeros too."""
    unit = np.empty(vectors.shape, np.float32)
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        rows = vectors[start : start + _ROWS_AT_ONCE]
        # In float64, so that no finite float32 vector overflows or vanishes on the way.
        wide = rows.astype(np.float64)
        lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        lengths[(lengths == 0) | (np.abs(lengths - 1) < _UNIT_ERROR)] = 1.0
        scaled = unit[start : start + _ROWS_AT_ONCE]
        if (lengths == 1).all():
            scaled[:] = rows
        else:
            np.divide(wide, lengths[:, None], out=scaled, casting="same_kind")
    return unit


def check_k(k: int) -> None:
    """Refuse a number of results that is not a whole number above 0."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k: expected a whole number of at least 1, got {shown(k)}")


def checked_price(price: float | None, part: str) -> float | None:
    """Return a price, or refuse what is none."""
    is_number = isinstance(price, int | float) and not isinstance(price, bool)
    if price is not None and not (is_number and math.isfinite(price) and price >= 0):
        raise UsageError(f"{part}: price: expected US dollars of at least 0, got {shown(price)}")
    return price


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Cut a sequence into pieces of at most ``size``."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def _matrix(values: Any, source: str) -> Matrix:
    try:
        with np.errstate(over="ignore"):  # a number beyond float32 becomes infinite and is refused as such
            matrix = np.asarray(values).astype(np.float32, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(source, "a list of vectors of one size", _described(values), code="wrong-size") from None
    if matrix.ndim == 1 and not matrix.size:
        return matrix.reshape(0, 0)
    if matrix.ndim != 2:
        found = f"an array of {counted(matrix.ndim, 'dimension')}"
        raise _wrong(source, "a list of vectors", found, code="wrong-size")
    return matrix


def _described(values: Any) -> str:
    """Return the problem with values that form no matrix: different sizes, or no numbers."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        sizes = {len(row) for row in values if isinstance(row, Sequence) or np.ndim(row)}
        if len(sizes) > 1:
            return "sizes " + ", ".join(map(str, sorted(sizes)))
    return shown(values)


def _wrong(path: str, expected: str, found: str, *, code: str) -> InputError:
    return InputError([Issue(code, expected, found, path)])


# The nearest of many vectors, exactly: a float32 product finds candidates, float64 decides among them.
#
# A matrix product's last bits depend on how many queries and rows it is given at once. The order of
# results must not, so the product only proposes: whatever could be among a query's best k within the
# product's rounding error is scored again, each pair alone and in float64.
#
# Rows are multiplied with all queries a block at a time, and looked through while they are in the
# processor's cache. Of a block only the maxima of groups of rows are compared: the k-th greatest maximum
# so far is a floor that none of the best k is below, and only groups that reach it are looked into. A
# query to which many vectors are equally near is compared with every row by itself.

Numbers = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]
TieOrder = Callable[[], Numbers]
"""Ranks every vector; it is asked only where two cosines are equal."""

_ROW_BLOCK = 1 << 11
_QUERY_BLOCK = 1 << 10
_PRODUCT_SIZE = 1 << 21
_GROUP = 16
# Once there is a floor it rises slowly: the maxima of so many groups together are fine enough to raise it.
_COARSE = 8
# A query with four times k candidates and so many more is better off by itself.
_CROWD = 64
_SCORED_AT_ONCE = 1 << 17
_HALF_ULP = 2.0**-24
# A worker is given so many queries together, at least.
_QUERIES_SENT = 256


def nearest(queries: Matrix, vectors: Matrix, k: int, *, tie_order: TieOrder) -> tuple[Numbers, Scores]:
    """Return for each query the numbers of its k nearest vectors, best first, and their cosines.

    Both sides have length one. Equal cosines are ordered by ``tie_order``. There are fewer columns than k
    when there are fewer vectors.
    """
    k = min(k, len(vectors))
    numbers = np.empty((len(queries), k), np.intp)
    scores = np.empty((len(queries), k), np.float64)
    height = min(len(vectors), max(_ROW_BLOCK, 4 * k))
    step = max(1, min(_QUERY_BLOCK, _PRODUCT_SIZE // max(1, height)))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        numbers[block], scores[block] = _nearest_block(
            queries[block], vectors, k, height=height, tie_order=tie_order
        )
    return numbers, scores


def ranked(
    query: Matrix, vectors: Matrix, candidates: Numbers, *, k: int, tie_order: TieOrder
) -> tuple[Numbers, Scores]:
    """Order one query's candidates by their exact cosine and keep the best k."""
    owners = np.zeros(len(candidates), np.intp)
    scores = exact_scores(query[None, :], vectors, owners, candidates)
    best = _best_first(owners, candidates, scores, tie_order)[:k]
    return candidates[best], scores[best]


def share_found(queries: Matrix, vectors: Matrix, found: Sequence[Sequence[int]], k: int) -> float:
    """Return the share of the true k nearest that was found, over all queries; no vector is longer than one.

    What is as near as the k-th counts as one of them, so a store is not blamed for a tie.
    """
    _, scores = nearest(queries, vectors, k, tie_order=lambda: np.arange(len(vectors)))
    owners = np.array([row for row, numbers in enumerate(found) for _ in numbers[:k]], np.intp)
    candidates = np.array([number for numbers in found for number in numbers[:k]], np.intp)
    reached = exact_scores(queries, vectors, owners, candidates) >= scores[owners, -1]
    return int(np.count_nonzero(reached)) / scores.size


def exact_scores(queries: Matrix, vectors: Matrix, owners: Numbers, candidates: Numbers) -> Scores:
    """Return the cosine of each candidate with its own query, independent of other candidates."""
    scores = np.empty(len(candidates), np.float64)
    step = max(1, _SCORED_AT_ONCE // max(1, vectors.shape[1]))
    for start in range(0, len(candidates), step):
        block = slice(start, start + step)
        pairs = np.multiply(queries[owners[block]], vectors[candidates[block]], dtype=np.float64)
        scores[block] = pairs.sum(axis=-1)
    return scores


def _nearest_block(
    queries: Matrix, vectors: Matrix, k: int, *, height: int, tie_order: TieOrder
) -> tuple[Numbers, Scores]:
    owners, candidates = _candidates(queries, vectors, k, height=height)
    candidate_scores = exact_scores(queries, vectors, owners, candidates)
    order = _best_first(owners, candidates, candidate_scores, tie_order)
    counts = np.bincount(owners, minlength=len(queries))
    firsts = np.cumsum(counts) - counts
    is_settled = counts > 0
    best = order[firsts[is_settled, None] + np.arange(k)]
    numbers = np.empty((len(queries), k), np.intp)
    scores = np.empty((len(queries), k), np.float64)
    numbers[is_settled], scores[is_settled] = candidates[best], candidate_scores[best]
    for row in np.flatnonzero(~is_settled):
        with np.errstate(invalid="ignore"):  # a product of finite vectors may raise the flag all the same
            every = vectors @ queries[row]
        floor = np.partition(every, -k)[-k] - _margin(vectors)
        close = np.flatnonzero(every >= floor)
        numbers[row], scores[row] = ranked(queries[row], vectors, close, k=k, tie_order=tie_order)
    return numbers, scores


def _candidates(queries: Matrix, vectors: Matrix, k: int, *, height: int) -> tuple[Numbers, Numbers]:
    """Return all pairs of a query and a number that may be among its best k; of a crowded query, none."""
    # The first block has twice as many groups as are needed for a k-th maximum.
    group = max(1, min(_GROUP, height // (2 * k)))
    padded = -(-height // (group * _COARSE)) * group * _COARSE
    product = np.empty((padded, len(queries)), np.float32)
    columns = np.ascontiguousarray(queries.T)
    greatest = np.empty((0, len(queries)), np.float32)
    is_crowded = np.zeros(len(queries), bool)
    owners, numbers, scores = np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32)
    for start in range(0, len(vectors), height):
        rows = vectors[start : start + height]
        np.matmul(rows, columns, out=product[: len(rows)])
        product[len(rows) :] = -np.inf
        # Group g holds the rows g, g + groups, g + 2·groups …, so that maxima are taken over whole rows.
        grouped = product.reshape(group, -1, len(queries))
        maxima = grouped.max(axis=0)
        coarse = maxima.reshape(_COARSE, -1, len(queries)).max(axis=0) if start else maxima
        greatest = np.partition(np.concatenate([greatest, coarse]), -k, axis=0)[-k:]
        floor = greatest[0] - _margin(vectors)
        more_owners, places, more_scores = _members(grouped, (maxima >= floor) & ~is_crowded, floor)
        owners = np.concatenate([owners, more_owners])
        numbers = np.concatenate([numbers, start + places])
        scores = np.concatenate([scores, more_scores])
        # What the floor has risen above since it was found is dropped, and so is what is too much.
        keep = scores >= floor[owners]
        is_crowded |= np.bincount(owners[keep], minlength=len(queries)) > 4 * k + _CROWD
        keep &= ~is_crowded[owners]
        owners, numbers, scores = owners[keep], numbers[keep], scores[keep]
    return owners, numbers


def _members(
    grouped: Matrix, reached: npt.NDArray[np.bool_], floor: Matrix
) -> tuple[Numbers, Numbers, Matrix]:
    """Return query, row and score of all that is not below the floor in the groups that reach it."""
    size, groups, queries = grouped.shape
    hits = np.flatnonzero(reached)
    places, owners = np.divmod(hits, queries)
    scores = grouped.reshape(size, -1).take(hits, axis=1)
    members, found = np.nonzero(scores >= floor[owners])
    return owners[found], members * groups + places[found], scores[members, found]


def _best_first(owners: Numbers, numbers: Numbers, scores: Scores, tie_order: TieOrder) -> Numbers:
    """Return the order of pairs by their query, then by descending score, then by the order of ties."""
    order = np.lexsort((-scores, owners))
    is_tie = (np.diff(scores[order]) == 0) & (np.diff(owners[order]) == 0)
    return np.lexsort((tie_order()[numbers], -scores, owners)) if is_tie.any() else order


def _margin(vectors: Matrix) -> np.float32:
    """Return how far below the k-th score by the product one of the true best k may be.

    Either of the two is off by at most the error of a float32 dot product of unit vectors (Higham, Accuracy
    and Stability of Numerical Algorithms, section 3.1); there is a little more for rounding the floor.
    """
    return np.float32(2 * (vectors.shape[1] + 4) * _HALF_ULP)


# What every store of ours keeps of the chunks it was given: the chunks, their vectors, the order of ties.
#
# A chunk is known by the number of its turn, never by its id: the same text in two places is two entries.
# A store, however it searches, proposes numbers; which of them are the best k, and in which order, is
# decided here by the exact cosine and then by (doc_id, start), so that stores that find the same chunks
# agree to the last place.


class StoredChunks:
    """Chunks with their unit vectors, numbered in the order in which they came."""

    def __init__(self) -> None:
        self.chunks: list[PositionAwareChunk] = []
        self._parts: list[Matrix] = []
        self._tie_order: Numbers | None = None

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def vectors(self) -> Matrix:
        """All vectors, a row a chunk."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0] if self._parts else np.zeros((0, 0), np.float32)

    def tie_order(self) -> Numbers:
        """Return the rank of each number among all by (doc_id, start, end, turn)."""
        if self._tie_order is None:
            self._tie_order = place_order(self.chunks)
        return self._tie_order

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Any) -> Matrix:
        """Take in chunks with one vector each, all or none of them, and return the unit vectors."""
        dimensions = self._parts[0].shape[1] if self._parts else None
        vectors = checked_vectors(embeddings, "embeddings", rows=len(chunks), dimensions=dimensions)
        if len(chunks):
            vectors = unit_vectors(vectors)
            self.chunks.extend(chunks)
            self._parts.append(vectors)
            self._tie_order = None
        return vectors

    def queries(self, query_embeddings: Any, k: int) -> Matrix:
        """Return the queries' unit vectors; a size that differs from the chunks' is an error, and k of 0."""
        check_k(k)
        dimensions = self._parts[0].shape[1] if self._parts else None
        return unit_vectors(checked_vectors(query_embeddings, "query_embeddings", dimensions=dimensions))

    def best_numbers(self, query: Matrix, candidates: Sequence[int], k: int) -> list[int]:
        """Return the best k of one query's candidates, by their exact cosine and then by place."""
        numbers = np.array(candidates, np.intp)
        best: list[int] = ranked(query, self.vectors, numbers, k=k, tie_order=self.tie_order)[0].tolist()
        return best

    def nearest(self, queries: Matrix, k: int, *, workers: Workforce = 1) -> list[list[PositionAwareChunk]]:
        """Return the k chunks nearest to each query among all of them.

        Workers are sent the vectors and return numbers, the same whoever finds them; the chunks stay here.
        """
        if not self.chunks:
            return [[] for _ in queries]
        if crew_of(workers).is_alone:
            found = [nearest(queries, self.vectors, k, tie_order=self.tie_order)[0]]
        else:
            search = partial(_nearest_numbers, vectors=self.vectors, tie_order=self.tie_order(), k=k)
            sent = [queries[each : each + _QUERIES_SENT] for each in range(0, len(queries), _QUERIES_SENT)]
            found = list(in_order(search, sent, workers=workers, total=len(sent)))
        return [[self.chunks[number] for number in row] for numbers in found for row in numbers.tolist()]

    def recall(self, queries: Matrix, found: Sequence[Sequence[int]], k: int) -> float:
        """Return the share of the true k nearest that was found, over all queries."""
        if not len(queries) or not self.chunks:
            raise UsageError("recall against exact search: expected at least one query and one chunk")
        return share_found(queries, self.vectors, found, k)


def _nearest_numbers(queries: Matrix, *, vectors: Matrix, tie_order: Numbers, k: int) -> Numbers:
    """Return the numbers of the k vectors nearest to each query."""
    return nearest(queries, vectors, k, tie_order=lambda: tie_order)[0]


def place_order(chunks: Sequence[PositionAwareChunk]) -> Numbers:
    """Return each chunk's rank by (doc_id, start, end); of equals, the one that came first is first."""
    by_place = sorted(
        range(len(chunks)),
        key=lambda number: (chunks[number].doc_id, chunks[number].start, chunks[number].end),
    )
    order = np.empty(len(chunks), np.intp)
    order[by_place] = np.arange(len(chunks))
    return order


# The exact store: every vector compared with every query, in memory, nothing to install or to tune.


class ExactVectorStore:
    """Searches all vectors in memory. Cosine; ties by (doc_id, start); every occurrence is kept."""

    # On one machine the product, nine tenths of the time, uses all cores by itself.
    engines = ("ray",)

    def __init__(self) -> None:
        self._stored = StoredChunks()

    def __repr__(self) -> str:
        return "exact"

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        """Add chunks with one vector each; a list of lists or an array."""
        self._stored.add(chunks, embeddings)

    def search(self, query_embedding: Sequence[float], k: int) -> list[PositionAwareChunk]:
        """Return the k nearest chunks, best first; fewer when there are fewer."""
        return self.search_many([query_embedding], k)[0]

    def search_many(
        self, query_embeddings: Sequence[Sequence[float]], k: int, *, workers: Workforce = 1
    ) -> list[list[PositionAwareChunk]]:
        """Return for each query what :meth:`search` would, much faster than one by one."""
        queries = self._stored.queries(query_embeddings, k)
        return self._stored.nearest(queries, k, workers=crew_for(self, workers))

    def recall_against_exact(self, query_embeddings: Sequence[Sequence[float]], k: int) -> float:
        """Return 1: this store is what others are measured against."""
        check_k(k)
        return 1.0

    def clear(self) -> None:
        """Forget everything."""
        self._stored = StoredChunks()


# What stores of vendors share: the vendor proposes candidates by number, we order and check them.
#
# Equal vectors are one entry with the vendor, and all their occurrences are kept here: the graph of an
# approximate index falls apart into islands when hundreds of its vectors are equal. A vendor's store is asked
# for a few more than k. Where the last of them is as near as the k-th, the answer ends within a tie, and more
# of that query is asked for, so that ties are cut by (doc_id, start) and not by the vendor's chance.

# For each query the numbers that a vendor proposes, nearest first, and how near each is: more is nearer.
Proposals = Sequence[tuple[Sequence[int], Sequence[float]]]

_QUERIES_AT_ONCE = 128
_SPARE = 16
_GROWTH = 4
# Closer than this, float32 does not tell two cosines apart.
_TIE = 1e-6


class CandidateStore(ABC):
    """Fulfils ``extensions.BatchVectorStore`` for a vendor that keeps vectors under numbers."""

    @property
    def effort(self) -> str | None:
        """The setting that says how far an approximate index looks, as ``ef_search=40``; else nothing."""
        return None

    def __init__(self) -> None:
        self._forget()

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        """Add chunks with one vector each; a list of lists or an array."""
        first, first_entry = len(self._stored), len(self._occurrences)
        vectors = self._stored.add(chunks, embeddings)
        new: list[int] = []
        for offset, vector in enumerate(vectors):
            key = hashlib.blake2b(vector.tobytes(), digest_size=16).digest()
            entry = self._entries.setdefault(key, len(self._occurrences))
            if entry == len(self._occurrences):
                self._occurrences.append([])
                new.append(offset)
            self._occurrences[entry].append(first + offset)
        if new:
            self._insert(first_entry, [chunks[offset] for offset in new], vectors[new])

    def search(self, query_embedding: Sequence[float], k: int) -> list[PositionAwareChunk]:
        """Return the k nearest chunks, best first, as far as the vendor finds them."""
        return self.search_many([query_embedding], k)[0]

    def search_many(
        self, query_embeddings: Sequence[Sequence[float]], k: int
    ) -> list[list[PositionAwareChunk]]:
        """Return for each query what :meth:`search` would."""
        queries = self._stored.queries(query_embeddings, k)
        return [[self._stored.chunks[number] for number in row] for row in self._numbers(queries, k)]

    def recall_against_exact(self, query_embeddings: Sequence[Sequence[float]], k: int) -> float:
        """Return the share of the true k nearest that is found for these queries; ties count as found."""
        queries = self._stored.queries(query_embeddings, k)
        return self._stored.recall(queries, self._numbers(queries, k), k)

    def clear(self) -> None:
        """Forget everything; the next chunks go into a fresh collection."""
        self._drop()
        self._forget()

    @abstractmethod
    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        """Store chunks with their unit vectors, no two equal, under the numbers from ``first`` on."""

    @abstractmethod
    def _propose(self, queries: Matrix, count: int) -> Proposals:
        """Return the nearest ``count`` numbers for each query."""

    @abstractmethod
    def _drop(self) -> None:
        """Drop the collection, if there is one."""

    def _forget(self) -> None:
        self._stored = StoredChunks()
        self._entries: dict[bytes, int] = {}
        self._occurrences: list[list[int]] = []

    def _numbers(self, queries: Matrix, k: int) -> list[list[int]]:
        """Return the best k numbers for each query, ordered as every store of ours orders them."""
        if not len(self._stored):
            return [[] for _ in queries]
        found: list[list[int]] = []
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            block = queries[start : start + _QUERIES_AT_ONCE]
            for query, entries in zip(block, self._candidates(block, k, k + _SPARE), strict=True):
                numbers = [number for entry in entries for number in self._occurrences[entry]]
                found.append(self._stored.best_numbers(query, numbers, k))
        return found

    def _candidates(self, queries: Matrix, k: int, count: int) -> list[Sequence[int]]:
        """Return the entries that may be among each query's best k, with all that tie with the k-th."""
        count = min(count, len(self._occurrences))
        candidates: list[Sequence[int]] = []
        for row, (entries, nearness) in enumerate(self._propose(queries, count)):
            ends_in_a_tie = len(entries) >= k and nearness[k - 1] - nearness[-1] <= _TIE
            if ends_in_a_tie and count < len(self._occurrences):
                candidates += self._candidates(queries[row : row + 1], k, _GROWTH * count)
            else:
                candidates.append(entries)
        return candidates
