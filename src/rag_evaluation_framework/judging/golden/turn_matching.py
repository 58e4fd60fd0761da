"""How far an answer says what a reference says beyond its question and the turns before.

What was said already proves nothing: of "他的龙伙伴叫阿尤。" to "基尼奇的龙伙伴叫什么？" only 阿尤 is news,
so 是阿尤 says all of it. Chinese characters and kana count where at least two neighbours stand
together in both texts, so that half a name is no name; other words count by their stems. Words of grammar
do not count, nor does whether a number is a word. What one text denies and the other does not is not the
same; where the question asks for a yes or no, that decides. Saying more loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rag_evaluation_framework.judging.golden.mentions import is_denied
from rag_evaluation_framework.judging.words.comparable_text import Piece, comparable, pieces, variants
from rag_evaluation_framework.judging.words.english_stems import stem
from rag_evaluation_framework.judging.words.stop_words import STOP_WORDS

_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"
_FIGURES = {word: str(number) for number, word in enumerate(_NUMBERS.split())}
_ORDINALS = frozenset(["first", "second", "third"])
_GRAMMAR = (STOP_WORDS - (_FIGURES.keys() - {"one"}) - _ORDINALS) | frozenset(
    "的了是在和与或及而但也都就还又被把给对从到向由以于为之其这那此您你我他她它们个吗呢吧啊呀着过很有"
)


_YES_OR_NO = re.compile(
    r"(?P<yes>是的?|对的?|没错|当然|会的|yes|yeah|correct|right)(?=\W|\Z)"
    r"|(?P<no>不是的?|不对|不会|没有|并没有|不|否|no|nope|wrong)(?=\W|\Z)"
)


@dataclass(frozen=True, slots=True)
class TurnMatch:
    """The share of a reference's news that an answer has, and the news by whether it has them."""

    value: float
    said: tuple[str, ...]
    unsaid: tuple[str, ...]


def match_reference(
    answer: str, reference: str, question: str = "", *, before: Sequence[str] = ()
) -> TurnMatch | None:
    """Match an answer with a reference, of which "A/B" means either; the best reading counts.

    ``before`` are the texts of the turns before the question. Where they give all of the reference, what the
    question does not give counts; where the question does, all. ``None`` where the reference has no word.

    >>> match_reference("是阿尤", "他的龙伙伴叫阿尤。", "基尼奇的龙伙伴叫什么？")
    TurnMatch(value=1.0, said=('阿尤',), unsaid=())
    >>> match_reference("叫阿贝多", "他的龙伙伴叫阿尤。", "基尼奇的龙伙伴叫什么？").value
    0.0
    """
    said, asked, known = comparable(answer), comparable(question), [comparable(text) for text in before]
    readings = map(comparable, variants(reference))
    matches = [match for text in readings if (match := _match(said, text, asked, known))]
    return max(matches, key=lambda match: match.value, default=None)


def _match(said: str, reference: str, asked: str, known: Sequence[str]) -> TurnMatch | None:
    news, is_asked = _news(reference, asked, known)
    expected, given = _YES_OR_NO.match(reference), _YES_OR_NO.match(said)
    if is_asked and expected and given:
        agrees = expected.lastgroup == given.lastgroup
        word = (expected[0],)
        return TurnMatch(float(agrees), said=word if agrees else (), unsaid=() if agrees else word)
    if not news:
        return None
    found = _shared(news, reference, said, heeds_denial=True)
    return TurnMatch(
        value=len(found) / len(news),
        said=tuple(_stretches(piece for piece in news if piece in found)),
        unsaid=tuple(_stretches(piece for piece in news if piece not in found)),
    )


def _news(reference: str, asked: str, known: Sequence[str]) -> tuple[list[Piece], bool]:
    """Return what counts of a reference (what was not said, else not asked, else what tells, else all).

    The second value tells whether the question gives all of it, so that a yes or no is what is asked for.
    """
    every = list(pieces(reference))
    telling = [piece for piece in every if piece.text not in _GRAMMAR]
    given = _shared(telling, reference, asked, heeds_denial=False)
    not_asked = [piece for piece in telling if piece not in given]
    for text in known:
        given |= _shared(telling, reference, text, heeds_denial=False)
    news = [piece for piece in telling if piece not in given] or not_asked or telling or every
    return news, not not_asked


def _shared(news: Sequence[Piece], reference: str, text: str, *, heeds_denial: bool) -> set[Piece]:
    """Return the pieces that a text has too."""

    def agrees(here: int, there: int) -> bool:
        return not heeds_denial or is_denied(reference, here) == is_denied(text, there)

    words = [piece for piece in news if not piece.is_unspaced]
    found = set(_shared_words(words, text, agrees))
    for run in _runs(piece for piece in news if piece.is_unspaced):
        found |= _shared_characters(run, text, agrees)
    return found


def _shared_words(words: Sequence[Piece], text: str, agrees: Callable[[int, int], bool]) -> Iterator[Piece]:
    places: dict[str, list[int]] = {}
    for piece in pieces(text) if words else ():
        places.setdefault(_key(piece.text), []).append(piece.start)
    for word in words:
        if any(agrees(word.start, there) for there in places.get(_key(word.text), ())):
            yield word


def _shared_characters(run: Sequence[Piece], text: str, agrees: Callable[[int, int], bool]) -> set[Piece]:
    """Return the characters of a run that stand in the text with a neighbour; a single one needs none."""
    characters = "".join(piece.text for piece in run)
    shortest = min(2, len(run))
    found: set[Piece] = set()
    for first in range(len(run) - shortest + 1):
        there = text.find(characters[first : first + shortest])
        while there >= 0 and len(found) < len(run):
            begins = first == 0 or there == 0 or characters[first - 1] != text[there - 1]
            if begins and agrees(run[first].start, there):
                last = first + shortest
                while last < len(run) and text.startswith(characters[last], there + last - first):
                    last += 1
                found.update(run[first:last])
            there = text.find(characters[first : first + shortest], there + 1)
    return found


def _runs(characters: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yield the characters that stand side by side."""
    numbered = enumerate(characters)
    for _, group in groupby(numbered, key=lambda each: each[1].start - each[0]):
        yield [piece for _, piece in group]


def _stretches(news: Iterable[Piece]) -> Iterator[str]:
    """Yield words, and characters that stand side by side as one text."""
    for is_unspaced, group in groupby(news, key=lambda piece: piece.is_unspaced):
        if is_unspaced:
            yield from ("".join(piece.text for piece in run) for run in _runs(group))
        else:
            yield from (piece.text for piece in group)


def _key(word: str) -> str:
    bare = word.removesuffix("'s")
    return _FIGURES.get(bare) or stem(bare)
