"""The reading of a relation in an answer: that two are related, and in which direction.

- *Ends*: an end is named where the answer has its name ("A/B" being either), or where the question has it
  and the answer points back: ``她们是朋友``, ``they are friends``; or has no subject at all, ``是朋友``, or
  nothing but the relation, ``朋友``.
- *Relation*: one of its words is stated of the two, the one directly of the other: of both names, of one
  and a pronoun, of "they", or of one where the clause leaves the other out. Who is joined with somebody
  else, ``恰斯卡和玛拉妮是朋友``, or is something to somebody else, "the mother of Bob's wife", is not
  related to the other end.
- *Direction*: by whose role a word is, ``恰斯卡是卡齐娜的老师``, ``Kachina's teacher is Chasca``, and by
  who does it to whom, ``恰斯卡教导卡齐娜``, ``Kachina was taught by Chasca``. Of both ways the right one
  counts.

Only what stands in the words is seen: no inference and no irony.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.judging.mentions import (
    data_file,
    is_negated,
    is_stated,
    mentions,
    phrase,
    says,
    stance_at,
    written_out,
)
from rag_evaluation_framework.text.normalisation import alternatives, comparable, slash_groups
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.sentences import SENTENCE_END

SUBJECT, OBJECT, PRONOUN, UNSAID, BOTH = "\ue000\ue001\ue002\ue003\ue004"
"""One of the ends, whom a pronoun stands for, who is left out at an edge of the clause, and "they"."""
ROLE, INVERSE_ROLE, VERB, INVERSE_VERB, MUTUAL, OWN = "\ue010\ue011\ue012\ue013\ue014\ue015"
"""The words of a relation by how they are read; ``OWN`` are those of a relation that is in no table."""
_MARKS = {
    "subject": SUBJECT,
    "object": OBJECT,
    "pronoun": PRONOUN,
    "unsaid": UNSAID,
    "both": BOTH,
    "role": ROLE,
    "inverse_role": INVERSE_ROLE,
    "verb": VERB,
    "inverse_verb": INVERSE_VERB,
    "mutual": MUTUAL,
    "own": OWN,
}
_NOUNS = f"{ROLE}{INVERSE_ROLE}{MUTUAL}{OWN}"
_WORDS = f"{_NOUNS}{VERB}{INVERSE_VERB}"


class Statement(msgspec.Struct, frozen=True):
    """A word of a relation and of whom it is said: ``first`` is it or does it to ``second``, or both are it.

    ``start`` is where the mark of the word stands, ``text`` the words from the one to the other.
    """

    word: str
    start: int
    text: str
    first: str = ""
    second: str = ""
    is_deed: bool = False


@cache
def _frames(name: str) -> list[re.Pattern[str]]:
    """Return the frames of ``data/relation_frames.yaml``, of two or of both together."""
    return [re.compile(frame) for frame in written_out("relation_frames.yaml", _MARKS)[name].split("\n")]


def statements(marked: str) -> Iterator[Statement]:
    """Yield what a clause with marks in it says of two."""
    for frame in _frames("frames"):
        for found in frame.finditer(marked):
            first, second = found["a"], found["b"]
            if first != second or first == PRONOUN:
                word = "deed" if "deed" in frame.groupindex else "word"
                yield Statement(found[word], found.start(word), found[0], first, second, word == "deed")
    for frame in _frames("frames_of_both"):
        for found in frame.finditer(marked):
            ends = found.groupdict()
            if ends.get("a") is None or ends["a"] != ends["b"]:
                yield Statement(found["word"], found.start("word"), found[0])


# The relations that golden sets name, and the words by which answers express each.
#
# The words are data (``data/relations.yaml``). ``friend_of``, ``is_friend_of``, ``friends_with`` and
# ``friendOf`` are one relation. A relation that is not in the table is expressed by its own words only, in
# any inflection, ``sued`` by "sues", and ``sued_by`` from the other end; it may be written in the words of
# the answers, 结义姐妹, or as several, 结义姐妹/sworn_sister_of.

# Verbs stand before roles: "mentors" does, and is only then a plural.
_KINDS = {
    "mutual": MUTUAL,
    "verbs": VERB,
    "inverse_verbs": INVERSE_VERB,
    "roles": ROLE,
    "inverse_roles": INVERSE_ROLE,
}
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_AROUND = re.compile(r"\A(?:is|are|was|were|has|have)_(?=.)|(?<=.)_(?:of|with|to|by|for|from|in|on|at)\Z")
_PASSIVE = re.compile(r"(?<=.)_by\Z|\A被(?=.)")
# 拜_为师 has its object inside.
_GAP = "_"
_WIDEST_GAP = 16


class RelationWords(msgspec.Struct, frozen=True):
    """The words for one relation, each with a mark of its grammar.

    It is ``inverted`` where the triple's name tells it from the object's end.
    """

    words: tuple[tuple[str, str], ...]
    inverted: bool = False
    is_known: bool = True

    @property
    def has_direction(self) -> bool:
        return any(mark != MUTUAL for _, mark in self.words)

    def found_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where a comparable text has one of the words, and its mark."""
        for word, mark in self.words:
            before, _, after = word.partition(_GAP)
            for found in mentions(text, before):
                if not after:
                    yield found.start, found.end, mark
                elif (end := text.find(after, found.end, found.end + _WIDEST_GAP)) > found.end:
                    yield found.start, found.end, mark
                    yield end, end + len(after), ""


