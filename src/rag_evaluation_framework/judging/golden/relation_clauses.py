"""The clauses of an answer with its names, its pronouns and the words of a relation marked.

A clause that has one end may leave the other one out: ``卡齐娜来自纳塔，是恰斯卡的朋友``, "Tobin, a student
of Mara". The other one is then marked at an edge of the clause, if the rest of the sentence has it, or the
next sentence together with a pronoun, or the answer nowhere at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag_evaluation_framework.judging.golden.clause_denials import is_negated
from rag_evaluation_framework.judging.golden.mentions import mentions
from rag_evaluation_framework.judging.golden.relation_frames import (
    BOTH,
    NOUNS,
    OBJECT,
    PRONOUN,
    SUBJECT,
    UNSAID,
    WORDS,
)
from rag_evaluation_framework.judging.golden.relation_words import RelationWords
from rag_evaluation_framework.judging.words.comparable_text import SENTENCE_END
from rag_evaluation_framework.metrics.tokens import has_unspaced_script
from rag_evaluation_framework.retrieval.sentence_words import NEVER_LAST

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
