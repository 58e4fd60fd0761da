"""How many different places of the source the retrieved texts come from, as far as golden sets can tell."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.judging.golden.milestones import first_tellings
from rag_evaluation_framework.judging.words.comparable_text import comparable

# A snippet may be cut by the edge of a chunk; half of it is enough to call the place found.
_SHARE = 0.5
_GRAM = 8


def golden_places(contexts: Sequence[str], snippets: Sequence[str]) -> int:
    """Count the snippets of which a context holds at least half, by stretches of 8 characters."""
    texts = [comparable(context) for context in contexts]
    return sum(
        any(_holds(text, comparable(snippet)) for text in texts) for snippet in dict.fromkeys(snippets)
    )


def telling_places(contexts: Sequence[str], steps: Sequence[str]) -> int:
    """Count the contexts that tell one of the steps; one that lies within another is no place of its own."""
    texts = list(dict.fromkeys(map(comparable, contexts)))
    own = [text for text in texts if text and not any(text != other and text in other for other in texts)]
    return sum(any(place is not None for place in first_tellings(text, steps)) for text in own)


def _holds(text: str, snippet: str) -> bool:
    if len(snippet) <= _GRAM:
        return bool(snippet) and snippet in text
    grams = [snippet[at : at + _GRAM] for at in range(len(snippet) - _GRAM + 1)]
    return sum(gram in text for gram in grams) >= _SHARE * len(grams)
