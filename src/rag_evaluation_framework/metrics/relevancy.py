"""Whether an answer is about what was asked."""

from __future__ import annotations

from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import LIKENESS


@metric("answer_relevancy", reads=LIKENESS, shows=("to_question",), unless=("unasked",))
def answer_relevancy(to_question: float, *, answered: bool) -> float:
    """How far the answer is about the question; whether it is right is not asked.

    Formula: 0 for an answer that refuses, does not know or asks back; else the likeness, cut to 0–1. The
    likeness is the share of the question's content words taken up by the answer (lexical), the cosine of
    question and answer (embedding), or 1, 0.5, 0 for fully, partly, not addressed (judge).

    Empty: an empty answer has failed; the likeness to a question without content words is skipped.

    Source: after Es et al., "RAGAS", EACL 2024, where a judge asks questions back from the answer. A short
    right answer shares few words with its question: the lexical figure screens, it does not measure.
    """
    return min(max(to_question, 0.0), 1.0) if answered else 0.0