def words_of_relation(relation: str) -> list[RelationWords]:
    """Return the ways to say a relation: the table's, or its own words; "A/B" has those of either."""
    names = alternatives(relation.strip()) if "/" in relation else [relation.strip()]
    found = [words for name in names for words in _ways(name)]
    return [words for words in found if words.is_known] or found


@lru_cache(maxsize=256)
def find_relations(text: str) -> tuple[RelationWords, ...]:
    """Return the relations of the table one of whose words a comparable text has."""
    return tuple(words for words in _table()[1] if next(words.found_in(text), None))


def _ways(name: str) -> list[RelationWords]:
    by_name, _ = _table()
    whole = _even(name)
    bare = _AROUND.sub("", whole)
    for each in (whole, bare, _AROUND.sub("", bare)):
        if each in by_name:
            return by_name[each]
    own = comparable(_PASSIVE.sub("", bare).replace("_", " "))
    if whole.endswith("_of"):
        return [RelationWords(((own, ROLE),), is_known=False)]
    return [RelationWords(((own, OWN),), inverted=_PASSIVE.search(whole) is not None, is_known=False)]


def _is_told_in(way: RelationWords, answer: str) -> bool:
    """Return True if a relation has words in the script of the answer, or the answer has none."""
    scripts = {has_unspaced_script(character) for character in answer if character.isalpha()}
    return not scripts or any(has_unspaced_script(word[0]) in scripts for word, _ in way.words if word)


def _even(name: str) -> str:
    separated = _CAMEL.sub("_", name.strip())
    return re.sub(r"[\s_-]+", "_", comparable(separated)).strip("_")


@cache
def _table() -> tuple[dict[str, list[RelationWords]], list[RelationWords]]:
    """Return the relations by each of their names, and all of them, not inverted."""
    by_name: dict[str, list[RelationWords]] = {}
    listed: list[RelationWords] = []
    entries: list[Mapping[str, Any]] = data_file("relations.yaml")
    for entry in entries:
        words = RelationWords(
            tuple((comparable(word), mark) for kind, mark in _KINDS.items() for word in entry.get(kind, ()))
        )
        listed.append(words)
        for kind, inverted in (("names", False), ("inverse_names", True)):
            for name in entry.get(kind, ()):
                by_name.setdefault(_even(name), []).append(replace(words, inverted=inverted))
    return by_name, listed


# The clauses of an answer with its names, its pronouns and the words of a relation marked.
#
# A clause that has one end may leave the other one out: ``卡齐娜来自纳塔，是恰斯卡的朋友``, "Tobin, a
# student of Mara". The other one is then marked at an edge of the clause, if the rest of the sentence has
# it, or the next sentence together with a pronoun, or the answer nowhere at all.

Ends = tuple[Sequence[str], Sequence[str]]
"""The names of the subject and those of the object."""

_COMMA = re.compile(r",(?! ?(?:而是|but |whose ))")
_LONGEST = 400  # characters: what is longer is no clause
_WORD = re.compile(f"[{_WORDS}]")
_EVENED = (
    (re.compile(r"[*_`\"“”「」『』《》]+"), ""),
    (re.compile(r"(?:(?<=\bhe)|(?<=\bshe)|(?<=\bit)|(?<=\bthey))'(?:s|re)\b"), " is"),
    (
        re.compile(r"[她他它][们俩]|[两二][人者]|双方|\b(?:they|the two|both of them|both(?= are| were))\b"),
        BOTH,
    ),
    (re.compile(r"\b(?:his|its)\b"), f"{PRONOUN}'s"),
    (re.compile(r"(?<!其)[她他它]|(?<!尤)其(?![实他它中余次间])|\b(?:he|she|it|him|her)\b"), PRONOUN),
    # "her old mentor", 他师父, "James' mentor": whose it is.
    (re.compile(rf"(?<={PRONOUN})(?= (?:[\w-]+ ){{0,3}}[{_NOUNS}])|(?<=[{SUBJECT}{OBJECT}])'(?= )"), "'s"),
)


