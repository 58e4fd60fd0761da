"""An answer graded by a judge on weighted criteria; the sum is ours, never the judge's."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import GRADES


@metric("rubric", reads=GRADES, shows=("grades",))
def rubric(grades: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The weighted mean of a judge's grades on the criteria of a rubric.

    Formula: Σ weight × grade. By default factuality 0.40, grounding 0.30, completeness 0.20, communication
    0.10; grades are from 0 to 1.

    Empty: an answer that the judge gave no grades for has failed.

    Source: the rubric of answer-quality pipelines; Zheng et al., "Judging LLM-as-a-judge", NeurIPS 2023.
    """
    if grades.keys() != weights.keys():
        raise UsageError(f"expected grades for {', '.join(weights)}, got {', '.join(grades)}")
    # Sums of products of decimal numbers miss what they are by a last digit: 0.65 must not fail for that.
    return round(fsum(weights[name] * grade for name, grade in grades.items()), 9)


@metric("rubric_pass", reads=GRADES, shows=("grades",))
def rubric_pass(
    grades: Mapping[str, float], weights: Mapping[str, float], *, pass_at: float = 0.65, floor: float = 0.4
) -> float:
    """Whether an answer passes a rubric: good enough as a whole, and in no criterion too bad.

    Formula: 1 if rubric ≥ 0.65 and every grade ≥ 0.4, else 0; a rubric file may set both bounds.

    Empty: an answer that the judge gave no grades for has failed.

    Source: as rubric.
    """
    return float(rubric(grades, weights) >= pass_at and min(grades.values(), default=0.0) >= floor)
