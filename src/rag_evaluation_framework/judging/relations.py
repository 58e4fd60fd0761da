"""Whether an answer says a relation, and which way round."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from rag_evaluation_framework.judging.mentions import is_negated, is_stated, mentions, phrase, says, stance_at
from rag_evaluation_framework.judging.relation_grammar import (
    BOTH,
    INVERSE_ROLE,
    INVERSE_VERB,
    MUTUAL,
    NOUNS,
    OBJECT,
    OWN,
    PRONOUN,
    SUBJECT,
    UNSAID,
    WORDS,
    RelationWords,
    Statement,
    is_told_in,
    relations_said,
    statements,
    words_of_relation,
)
from rag_evaluation_framework.text.normalisation import alternatives, comparable, slash_groups
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.sentences import NEVER_LAST, SENTENCE_END

# The clauses of an answer with its names, its pronouns and the words of a relation marked.
#
# A clause that has one end may leave the other one out: ``卡齐娜来自纳塔，是恰斯卡的朋友``, "Tobin, a
# student of Mara". The other one is then marked at an edge of the clause, if the rest of the sentence has
# it, or the next sentence together with a pronoun, or the answer nowhere at all.

Ends = tuple[Sequence[str], Sequence[str]]
"""The names of the subject and those of the object."""

_LONGEST_TITLE = 8
_COMMA = re.compile(r",(?! ?(?:而是|but |whose ))")
_LONGEST = 400  # characters: what is longer is no clause
_WORD = re.compile(f"[{WORDS}]")
# "Wen, who taught Lu," "Wen, a friend of Lu," "Wen, Lu's friend,": told of Wen, or whoever else stands there.
_END = f"[{SUBJECT}{OBJECT}]"
_INSERTED = re.compile(
    rf"\s*(?:(?:who|which)\b|(?:an?|the) .* (?:of|to|for|with) {_END}\W*\Z"
    rf"|{_END}'s (?:[\w-]+ ){{0,3}}(?:[\w-]+|[{NOUNS}])\W*\Z)"
)
_LAST = re.compile(rf"({_END}|{PRONOUN})(?: (?:is|was) (?:an?|the) [\w -]+)?\W*\Z")
_EVENED = (
    (re.compile(r"[*_`\"“”「」『』《》]+"), ""),
    (re.compile(r"\s*[–—]+\s*|\s+-+\s+"), ", "),
    # "not Carl but Ann", 不是沈栖而是闻伯: whoever is dismissed is not spoken of.
    (
        re.compile(
            rf"\bnot (?!only|just)(?:[^\s,{WORDS}]+ ){{1,4}}?but |不是[^,。{WORDS}]{{1,10}},?而(?=是)"
        ),
        "",
    ),
    (re.compile(r"(?:(?<=\bhe)|(?<=\bshe)|(?<=\bit)|(?<=\bthey))'(?:s|re)\b"), " is"),
    (
        re.compile(r"[她他它][们俩]|[两二][人者]|双方|\b(?:they|the two|both of them|both(?= are| were))\b"),
        BOTH,
    ),
    (re.compile(r"\b(?:his|its)\b"), f"{PRONOUN}'s"),
    (re.compile(r"(?<!其)[她他它]|(?<!尤)其(?![实他它中余次间])|\b(?:he|she|it|him|her)\b"), PRONOUN),
    # "her old mentor", 他师父, "James' mentor": whose it is.
    (re.compile(rf"(?<={PRONOUN})(?= (?:[\w-]+ ){{0,3}}[{NOUNS}])|(?<=[{SUBJECT}{OBJECT}])'(?= )"), "'s"),
    (re.compile(rf"(?<={PRONOUN})(?=[{NOUNS}])"), "的"),
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with marks in it, and where in the answer the words of the relation stand."""

    text: str
    words: tuple[int, ...]
    ends: frozenset[str]
    space: str  # between a mark and what is beside it: none in Chinese

    @property
    def points_back(self) -> bool:
        return PRONOUN in self.text or BOTH in self.text

    @property
    def is_inserted(self) -> bool:
        """Whether it only tells more of whoever stands right before it."""
        return _INSERTED.match(self.text) is not None

    @property
    def last(self) -> str:
        """The mark of the one of whom a clause inserted after this one tells; nothing for anybody else."""
        found = _LAST.search(self.text)
        return found[1] if found else ""

    def place_of(self, start: int) -> int:
        """Return where in the answer the word stands whose mark is at a place of the text."""
        return self.words[len(_WORD.findall(self.text, 0, start))]

    def with_subject(self, mark: str) -> Clause:
        """Return the clause with a mark before it."""
        return replace(self, text=f"{mark}{self.space}{self.text.strip()}")

    def with_object(self, mark: str) -> Clause:
        """Return the clause with a mark after it."""
        return replace(self, text=f"{self.text.rstrip()}{self.space}{mark}")

    def followed_by(self, after: Clause) -> Clause:
        """Return the clause together with the one after it."""
        return replace(self, text=f"{self.text},{after.text}", words=(*self.words, *after.words))