class Clause(msgspec.Struct, frozen=True):
    """A clause with marks in it, and where in the answer the words of the relation stand."""

    text: str
    words: tuple[int, ...]
    ends: frozenset[str]
    space: str  # between a mark and what is beside it: none in Chinese

    @property
    def points_back(self) -> bool:
        return PRONOUN in self.text or BOTH in self.text

    def place_of(self, start: int) -> int:
        """Return where in the answer the word stands whose mark is at a place of the text."""
        return self.words[len(_WORD.findall(self.text, 0, start))]

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
    ]
    named = _ends_of(clause for sentence in sentences for clause in sentence)
    are_together = any(len(clause.ends) == 2 for sentence in sentences for clause in sentence)
    for sentence, following in pairwise([*sentences, []]):
        near = _ends_of(sentence) | _ends_of(clause for clause in following if clause.points_back)
        may_leave_out = len(near) == 2 or len(named) == 1
        for number, clause in enumerate(sentence):
            if not clause.words:
                continue
            yield clause
            yield from map(clause.followed_by, sentence[number + 1 : number + 2])
            if not clause.ends or (len(clause.ends) == 1 and may_leave_out):
                yield replace(clause, text=f"{UNSAID}{clause.space}{clause.text.strip()}")
            if len(clause.ends) == 1 and may_leave_out and not are_together:
                yield replace(clause, text=f"{clause.text.rstrip()}{clause.space}{UNSAID}")


def _ends_of(clauses: Iterable[Clause]) -> frozenset[str]:
    return frozenset[str]().union(*(clause.ends for clause in clauses))


def _parts(text: str, first: int, last: int, end: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a text begin and end."""
    start = first
    for found in end.finditer(text, first, last):
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
        if mark and mark in _WORDS:
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


Direction = Literal["right", "wrong", "not told", "mutual"]

_BEST_FIRST: tuple[Direction, ...] = ("right", "mutual", "not told", "wrong")
_WHO = {SUBJECT: 1, OBJECT: -1}
_SIGNS = {MUTUAL: 0, INVERSE_ROLE: -1, INVERSE_VERB: -1}

# As much as any answer says of a relation; what is longer would only take longer.
_READ = 50_000
# An answer that is nothing but a relation is short.
_FIRST_CLAUSE = re.compile(r"[^。!?;\n,.]{1,40}(?=[。!?;\n,.]|\Z)")
_FULL_NAME = re.compile(r"\b[A-Z][\w-]*(?: [A-Z][\w-]*){1,3}")
_MARK = re.compile("[\ue000-\ue0ff]")  # no text has these of its own


class RelationReading(msgspec.Struct, frozen=True):
    """The relation that an answer states; ``relation`` is ``None`` if its words are not known here."""

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
    ends = _names(subject, answer, question), _names(object_, answer, question)
    told = [way for way in words_of_relation(relation) if _is_told_in(way, said)]
    groups = chain.from_iterable(slash_groups(comparable(reference)))
    offered = list(chain.from_iterable(map(find_relations, groups)))
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


def _spoken(
    said: str, way: RelationWords, ends: Ends, bare: str, *, is_directed: bool
) -> Iterator[Direction]:
    """Yield which way round a text says a relation, each time that it says it."""
    through = ("的", "'s", *ends[0], *ends[1])
    for clause in clauses_about(said, ends, way):
        for each in statements(clause.text):
            if (
                not is_negated(each.text)
                and stance_at(said, clause.place_of(each.start), through=through) == "stated"
            ):
                yield _direction(each, inverted=way.inverted) if is_directed else "mutual"
    if any(stance_at(said, start) == "stated" for start, _, _ in way.found_in(bare)):
        yield "not told" if is_directed and way.words[0][1] != OWN else "mutual"


def _direction(statement: Statement, *, inverted: bool) -> Direction:
    if statement.word == OWN and not statement.is_deed:
        return "mutual"
    who = _WHO.get(statement.first) or -_WHO.get(statement.second, 0)
    sign = who * _SIGNS.get(statement.word, 1) * (-1 if inverted else 1)
    return "right" if sign > 0 else "wrong" if sign < 0 else "not told"
