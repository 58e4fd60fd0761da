"""Whether a text answers after all, before or after it says that it cannot."""

from __future__ import annotations

import re

from rag_evaluation_framework.judging.classes.answer_patterns import AnswerPattern, answer_patterns

_WORD = re.compile(r"[\u3400-\u9fff]{2}|[^\W\u3400-\u9fff]+")
# How many words make an answer: after a contrast or before a full stop, right before a contrast, and before a
# refusal that comes late.
_ENOUGH, _ENOUGH_BEFORE_A_CONTRAST, _ENOUGH_TO_COMPLY = 6, 3, 25
_NEAR = 20


def answers_besides(text: str, found: tuple[int, int], *, pattern: AnswerPattern, asked: str) -> bool:
    """Tell whether a folded text gives an answer besides the characters that the pattern found in it.

    "I have no figures, but two thousand people came" does, and so does "Two thousand came; the documents do
    not say when". Words of the question do not count.
    """
    start, end = found
    if pattern.unless_goes_on:
        return _goes_on(text, start, end) or _words_before(text, start, asked) >= _enough_before(text, start)
    if pattern.kind != "refused" or concludes(text, start):
        return False
    return _words_before(text, start, asked) >= _ENOUGH_TO_COMPLY


def concludes(text: str, start: int) -> bool:
    """Tell whether what starts here is a conclusion: what comes before it are reasons, not an answer."""
    words = answer_patterns().besides["conclusion"].finditer(text, max(start - _NEAR, 0), start)
    return any(word.end() == start for word in words)


def _goes_on(text: str, start: int, end: int) -> bool:
    besides = answer_patterns().besides
    places = [contrast.end() for contrast in besides["contrast"].finditer(text, end)]
    if besides["concession"].search(text, 0, start):
        places.append(text.find(",", end) + 1)
    return any(
        place > 0
        and not besides["elsewhere"].match(text, place)
        and len(_WORD.findall(text, place)) >= _ENOUGH
        for place in places
    )


def _words_before(text: str, start: int, asked: str) -> int:
    """Count the words stated before the start, unless they are a courtesy or only repeat the question."""
    besides = answer_patterns().besides
    ends = [end.start() for end in besides["end_of_statement"].finditer(text, 0, start)]
    if not ends or besides["courtesy"].search(text, 0, start):
        return 0
    repeated = set(_WORD.findall(asked))
    return sum(word not in repeated for word in _WORD.findall(text, 0, ends[-1]))


def _enough_before(text: str, start: int) -> int:
    before = answer_patterns().besides["contrast_before"].search(text, max(start - _NEAR, 0), start)
    return _ENOUGH if before is None else _ENOUGH_BEFORE_A_CONTRAST
