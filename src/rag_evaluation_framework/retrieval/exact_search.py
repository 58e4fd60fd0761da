"""The nearest of many vectors, exactly: a float32 product finds candidates, float64 decides among them.

A matrix product's last bits depend on how many queries and rows it is given at once. The order of results
must not, so the product only proposes: whatever could be among a query's best k within the product's
rounding error is scored again, each pair alone and in float64.

Rows are multiplied with all queries a block at a time, and looked through while they are in the processor's
cache. Of a block only the maxima of groups of rows are compared: the k-th greatest maximum so far is a floor
that none of the best k is below, and only groups that reach it are looked into. A query to which many vectors
are equally near is compared with every row by itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.retrieval.vectors import Matrix

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


def exact_scores(queries: Matrix, vectors: Matrix, owners: Numbers, candidates: Numbers) -> Scores:
    """Return the cosine of each candidate with the query that owns it, whatever else is asked beside it."""
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
