"""Vectors as a store keeps them: one float32 matrix, checked, each row of length one.

Whatever comes in (lists of lists, arrays of any float type) is checked here once: as many rows as there
should be, all of one size, every number finite. Nearness is the cosine everywhere, so rows are brought to
length one; a row of zeros has no direction, stays as it is and is at cosine 0 from everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.errors import InputError, Issue, UsageError, shown

Matrix = npt.NDArray[np.float32]

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
        raise _wrong(source, "vectors of at least one number", "empty ones", code="wrong-size")
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


def batches(items: Sequence[str], size: int) -> list[Sequence[str]]:
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
    """Say what is wrong with what no matrix can be made of: sizes that differ, or no numbers."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        sizes = {len(row) for row in values if isinstance(row, Sequence) or np.ndim(row)}
        if len(sizes) > 1:
            return "sizes " + ", ".join(map(str, sorted(sizes)))
    return shown(values)


def _wrong(path: str, expected: str, found: str, *, code: str) -> InputError:
    return InputError([Issue(code, expected, found, path)])
