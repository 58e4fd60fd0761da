"""Answers word by word: which content words and numbers stand in the contexts or the question."""

from __future__ import annotations

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.metrics.declaration import metric


@metric(
    "grounded_fraction",
    family="answers",
    needs=("answer", "contexts"),
    method="lexical",
    methods=("lexical",),
)
def grounded_fraction(words: int, new: int) -> float | None:
    """What share of the answer's content words and numbers stands in the contexts or the question.

    Formula: 1 − new / all, over content words and numbers, each occurrence counted. Numbers are compared by
    their value; citations, a list of sources and courtesies do not count.

    Empty: no value for an answer without any; such a sample is skipped, as is one that does not answer.

    Source: the simplest screen for additions; what it is worth is told in the page on offline scoring.
    """
    if not 0 <= new <= words:
        raise UsageError(f"expected from 0 to {words} new words, got {new}")
    return 1 - new / words if words else None


@metric(
    "unsupported_tokens",
    family="answers",
    needs=("answer", "contexts"),
    higher_is_better=False,
    method="lexical",
    methods=("lexical",),
    is_share=False,
)
def unsupported_tokens(words: int, new: int) -> float | None:
    """How many content words and numbers of the answer stand neither in the contexts nor in the question.

    Formula: how many content words and numbers are new, each occurrence counted. Numbers are compared by
    their value; citations, a list of sources and courtesies do not count.

    Empty: no value for an answer without any; such a sample is skipped, as is one that does not answer.

    Source: as grounded_fraction; as a count it tells long answers with additions from short ones.
    """
    if not 0 <= new <= words:
        raise UsageError(f"expected from 0 to {words} new words, got {new}")
    return float(new) if words else None
