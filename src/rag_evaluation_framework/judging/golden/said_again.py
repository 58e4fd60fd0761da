"""Whether a text says again what a question asks about, with its verb, and whether it affirms or denies it.

Asked 电梯能用吗？, 能用 affirms it and 电梯用不了 denies it. A clause says it again where it has all of the
question but perhaps the subject, or nothing else and its verb. It does not where it says less, "only on
weekends", or something else: to "is there a pool?", "the pool was closed". Where one clause affirms it and
another denies it, the text does neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_evaluation_framework.judging.golden.clause_denials import clauses, is_negated
from rag_evaluation_framework.judging.golden.phrases import parts, phrase, says, words_of
from rag_evaluation_framework.judging.golden.shared_pieces import LIGHT_CHARACTERS, places_in, shared
from rag_evaluation_framework.judging.golden.stances import stance_at
from rag_evaluation_framework.judging.words.comparable_text import Piece, pieces

NEGATING = frozenset(("不", "没", "未", "never"))

_GRAMMAR = LIGHT_CHARACTERS.union(*map(words_of, ("pronoun", "auxiliary", "grammar")))
# Verbs that are grammar elsewhere, and by what whoever asks for them is told.
_TOLD_BY = {"there": "there", "have": "has", "have_zh": "has_zh", "modal": "modal_told"}


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


def content(text: str) -> list[Piece]:
    """Return the pieces of a comparable text, verbs among them, that are no grammar and no yes or no."""
    words = (piece for piece in pieces(text) if not piece.text.endswith("n't"))
    return beside_reply([piece for piece in words if piece.text.partition("'")[0] not in _GRAMMAR], text)


def beside_reply(told: Sequence[Piece], text: str, *, begin: int = 0) -> list[Piece]:
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

    def _has(self, said: Sequence[Piece]) -> bool:
        return len(shared(said, self.statement)) == len(said)
