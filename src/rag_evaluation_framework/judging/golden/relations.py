"""Whether an answer says that two stand in a relation, and which way round.

- *Ends*: an end is named where the answer has its name ("A/B" being either), or where the question has it and
  the answer points back: ``她们是朋友``, ``they are friends``; or has no subject at all, ``是朋友``, or
  nothing but the relation, ``朋友``.
- *Relation*: one of its words (:mod:`.relation_words`) is stated of the two, the one directly of the other
  (:mod:`.relation_frames`): of both names, of one and a pronoun, of "they", or of one where the clause leaves
  the other out (:mod:`.relation_clauses`). Who is joined with somebody else, ``恰斯卡和玛拉妮是朋友``, or is
  something to somebody else, "the mother of Bob's wife", is not related to the other end.
- *Direction*: by whose role a word is, ``恰斯卡是卡齐娜的老师``, ``Kachina's teacher is Chasca``, and by who
  does it to whom, ``恰斯卡教导卡齐娜``, ``Kachina was taught by Chasca``. Of both ways the right one counts.

Only what stands in the words is seen: no inference and no irony.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_evaluation_framework.judging.golden.clause_denials import is_negated
from rag_evaluation_framework.judging.golden.mentions import is_stated
from rag_evaluation_framework.judging.golden.phrases import phrase, says
from rag_evaluation_framework.judging.golden.relation_clauses import Ends, clauses_about
from rag_evaluation_framework.judging.golden.relation_frames import (
    INVERSE_ROLE,
    INVERSE_VERB,
    MUTUAL,
    OBJECT,
    OWN,
    SUBJECT,
    Statement,
    statements,
)
from rag_evaluation_framework.judging.golden.relation_words import (
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

_BEST_FIRST: tuple[Direction, ...] = ("right", "mutual", "not told", "wrong")
_WHO = {SUBJECT: 1, OBJECT: -1}
_SIGNS = {MUTUAL: 0, INVERSE_ROLE: -1, INVERSE_VERB: -1}

# As much as any answer says of a relation; what is longer would only take longer.
_READ = 50_000
# An answer that is nothing but a relation is short.
_FIRST_CLAUSE = re.compile(r"[^。!?;\n,.]{1,40}(?=[。!?;\n,.]|\Z)")
_MARK = re.compile("[\ue000-\ue0ff]")  # no text has these of its own
_FULL_NAME = re.compile(r"\b[A-Z][\w-]*(?: [A-Z][\w-]*){1,3}")


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


def read_relation(
    answer: str, triple: tuple[str, str, str], *, question: str = "", reference: str = ""
) -> RelationReading:
    """Read what an answer says of (subject, relation, object).

    A reference that joins several relations by a slash, "friends/allies", accepts each.

    >>> read_relation("恰斯卡是卡齐娜的老师。", ("卡齐娜", "student_of", "恰斯卡"))
    RelationReading(subject=True, object=True, relation=True, direction='right')
    """
    said, asked = _MARK.sub(" ", comparable(answer[:_READ])), comparable(question)
    subject, relation, object_ = triple
    ends = (_names(subject, answer, question), _names(object_, answer, question))
    told = [way for way in words_of_relation(relation) if is_told_in(way, said)]
    offered = list(_by_reference(comparable(reference)))
    bare = _bare_words(said, [*told, *offered])
    named = _ends_named(said, asked, (subject, object_), is_bare=bool(bare))
    expressed = {
        direction
        for ways, is_directed in ((told, True), (offered, False))
        for way in ways
        for direction in _spoken(said, way, ends, bare, is_directed=is_directed and way.has_direction)
    }
    if not told and not expressed:
        return RelationReading(*named, relation=None, direction="not told")
    best: Direction = next((direction for direction in _BEST_FIRST if direction in expressed), "not told")
    return RelationReading(*named, relation=bool(expressed), direction=best)


def _names(name: str, *texts: str) -> list[str]:
    """Return what an end is called: "A/B" is either, and a text may add a surname.

    >>> _names("Mara", "Mara Quill is here.")
    ['mara', 'mara quill']
    """
    names = alternatives(name)
    runs = [run.split() for text in texts for run in _FULL_NAME.findall(text[:_READ])]
    longer = {comparable(" ".join(run[first:])) for run in runs for first in range(len(run) - 1)}
    begins = tuple(f"{each} " for each in names)
    return [*names, *(each for each in longer if each.startswith(begins))]


def _ends_named(said: str, asked: str, names: Sequence[str], *, is_bare: bool) -> tuple[bool, bool]:
    """Tell of each end whether the answer names it, or points back to where the question does."""
    stated = [is_stated(said, name) for name in names]
    asked_for = [is_stated(asked, name) for name in names]
    pronouns = len(phrase("one_of_them").findall(said))
    points_to_both = is_bare or pronouns > 1 or says("both_of_them", said) or says("no_subject", said)
    points_to_one = pronouns > 0 and any(stated)
    found = [
        is_named or (is_asked and (points_to_both or points_to_one))
        for is_named, is_asked in zip(stated, asked_for, strict=True)
    ]
    return found[0], found[1]


def _bare_words(said: str, ways: Sequence[RelationWords]) -> str:
    """Return the first clause of an answer if it is nothing but words of relations."""
    clause = _FIRST_CLAUSE.match(said)
    if clause is None:
        return ""
    rest = list(clause[0])
    for start, end, _ in (found for way in ways for found in way.found_in(clause[0])):
        rest[start:end] = "," * (end - start)
    is_bare = "".join(rest) != clause[0] and phrase("beside_relation").fullmatch("".join(rest))
    return clause[0] if is_bare else ""


def _by_reference(reference: str) -> Iterator[RelationWords]:
    """Yield the relations that the reference offers as alternatives."""
    for run in (part for group in slash_groups(reference) for part in group):
        yield from relations_said(run)


def _spoken(
    said: str, way: RelationWords, ends: Ends, bare: str, *, is_directed: bool
) -> Iterator[Direction]:
    """Yield which way round a text says a relation, each time that it says it."""
    through = ("的", "'s", *ends[0], *ends[1])
    for clause in clauses_about(said, ends, way):
        for each in statements(clause.text):
            is_denied = is_negated(each.text) and "难道" not in clause.text
            if not is_denied and stance_at(said, clause.place_of(each.start), through=through) == "stated":
                yield _direction(each, inverted=way.inverted) if is_directed else "mutual"
    if any(stance_at(said, start) == "stated" for start, _, _ in way.found_in(bare)):
        yield "not told" if is_directed and not way.own else "mutual"


def _direction(statement: Statement, *, inverted: bool) -> Direction:
    if statement.word == OWN and not statement.is_deed:
        return "mutual"
    who = _WHO.get(statement.first) or -_WHO.get(statement.second, 0)
    sign = who * _SIGNS.get(statement.word, 1) * (-1 if inverted else 1)
    return "right" if sign > 0 else "wrong" if sign < 0 else "not told"
