"""Questions about English sentences, by rules: what a sentence says decides what can be asked about it.

A sentence is read by :mod:`english_clauses`; the part that answers is taken out, a question word put in its
place, and the verb before the subject. Only what is stated outright is asked about, since a sentence that
denies or supposes something may be turned into the opposite; and nothing but the answer is left out of it.
What a pronoun stands for is in another sentence, so it is not asked about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from string import ascii_lowercase
from typing import Literal

from msgspec.structs import replace

from rag_evaluation_framework.synthesis import english_clauses
from rag_evaluation_framework.synthesis.drafts import QuestionKind
from rag_evaluation_framework.synthesis.english_clauses import (
    ABSTRACT,
    ADVERBS,
    ASKED,
    BE,
    CONJUNCTIONS,
    GENERIC,
    MODALS,
    OPEN,
    PARTICIPLES,
    PAST,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVE_ADJECTIVES,
    RELATIVE_NOUNS,
    THIRD_PERSON,
    UNFINISHED,
    VERBS,
    Clause,
    SubjectKind,
    clause_of,
)
from rag_evaluation_framework.synthesis.passages import Form, MadeQuestion, Statement, section_of
from rag_evaluation_framework.text.tokens import content_keys

_EXTENTS = {word: word for word in ("high", "long", "wide", "deep", "tall", "thick", "heavy", "old", "late")}
_EXTENTS |= {"away": "far away", "apart": "far apart"}
_PLURALS = frozenset({"people", "children", "men", "women", "staff", "mice", "feet"})
_READERS = frozenset({"you", "there"})
_NO_OBJECTS = PREPOSITIONS | CONJUNCTIONS | ADVERBS | {"that", "free", "alone", "together", "home", "abroad"}
_NOTE = re.compile(r"\s*\([^()]*\)")
_SMALL = re.compile(r"\b[a-z][a-z'-]*\b")
_CAPITAL_WITHIN = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b")
_LONGEST_EVENT = 4
_NEARBY = 40
_OFTEN = 3
_SHORTEST_MISSPELT = 4
_LONGEST_NOUN = 4
_SHORTEST_MEANING = 3
_SHORTEST_OBJECT = 4
_FEWEST_NEW_WORDS = 2
_TOLD = ("definition", "object", "purpose")
_TELLING = frozenset(
    {"new", "existing", "specific", "default", "optional", "unique", "valid", "current", "only"}
)
_JOINED = re.compile(r"\b(?:and|or)\b")
_LYING = frozenset({"lie", "hang", "stand", "live", "sit"})
_PLURAL_VERBS = frozenset({"are", "were", "have"}) | MODALS | VERBS
_AFTER_LIST = re.compile(r"[;:]\s|\s[–—]\s|,\s(?:in which|which|who|whose|where|but|so)\b")
_ADDED = re.compile(
    r"[;:]\s|\s[–—]\s|,\s(?:in which|which|who|whose|where|but|so|as|thus|thereby|including|for|see|e\.g|i\.e"
    r"|\w+ing|\w+ed (?:by|in|as|on|from|with|to|for|at|under))\b"
)
# What says when or how, and no object: "begins the next morning".
_ADVERBIAL = re.compile(
    r"(?:(?:the|an?|every|each|one|next|last|this) )?(?:[\w-]+ ){0,2}(?:morning|day|week|month|year|night"
    r"|evening|afternoon|season|time|way)s?\b",
    re.I,
)
_GOES_ON = re.compile(r"(?:but|so|yet|see)\b")
_VERBAL = re.compile(
    r"\b(?:is|are|was|were|has|have|had|do|does|did|can|may|must|will|would|should|\w+s to)\b"
)
_CONTENT_CLAUSE = re.compile(
    r", \w+s (?:the|an?|its|their|some|various|new)\b|\bthat (?:the|an?|all|any|each|no)\b|\bhow\b"
)
_INDEFINITE = re.compile(
    r"\b(?:an?|this|that|each|every|another|any|one|these|those|some|two|several)\s+(?:[a-z-]+\s+)?([a-z-]+)\b"
)
_HEDGED = re.compile(
    r"\b(?:better|best|sometimes|(?<!how )often|usually|typically|generally|normally|easily|simply|currently"
    r"|just|even|only)\b",
    re.I,
)
_MISSPELT = re.compile(r"\b(\w+) \1\b|\ban [b-dgjkpqtvwyzBCDGJKPQTVWYZ]|\ba (?:[aeio]|un(?!i))\w+", re.M)
# "… and field 2 is the version": another thing is told about.
_SECOND_CLAUSE = re.compile(
    r"\b(?:was|were) \w+ed\b|(?:\band|,) (?!which|that|who|where)(?:\S+ ){1,3}(?:is|are|was|were)\b"
)
_ANY_WORD = re.compile(r"[\w-]+")
_HEAD = re.compile(r" (?:of|for|in|on|at|to|from|between) ")
_LINKS = frozenset({"also", "then", "thus", "so", "therefore", "hence", "has", "have", "had"})
_UNENDING = UNFINISHED | ADVERBS | {"starting", "beginning", "ending", "effective"}
_GOING_ON = BE | MODALS | _LINKS | (PRONOUNS - {"that", "one"})
_FEWEST_WORDS, _MOST_WORDS = 4, 18
# What is longer is no sentence of prose, and each of its commas would be tried as the end of a clause.
_LONGEST_SENTENCE = 1000


def english_questions(
    statements: Iterable[Statement], known: frozenset[str], text: str = "", title: str = ""
) -> Iterator[MadeQuestion]:
    """Yield what can be asked about sentences of a text; ``known`` are words that occur without a capital."""
    listed = list(statements)
    sections: dict[tuple[str, ...], list[str]] = {}
    for statement in listed:
        # The question names the section, if that has a name.
        named = statement.place.headings if section_of(statement.place) else ()
        sections.setdefault(named, []).append(statement.text)
    sources = {
        named: _Source(known, "\n".join(texts) if named else text, text, title)
        for named, texts in sections.items()
    }
    for statement in listed:
        if len(statement.text) <= _LONGEST_SENTENCE:
            section = section_of(statement.place)
            source = sources[statement.place.headings if section else ()]
            yield from _Sentence(statement, source, section).questions()


class _Source:
    """The text that sentences are from: which nouns mean one thing in it, and where each comes first."""

    def __init__(self, known: frozenset[str], section: str, text: str, title: str) -> None:
        self.known, self._title = known, title.casefold()
        self._many = frozenset(_INDEFINITE.findall(section.casefold()))
        self._names = frozenset(_CAPITAL_WITHIN.findall(text))
        self._times = Counter(_ANY_WORD.findall(text.casefold()))
        self._first: dict[str, int] = {}
        for match in _ANY_WORD.finditer(text.casefold()):
            self._first.setdefault(match[0], match.start())

    def is_one(self, noun: str) -> bool:
        """Return True if a noun means one thing here: never "a", "each" or "this" and the noun."""
        return noun not in self._many

    def is_titled(self, subject: str) -> bool:
        """Return True if the title names a subject, with any words around it."""
        words = [word for word in _ANY_WORD.findall(subject.casefold()) if word not in ("the", "a", "an")]
        words = [word for word in words if word not in GENERIC] or words
        return bool(words) and set(words).issubset(_ANY_WORD.findall(self._title))

    def is_misspelt(self, question: str) -> bool:
        """Return True if a word that is here once lacks a letter of one that is here often: ``tpes``."""
        return any(
            max(self._times[guess], self._times[guess.removesuffix("s")]) >= _OFTEN
            for word in _ANY_WORD.findall(question.casefold())
            if self._times[word] == 1 and len(word) >= _SHORTEST_MISSPELT
            for place in range(1, len(word))
            for letter in ascii_lowercase
            for guess in [f"{word[:place]}{letter}{word[place:]}"]
        )

    def is_introduced(self, noun: str, place: int) -> bool:
        """Return True if a noun is in the title, or first mentioned at a place: nothing before says which."""
        return noun in self._title.split() or self._first.get(noun, place) >= place

    def is_name(self, word: str) -> bool:
        """Return True if a word that begins a sentence is a name: it has its capital within sentences too."""
        if re.search(r"[^\W\d_a-z].*[^\W\d_a-z]|[\d_.:]", word) or english_clauses.PERSON.match(word):
            return True
        return word.casefold() in self._title or word in self._names


_End = Literal["clause", "list", "addition", "unclear"]
"""Text after a main clause: another clause or nothing, the rest of an enumeration, or an addition to it."""


class _Sentence:
    """Asks about one sentence."""

    def __init__(self, statement: Statement, source: _Source, section: str) -> None:
        self._place, self._known, self._source = statement.place, source.known, source
        self._section = section
        self._states = english_clauses.states(statement.text)
        self._end: _End = "clause"
        self._is_all = False
        self._kind: SubjectKind | None = None
        self._text = _NOTE.sub("", statement.text).rstrip(' .!…"”’')

    def questions(self) -> Iterator[MadeQuestion]:
        """Yield what can be asked; of a sentence that denies or supposes something, nothing."""
        if (term := english_clauses.MEANS.match(self._text)) is not None:
            yield from self._meaning(term)
            return
        if not self._states or "(" in self._text:
            return
        reason = english_clauses.REASON.search(self._text)
        main, end = self._cut(self._text[: reason.start()] if reason is not None else self._text)
        self._end, self._is_all = end, main == self._text
        clause = clause_of(main, self._known)
        if clause is None:
            return
        clause = replace(clause, subject=self._cased(clause.subject))
        self._kind = self._subject_kind(clause)
        if self._kind is None and clause.subject.casefold() not in _READERS:
            return
        whole = clause.rest
        if end in ("list", "addition"):
            whole = _answer(self._text[len(main) - len(clause.rest) :], is_list=end == "list")
        if reason is not None and end != "list" and not clause.lead:
            yield from self._made(clause.question("why"), reason["clause"], "cause", "analytical")
        elif clause.lead:
            yield from self._lead(clause)
        elif end == "list":
            yield from self._complement(clause, whole)
        elif reason is None:
            yield from self._parts(clause, "" if end == "unclear" else whole)

    def _cut(self, sentence: str) -> tuple[str, _End]:
        """Return the main clause as far as it is in one piece, and what follows it."""
        for joint in english_clauses.JOINT.finditer(sentence):
            following = joint["next"]
            goes_on = sentence[joint.end() :]
            before = clause_of(sentence[: joint.start()], self._known)
            if before is None or (
                following is not None
                and not (_continues(goes_on, before) or _opens_clause(goes_on, self._known))
            ):
                continue
            # A comma before the verb belongs to what opens the sentence.
            main = sentence[: joint.start()]
            if joint[0].strip() in (":", "–", "—", "-"):
                return main, "unclear"  # what follows says which: "a new type: Symbol"
            if joint["comma"] is None or _GOES_ON.match(goes_on) or _opens_clause(goes_on, self._known):
                return main, "clause"
            if english_clauses.LIST.match(goes_on):
                return main, "list"
            return main, "unclear" if _VERBAL.search(goes_on[:_NEARBY]) else "addition"
        return sentence, "clause"

    def _cased(self, subject: str) -> str:
        """Return a subject without the capital of a sentence's beginning, unless that is a name's."""
        first, *others = subject.split()
        is_name = first.casefold() in ("the", "a", "an") or self._source.is_name(first)
        is_name = is_name or bool(others and re.match(r"[A-Z][a-z]", others[0]))  # of several words
        return subject if is_name else subject[0].lower() + subject[1:]

    def _subject_kind(self, clause: Clause) -> SubjectKind | None:
        """Return what a subject names, if whoever knows the names of document and section knows it."""
        subject = clause.subject
        if (both := subject.split(" and ")) and len(both) == 2 and (clause.finite in _PLURAL_VERBS):
            is_clear = all(english_clauses.subject_kind(each, self._known) for each in both)
            return "kind" if is_clear else None
        if self._section and subject.split()[0].casefold() in ("each", "every", "all"):
            rest = subject.partition(" ")[2]
            return "kind" if rest and english_clauses.subject_kind(f"the {rest}", self._known) else None
        kind = english_clauses.subject_kind(subject, self._known)
        noun = _HEAD.split(subject, maxsplit=1)[0].casefold().split()[-1]
        if kind == "thing" and noun in GENERIC and not self._source.is_titled(noun):
            return None  # "the project": which one, neither document nor section says
        if kind != "thing" or self._section:
            return None if kind == "thing" and not self._source.is_one(noun) else kind
        is_clear = self._source.is_one(noun) and self._source.is_introduced(noun, self._place.start)
        return kind if is_clear else None

    def _is_asked_of(self, subject: str) -> bool:
        """Return True if a reader may ask for the meaning: a name, or the document's topic."""
        if self._kind != "thing":
            return self._kind == "name"
        noun = _HEAD.split(subject, maxsplit=1)[0].casefold().split()[-1]
        return self._source.is_introduced(noun, self._place.start)

    def _meaning(self, term: re.Match[str]) -> Iterator[MadeQuestion]:
        """Yield a question for the meaning of a term; the whole definition is the answer."""
        lead = (term["lead"] or "").lower()
        asked = f"{lead}“{term['term']}”{term['of'] or ''}"
        is_term = re.search(r"[^\W\d_]{3}", term["term"]) is not None
        is_term = is_term and not (term["be"] and english_clauses.points(term["meaning"]))
        is_term = is_term and not (term["be"] and term["term"].casefold() in RELATIVE_NOUNS | GENERIC)
        if is_term and not english_clauses.points(asked) and len(term["meaning"].split()) > _SHORTEST_MEANING:
            text = f"what does it mean {asked}" if lead == "to " else f"what does {asked} mean"
            text = f"what {term['be']} {asked}" if term["be"] else text
            yield MadeQuestion(
                text=text, place=self._place, answer=term["meaning"], form="definition", needs_topic=True
            )

    def _lead(self, clause: Clause) -> Iterator[MadeQuestion]:
        """Ask for the time that opens a sentence; without anything else that does, it would not be true."""
        is_dated = english_clauses.DATED.fullmatch(clause.lead[:1].lower() + clause.lead[1:])
        if is_dated and clause.subject != "there":
            yield from self._made(clause.question("when"), clause.lead, "time", "temporal")

    def _parts(self, clause: Clause, whole: str) -> Iterator[MadeQuestion]:
        """Ask for each part of a clause that can be taken out."""
        asked = [*self._time(clause), *self._quantity(clause), *self._where(clause), *self._manner(clause)]
        yield from asked
        yield from self._subject(clause)
        if not asked:
            yield from self._complement(clause, whole)

    def _time(self, clause: Clause) -> Iterator[MadeQuestion]:
        rest = clause.rest
        if match := english_clauses.OFTEN.search(rest):
            # "for every day a book is late": the times are told by a clause, which cannot stay behind.
            if clause_of(rest[match.end() :].strip(), self._known) is None:
                yield from self._without(clause, match, "how often")
        elif match := english_clauses.LASTING.search(rest) or self._spell(clause):
            yield from self._without(clause, match, "how long")
        elif match := english_clauses.WITHIN.search(rest):
            yield from self._without(clause, match, "within what time")
        elif match := english_clauses.BEFORE.search(rest):
            if len((match["event"] or "").split()) <= _LONGEST_EVENT:
                yield from self._without(clause, match, _how_long_before(match))
        elif match := english_clauses.DATED.search(rest):
            preposition = match["preposition"]
            wh = f"{preposition} when" if preposition in ("since", "until", "by") else "when"
            if preposition == "at" or (":" in match[0] and preposition == "by"):
                wh = f"{preposition} what time"
            yield from self._without(clause, match, wh)

    def _spell(self, clause: Clause) -> re.Match[str] | None:
        """Return a length of time that is the object itself: ``a visit lasts 20 minutes``."""
        takes_time = clause.verb in english_clauses.TAKES_TIME and clause.auxiliary in ("", *BE)
        return english_clauses.SPELL.match(clause.rest) if takes_time else None

    def _without(self, clause: Clause, match: re.Match[str], wh: str) -> Iterator[MadeQuestion]:
        after = clause.rest[match.end() :]
        after = after.removeprefix(" long") if wh == "how long" else after
        if self._is_left(after):
            rest = f"{clause.rest[: match.start()]}{after}"
            yield from self._made(clause.question(wh, rest=rest), match[0], "time", "temporal")

    def _quantity(self, clause: Clause) -> Iterator[MadeQuestion]:
        match = english_clauses.QUANTITY.match(clause.rest)
        if match is None or self._spell(clause) or english_clauses.BEFORE.search(clause.rest):
            return
        verb = (match["verb"] or "").strip()
        if verb and (not clause.auxiliary or verb.split()[-1] not in VERBS | PARTICIPLES):
            return
        noun, extent, left = _counted_noun(f"{match['noun']}{match['tail']}")
        if match["number"].isdigit() and " of " not in noun and len(noun.split()) > 2:
            return  # "2 frequency observation files": files of two frequencies
        if not self._is_left(left) or left.partition(" ")[0] in PARTICIPLES:
            return  # two things are counted, or some of them
        rest = f"{verb} {left}"
        base = verb.split()[-1] if verb else clause.verb
        if extent:
            answer = f"{match['number']} {noun}"
            yield from self._made(clause.question(f"how {extent}", rest=rest), answer, "quantity")
        elif noun and (clause.auxiliary not in BE or verb or clause.subject == "there"):
            text = clause.question(f"how many {noun}", rest=rest)
            yield from self._made(text, f"{match['number']} {noun}", "quantity")
        elif base in ("cost", "pay", "charge", "paid", "charged") or english_clauses.MONEY.search(
            match["number"]
        ):
            yield from self._made(clause.question("how much", rest=rest), match["number"], "quantity")

    def _is_left(self, after: str) -> bool:
        """Return True if the text after the answer fits into the question and is complete."""
        return not _JOINED.search(after) and (self._end == "clause" or not after.strip())

    def _where(self, clause: Clause) -> Iterator[MadeQuestion]:
        if self._end != "clause":
            return
        match = english_clauses.PLACE.match(clause.rest)
        if match is None or clause.subject.split()[0].casefold() == "there":
            return
        if clause.auxiliary in BE | MODALS and match["verb"]:
            yield from self._made(clause.question("where", rest=match["verb"]), match["place"], "place")
        elif clause.verb in _LYING and not match["verb"]:
            yield from self._made(clause.question("where", rest=""), match["place"], "place")

    def _manner(self, clause: Clause) -> Iterator[MadeQuestion]:
        if not self._is_all:
            return  # the answer would be cut off
        rest = clause.rest
        if match := english_clauses.MANNER.search(rest):
            first = rest.split()[0]
            if clause.verb or clause.auxiliary in MODALS or first in PARTICIPLES:
                text = clause.question("how", rest=rest[: match.start()])
                yield from self._made(text, match["manner"], "manner", "analytical")
        elif clause.auxiliary in BE and (match := english_clauses.AGENT.match(rest)) is not None:
            text = clause.question("by whom", rest=match["done"])
            yield from self._made(text, match["agent"], "person")

    def _subject(self, clause: Clause) -> Iterator[MadeQuestion]:
        is_told = len(clause.subject.split()) > 2 or clause.subject[0].isupper()
        if clause.auxiliary in BE and is_told and english_clauses.SUPERLATIVE.match(clause.rest):
            text = f"what {clause.auxiliary} {clause.rest}"
            yield from self._made(text, clause.subject, "superlative", "comparative")
        elif english_clauses.PERSON.match(clause.subject) and len(clause.rest.split()) > 1:
            yield from self._made(f"who {clause.finite} {clause.rest}", clause.subject, "person")

    def _complement(self, clause: Clause, whole: str) -> Iterator[MadeQuestion]:
        """Ask what something is, what it is for, or what it does something to."""
        first, *others = clause.rest.split() or [""]
        subject = clause.subject.casefold()
        if not whole or clause.lead or _ADVERBIAL.match(clause.rest):
            return
        yield from self._purpose(clause, whole)
        if clause.auxiliary in ("is", "are") and first in ("a", "an", "the") and others:
            is_asked = self._is_asked_of(clause.subject) or (self._kind == "kind" and first != "the")
            meant = whole.casefold().split()
            # "The offset is the new offset": nothing is told.
            is_told = len(meant) > _SHORTEST_MEANING and subject.split()[-1] not in meant[:5]
            if is_asked and is_told and meant[-1] not in ABSTRACT and not _runs_on(whole):
                wh = "who" if english_clauses.is_somebody(clause.subject, whole) else "what"
                yield from self._made(f"{wh} {clause.auxiliary} {clause.subject}", whole, "definition")
        elif not self._is_asked_of(clause.subject) or _runs_on(whole) or self._end == "addition":
            return
        elif (clause.verb or first) in OPEN and (clause.auxiliary or self._source.is_titled(clause.subject)):
            return  # many things may be provided, and the whole document tells what its title does
        elif not clause.auxiliary and clause.verb in ASKED and _is_object(whole):
            yield from self._made(clause.question("what", rest=""), whole, "object", rank=1)
        elif clause.auxiliary in ("can", "may", "must") and first in ASKED and _is_object(" ".join(others)):
            text = clause.question("what", rest=first)
            yield from self._made(text, whole[len(first) :].strip(), "object", rank=1)

    def _purpose(self, clause: Clause, whole: str) -> Iterator[MadeQuestion]:
        """Ask what something is used for, or what it allows somebody to do."""
        if not self._is_asked_of(clause.subject) or _runs_on(whole) or self._end != "clause":
            return
        if used := english_clauses.PURPOSE.match(whole) if clause.auxiliary else None:
            text = clause.question("what", rest=f"{used['be'] or ''}used for")
            yield from self._made(text, used["purpose"], "purpose")
        enables = (
            english_clauses.ENABLES.match(whole) if clause.verb in ("allow", "enable", "permit") else None
        )
        is_open = self._source.is_titled(clause.subject)
        if enables and not is_open and enables["what"].split()[0] in VERBS:
            text = clause.question("what", rest=f"{enables['whom']} to do")
            yield from self._made(text, enables["what"], "purpose")

    def _made(
        self, text: str, answer: str, form: Form, kind: QuestionKind = "factual", *, rank: int = 0
    ) -> Iterator[MadeQuestion]:
        """Yield a question that is in whole words, and that points at nothing outside of it."""
        text, answer = " ".join(text.split()).rstrip(" ,"), answer.strip(" ,")
        words = text.split()
        if (
            _FEWEST_WORDS <= len(words) <= _MOST_WORDS
            and (words[-1].casefold() not in _UNENDING or form == "purpose")
            and not (form == "manner" and words[-1].endswith("ly"))
            and not english_clauses.CODE.search(text)
            and not english_clauses.points(text)
            and not english_clauses.SPEAKING.search(text)
            and not _HEDGED.search(text)
            and not _MISSPELT.search(answer)
            and not self._source.is_misspelt(text)
            and answer.count('"') % 2 == 0
            and answer.count("‘") <= answer.count("’")
            and (form not in _TOLD or _is_informative(text, answer))
            and not (words[1] == "often" and answer.split()[-1] in words)
            and english_clauses.is_clear_answer(answer)
        ):
            yield MadeQuestion(
                text=text, place=self._place, answer=answer, form=form, kind=kind, rank=rank, needs_topic=True
            )


