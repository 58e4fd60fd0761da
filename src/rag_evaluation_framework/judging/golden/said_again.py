"""Whether a text says again what a question asks about, with its verb, and whether it affirms or denies it.

Asked 电梯能用吗？, 能用 affirms it and 电梯用不了 denies it. A clause says it again where it has all of the
question but perhaps the subject, or nothing else and its verb. It does not where it says less, "only on
weekends", or something else: to "is there a pool?", "the pool was closed". Where one clause affirms it and
another denies it, the text does neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rag_evaluation_framework.judging.golden.clause_denials import AUXILIARY, clauses, is_negated
from rag_evaluation_framework.judging.golden.shared_pieces import places_in, shared
from rag_evaluation_framework.judging.golden.stances import stance_at
from rag_evaluation_framework.judging.words.comparable_text import Piece, pieces
from rag_evaluation_framework.judging.words.stop_words import PARTICLES

PRONOUN = "it|he|she|they|we|i|you|there|this|that"
MANNER = (
    r"可能|应该|大概|也许|从来|已经|现在|[这那][里儿]"
    r"|\b(?:actually|probably|maybe|perhaps|(?:un)?fortunately|sadly)\b"
)
"""Words that change nothing about what is affirmed or denied."""
NEGATING = frozenset(("不", "没", "未", "never"))

_MODAL = "可以|能够?|会|需?要"
_BESIDE_VERB = re.compile(f"{MANNER}|{_MODAL}|[是能可]否|无[需须]|禁止")
_PRONOUN_FIRST = re.compile(rf"(?:{PRONOUN})\b")
_FOR_THE_SUBJECT = re.compile(r"\b(?:it|he|she|they)\b")
_GRAMMAR_WORDS = """
a after also an and any as at be been before being by currently ever for from her here him his in its me my no
not now of on one our some still the their them then these those to too us with your
"""
# There is no verb among them but those that may stand for another.
_GRAMMAR = PARTICLES.union(
    PRONOUN.split("|"), AUXILIARY.split("|"), _GRAMMAR_WORDS.split(), "而但也都就还又对到向由以为此过很有"
)
# Verbs that are grammar elsewhere: who asks for one is told it. 没 alone denies 有.
_ASKED_FOR = (
    (re.compile(r"\bthere\b"), re.compile(r"\bthere\b")),
    (re.compile(r"\bhave\b"), re.compile(r"\b(?:have|has|had)\b(?! (?:\w+ed|been|lost|sold)\b)")),
    (re.compile("(?<![没所])有"), re.compile("[有没]")),
    (re.compile(_MODAL), re.compile(f"{_MODAL}|[不没未无行]|禁止|拒绝|停止")),
)
_VERB = (
    rf"(?:(?:\b(?:{AUXILIARY})|\b(?:ca|wo)(?=n't))(?:n't| not)?|\bcannot)|[不没]?(?:{_MODAL}|行|有|是)[的了]?"
)
# "For longer stays you do", "you do for longer stays".
_VERB_STANDS_IN = re.compile(
    rf"(?:{_VERB})\Z"
    r"|\b(?:do|does|did|can|could|will|would)(?:n't| not)? (?:for|in|on|if|after|before|when|with)\b"
)
_VERB_ALONE = re.compile(rf"(?:(?:\w+ ){{1,4}}|[你您我他她它们]+)(?:{_VERB})")
_CEASED = re.compile(r"\b(?:stop|ceas|fail|refus)(?:p?ed|e?s|e|ing)?\b|停止|拒绝|禁止|无[需须]")
_AND_DOES = re.compile(rf" and (?=(?:{AUXILIARY}|{PRONOUN})\b)")
_NONE_IS = re.compile(rf"no (\w+) (?:{AUXILIARY})\b")
# These say less than what was asked, or something else.
_RESTRICTED = re.compile(
    r"(?<!not )\bonly\b|\b(?:neither|nor|instead|without|unless|except|until|used to|at first|initially)\b"
    r"|(?<!不)[只仅]|除|才"
)


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
    idle = places_in(text, _BESIDE_VERB)
    return [
        piece
        for piece in told
        if piece.start >= begin and piece.text not in NEGATING and piece.start not in idle
    ]


def _clauses(text: str) -> Iterator[tuple[int, str]]:
    """Yield the clauses of a text with where they begin; "has a bike" is one in "sold it and has a bike"."""
    for start, clause in clauses(text):
        ends = [*(found.span() for found in _AND_DOES.finditer(clause)), (len(clause), len(clause))]
        begins = [0, *(after for _, after in ends)]
        for begin, (end, _) in zip(begins, ends, strict=False):
            yield start + begin, clause[begin:end]


class _Asked:
    """A statement that a question asks about, and what the clauses of an answer make of it."""

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self.content = content(statement)
        has_subject = self.content and not self.content[0].is_unspaced and not _PRONOUN_FIRST.match(statement)
        self.predicate = (self.content[1:] or self.content) if has_subject else self.content
        self.verbs = [told for verb, told in _ASKED_FOR if verb.search(statement)]

    def is_in(self, clause: str) -> bool:
        """Tell whether a clause affirms or denies some of it, and not just of its subject."""
        if _VERB_STANDS_IN.search(clause) or _NONE_IS.match(clause):
            return True
        has_verbs = all(verb.search(clause) for verb in self.verbs)
        return has_verbs and (bool(shared(self.predicate, clause)) or self.is_all_of(clause))

    def is_all_in(self, clause: str) -> bool:
        """Tell whether a clause has all of it; for the subject a pronoun will do."""
        wanted = self.predicate if _FOR_THE_SUBJECT.search(clause) else self.content
        return bool(wanted) and len(shared(wanted, clause)) == len(wanted)

    def is_all_of(self, clause: str) -> bool:
        """Tell whether a clause has nothing else, or a verb that stands for it."""
        return self._has(content(clause)) or _VERB_STANDS_IN.search(clause) is not None

    def is_said_by(self, clause: str) -> bool:
        if _RESTRICTED.search(clause) or not self.content:
            return False
        if none := _NONE_IS.match(clause):
            return bool(shared(self.content, none[1]))
        if self.is_all_in(clause):
            return True
        if not self._has(content(clause)):
            return False
        verb = [] if self.content[0].is_unspaced else self.predicate[:1]
        has_verb = len(shared(verb, clause)) == len(verb) and not self.statement.startswith(clause)
        return has_verb or _VERB_ALONE.fullmatch(clause) is not None

    def is_denied_by(self, clause: str) -> bool:
        has_ceased = _CEASED.search(clause) is not None and _CEASED.search(self.statement) is None
        return is_negated(clause) != has_ceased

    def is_open(self, text: str, start: int, clause: str) -> bool:
        """Tell whether the clause that starts at a place of a text leaves open what it has of it."""
        known = shared(content(clause), self.statement)
        return any(stance_at(text, start + piece.start) == "open" for piece in known)

    def _has(self, said: Sequence[Piece]) -> bool:
        return len(shared(said, self.statement)) == len(said)
