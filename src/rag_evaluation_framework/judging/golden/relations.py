"""Whether an answer says that two stand in a relation, and which way round.

- *Ends*: an end is named where the answer has its name ("A/B" being either), or where the question has it and
  the answer points back: ``她们是朋友``, ``they are friends``; or has no subject at all, ``是朋友``, or
  nothing but the relation, ``朋友``.
- *Relation*: one of its words (:mod:`.relation_words`) is stated where the answer speaks of the ends: in a
  clause with both of them, with one and a pronoun, or with neither. Where no clause has both, in one that
  ties the word to one end while its sentence, or one with a pronoun after it, has the other:
  ``卡齐娜来自纳塔，是恰斯卡的朋友``. Who is joined with somebody else is not tied to the other end:
  ``恰斯卡和玛拉妮是朋友``.
- *Direction*: by whose role a word is, ``恰斯卡是卡齐娜的老师``, ``Kachina's teacher is Chasca``, and by who
  does it to whom, ``恰斯卡教导卡齐娜``, ``Kachina was taught by Chasca``. Of both ways the right one counts.

Only what stands in the words is seen: no inference, no irony, no third person who is not joined with an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rag_evaluation_framework.judging.golden.mentions import Mention, is_stated, mentions
from rag_evaluation_framework.judging.golden.relation_words import (
    Reading,
    RelationWords,
    is_told_in,
    relations_said,
    words_of_relation,
)
from rag_evaluation_framework.judging.golden.stances import stance_at
from rag_evaluation_framework.judging.words.comparable_text import (
    alternatives,
    comparable,
    slash_groups,
)

Direction = Literal["right", "wrong", "not told", "mutual"]

# As much as any answer says of a relation; what is longer would only take longer.
_READ = 50_000
# An answer that is nothing but a relation is short.
_BARE = 40
_CLAUSE = re.compile(r"[^。!?;\n,]{1,400}")
_SENTENCE_END = re.compile(r"[。!?;\n]|\.(?=\s)")
_BOTH = re.compile(
    r"[她他它][们俩]|[两二][人者]|两个|双方|彼此|互相|相互|"
    r"\b(?:they|them|both|each other|one another|the two)\b"
)
_ONE = re.compile(r"[她他它其]|自己|\b(?:he|she|it|him|her|his|hers|its)\b")
_NO_SUBJECT = re.compile(r"\W*(?:是|为|属于|互为|曾是|曾经是)")
# What may stand beside the words of a relation in an answer that is nothing else.
_BESIDE = re.compile(
    r"(?:\W|[是为的很好老们]|属于|互为|关系|答案?|回答|非常|最好|要好|亲密|一对|既|又|也|以及|[和与及兼]"
    r"|\b(?:just|very|good|close|best|old|great|a|an|the|and|also|both|relationship)\b)*"
)
# What ties a word to the one end that its clause has.
_TIE = re.compile(
    r"的|有|是|为|叫|成|当|任|作|'s|\b(?:has|have|had|is|was|are|were|be|of|to|with|by|named|called)\b"
)
# 是玛拉妮的朋友: somebody else's; but 是很好的朋友.
_ANOTHERS = re.compile(
    r"[是为](?!(?:1个|一个|一位)?(?:很|非常|最|十分|特别|多年|亲密|要好|忠实|真正|共同|唯一|重要|可靠|值得))[^的]{2,8}的\Z"
)
# Before or after a verb: who does it, or to whom, is not said again.
_UNSAID = re.compile(
    r"(?:\W|[曾也还又并了过着]|曾经|并且|而且|后来|一直|亲自|长期|自幼|从小"
    r"|\b(?:and|then|later|who|also|once|had|has|was|were|is|whom|that)\b)*"
)
_WITH = re.compile(r"\W*(?:[也还则又并曾就]|后来|并且|而且)*(?:和|与|跟|同)")

_OWNED_BEFORE = re.compile(r"(?:的[^的，,]{0,6}|'s? (?:[\w-]+ ){0,3})\Z")
_OWNED_AFTER = re.compile(r"\s*(?:of|to|for)\s+(?:the\s+)?")
_COPULA_BEFORE = re.compile(
    r"[^，,]{0,6}(?:是|为|作为|担任|成为|当|\b(?:is|was|as|became|becomes|are|were)\b)"
)
_COPULA_AFTER = re.compile(r"\s*(?:就?是|名?叫|为|\b(?:is|was|named|called)\b)\s*")
_JOINED = re.compile(r"\s*(?:和|与|跟|及|、|\band\b|&)\s*")
_JOINED_BEFORE = re.compile(r"(?:和|与|跟|及|、|\band\b|&)\s*\Z")
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


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of an answer, where it begins, and the ends that it names."""

    text: str
    start: int
    ends: tuple[_End, ...]
    needs_tie: bool = False

    @property
    def which(self) -> set[int]:
        return {end.which for end in self.ends}

    @property
    def points_back(self) -> bool:
        return bool(_ONE.search(self.text) or _BOTH.search(self.text))


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
    told = [way for way in words_of_relation(relation) if is_told_in(way, said)]
    offered = list(_by_reference(comparable(reference)))
    named = _ends_named(said, asked, (subject, object_), ways=[*told, *offered])
    clauses = _clauses_about(said, ends)
    spoken = [_spoken(said, clauses, way, ends, wanted=-1 if way.inverted else 1) for way in told]
    spoken += [_spoken(said, clauses, way, ends, wanted=0) for way in offered]
    expressed = [direction for direction in spoken if direction is not None]
    order: tuple[Direction, ...] = ("right", "mutual", "not told", "wrong")
    if not told and not expressed:
        return RelationReading(*named, relation=None, direction="not told")
    best = next((direction for direction in order if direction in expressed), order[2])
    return RelationReading(*named, relation=bool(expressed), direction=best)


