"""The settings of a :class:`CitationEvaluator`, read from a plain configuration.

=========================  ================================================================================
``weights``                what each part counts in ``overall_citation_accuracy``; they sum to 1
``tolerance_chars``        how far an end of a span may be off in the tolerance Jaccard; 10
``support``                ``"lexical"``, or any :class:`SupportMethod`
``judge``                  a :class:`Judge`, whose verdicts are then used instead
``consistency_threshold``  the probability from which a claim is consistent; by default the method decides
=========================  ================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evaluation_framework.errors import Problems, UnknownNameError, invalid
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import JudgeSupport
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.metrics.citations import DEFAULT_TOLERANCE, OVERALL_WEIGHTS
from rag_evaluation_framework.records.scores import SupportMethod

_KEYS = ("weights", "tolerance_chars", "support", "judge", "consistency_threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationSettings:
    """How citations are evaluated."""

    support: SupportMethod
    weights: Mapping[str, float] = field(hash=False)
    tolerance_chars: int
    consistency_threshold: float | None


def read_settings(config: Mapping[str, Any]) -> CitationSettings:
    """Read a configuration; what is not in it has its default, and all that is wrong is in one error."""
    if not isinstance(config, Mapping):
        raise invalid("config", "a mapping of settings", config)
    problems = Problems()
    for key in config:
        if key not in _KEYS:
            with problems.collected():
                raise UnknownNameError("setting of a CitationEvaluator", str(key), _KEYS)
    with problems.collected():
        weights = _weights(config.get("weights", OVERALL_WEIGHTS))
    with problems.collected():
        tolerance = config.get("tolerance_chars", DEFAULT_TOLERANCE)
        if type(tolerance) is not int or tolerance < 0:
            raise invalid("tolerance_chars", "a whole number of at least 0", tolerance)
    with problems.collected():
        threshold = config.get("consistency_threshold")
        if threshold is not None and not _is_share(threshold):
            raise invalid("consistency_threshold", "a number from 0 to 1", threshold)
    with problems.collected():
        support = _support(config.get("support"), config.get("judge"))
    problems.raise_all()
    return CitationSettings(
        support=support, weights=weights, tolerance_chars=tolerance, consistency_threshold=threshold
    )


def _weights(given: Any) -> dict[str, float]:
    """Read the weights; a part that is not named counts nothing."""
    if not isinstance(given, Mapping):
        raise invalid("weights", f"a weight for each of {', '.join(OVERALL_WEIGHTS)}", given)
    for name, weight in given.items():
        if name not in OVERALL_WEIGHTS:
            raise UnknownNameError("weight", str(name), list(OVERALL_WEIGHTS))
        if not _is_share(weight):
            raise invalid(f"weights.{name}", "a number from 0 to 1", weight)
    weights = {name: float(given.get(name, 0.0)) for name in OVERALL_WEIGHTS}
    if not math.isclose(total := math.fsum(weights.values()), 1.0, abs_tol=1e-9):
        raise invalid("weights", "weights that sum to 1", total)
    return weights


def _support(given: Any, judge: Any) -> SupportMethod:
    if judge is not None:
        if not isinstance(judge, Judge):
            raise invalid("judge", "a Judge", judge)
        if given is not None:
            raise invalid("support", "none beside a judge", given)
        return JudgeSupport(judge)
    if given is None or given == "lexical":
        return LexicalSupport()
    if isinstance(given, SupportMethod):
        return given
    raise invalid("support", "'lexical' or an object that supports claims", given)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
