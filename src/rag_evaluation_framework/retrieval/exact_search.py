"""The nearest of many vectors, exactly: a float32 product finds candidates, float64 decides among them.

A matrix product's last bits depend on how many queries and rows it is given at once. The order of results
must not, so the product only proposes: what it ranks among the best k and a few more is scored again, each
pair alone and in float64. A query is settled when nothing left out could have come among its best k within
the product's rounding error; one that is not (dozens of equal vectors) is compared with every row.

Of the product only the maxima of groups of columns are ranked: the best c scores lie in the c groups with
the greatest maxima. That costs a third of ranking all scores.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.retrieval.vectors import Matrix

Numbers = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]

_SPARE = 8
_ROW_BLOCK = 1 << 17
_PRODUCT_SIZE = 1 << 24
_QUERY_BLOCK = 1024
_GROUP = 32
_SCORED_AT_ONCE = 1 << 17
_HALF_ULP = 2.0**-24


def nearest(queries: Matrix, vectors: Matrix, k: int, *, tie_order: Numbers) -> tuple[Numbers, Scores]:
    """Return for each query the numbers of its k nearest vectors, best first, and their cosines.

    Both sides have length one. Equal cosines are ordered by ``tie_order``, which ranks every vector. There
    are fewer columns than k when there are fewer vectors.
    """
    k = min(k, len(vectors))
    numbers = np.empty((len(queries), k), np.intp)
    scores = np.empty((len(queries), k), np.float64)
    step = max(1, min(_QUERY_BLOCK, _PRODUCT_SIZE // max(1, min(_ROW_BLOCK, len(vectors)))))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        numbers[block], scores[block] = _nearest_block(queries[block], vectors, k, tie_order)
    return numbers, scores


def ranked(
    queries: Matrix, vectors: Matrix, candidates: Numbers, *, k: int, tie_order: Numbers
) -> tuple[Numbers, Scores]:
    """Order each query's candidates (a row of numbers) by their exact cosine and keep the best k."""
    scores = exact_scores(queries, vectors, candidates)
    order = np.lexsort((tie_order[candidates], -scores), axis=-1)[:, :k]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(scores, order, axis=1)


def exact_scores(queries: Matrix, vectors: Matrix, candidates: Numbers) -> Scores:
    """Return the cosine of each query with each of its candidates, whatever else is asked beside it."""
    scores = np.empty(candidates.shape, np.float64)
    step = max(1, _SCORED_AT_ONCE // max(1, candidates.shape[1] * vectors.shape[1]))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        pairs = np.multiply(queries[block, None, :], vectors[candidates[block]], dtype=np.float64)
        scores[block] = pairs.sum(axis=-1)
    return scores


def _nearest_block(queries: Matrix, vectors: Matrix, k: int, tie_order: Numbers) -> tuple[Numbers, Scores]:
    candidates, floor = _candidates(queries, vectors, min(k + _SPARE, len(vectors)))
    numbers, scores = ranked(queries, vectors, candidates, k=k, tie_order=tie_order)
    if candidates.shape[1] < len(vectors):
        # |error| of a float32 dot product of unit vectors (Higham, Accuracy and Stability, section 3.1).
        error = (vectors.shape[1] + 2) * _HALF_ULP
        for row in np.flatnonzero(scores[:, -1] <= floor + error):
            every = vectors @ queries[row]
            close = np.flatnonzero(every >= scores[row, -1] - 2 * error)[None, :]
            one = queries[row : row + 1]
            numbers[row : row + 1], scores[row : row + 1] = ranked(
                one, vectors, close, k=k, tie_order=tie_order
            )
    return numbers, scores


def _candidates(queries: Matrix, vectors: Matrix, count: int) -> tuple[Numbers, npt.NDArray[np.float32]]:
    """Return the ``count`` best numbers by the float32 product, and the score that no other exceeds."""
    found: list[Numbers] = []
    found_scores: list[Matrix] = []
    product = np.empty((len(queries), min(_ROW_BLOCK, len(vectors))), np.float32)
    for start in range(0, len(vectors), _ROW_BLOCK):
        rows = vectors[start : start + _ROW_BLOCK]
        is_whole = len(rows) == product.shape[1]
        block = np.matmul(queries, rows.T, out=product) if is_whole else queries @ rows.T
        best = _best_columns(block, min(count, len(rows)))
        found.append(best + start)
        found_scores.append(np.take_along_axis(block, best, axis=1))
    numbers, scores = np.concatenate(found, axis=1), np.concatenate(found_scores, axis=1)
    best = _largest(scores, count)
    return np.take_along_axis(numbers, best, axis=1), np.take_along_axis(scores, best, axis=1).min(axis=1)


def _best_columns(scores: Matrix, count: int) -> Numbers:
    """Return the columns of the ``count`` largest scores in each row, in no order."""
    groups = scores.shape[1] // _GROUP
    if groups <= 2 * count:
        return _largest(scores, count)
    # Group g holds the columns g, g + groups, g + 2·groups …, so that maxima are taken over whole rows.
    grouped = groups * _GROUP
    maxima = scores[:, :grouped].reshape(len(scores), _GROUP, groups).max(axis=1)
    members = _largest(maxima, count)[:, :, None] + groups * np.arange(_GROUP)
    rest = np.broadcast_to(np.arange(grouped, scores.shape[1]), (len(scores), scores.shape[1] - grouped))
    columns = np.concatenate([members.reshape(len(scores), -1), rest], axis=1)
    return np.take_along_axis(columns, _largest(np.take_along_axis(scores, columns, axis=1), count), axis=1)


def _largest(scores: Matrix, count: int) -> Numbers:
    if count >= scores.shape[1]:
        return np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    return np.argpartition(scores, scores.shape[1] - count, axis=1)[:, -count:]
