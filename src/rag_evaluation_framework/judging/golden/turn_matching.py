"""How far an answer says what a reference says beyond its question and the turns before.

What was said already proves nothing: of "他的龙伙伴叫阿尤。" to "基尼奇的龙伙伴叫什么？" only 阿尤 is news,
so 是阿尤 says all of it. How a number is written makes no difference: 三只 is 3只. What one text denies or
leaves open and the other does not is not the same. Where the question asks for a yes or no, that is news
too where it is plain, and the wrong one is wrong whatever else is said. Saying more loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from rag_evaluation_framework.judging.golden.clause_denials import denies_asked
from rag_evaluation_framework.judging.golden.phrases import phrase
from rag_evaluation_framework.judging.golden.said_again import beside_reply, content
from rag_evaluation_framework.judging.golden.shared_pieces import (
    Agreement,
    places_in,
    shared,
    stretches,
    telling,
    with_numbers,
)
from rag_evaluation_framework.judging.golden.stances import Stance, asks_for_denied, stance_at, stands_bare
from rag_evaluation_framework.judging.golden.yes_or_no import asks_yes_or_no, reply_to
from rag_evaluation_framework.judging.words.comparable_text import Piece, pieces, variants
from rag_evaluation_framework.judging.words.even_text import even_text
from rag_evaluation_framework.judging.words.figures import paired_as_in
from rag_evaluation_framework.judging.words.quantities import quantities


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
    asked, known = even_text(question), [even_text(text) for text in before]
    readings = (
        (even_text(answer, beside=text), even_text(text, beside=answer)) for text in variants(reference)
    )
    matches = [match for said, text in readings if (match := _match(said, text, asked, known))]
    return max(matches, key=lambda match: match.value, default=None)


def _match(said: str, reference: str, asked: str, known: Sequence[str]) -> TurnMatch | None:
    said, reference = paired_as_in(reference, said), paired_as_in(said, reference)
    expected, given = reply_to(asked, reference), reply_to(asked, said)
    told = telling(reference, asked)
    if expected and expected.polarity == "yes":  # "yes" to "do you know who …?" tells nothing
        told = [piece for piece in told if piece.start >= expected.end] or told
    fresh = _without(told, [asked, *known])
    if expected is None or not asks_yes_or_no(asked, reference):
        news = fresh or _without(told, [asked]) or told or list(pieces(reference))
        return _matched(news, _found(news, said, reference, asked))
    news = beside_reply(fresh, reference, begin=expected.end)
    if phrase("asks_leave").match(asked):
        news = [piece for piece in news if piece.start not in places_in(reference, "leave")]
    # Where an answer says neither, its words decide; of a bare "yes" it has none.
    if given is None and (words := news or (content(reference) if not expected.end else [])):
        return _matched(words, _found(words, said, reference, asked))
    agrees = given is not None and given.polarity == expected.polarity
    found = _found(news, said, reference, asked) if agrees else set()
    return _matched(news, found, reply=expected.words, agrees=agrees)


def _matched(
    news: Sequence[Piece], found: set[Piece], *, reply: str = "", agrees: bool = True
) -> TurnMatch | None:
    """Return the share of the news that is found; a yes or no counts as one piece of it."""
    replies = (reply,) if reply else ()
    if not news and not replies:
        return None
    said = replies if agrees else ()
    return TurnMatch(
        value=(len(found) + len(said)) / (len(news) + len(replies)),
        said=(*said, *stretches(piece for piece in news if piece in found)),
        unsaid=(*replies[len(said) :], *stretches(piece for piece in news if piece not in found)),
    )


def _without(told: Sequence[Piece], texts: Iterable[str]) -> list[Piece]:
    """Return the pieces that none of the texts has."""
    given = {piece for text in texts for piece in shared(told, text)}
    return [piece for piece in told if piece not in given]


def _found(news: Sequence[Piece], said: str, reference: str, asked: str) -> set[Piece]:
    found = shared(news, said, _agreement(news, reference, said, asked))
    return with_numbers(found, news, reference)


def _agreement(news: Sequence[Piece], reference: str, said: str, asked: str) -> Agreement:
    """Return what tells whether both texts say what stands at a place of each, deny it, or leave it open.

    A name is denied as a whole, "not Anna Berg", and with what was asked of it, "Anna Berg is not the mayor",
    unless a yes or no was asked for. Asked 它讨厌什么？, 海葡萄 alone says the same as
    它讨厌海葡萄.
    """
    is_denial_asked = asks_for_denied(asked)
    is_whole = is_denial_asked or asks_yes_or_no(asked, reference)
    asked_pieces = [] if is_whole else telling(asked, asked)
    names = tuple(dict.fromkeys(piece.text for piece in news if not piece.is_unspaced))

    @cache
    def stance(text: str, start: int) -> Stance:
        found = stance_at(text, start, through=names)
        return "denied" if found == "stated" and denies_asked(text, start, asked_pieces) else found

    our_times, their_times = _times(reference), _times(said)

    def agrees(here: int, there: int) -> bool:
        if here in our_times and our_times[here].isdisjoint(their_times.get(there, our_times[here])):
            return False
        ours, theirs = stance(reference, here), stance(said, there)
        if ours == theirs:
            return True
        if not is_denial_asked or "open" in (ours, theirs):
            return False
        return stands_bare(reference, here) if ours == "stated" else stands_bare(said, there)

    return agrees


def _times(text: str) -> dict[int, frozenset[float]]:
    """Return the times of day by where they stand: of 9:00, which may be in the evening, there are two."""
    return {found.start: frozenset(found.values) for found in quantities(text) if found.kind == "time"}
