"""How far an answer says what a turn's reference says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from rag_evaluation_framework.judging.mentions import (
    LIGHT_CHARACTERS,
    Agreement,
    Stance,
    asks_for_denied,
    clauses,
    denies_asked,
    is_negated,
    parts,
    phrase,
    places_in,
    says,
    shared,
    stance_at,
    stands_bare,
    stretches,
    telling,
    with_numbers,
    words_of,
)
from rag_evaluation_framework.text.normalisation import variants
from rag_evaluation_framework.text.numbers import even_text, quantities
from rag_evaluation_framework.text.tokens import Token, pieces

# Whether a text says again what a question asks about, with its verb, and whether it affirms or
# denies it.
#
# Asked 电梯能用吗？, 能用 affirms it and 电梯用不了 denies it. A clause says it again where it has all of
# the question but perhaps the subject, or nothing else and its verb. It does not where it says less,
# "only on weekends", or something else: to "is there a pool?", "the pool was closed". Where one clause
# affirms it and another denies it, the text does neither.

NEGATING = frozenset(("不", "没", "未", "never"))

# Verbs that are grammar elsewhere, and by what whoever asks for them is told.
_TOLD_BY = {"there": "there", "have": "has", "have_zh": "has_zh", "modal": "modal_told"}


@cache
def _grammar() -> frozenset[str]:
    return LIGHT_CHARACTERS.union(*map(words_of, ("pronoun", "auxiliary", "grammar")))


class Again(NamedTuple):
    """A clause that says again what was asked."""

    clause: str
    is_denied: bool


def said_again(statement: str, text: str) -> Again | None:
    """Return the first clause of a comparable text that says a statement again, unless others differ.

    >>> said_again("the lift working?", "it isn't working today.")
    Again(clause="it isn't working today", is_denied=True)
    """
    asked = _Asked(statement)
    about = [
        clause
        for start, clause in _clauses(text)
        if asked.is_in(clause) and not asked.is_open(text, start, clause)
    ]
    if any(map(asked.is_all_in, about)):  # "he likes cats, but he does not like dogs"
        about = [clause for clause in about if asked.is_all_in(clause) or asked.is_all_of(clause)]
    is_plain = len(set(map(asked.is_denied_by, about))) == 1
    again = filter(asked.is_said_by, about) if is_plain else iter(())
    return next((Again(clause, asked.is_denied_by(clause)) for clause in again), None)


def content(text: str) -> list[Token]:
    """Return the pieces of a comparable text, verbs among them, that are no grammar and no yes or no."""
    words = (piece for piece in pieces(text) if not piece.text.endswith("n't"))
    return beside_reply([piece for piece in words if piece.text.partition("'")[0] not in _grammar()], text)


def beside_reply(told: Sequence[Token], text: str, *, begin: int = 0) -> list[Token]:
    """Return those of the pieces of a text, from a place on, that do more than say yes or no."""
    idle = places_in(text, "beside_verb")
    return [
        piece
        for piece in told
        if piece.start >= begin and piece.text not in NEGATING and piece.start not in idle
    ]


def _clauses(text: str) -> Iterator[tuple[int, str]]:
    """Yield the clauses of a text with where they begin, "I'm afraid" apart.

    "Has a bike" is one in "sold it and has a bike".
    """
    for start, clause in clauses(text):
        for begin, part in parts("and_does", clause):
            regret = phrase("regret_first").match(part)
            first = regret.end() if regret else 0
            if part[first:]:
                yield start + begin + first, part[first:]


class _Asked:
    """A statement that a question asks about, and what the clauses of an answer make of it."""

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self.content = content(statement)
        begins_with_noun = self.content and not self.content[0].is_unspaced
        has_subject = begins_with_noun and not phrase("pronoun_first").match(statement)
        self.predicate = (self.content[1:] or self.content) if has_subject else self.content
        self.verbs = [told for verb, told in _TOLD_BY.items() if says(verb, statement)]

    def is_in(self, clause: str) -> bool:
        """Tell whether a clause affirms or denies some of it, and not just of its subject."""
        if says("verb_stands_in", clause) or phrase("none_is").match(clause):
            return True
        has_verbs = all(says(verb, clause) for verb in self.verbs)
        return has_verbs and (bool(shared(self.predicate, clause)) or self.is_all_of(clause))

    def is_all_in(self, clause: str) -> bool:
        """Tell whether a clause has all of it; for the subject a pronoun will do."""
        wanted = self.predicate if says("for_the_subject", clause) else self.content
        return bool(wanted) and len(shared(wanted, clause)) == len(wanted)

    def is_all_of(self, clause: str) -> bool:
        """Tell whether a clause has nothing else, or a verb that stands for it."""
        return self._has(content(clause)) or says("verb_stands_in", clause)

    def is_said_by(self, clause: str) -> bool:
        if says("restricted", clause) or not self.content:
            return False
        if none := phrase("none_is").match(clause):
            return bool(shared(self.content, none[1]))
        if self.is_all_in(clause):
            return True
        if not self._has(content(clause)):
            return False
        verb = [] if self.content[0].is_unspaced else self.predicate[:1]
        has_verb = len(shared(verb, clause)) == len(verb) and not self.statement.startswith(clause)
        return has_verb or phrase("verb_alone").fullmatch(clause) is not None

    def is_denied_by(self, clause: str) -> bool:
        has_ceased = says("ceased", clause) and not says("ceased", self.statement)
        return is_negated(clause) != has_ceased

    def is_open(self, text: str, start: int, clause: str) -> bool:
        """Tell whether the clause that starts at a place of a text leaves open what it has of it."""
        known = shared(content(clause), self.statement)
        return any(stance_at(text, start + piece.start) == "open" for piece in known)

    def _has(self, said: Sequence[Token]) -> bool:
        return len(shared(said, self.statement)) == len(said)


# Whether a text plainly says yes or no to a question that asks for it.
#
# It does by a word that stands by itself, "No, …" or 可以; by a verb alone, "it does"; or by saying again
# what was asked, as it is or denied. Whatever is less plain is neither: 没关系 denies nothing, and "it is
# broken" says something else than "it does not work".

Polarity = Literal["yes", "no"]


class Reply(NamedTuple):
    """A yes or a no, the words that say it, and where the word for it ends (0 where there is none)."""

    polarity: Polarity
    words: str
    end: int = 0


def asks_yes_or_no(question: str, reference: str) -> bool:
    """Tell whether a comparable question asks for a yes or a no; of a choice, its reference tells.

    >>> [asks_yes_or_no(question, "") for question in ("电梯能用吗?", "谁能用?", "is it a?", "is it a or b?")]
    [True, False, True, False]
    """
    if not question or says("asks_for_more", question):
        return False
    if phrase("said").match(reference):
        return True
    return _can_be_said_again(question) and not says("or", question)


def reply_to(question: str, text: str) -> Reply | None:
    """Return what a comparable text plainly replies to such a question; ``None`` where that is not plain.

    >>> reply_to("is the lift working?", "it works.")
    Reply(polarity='yes', words='it works', end=0)
    """
    if said := phrase("said").match(text):
        if said.lastgroup == "untold" or stance_at(text, said.end()) == "open":
            return None
        return Reply(_polarity(said.lastgroup, question), said[0].strip(), said.end())
    if not _can_be_said_again(question):
        return None
    again = said_again(phrase("verb_first").sub("", question, count=1), _with_leave(question, text))
    return Reply("no" if again.is_denied else "yes", again.clause) if again else None


def _with_leave(question: str, text: str) -> str:
    """Return what a text says to "Can I …?": that pets are not allowed says that they are not."""
    if not phrase("asks_leave").match(question):
        return text
    return phrase("leave").sub(lambda word: "not" if word[0] in words_of("no_leave") else "", text)


def _can_be_said_again(question: str) -> bool:
    """Tell whether a question has the form of a statement, which "And the stairs?" has not."""
    return phrase("verb_first").match(question) is not None or says("asks_at_its_end", question)


def _polarity(said: str | None, question: str) -> Polarity:
    """Return what a word says; 是的 to 他没来吗？ says that he did not."""
    is_yes = said in ("yes", "assent")
    if said in ("assent", "dissent") and not NEGATING.isdisjoint(phrase("choice").sub("", question)):
        is_yes = not is_yes
    return "yes" if is_yes else "no"


# How far an answer says what a reference says beyond its question and the turns before.
#
# What was said already proves nothing: of "他的龙伙伴叫阿尤。" to "基尼奇的龙伙伴叫什么？" only 阿尤 is
# news, so 是阿尤 says all of it. How a number is written makes no difference: 三只 is 3只. What one text
# denies or leaves open and the other does not is not the same. Where the question asks for a yes or no,
# that is news too where it is plain, and the wrong one is wrong whatever else is said. Saying more loses
# nothing.


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
    readings = ((even_text(answer), even_text(text)) for text in variants(reference))
    matches = [match for said, text in readings if (match := _match(said, text, asked, known))]
    return max(matches, key=lambda match: match.value, default=None)


def _match(said: str, reference: str, asked: str, known: Sequence[str]) -> TurnMatch | None:
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
    news: Sequence[Token], found: set[Token], *, reply: str = "", agrees: bool = True
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


def _without(told: Sequence[Token], texts: Iterable[str]) -> list[Token]:
    """Return the pieces that none of the texts has."""
    given = {piece for text in texts for piece in shared(told, text)}
    return [piece for piece in told if piece not in given]


def _found(news: Sequence[Token], said: str, reference: str, asked: str) -> set[Token]:
    found = shared(news, said, _agreement(news, reference, said, asked))
    return with_numbers(found, news, reference)


def _agreement(news: Sequence[Token], reference: str, said: str, asked: str) -> Agreement:
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
