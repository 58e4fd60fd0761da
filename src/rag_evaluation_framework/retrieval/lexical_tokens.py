"""The words that lexical search matches: English by the word, Chinese by the character and by the pair."""

from __future__ import annotations

from itertools import pairwise

from rag_evaluation_framework.metrics.tokens import has_unspaced_script, word_tokens


def lexical_tokens(text: str) -> list[str]:
    """Split a text into words, and unspaced scripts into characters and neighbouring pairs of them.

    A single Chinese character says little; pairs come close to words without a dictionary.

    >>> lexical_tokens("RAG 检索评估")
    ['rag', '检', '索', '评', '估', '检索', '索评', '评估']
    """
    words = word_tokens(text)
    if not has_unspaced_script(text):
        return words
    alone = [has_unspaced_script(word) for word in words]
    pairs = [
        first + second
        for (first, is_first), (second, is_second) in pairwise(zip(words, alone, strict=True))
        if is_first and is_second
    ]
    return words + pairs
