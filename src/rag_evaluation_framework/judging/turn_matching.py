"""The agreement of an answer with a turn's reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from rag_evaluation_framework.judging import mentions
from rag_evaluation_framework.text.normalisation import comparable, variants
from rag_evaluation_framework.text.numbers import even_text, quantities
from rag_evaluation_framework.text.tokens import Token, pieces

# Whether a text plainly says yes or no: by a word that stands by itself, "No, …" or 可以. Whatever is less
# plain is neither: 没关系 denies nothing.

NEGATING = frozenset(("不", "没", "未", "never"))


class Reply(NamedTuple):
    """A yes or a no, the words that say it, and where they end."""

    is_yes: bool
    words: str
    end: int


def asks_yes_or_no(question: str, reference: str) -> bool:
    """Return True if a question asks for yes or no; for a choice, its reference decides.

    >>> [asks_yes_or_no(question, "") for question in ("电梯能用吗?", "谁能用?", "is it a?", "is it a or b?")]
    [True, False, True, False]
    """
    if not question or mentions.says("asks_for_more", question):
        return False
    if mentions.phrase("said").match(reference):
        return True
    is_statement = mentions.phrase("verb_first").match(question) is not None or mentions.says(
        "asks_at_its_end", question
    )
    return is_statement and not mentions.says("or", question)


def reply_in(text: str) -> Reply | None:
    """Return what a comparable text plainly replies; ``None`` where that is not plain.

    >>> reply_in("no, the lift is out of order.")
    Reply(is_yes=False, words='no', end=2)
    """
    said = mentions.phrase("said").match(text)
    if said is None or said.lastgroup == "untold" or mentions.stance_at(text, said.end()) == "open":
        return None
    return Reply(said.lastgroup == "yes", said[0].strip(), said.end())


class Replies(NamedTuple):
    """The agreement of an answer with a yes-or-no reference; unknown if the answer plainly states neither."""

    are_equal: bool | None
    is_all: bool
    """True if the reference has nothing else beyond the question."""
    is_bare: bool
    """True if the question asks for yes or no, and the reference has no other word."""


def compare_replies(answer: str, reference: str, question: str) -> Replies | None:
    """Compare an answer's own yes or no with that of a reference; ``None`` of one that replies neither.

    >>> compare_replies("Dogs may not travel.", "Yes", "May dogs travel?")
    Replies(are_equal=False, is_all=True, is_bare=True)
    """
    expected, asked = reply_in(comparable(reference)), even_text(question)
    if expected is None:
        return None
    rest = mentions.telling(even_text(comparable(reference)[expected.end :]), asked)
    given = _own_reply(even_text(answer), asked)
    is_open = given is None or (given != expected.is_yes and mentions.says("denies", asked))
    are_equal = None if is_open else given == expected.is_yes
    return Replies(are_equal, not _without(rest, [asked]), not rest and asks_yes_or_no(asked, ""))


def _own_reply(answer: str, asked: str) -> bool | None:
    """Return the yes or no of the first clause; one that says all that is asked affirms or denies it."""
    if given := reply_in(answer):
        return given.is_yes
    clause = mentions.phrase("clause_mark").split(answer, maxsplit=1)[0]
    idle = mentions.places_in(asked, "beside_verb")
    told = {piece for piece in mentions.telling(asked, asked) if piece.start not in idle}
    is_echo = told and asks_yes_or_no(asked, "") and mentions.shared(sorted(told), clause) == told
    return not mentions.is_denied(clause) if is_echo else None


# How far an answer says what a reference says beyond its question and the turns before.
#
# What was said already proves nothing: of "他的龙伙伴叫阿尤。" to "基尼奇的龙伙伴叫什么？" only 阿尤 is
# news, so 是阿尤 says all of it. How a number is written makes no difference: 三只 is 3只. What one text
# denies or leaves open and the other does not is not the same. Where the question asks for a yes or no, that
# is news too where it is plain, and the wrong one is wrong whatever else is said. Saying more loses nothing.


class TurnMatch(msgspec.Struct, frozen=True):
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
    readings = ((even_text(answer), even_text(text)) for text in variants(reference))
    matches = [match for said, text in readings if (match := _match(said, text, asked, known))]
    return max(matches, key=lambda match: match.value, default=None)


def _match(said: str, reference: str, asked: str, known: Sequence[str]) -> TurnMatch | None:
    expected, given = reply_in(reference), reply_in(said)
    told = mentions.telling(reference, asked)
    if expected and expected.is_yes:  # "yes" to "do you know who …?" tells nothing
        told = [piece for piece in told if piece.start >= expected.end] or told
    fresh = _without(told, [asked, *known])
    if expected is None or not asks_yes_or_no(asked, reference):
        news = fresh or _without(told, [asked]) or told or list(pieces(reference))
        return _matched(news, _found(news, said, reference, asked))
    idle = mentions.places_in(reference, "beside_verb")
    news = [
        piece
        for piece in fresh
        if piece.start >= expected.end and piece.text not in NEGATING and piece.start not in idle
    ]
    if given is None and news:  # where an answer says neither, its words decide
        return _matched(news, _found(news, said, reference, asked))
    if given is None:
        rest = [piece for piece in told if piece.start >= expected.end]
        agrees = bool(rest) and len(_found(rest, said, reference, asked)) == len(rest)
    else:
        agrees = given.is_yes == expected.is_yes
    found = _found(news, said, reference, asked) if agrees else set()
    return _matched(news, found, reply=expected.words, agrees=agrees)


def _matched(
    news: Sequence[Token], found: set[Token], *, reply: str = "", agrees: bool = True
) -> TurnMatch | None:
    """Return the share of the news that is found; a yes or no counts as one piece of it."""
    replies = (reply,) if reply else ()
    if not news and not replies:
        return None
    said = replies if agrees else ()
    return TurnMatch(
        value=(len(found) + len(said)) / (len(news) + len(replies)),
        said=(*said, *mentions.stretches(piece for piece in news if piece in found)),
        unsaid=(*replies[len(said) :], *mentions.stretches(piece for piece in news if piece not in found)),
    )


def _without(told: Sequence[Token], texts: Iterable[str]) -> list[Token]:
    """Return the pieces that none of the texts has."""
    given = {piece for text in texts for piece in mentions.shared(told, text)}
    return [piece for piece in told if piece not in given]


def _found(news: Sequence[Token], said: str, reference: str, asked: str) -> set[Token]:
    found = mentions.shared(news, said, _agreement(news, reference, said, asked))
    return mentions.with_numbers(found, news, reference)


def _agreement(news: Sequence[Token], reference: str, said: str, asked: str) -> mentions.Agreement:
    """Return a test of two places: do both texts assert them, deny them, or leave them open.

    A name is denied as a whole, "not Anna Berg", and with what was asked of it, "Anna Berg is not the mayor",
    unless a yes or no was asked for. Asked 它讨厌什么？, 海葡萄 says the same as 它讨厌海葡萄.
    """
    is_denial_asked = mentions.asks_for_denied(asked)
    is_whole = is_denial_asked or asks_yes_or_no(asked, reference)
    asked_pieces = [] if is_whole else mentions.telling(asked, asked)
    names = tuple(dict.fromkeys(piece.text for piece in news if not piece.is_unspaced))

    @cache
    def stance(text: str, start: int) -> mentions.Stance:
        found = mentions.stance_at(text, start, through=names)
        return "denied" if found == "stated" and mentions.denies_key(text, start, asked_pieces) else found

    our_times, their_times = _times(reference), _times(said)

    def agrees(here: int, there: int) -> bool:
        if here in our_times and our_times[here].isdisjoint(their_times.get(there, our_times[here])):
            return False
        ours, theirs = stance(reference, here), stance(said, there)
        return ours == theirs or (is_denial_asked and "open" not in (ours, theirs))

    return agrees


def _times(text: str) -> dict[int, frozenset[float]]:
    """Return the times of day by where they stand: of 9:00, which may be in the evening, there are two."""
    return {found.start: frozenset(found.values) for found in quantities(text) if found.kind == "time"}
