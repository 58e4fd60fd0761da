"""Span metrics of many queries at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.metrics.span_columns import IntArray, Span, SpanColumns, columns_of
from rag_evaluation_framework.metrics.span_sets import SpanCounts, count_characters, touched_chunks
from rag_evaluation_framework.metrics.spans import EMPTY_VALUES, FRACTIONS

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SpanReport:
    """The span metrics of every query, and their means.

    The arrays stand in the order of ``query_ids``. Where a metric has nothing to measure (no relevant
    span; for a precision, nothing retrieved), ``scored`` is false: the row holds the value that the metric's
    function states for the empty case, and neither the mean nor ``n_scored`` counts it. A metric without
    any scored row has no mean.
    """

    query_ids: tuple[str, ...]
    counts: SpanCounts
    per_query: Mapping[str, FloatArray]
    scored: Mapping[str, BoolArray]
    mean: Mapping[str, float]

    @property
    def n_scored(self) -> dict[str, int]:
        """How many queries each mean is over."""
        return {name: int(rows.sum()) for name, rows in self.scored.items()}

    @property
    def n_skipped(self) -> dict[str, int]:
        """How many queries each mean leaves out."""
        return {name: int((~rows).sum()) for name, rows in self.scored.items()}


def evaluate_spans(
    retrieved: Mapping[str, Sequence[Span]],
    relevant: Mapping[str, Sequence[Span]],
    *,
    chunks: Sequence[Span] | None = None,
    touching: bool = False,
) -> SpanReport:
    """Compute every span metric for all queries; with the corpus's ``chunks``, ``precision_omega`` too.

    A query with relevant spans and no entry in ``retrieved`` has retrieved nothing. A query that was
    retrieved for and has no relevant spans is listed and not scored. ``touching`` is as in
    :func:`~rag_evaluation_framework.metrics.spans.precision_omega`.
    """
    query_ids = (*relevant, *(query for query in retrieved if query not in relevant))
    found, expected, corpus = columns_of(
        [retrieved.get(query, ()) for query in query_ids],
        [relevant.get(query, ()) for query in query_ids],
        [chunks or ()],
    )
    counts = count_characters(found, expected, queries=len(query_ids))
    per_query: dict[str, FloatArray] = {}
    scored: dict[str, BoolArray] = {}
    for name, fraction in FRACTIONS.items():
        numerator, denominator = fraction(counts)
        per_query[name] = _divided(numerator, denominator, empty=EMPTY_VALUES[name])
        scored[name] = (denominator > 0) & (counts.relevant > 0)
    if chunks is not None:
        per_query["precision_omega"] = _omega(corpus, expected, touching=touching, queries=len(query_ids))
        scored["precision_omega"] = counts.relevant > 0
    mean = {
        name: math.fsum(per_query[name][rows]) / int(rows.sum())
        for name, rows in scored.items()
        if rows.any()
    }
    return SpanReport(query_ids, counts, per_query, scored, mean)


def _divided(numerator: IntArray, denominator: IntArray, *, empty: float) -> FloatArray:
    quotients: FloatArray = np.full(len(numerator), empty)
    np.divide(numerator, denominator, out=quotients, where=denominator > 0)
    return quotients


def _omega(corpus: SpanColumns, expected: SpanColumns, *, touching: bool, queries: int) -> FloatArray:
    needed = touched_chunks(corpus, expected, touching=touching)
    numerator, denominator = FRACTIONS["span_iou"](count_characters(needed, expected, queries=queries))
    return _divided(numerator, denominator, empty=0.0 if len(corpus) else 1.0)
