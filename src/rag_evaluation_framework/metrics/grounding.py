"""Answers word by word: which content words and numbers stand in the contexts or the question."""

from __future__ import annotations

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import CLAIMS


@metric("grounded_fraction", reads=CLAIMS, shows=("new_words",))
def grounded_fraction(words: int, new_words: int) -> float | None:
    """What share of the answer's content words and numbers stands in the contexts or the question.

    Formula: 1 − new / all, over content words and numbers, each occurrence counted. Numbers are compared by
    their value; citations, a list of sources and courtesies do not count.

    Empty: no value for an answer without any; such a sample is skipped, as is one that does not answer.

    Source: the simplest screen for additions; what it is worth is told in the page on offline scoring.
    """
    if not 0 <= new_words <= words:
        raise UsageError(f"expected from 0 to {words} new words, got {new_words}")
    return 1 - new_words / words if words else None


@metric("unsupported_tokens", reads=CLAIMS, higher_is_better=False, is_share=False, shows=("new_words",))
def unsupported_tokens(words: int, new_words: int) -> float | None:
    """How many content words and numbers of the answer stand neither in the contexts nor in the question.

    Formula: how many content words and numbers are new, each occurrence counted. Numbers are compared by
    their value; citations, a list of sources and courtesies do not count.

    Empty: no value for an answer without any; such a sample is skipped, as is one that does not answer.

    Source: as grounded_fraction; as a count it tells long answers with additions from short ones.
    """
    if not 0 <= new_words <= words:
        raise UsageError(f"expected from 0 to {words} new words, got {new_words}")
    return float(new_words) if words else None
