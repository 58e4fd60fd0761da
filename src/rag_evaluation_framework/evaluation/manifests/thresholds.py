"""Thresholds as a manifest writes them: ``faithfulness: 0.8``, ``hallucination: {max: 0.05}``.

A plain number is a floor where higher is better and a ceiling where lower is. ``min`` and ``max`` say which
it is, whatever the metric; both together make a corridor. A metric may be written in any of its spellings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.metrics.declaration import KnownMetric, known_metric, metric_name
from rag_evaluation_framework.results.gate import Operator, Threshold

# A plain number beyond these, for its direction, is likelier a slip than a wish.
_LOW_FLOOR = 0.1
_HIGH_CEILING = 0.5


def read_thresholds(metric: str, written: Any, *, line: int | None = None) -> Iterator[Threshold]:
    """Yield the thresholds that one entry stands for; :class:`InputError` without a place if it is none."""
    metric, known = metric_name(metric), known_metric(metric) or KnownMetric(is_share=False)
    operator: Operator = ">=" if known.higher_is_better else "<="
    if isinstance(written, Mapping):
        yield from _explicit(metric, written, known, line)
        return
    bound = _number(written, known)
    yield Threshold(metric, operator, bound, line, _doubt(metric, operator, bound, known))


def _explicit(
    metric: str, written: Mapping[str, Any], known: KnownMetric, line: int | None
) -> Iterator[Threshold]:
    if not written or set(written) - {"min", "max"}:
        keys = ", ".join(map(str, written)) or "nothing"
        raise InputError([Issue("invalid-threshold", "min, max or both", keys)])
    bounds = {side: _number(value, known, side) for side, value in written.items()}
    if "min" in bounds and "max" in bounds and bounds["min"] > bounds["max"]:
        found = f"min {bounds['min']:g} above max {bounds['max']:g}"
        raise InputError([Issue("invalid-threshold", "min of at most max", found)])
    if "min" in bounds:
        yield Threshold(metric, ">=", bounds["min"], line)
    if "max" in bounds:
        yield Threshold(metric, "<=", bounds["max"], line)


def _number(value: Any, known: KnownMetric, path: str = "") -> float:
    expected = "a number from 0 to 1" if known.is_share else "a number"
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        expected = f"{expected}, or {{min: …}} or {{max: …}}" if not path else expected
        raise InputError([Issue("invalid-threshold", expected, shown(value), path)])
    if known.is_share and not 0 <= value <= 1:
        raise InputError([Issue("invalid-threshold", expected, shown(value), path)])
    return float(value)


def _doubt(metric: str, operator: Operator, bound: float, known: KnownMetric) -> str | None:
    """Say what is odd about a plain number that looks as if it were meant the other way round."""
    if not known.is_share:
        return None
    if operator == "<=" and bound > _HIGH_CEILING:
        return (
            f"{metric}: {bound:g} is a ceiling, since lower is better, and looks inverted; "
            f"did you mean {1 - bound:.4g}? ({{max: {bound:g}}} says that it is meant)"
        )
    if operator == ">=" and bound <= _LOW_FLOOR:
        return (
            f"{metric}: {bound:g} is a floor, since higher is better, and looks inverted; "
            f"did you mean {1 - bound:.4g}? ({{min: {bound:g}}} says that it is meant)"
        )
    return None
