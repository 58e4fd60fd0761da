"""Whether an answer says that two stand in a relation, and which way round.

- *Ends*: an end is named where the answer has its name ("A/B" being either), or where the question has it and
  the answer points back: ``她们是朋友``, ``they are friends``, or no subject at all, ``是朋友``.
- *Relation*: one of its words (:mod:`.relation_words`) stands, not denied, where the answer speaks of the
  ends: in a clause with both of them, with one and a pronoun, or with neither; in any clause where no clause
  has both.
- *Direction*: by whose role a word is, ``恰斯卡是卡齐娜的老师``, ``Kachina's teacher is Chasca``, and by who
  does it to whom, ``恰斯卡教导卡齐娜``, ``Kachina was taught by Chasca``. Of both ways the right one counts.

Only what stands in the words is seen: no inference, no irony, no third person who is not an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_evaluation_framework.judging.golden.mentions import Mention, first_mention, mentions
from rag_evaluation_framework.judging.golden.relation_words import (
    Reading,
    RelationWords,
    is_told_in,
    relations_said,
    words_of_relation,
)
from rag_evaluation_framework.judging.words.comparable_text import (
    alternatives,
    comparable,
    slash_groups,
)

Direction = Literal["right", "wrong", "not told", "mutual"]

# As much as any answer says of a relation; what is longer would only take longer.
_READ = 50_000
_CLAUSE = re.compile(r"[^。！？!?；;\n，,]{1,400}")
_BOTH = re.compile(
    r"[她他它]们|[两二][人者]|两个|双方|彼此|互相|相互|"
    r"\b(?:they|them|both|each other|one another|the two)\b"
)
_ONE = re.compile(r"[她他它其]|自己|\b(?:he|she|it|him|her|his|hers|its)\b")
_NO_SUBJECT = re.compile(r"\W*(?:是|为|属于|互为|曾是|曾经是)")

_OWNED_BEFORE = re.compile(r"(?:的[^的，,]{0,6}|'s? (?:[\w-]+ ){0,3})\Z")
_OWNED_AFTER = re.compile(r"\s*(?:of|to|for)\s+(?:the\s+)?")
_COPULA_BEFORE = re.compile(
    r"[^，,]{0,6}(?:是|为|作为|担任|成为|当|\b(?:is|was|as|became|becomes|are|were)\b)"
)
_COPULA_AFTER = re.compile(r"\s*(?:就?是|名?叫|为|\b(?:is|was|named|called)\b)\s*")
_JOINED = re.compile(r"\s*(?:和|与|跟|及|、|\band\b|&)\s*")
_PASSIVE = re.compile(r"(?:被|由|受到?|遭到?)\s*\Z")
_PASSIVE_BY = re.compile(r"(?:的|了)?\s*\bby\s+(?:the\s+)?")
_TAKEN = re.compile(r"把\s*\Z")


@dataclass(frozen=True, slots=True)
class RelationReading:
    """What an answer says of a relation; ``relation`` is ``None`` where its words are not known here."""

    subject: bool
    object: bool
    relation: bool | None
    direction: Direction

    @property
    def ends(self) -> tuple[bool, bool]:
        return (self.subject, self.object)


@dataclass(frozen=True, slots=True)
class _End:
    """A mention of the subject (1) or of the object (-1)."""

    which: int
    start: int
    end: int


def read_relation(
    answer: str, triple: tuple[str, str, str], *, question: str = "", reference: str = ""
) -> RelationReading:
    """Read what an answer says of (subject, relation, object).

    A reference that joins several relations by a slash, "friends/allies", accepts each.

    >>> read_relation("恰斯卡是卡齐娜的老师。", ("卡齐娜", "student_of", "恰斯卡"))
    RelationReading(subject=True, object=True, relation=True, direction='right')
    """
    said, asked = comparable(answer[:_READ]), comparable(question)
    subject, relation, object_ = triple
    ends = (alternatives(subject), alternatives(object_))
    named = _ends_named(said, asked, (subject, object_))
    ways = words_of_relation(relation)
    told = [way for way in ways if is_told_in(way, said)]
    spoken = [_spoken(said, way, ends, wanted=-1 if way.inverted else 1) for way in told]
    spoken += _by_reference(said, comparable(reference), ends)
    expressed = [direction for direction in spoken if direction is not None]
    order: tuple[Direction, ...] = ("right", "mutual", "not told", "wrong")
    if not told and not expressed:
        return RelationReading(*named, relation=None, direction="not told")
    best = next((direction for direction in order if direction in expressed), order[2])
    return RelationReading(*named, relation=bool(expressed), direction=best)


def _ends_named(said: str, asked: str, names: Sequence[str]) -> tuple[bool, bool]:
    """Tell of each end whether the answer names it, or points back to where the question does."""
    stated = [first_mention(said, name) is not None for name in names]
    asked_for = [first_mention(asked, name) is not None for name in names]
    points_to_both = bool(_BOTH.search(said) or _NO_SUBJECT.match(said))
    points_to_one = bool(_ONE.search(said)) and any(stated)
    found = [
        is_stated or (is_asked and (points_to_both or points_to_one))
        for is_stated, is_asked in zip(stated, asked_for, strict=True)
    ]
    return found[0], found[1]


def _by_reference(said: str, reference: str, ends: tuple[list[str], list[str]]) -> Iterator[Direction | None]:
    """Yield how the answer says the relations that the reference offers as alternatives."""
    for run in (part for group in slash_groups(reference) for part in group):
        for way in relations_said(run):
            yield _spoken(said, way, ends, wanted=0)


def _spoken(
    said: str, way: RelationWords, ends: tuple[list[str], list[str]], *, wanted: int
) -> Direction | None:
    """Return which way round a text says a relation; ``None`` where it does not say it."""
    found: list[int] = []
    for clause in _clauses_about(said, ends):
        named = list(_ends_of(clause, ends))
        through = ["的", "'s", *ends[0], *ends[1]]
        for word, reading, sign in way.readings:
            found += [
                sign * _who(reading, clause, mention, named)
                for mention in mentions(clause, word, through=through)
                if not mention.denied
            ]
    if not found:
        return None
    if not way.has_direction or not wanted:
        return "mutual"
    if wanted in found:
        return "right"
    return "wrong" if -wanted in found else "not told"


def _clauses_about(said: str, ends: tuple[list[str], list[str]]) -> list[str]:
    """Return the clauses that may speak of the two ends."""
    clauses = [found[0] for found in _CLAUSE.finditer(said)]
    present = [{end.which for end in _ends_of(clause, ends)} for clause in clauses]
    if not any(len(each) == 2 for each in present):
        return clauses
    return [
        clause
        for clause, each in zip(clauses, present, strict=True)
        if len(each) != 1 or _ONE.search(clause) or _BOTH.search(clause)
    ]


def _ends_of(clause: str, ends: tuple[list[str], list[str]]) -> Iterator[_End]:
    for which, names in ((1, ends[0]), (-1, ends[1])):
        longest = max((name for name in names if name in clause), key=len, default="")
        for mention in mentions(clause, longest):
            yield _End(which, mention.start, mention.end)


def _who(reading: Reading, clause: str, word: Mention, named: Sequence[_End]) -> int:
    """Return 1 where the subject has the role or does it, -1 where the object, 0 where nobody is told."""
    if reading == "role":
        return _holder(clause, word, named)
    return _doer(clause, word, named) if reading == "verb" else 0


def _holder(clause: str, word: Mention, named: Sequence[_End]) -> int:
    """Return whose role a word is: the other's than the one it belongs to, or theirs who "is" it."""
    before = [end for end in named if end.end <= word.start]
    nearest = max(before, key=lambda end: end.end, default=None)
    if nearest and _OWNED_BEFORE.fullmatch(clause[nearest.end : word.start]):
        return -nearest.which
    for gap, sign in ((_OWNED_AFTER, -1), (_COPULA_AFTER, 1)):
        for end in named:
            if end.start >= word.end and gap.fullmatch(clause[word.end : end.start]):
                return sign * end.which
    for end in before:
        if _is_joined(clause, end, named):
            return 0
    if nearest and _COPULA_BEFORE.match(clause[nearest.end : word.start]):
        return nearest.which
    return 0


def _doer(clause: str, word: Mention, named: Sequence[_End]) -> int:
    """Return who does what a verb says."""
    before = sorted((end for end in named if end.end <= word.start), key=lambda end: end.end)
    after = sorted((end for end in named if end.start >= word.end), key=lambda end: end.start)
    if after and _PASSIVE_BY.fullmatch(clause[word.end : after[0].start]):
        return after[0].which
    if before and _PASSIVE.search(clause[: before[-1].start]):
        return before[-1].which
    if before and _TAKEN.search(clause[: before[-1].start]):
        return -before[-1].which
    if before and not after and _is_joined(clause, before[-1], named):
        return 0
    if before:
        return before[-1].which
    return -after[0].which if after else 0


def _is_joined(clause: str, end: _End, named: Sequence[_End]) -> bool:
    """Tell whether an end stands beside the other as its equal: "S and O"."""
    return any(
        other.which != end.which
        and (
            _JOINED.fullmatch(clause[end.end : other.start])
            or _JOINED.fullmatch(clause[other.end : end.start])
        )
        for other in named
    )
