"""Questions that copy their passage or contain their own answer: to find the passage then proves nothing."""

from __future__ import annotations

from dataclasses import dataclass

from rag_evaluation_framework.metrics.tokens import has_unspaced_script, word_tokens
from rag_evaluation_framework.synthesis.drafts import Draft, Rejection

_SHORT_ANSWER_WORDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage:
    """Rejects what repeats ``longest_run`` words of its passage in a row, or a run that makes up
    ``largest_share`` of a question of at least ``fewest_words``; and what contains its answer.

    Of Chinese, twice as many characters count as words.
    """

    longest_run: int = 10
    largest_share: float = 0.8
    fewest_words: int = 7

    def rejection(self, draft: Draft) -> Rejection | None:
        """Return why a question leaks, or ``None``."""
        asked = word_tokens(draft.question)
        if not asked or not draft.excerpts:
            return None
        run = max(longest_common_run(asked, word_tokens(excerpt.text)) for excerpt in draft.excerpts)
        most = self.longest_run * (2 if has_unspaced_script(draft.question) else 1)
        if run >= most or (
            run >= self.largest_share * len(asked)
            and len(asked) >= self.fewest_words * most // self.longest_run
        ):
            return Rejection("copies-passage", draft.question, draft.origin, f"{run} words in a row")
        if draft.answer and _holds(asked, word_tokens(draft.answer)):
            return Rejection("gives-answer-away", draft.question, draft.origin, draft.answer)
        return None


def longest_common_run(first: list[str], second: list[str]) -> int:
    """Return how many words in a row two texts share at most.

    >>> longest_common_run("when does the ferry leave".split(), "the ferry leaves".split())
    2
    """
    places: dict[str, list[int]] = {}
    for place, word in enumerate(second):
        places.setdefault(word, []).append(place)
    longest = 0
    ending: dict[int, int] = {}
    for word in first:
        ending = {place: ending.get(place - 1, 0) + 1 for place in places.get(word, ())}
        longest = max(longest, max(ending.values(), default=0))
    return longest


def _holds(asked: list[str], answer: list[str]) -> bool:
    """Tell whether a question contains a short answer word for word."""
    if not 0 < len(answer) <= _SHORT_ANSWER_WORDS:
        return False
    size = len(answer)
    return any(asked[place : place + size] == answer for place in range(len(asked) - size + 1))
