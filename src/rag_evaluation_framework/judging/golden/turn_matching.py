"""How far an answer says what a reference says beyond its question and the turns before.

What was said already proves nothing: of "他的龙伙伴叫阿尤。" to "基尼奇的龙伙伴叫什么？" only 阿尤 is news,
so 是阿尤 says all of it. Chinese characters and kana count where at least two neighbours stand
together in both texts, so that half a name is no name; other words count by their stems. Words of grammar
do not count, nor does how a number is written: 三只 is 3只. What one text denies or leaves open and the other
does not is not the same; where the question asks for a yes or no, that decides. Saying more loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rag_evaluation_framework.judging.golden.stances import asks_for_denied, stance_at, stands_bare
from rag_evaluation_framework.judging.words.comparable_text import Piece, comparable, pieces, variants
from rag_evaluation_framework.judging.words.english_stems import stem
from rag_evaluation_framework.judging.words.figures import with_figures
from rag_evaluation_framework.judging.words.stop_words import STOP_WORDS

_ORDINALS = frozenset(["first", "second", "third"])
_GRAMMAR = (STOP_WORDS - _ORDINALS) | frozenset(
    "的了是在和与或及而但也都就还又被把给对从到向由以于为之其这那此您你我他她它们个吗呢吧啊呀着过很有叫"
)


_YES_OR_NO = re.compile(
    r"(?P<yes>是的?|对的?|没错|当然|会的|yes|yeah|correct|right)(?=\W|\Z)"
    r"|(?P<no>不是的?|不对|不会|没有|并没有|不|否|no|nope|wrong)(?=\W|\Z)"
)


Agreement = Callable[[int, int], bool]
"""Whether a place of the reference and one of the answer are meant alike."""


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
    said, asked, known = _even(answer), _even(question), [_even(text) for text in before]
    readings = map(_even, variants(reference))
    matches = [match for text in readings if (match := _match(said, text, asked, known))]
    return max(matches, key=lambda match: match.value, default=None)


def _even(text: str) -> str:
    return with_figures(comparable(text))


def _match(said: str, reference: str, asked: str, known: Sequence[str]) -> TurnMatch | None:
    news, is_asked = _news(reference, asked, known)
    expected, given = _YES_OR_NO.match(reference), _YES_OR_NO.match(said)
    if is_asked and expected and given:
        agrees = expected.lastgroup == given.lastgroup
        word = (expected[0],)
        return TurnMatch(float(agrees), said=word if agrees else (), unsaid=() if agrees else word)
    if not news:
        return None
    found = _shared(news, said, _agreement(reference, said, asked))
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
    given = _shared(telling, asked)
    not_asked = [piece for piece in telling if piece not in given]
    for text in known:
        given |= _shared(telling, text)
    news = [piece for piece in telling if piece not in given] or not_asked or telling or every
    return news, not not_asked


def _agreement(reference: str, said: str, asked: str) -> Agreement:
    """Return what tells whether both texts say what stands at a place of each, deny it, or leave it open.

    Asked 它讨厌什么？, 海葡萄 alone says the same as 它讨厌海葡萄.
    """
    is_asked = asks_for_denied(asked)

    def agrees(here: int, there: int) -> bool:
        ours, theirs = stance_at(reference, here), stance_at(said, there)
        if ours == theirs:
            return True
        if not is_asked or "open" in (ours, theirs):
            return False
        return stands_bare(reference, here) if ours == "stated" else stands_bare(said, there)

    return agrees


def _anywhere(here: int, there: int) -> bool:
    return True


def _shared(news: Sequence[Piece], text: str, agrees: Agreement = _anywhere) -> set[Piece]:
    """Return the pieces that a text has too, and in the same sense."""
    words = [piece for piece in news if not piece.is_unspaced]
    found = set(_shared_words(words, text, agrees))
    for run in _runs(piece for piece in news if piece.is_unspaced):
        found |= _shared_characters(run, text, agrees)
    return found


def _shared_words(words: Sequence[Piece], text: str, agrees: Agreement) -> Iterator[Piece]:
    places: dict[str, list[int]] = {}
    for piece in pieces(text) if words else ():
        places.setdefault(_key(piece.text), []).append(piece.start)
    for word in words:
        if any(agrees(word.start, there) for there in places.get(_key(word.text), ())):
            yield word


def _shared_characters(run: Sequence[Piece], text: str, agrees: Agreement) -> set[Piece]:
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
    return "1" if bare == "one" else stem(bare)