def known_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that mostly occur without a capital, and so are no names, with their plurals."""
    small: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for text in texts:
        small.update(_SMALL.findall(text))
        names.update(_CAPITAL_WITHIN.findall(text))
    lowered = {word for word, count in small.items() if count > names[word.capitalize()]}
    return frozenset(lowered | {f"{word}s" for word in lowered})


def _continues(text: str, before: Clause | None) -> bool:
    """Return True if the text after *and* has another verb, or begins another clause."""
    word = text.partition(" ")[0]
    if word.casefold() in _GOING_ON or word in THIRD_PERSON or (word in PAST and word not in VERBS):
        return True
    is_plain = before is not None and (before.form == "plain" or before.auxiliary in MODALS)
    return is_plain and word in english_clauses.PLAIN_VERBS


def _how_long_before(match: re.Match[str]) -> str:
    ahead = match["ahead"]
    if ahead is None:
        return f"how long {match['order']} {match['event']}"
    return "how far ahead" if ahead in ("ahead", "in advance") else f"how {ahead}"


def _counted_noun(words: str) -> tuple[str, str, str]:
    """Return the noun that a number counts, the extent if it measures one, and what is left of the words."""
    taken: list[str] = []
    listed = words.split()
    for place, word in enumerate(listed[:_LONGEST_NOUN]):
        is_end = word in PREPOSITIONS | CONJUNCTIONS | BE | MODALS or (taken and word in PARTICIPLES)
        if is_end or not word[0].islower():
            break
        taken.append(word)
        if word in _PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "is", "'s", "’s"))):
            after = place + 1
            following = listed[after] if after < len(listed) else ""
            if following in _EXTENTS:
                return " ".join(taken), _EXTENTS[following], " ".join(listed[after + 1 :])
            if following == "of":
                # "28 days of leave": up to the next preposition.
                after += 2
                while after < len(listed) and listed[after] not in PREPOSITIONS | CONJUNCTIONS:
                    after += 1
            return " ".join(listed[:after]), "", " ".join(listed[after:])
    return "", "", words


def _answer(text: str, *, is_list: bool) -> str:
    """Return an answer to its end: what follows a semicolon, or is added about it, is no part of it."""
    return (_AFTER_LIST if is_list else _ADDED).split(text, maxsplit=1)[0]


def _opens_clause(text: str, known: frozenset[str]) -> bool:
    """Return True if the text after a joint is a clause of its own: ``and they sail on``."""
    clause = re.sub(r"\A(?:and|but|or|so|yet) ", "", text)
    first = clause.partition(" ")[0]
    may_open = first.casefold() in english_clauses.DETERMINERS | PRONOUNS
    return may_open and clause_of(clause, known) is not None


def _is_informative(question: str, answer: str) -> bool:
    """Return True if an answer adds to the question, without comparing with earlier text."""
    new = set(content_keys(answer)).difference(content_keys(question))
    first = {word.casefold() for word in answer.split()[:2]}
    is_ended = answer.split()[-1].casefold() not in UNFINISHED | RELATIVE_ADJECTIVES | {"single"}
    return len(new) >= _FEWEST_NEW_WORDS and is_ended and not first & (RELATIVE_ADJECTIVES - _TELLING)


def _runs_on(answer: str) -> bool:
    """Return True if an answer goes on with another verb: ``two arguments and return a number``."""
    return _CONTENT_CLAUSE.search(answer) is not None or _SECOND_CLAUSE.search(answer) is not None


def _is_object(rest: str) -> bool:
    """Return True if the text after a verb begins with a noun that is its object."""
    words = rest.split()
    first, following = (each.strip(",").casefold() for each in [*words, "", ""][:2])
    if first in _NO_OBJECTS | PRONOUNS or (first == "the" and len(words) < _SHORTEST_OBJECT):
        return False  # "the exit status": which one is said before
    # "takes place", "provides access to": a bare word belongs to the verb.
    return following != "" and (following not in PREPOSITIONS or first.endswith("s"))
