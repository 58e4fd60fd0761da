"""How good the contexts of an answer are, verdict by verdict: were they useful, and did they hold it all."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import CLAIMS


@metric("context_precision", reads=CLAIMS, shows=("relevant_contexts",), unless=("unsought",))
def context_precision(relevant_contexts: Sequence[bool]) -> float | None:
    """Whether the useful contexts stand before the useless ones.

    Formula: the mean of precision@k over the ranks k that hold a useful context; 0 when none is useful. A
    context is useful when it supports a claim of the reference, or of the answer where the reference makes
    none; a judge is asked whether it helps to answer the question.

    Empty: no value without contexts, nor, unless a judge is asked, where neither reference nor answer claims
    anything; such a sample is skipped.

    Source: Es et al., "RAGAS", EACL 2024.
    """
    if not relevant_contexts:
        return None
    hits, total = 0, 0.0
    for rank, is_useful in enumerate(relevant_contexts, 1):
        hits += is_useful
        total += hits / rank if is_useful else 0.0
    return total / hits if hits else 0.0


@metric("context_recall", reads=CLAIMS, shows=("truth_by_contexts",))
def context_recall(truth_by_contexts: Sequence[bool]) -> float | None:
    """What share of what the reference contexts say stands in the contexts.

    Formula: claims of the reference contexts that the contexts support / claims of the reference contexts.

    Empty: no value where the reference contexts claim nothing, nor where no contexts are known; such a sample
    is skipped. For a system that reports an empty list of contexts it is 0.

    Source: Es et al., "RAGAS", EACL 2024, with the truth told by reference contexts.
    """
    return sum(truth_by_contexts) / len(truth_by_contexts) if truth_by_contexts else None
