"""The claims of an answer against its sources, whatever it cites: a flag for each claim.

Who decides what the sources bear out is the metric's method.
"""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.metrics.claims import share
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import CITATIONS


@metric("factual_consistency", reads=CITATIONS, shows=("consistent",))
def factual_consistency(consistent: Sequence[bool]) -> float | None:
    """What share of the answer's claims is consistent with the sources, whatever the answer cites.

    Formula: consistent claims / claims. The sources are the contexts that came with the answer; without any,
    the documents that it cites or that are relevant to the question.

    Empty: no value for an answer that claims nothing; such a sample is skipped.

    Source: answer quality metrics of evaluation results, ``factual_consistency``.
    """
    return share(consistent)


@metric("hallucination_rate", reads=CITATIONS, higher_is_better=False, shows=("consistent",))
def hallucination_rate(consistent: Sequence[bool]) -> float | None:
    """What share of the answer's claims the sources do not bear out.

    Formula: (claims − consistent claims) / claims, with the sources of factual_consistency; 1 −
    factual_consistency.

    Empty: no value for an answer that claims nothing; such a sample is skipped.

    Source: answer quality metrics of evaluation results, ``hallucination_rate``.
    """
    return share([not each for each in consistent])