def clauses_about(said: str, ends: Ends, way: RelationWords) -> Iterator[Clause]:
    """Yield the clauses of a comparable answer that may say a relation, and those with who is left out."""
    sentences = [
        [
            _marked(said, start, min(start + _LONGEST, end), ends, way)
            for first, end in _parts(said, *sentence, _COMMA)
            for start in range(first, end, _LONGEST)
        ]
        for sentence in _parts(said, 0, len(said), SENTENCE_END)
        if not _asks(said, *sentence)
    ]
    named = _ends_of(clause for sentence in sentences for clause in sentence)
    are_together = any(len(clause.ends) == 2 for sentence in sentences for clause in sentence)
    for sentence, following in pairwise([*sentences, []]):
        yield from _inserted(sentence)
        main = [*sentence[:1], *(clause for clause in sentence[1:] if not clause.is_inserted)]
        near = _ends_of(main) | _ends_of(clause for clause in following if clause.points_back)
        may_leave_out = len(near) == 2 or len(named) == 1
        subjects = [UNSAID]
        for number, clause in enumerate(main):
            if clause.words:
                yield clause
                yield from map(clause.followed_by, main[number + 1 : number + 2])
                if not clause.ends:
                    yield from map(clause.with_subject, subjects)
                elif len(clause.ends) == 1 and may_leave_out:
                    yield clause.with_subject(UNSAID)
                    if not are_together:
                        yield clause.with_object(UNSAID)
            subjects = _subjects(clause) or subjects


def _inserted(sentence: Sequence[Clause]) -> Iterator[Clause]:
    """Yield the clauses that only tell more of whoever stands right before them, with who that is."""
    for before, clause in pairwise(sentence):
        if clause.is_inserted and clause.words:
            yield clause.with_subject(before.last)


def _asks(said: str, start: int, end: int) -> bool:
    """Tell whether a sentence asks; 难道她们不是朋友吗？ and "aren't they?" tell."""
    return said.startswith("?", end) and not is_negated(said[start:end])


def _subjects(clause: Clause) -> list[str]:
    """Return of whom the next clause may go on to speak without a name: the first here, or both."""
    first = [mark for mark in clause.text if mark in clause.ends][:1]
    return [*first, UNSAID] if len(clause.ends) == 2 else first


def _ends_of(clauses: Iterable[Clause]) -> frozenset[str]:
    return frozenset[str]().union(*(clause.ends for clause in clauses))


def _parts(text: str, first: int, last: int, end: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a text begin and end; "Dr." ends none."""
    start = first
    for found in end.finditer(text, first, last):
        before = text[max(start, found.start() - _LONGEST_TITLE) : found.start()]
        if found[0] != "." or before.rpartition(" ")[2] not in NEVER_LAST:
            yield start, found.start()
            start = found.end()
    yield start, last


def _marked(said: str, start: int, end: int, ends: Ends, way: RelationWords) -> Clause:
    clause = said[start:end]
    found = [
        (mention.start, mention.end, mark)
        for mark, names in ((SUBJECT, ends[0]), (OBJECT, ends[1]))
        for name in names
        for mention in mentions(clause, name)
    ]
    found += way.found_in(clause)
    text, words, at = "", [], 0
    for first, last, mark in _apart(found):
        text += clause[at:first] + mark
        at = last
        if mark and mark in WORDS:
            words.append(start + first)
    text += clause[at:]
    for pattern, evened in _EVENED:
        text = pattern.sub(evened, text)
    marked = frozenset(each for each in (SUBJECT, OBJECT) if each in text)
    return Clause(text, tuple(words), marked, "" if has_unspaced_script(clause) else " ")


def _apart(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return what does not overlap, in order: the longest of what does, or the first of equals."""
    kept: list[tuple[int, int, str]] = []
    for start, end, mark in sorted(found, key=lambda each: each[0] - each[1]):
        if all(end <= first or last <= start for first, last, _ in kept):
            kept.append((start, end, mark))
    return sorted(kept)


# Whether an answer says that two stand in a relation, and which way round.
#
# - *Ends*: an end is named where the answer has its name ("A/B" being either), or where the question has it
#   and the answer points back: ``她们是朋友``, ``they are friends``; or has no subject at all, ``是朋友``, or
#   nothing but the relation, ``朋友``.
# - *Relation*: one of its words is stated of the two, the one directly of the other: of both names, of one
#   and a pronoun, of "they", or of one where the clause leaves the other out. Who is joined with somebody
#   else, ``恰斯卡和玛拉妮是朋友``, or is something to somebody else, "the mother of Bob's wife", is not
#   related to the other end.
# - *Direction*: by whose role a word is, ``恰斯卡是卡齐娜的老师``, ``Kachina's teacher is Chasca``, and by
#   who does it to whom, ``恰斯卡教导卡齐娜``, ``Kachina was taught by Chasca``. Of both ways the right one
#   counts.
#
# Only what stands in the words is seen: no inference and no irony.

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