def _ends_named(
    said: str, asked: str, names: Sequence[str], *, ways: Sequence[RelationWords]
) -> tuple[bool, bool]:
    """Tell of each end whether the answer names it, or points back to where the question does."""
    stated = [is_stated(said, name) for name in names]
    asked_for = [is_stated(asked, name) for name in names]
    points_to_both = bool(_BOTH.search(said) or _NO_SUBJECT.match(said)) or _is_bare(said, ways)
    points_to_one = bool(_ONE.search(said)) and any(stated)
    found = [
        is_named or (is_asked and (points_to_both or points_to_one))
        for is_named, is_asked in zip(stated, asked_for, strict=True)
    ]
    return found[0], found[1]


def _is_bare(said: str, ways: Sequence[RelationWords]) -> bool:
    """Tell whether the first clause of an answer is nothing but the words of a relation."""
    clause = _CLAUSE.search(said)
    if clause is None or len(clause[0]) > _BARE:
        return False
    rest = clause[0]
    for word in sorted({word for way in ways for word in way.all}, key=len, reverse=True):
        for mention in reversed(list(mentions(rest, word))):
            rest = f"{rest[: mention.start]},{rest[mention.end :]}"
    return rest != clause[0] and _BESIDE.fullmatch(rest) is not None


def _by_reference(reference: str) -> Iterator[RelationWords]:
    """Yield the relations that the reference offers as alternatives."""
    for run in (part for group in slash_groups(reference) for part in group):
        yield from relations_said(run)


def _spoken(
    said: str,
    clauses: Sequence[_Clause],
    way: RelationWords,
    ends: tuple[list[str], list[str]],
    *,
    wanted: int,
) -> Direction | None:
    """Return which way round a text says a relation; ``None`` where it does not say it."""
    through = ["的", "'s", *ends[0], *ends[1]]
    found = [
        sign * _who(reading, clause.text, word, clause.ends)
        for clause in clauses
        for term, reading, sign in way.readings
        for word in mentions(clause.text, term)
        if (not clause.needs_tie or _is_tied(clause, word, reading))
        and stance_at(said, clause.start + word.start, through=through) == "stated"
    ]
    if not found:
        return None
    if not way.has_direction or not wanted:
        return "mutual"
    if wanted in found:
        return "right"
    return "wrong" if -wanted in found else "not told"


def _clauses_about(said: str, ends: tuple[list[str], list[str]]) -> list[_Clause]:
    """Return the clauses that may speak of the two ends."""
    clauses = [
        _Clause(found[0], found.start(), tuple(_ends_of(found[0], ends))) for found in _CLAUSE.finditer(said)
    ]
    if any(len(clause.which) == 2 for clause in clauses):
        return [clause for clause in clauses if len(clause.which) != 1 or clause.points_back]
    return [each for clause in clauses if (each := _with_the_other_end(said, clause, clauses))]


def _with_the_other_end(said: str, clause: _Clause, clauses: Sequence[_Clause]) -> _Clause | None:
    """Return a clause that may speak of both ends though it names one, marked if its words need a tie."""
    if len(clause.which) != 1 or clause.points_back:
        return clause
    if _is_joined_with_another(clause):
        return None
    others = [other for other in clauses if other.which - clause.which]
    is_near = any(_are_near(said, clause, other) for other in others)
    return replace(clause, needs_tie=True) if is_near or not others else None


def _are_near(said: str, clause: _Clause, other: _Clause) -> bool:
    """Tell whether two clauses stand in one sentence, or the other points back from the next."""
    first, second = sorted((clause, other), key=lambda each: each.start)
    parted = len(_SENTENCE_END.findall(said, first.start + len(first.text), second.start))
    return parted == 0 or (parted == 1 and second is other and other.points_back)


def _is_tied(clause: _Clause, word: Mention, reading: Reading) -> bool:
    """Tell whether a word is said of the one end of its clause: its friend, is a friend, with it."""
    if reading == "verb":
        return _is_tied_verb(clause, word)
    return any(_is_tied_to(end, clause.text, word) for end in clause.ends)


def _is_tied_to(end: _End, text: str, word: Mention) -> bool:
    if _WITH.fullmatch(text[: end.start]):
        return True
    gap = text[min(end.end, word.end) : max(end.start, word.start)]
    return _TIE.search(gap) is not None and not (end.end <= word.start and _ANOTHERS.search(gap))


def _is_tied_verb(clause: _Clause, word: Mention) -> bool:
    """Tell whether a verb leaves one side unsaid for the end that its clause does not have."""
    before, after = clause.text[: word.start], clause.text[word.end :]
    if any(end.start >= word.end for end in clause.ends) and _UNSAID.fullmatch(before):
        return True
    return any(end.end <= word.start for end in clause.ends) and _UNSAID.fullmatch(after) is not None


def _is_joined_with_another(clause: _Clause) -> bool:
    """Tell whether the end of a clause is joined with somebody who is no end: 恰斯卡和玛拉妮."""
    return any(
        _JOINED.match(clause.text[end.end :])
        or (_JOINED_BEFORE.search(clause.text[: end.start]) and not _WITH.fullmatch(clause.text[: end.start]))
        for end in clause.ends
    )


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
