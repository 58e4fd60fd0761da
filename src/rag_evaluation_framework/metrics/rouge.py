"""ROUGE: overlap of n-grams, or the longest common subsequence, as an F-measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rag_evaluation_framework.metrics.tokens import word_tokens


def rouge_n(answer: str, reference: str, *, n: int) -> float:
    """Return the F-measure of the n-grams that the two texts share."""
    answered = ngram_counts(word_tokens(answer), n)
    expected = ngram_counts(word_tokens(reference), n)
    return f_measure((answered & expected).total(), answered=answered.total(), expected=expected.total())


def rouge_l(answer: str, reference: str) -> float:
    """Return the F-measure of the longest common subsequence of the two texts' tokens."""
    answered, expected = word_tokens(answer), word_tokens(reference)
    shared = common_subsequence_length(answered, expected)
    return f_measure(shared, answered=len(answered), expected=len(expected))


def has_rouge_units(text: str, *, variant: str) -> bool:
    """Tell whether a text has a unit of a variant: two tokens for ``rouge2``, one for the others."""
    return len(word_tokens(text)) >= (2 if variant == "rouge2" else 1)


def ngram_counts(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """Count the runs of n tokens."""
    return Counter(zip(*(tokens[offset:] for offset in range(n)), strict=False))


def f_measure(shared: int, *, answered: int, expected: int) -> float:
    """Return the harmonic mean of shared/answered and shared/expected; 0 when nothing is shared."""
    return 2 * shared / (answered + expected) if shared else 0.0


def common_subsequence_length(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    A row of the usual table is one integer: bit i is 0 where the length grows at token i of ``first``. A
    row follows from the one before by an addition (Hyyrö, "Bit-Parallel LCS-length Computation
    Revisited", AWOCA 2004).
    """
    places: dict[str, int] = {}
    for position, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << position
    full = (1 << len(first)) - 1
    row = full
    for token in second:
        matched = row & places.get(token, 0)
        row = ((row + matched) | (row - matched)) & full
    return len(first) - row.bit_count()
