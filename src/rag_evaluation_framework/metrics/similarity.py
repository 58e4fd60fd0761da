"""How alike an answer and the expected one are, without a model. A pure function of two texts."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.metrics.bleu import sentence_chrf
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.tokens import checked_references, folded
from rag_evaluation_framework.metrics.views import LIKENESS


@metric("answer_similarity", reads=LIKENESS)
def answer_similarity(to_reference: float) -> float:
    """How alike answer and reference are in their wording; it does not know that two words mean the same.

    Formula: chrF of the two texts after NFKC and case folding: F2 of character n-grams, 1 to 6 long, white
    space left out. Where a reference is a sequence of texts, the best counts. By the embedding method: the
    cosine of the two texts, 0 where it is below.

    Empty: 0 for an empty answer, which has failed where a run is scored; an empty reference is an error.

    Source: Popović, "chrF", WMT 2015 and 2016. A right answer in other words often scores below 0.5, so a
    threshold meant for an embedding or a judge does not carry over.
    """
    return max(to_reference, 0.0)


def wording_similarity(answer: str, reference: str | Sequence[str]) -> float:
    """Return chrF of an answer and its reference, or the best of several, after NFKC and case folding."""
    return sentence_chrf(folded(answer), [folded(text) for text in checked_references(reference)])
