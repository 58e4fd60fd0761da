"""Questions about English sentences, by rules: what a sentence says decides what can be asked about it.

A sentence is read by :mod:`english_clauses`; the part that answers is taken out, a question word put in its
place, and the verb before the subject. Where a sentence gives a reason or a condition, that is asked for.
What follows at length is left out, since people do not repeat it, and a pronoun becomes what it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rag_evaluation_framework.synthesis import english_clauses
from rag_evaluation_framework.synthesis.drafts import QuestionKind
from rag_evaluation_framework.synthesis.english_clauses import (
    ADVERBS,
    BE,
    CONJUNCTIONS,
    MODALS,
    PARTICIPLES,
    PAST,
    PREPOSITIONS,
    PRONOUNS,
    THIRD_PERSON,
    UNFINISHED,
    VERBS,
    Clause,
    clause_of,
    is_plural,
)
from rag_evaluation_framework.synthesis.passages import Form, MadeQuestion, Statement

_EXTENTS = {word: word for word in ("high", "long", "wide", "deep", "tall", "thick", "heavy", "old", "late")}
_EXTENTS |= {"away": "far away", "apart": "far apart"}
_PLURALS = frozenset({"people", "children", "men", "women", "staff", "mice", "feet"})
_FIRST_PERSONS = frozenset({"we", "you", "i", "there", "one"})
_NO_OBJECTS = PREPOSITIONS | CONJUNCTIONS | ADVERBS | {"that", "free", "alone", "together", "home", "abroad"}
_LONGEST_ANTECEDENT = 6
_FEWEST_WORDS, _MOST_WORDS = 4, 16
# What is longer is no sentence of prose, and each of its commas would be tried as the end of a clause.
_LONGEST_SENTENCE = 1000


def english_questions(statements: Iterable[Statement], known: frozenset[str]) -> Iterator[MadeQuestion]:
    """Yield what can be asked about sentences; ``known`` are words that occur without a capital."""
    paragraph, subjects = -1, _Subjects()
    for statement in statements:
        if statement.paragraph != paragraph:
            paragraph, subjects = statement.paragraph, _Subjects()
        if len(statement.text) > _LONGEST_SENTENCE:
            subjects.forget()
            continue
        yield from _Sentence(statement, known, subjects).questions()


class _Subjects:
    """What was spoken of last in a paragraph, for the pronouns that follow."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew: after a sentence that was not understood, a pronoun may mean anything."""
        self._one: str | None = None
        self._many: str | None = None
        self._named: str | None = None

    def meet(self, subject: str) -> None:
        words = subject.split()
        if words[0].casefold() in PRONOUNS or len(words) > _LONGEST_ANTECEDENT:
            return
        if is_plural(subject):
            self._many = subject
        else:
            self._one = subject
            is_name = words[0][0].isupper() and words[-1][0].isupper()
            if is_name or english_clauses.PERSON.match(subject):
                self._named = subject

    def meant_by(self, pronoun: str) -> str | None:
        return {"it": self._one, "they": self._many, "he": self._named, "she": self._named}[pronoun]


class _Sentence:
    """Asks about one sentence."""

    def __init__(self, statement: Statement, known: frozenset[str], subjects: _Subjects) -> None:
        self._place, self._known, self._subjects = statement.place, known, subjects
        self._whole = statement.text
        self._text = statement.text.rstrip(' .!…"”’')

    def questions(self) -> Iterator[MadeQuestion]:
        opening = english_clauses.OPENING_CLAUSE.match(self._text)
        if opening is not None:
            yield from self._after_opening(opening)
            return
        main, closing = self._cut(self._text)
        clause = clause_of(main, self._known)
        if clause is None:
            self._subjects.forget()
            return
        resolved = self._resolved(clause)
        self._subjects.meet(clause.subject)
        if resolved is not None:
            if closing is not None:
                yield from self._closing(resolved, closing)
            yield from self._parts(resolved)

    def _cut(self, sentence: str) -> tuple[str, re.Match[str] | None]:
        """Return the main clause as far as it is in one piece, and the clause of its reason or condition."""
        closing = english_clauses.CLOSING_CLAUSE.search(sentence)
        main = sentence[: closing.start()] if closing is not None else sentence
        for joint in english_clauses.JOINT.finditer(main):
            following = joint["next"]
            if following is not None and not _continues(following):
                continue
            # A comma before the verb belongs to what opens the sentence.
            if clause_of(main[: joint.start()], self._known) is not None:
                is_apart = following is None and joint[0] in ",;"
                return main[: joint.start()], None if is_apart else closing
        return main, closing

    def _resolved(self, clause: Clause) -> Clause | None:
        """Return the clause with a noun for its pronoun; ``None`` where it is not known which."""
        pronoun = clause.subject.casefold()
        if pronoun in ("he", "she", "it", "they"):
            subject = self._subjects.meant_by(pronoun)
            return None if subject is None else replace(clause, subject=subject)
        inner = set(pronoun.split()[1:])
        return None if pronoun in PRONOUNS - _FIRST_PERSONS or inner & {"you", "we", "it", "they"} else clause

    def _after_opening(self, match: re.Match[str]) -> Iterator[MadeQuestion]:
        """Ask about ``If C, M``: what follows from C; or, where C is the reason, why M."""
        word, condition, main = match["word"].casefold(), match["clause"], match["main"]
        clause = clause_of(self._cut(main)[0], self._known)
        if clause is None:
            self._subjects.forget()
        else:
            self._subjects.meet(clause.subject)
        if word in ("if", "when", "whenever", "once"):
            first, *others = condition.casefold().split()
            if others and first not in PRONOUNS - _FIRST_PERSONS:
                yield from self._made(f"what happens {word} {condition}", main, "condition", "analytical")
        elif word == "because" and clause is not None and (resolved := self._resolved(clause)) is not None:
            text = resolved.question("why", rest=shortened(resolved.rest))
            yield from self._made(text, condition, "cause", "analytical")

    def _closing(self, clause: Clause, match: re.Match[str]) -> Iterator[MadeQuestion]:
        """Ask for the reason, purpose or condition after the main clause."""
        word, said = match["word"].casefold(), match["clause"]
        rest = shortened(clause.rest)
        if word in ("because", "so that"):
            text = clause.question("why", rest=rest)
            if clause.is_negated:
                verb = clause.auxiliary or clause.support
                text = f"why {verb} {clause.subject} not {clause.verb} {rest}"
            yield from self._made(text, said, "cause", "analytical")
        elif clause.is_negated or len(said.split()) < 3 or not clause.rest:
            return  # "says when": what follows is the object
        elif word in ("when", "if", "whenever"):
            yield from self._made(
                clause.question("when", rest=rest), f"{word} {said}", "condition", "analytical"
            )
        elif word == "until":
            yield from self._made(
                clause.question("until when", rest=rest), f"until {said}", "time", "temporal"
            )

    def _parts(self, clause: Clause) -> Iterator[MadeQuestion]:
        """Ask for each part of a clause that can be taken out."""
        if clause.is_negated or english_clauses.NEGATIVE.match(clause.subject):
            yield from self._decision(clause)
            return
        asked = [*self._time(clause), *self._quantity(clause), *self._where(clause)]
        yield from asked
        yield from self._subject(clause)
        yield from self._decision(clause)
        if not asked:
            yield from self._complement(clause)

    def _time(self, clause: Clause) -> Iterator[MadeQuestion]:
        rest = clause.rest
        often = english_clauses.OFTEN.search(rest)
        # "for every day a book is late": the times are told by a clause, which cannot stay behind.
        if often is not None and clause_of(rest[often.end() :].strip(), self._known) is not None:
            return
        if match := often:
            yield from self._without(clause, match, "how often", "time")
        elif match := english_clauses.LASTING.search(rest) or self._spell(clause):
            yield from self._without(clause, match, "how long", "time")
        elif match := english_clauses.WITHIN.search(rest):
            yield from self._without(clause, match, "within what time", "time")
        elif match := english_clauses.BEFORE.search(rest):
            yield from self._without(clause, match, _how_long_before(match), "time")
        elif match := english_clauses.DATED.search(rest):
            preposition = match["preposition"]
            wh = f"{preposition} when" if preposition in ("since", "until", "by") else "when"
            wh = (
                f"{preposition} what time"
                if preposition == "at" or (":" in match[0] and preposition == "by")
                else wh
            )
            yield from self._without(clause, match, wh, "time")
        elif english_clauses.DATED.match(clause.lead[:1].lower() + clause.lead[1:]):
            text = clause.question("when", rest=shortened(rest))
            yield from self._made(text, clause.lead, "time", "temporal")

    def _spell(self, clause: Clause) -> re.Match[str] | None:
        """Return a length of time that is the object itself: ``a visit lasts 20 minutes``."""
        takes_time = clause.verb in english_clauses.TAKES_TIME and clause.auxiliary in ("", *BE)
        return english_clauses.SPELL.match(clause.rest) if takes_time else None

    def _without(self, clause: Clause, match: re.Match[str], wh: str, form: Form) -> Iterator[MadeQuestion]:
        rest = shortened(f"{clause.rest[: match.start()]}{clause.rest[match.end() :]}")
        yield from self._made(clause.question(wh, rest=rest), match[0], form, "temporal")

    def _quantity(self, clause: Clause) -> Iterator[MadeQuestion]:
        match = english_clauses.QUANTITY.match(clause.rest)
        if match is None or self._spell(clause) or english_clauses.BEFORE.search(clause.rest):
            return
        verb = (match["verb"] or "").strip()
        if verb and (not clause.auxiliary or verb.split()[-1] not in VERBS | PARTICIPLES):
            return
        noun, extent, left = _counted_noun(match["noun"])
        rest = shortened(f"{verb} {left}{match['tail']}")
        base = verb.split()[-1] if verb else clause.verb
        if extent:
            yield from self._made(clause.question(f"how {extent}", rest=rest), match["number"], "quantity")
        elif noun:
            text = clause.question(f"how many {noun}", rest=rest)
            yield from self._made(text, f"{match['number']} {noun}", "quantity")
        elif base in ("cost", "pay", "charge", "paid", "charged") or english_clauses.MONEY.search(
            match["number"]
        ):
            yield from self._made(clause.question("how much", rest=rest), match["number"], "quantity")

    def _where(self, clause: Clause) -> Iterator[MadeQuestion]:
        match = english_clauses.PLACE.match(clause.rest)
        is_placed = clause.auxiliary in BE | MODALS and clause.subject.split()[0].casefold() not in (
            "there",
            "no",
        )
        if match is not None and is_placed and (match["verb"] or clause.auxiliary in BE):
            yield from self._made(clause.question("where", rest=match["verb"] or ""), match["place"], "place")

    def _subject(self, clause: Clause) -> Iterator[MadeQuestion]:
        rest = shortened(clause.rest)
        if clause.auxiliary in BE and english_clauses.SUPERLATIVE.match(clause.rest):
            text = f"what {clause.auxiliary} {rest}"
            yield from self._made(text, clause.subject, "superlative", "comparative")
        elif english_clauses.PERSON.match(clause.subject) and len(rest.split()) > 1:
            yield from self._made(f"who {clause.finite} {rest}", clause.subject, "person")

    def _decision(self, clause: Clause) -> Iterator[MadeQuestion]:
        is_negative = clause.is_negated or english_clauses.NEGATIVE.match(clause.subject) is not None
        is_absent = clause.subject == "there" and english_clauses.NEGATIVE.match(clause.rest) is not None
        if not clause.rest or clause.subject.casefold().startswith("no more"):
            return
        if is_negative or is_absent or clause.auxiliary in MODALS - {"will", "would", "shall"}:
            rank = 0 if is_negative or is_absent else 1
            yield from self._made(
                clause.question(rest=shortened(clause.rest)), self._whole, "decision", rank=rank
            )

    def _complement(self, clause: Clause) -> Iterator[MadeQuestion]:
        first = clause.rest.partition(" ")[0].casefold()
        if not first or clause.subject.casefold() in PRONOUNS:
            return
        if clause.auxiliary in ("is", "are") and first in ("a", "an", "the", "one"):
            yield from self._made(f"what {clause.auxiliary} {clause.subject}", clause.rest, "definition")
        is_object = first[0].isalnum() and first not in _NO_OBJECTS and not first.endswith("ly")
        if is_object and not clause.auxiliary:
            yield from self._made(clause.question("what", rest=""), clause.rest, "object", rank=1)

    def _made(
        self, text: str, answer: str, form: Form, kind: QuestionKind = "factual", *, rank: int = 0
    ) -> Iterator[MadeQuestion]:
        text = " ".join(text.split())
        if _FEWEST_WORDS <= len(text.split()) <= _MOST_WORDS:
            yield MadeQuestion(
                text=_undecided(text),
                place=self._place,
                answer=answer.strip(" ,"),
                form=form,
                kind=kind,
                rank=rank,
                needs_topic=_points_elsewhere(text),
            )


def known_words(texts: Iterable[str]) -> frozenset[str]:
    """Return the words that occur without a capital, with their plurals."""
    lowered = {word for text in texts for word in re.findall(r"\b[a-z][a-z'-]*\b", text)}
    return frozenset(lowered | {f"{word}s" for word in lowered})


def shortened(text: str, words: int = 8) -> str:
    """Return the beginning of what follows a verb: to the end of a phrase, and never long."""
    phrase = english_clauses.END_OF_PHRASE.split(f" {text.strip()}", maxsplit=1)[0].split()
    listed = phrase[:words]
    if len(phrase) > words:
        prepositions = [place for place, word in enumerate(listed) if place > 1 and word in PREPOSITIONS]
        listed = listed[: prepositions[-1]] if prepositions else listed
    while listed and listed[-1].casefold() in UNFINISHED:
        listed.pop()
    return " ".join(listed)


def _continues(word: str) -> bool:
    """Tell whether a word after *and* begins another clause."""
    lowered = word.casefold()
    return lowered in BE | MODALS | (PRONOUNS - {"that", "one"}) or word in THIRD_PERSON or word in PAST


def _how_long_before(match: re.Match[str]) -> str:
    ahead = match["ahead"]
    if ahead is None:
        return f"how long {match['order']} {shortened(match['event'], 3)}"
    return "how far ahead" if ahead in ("ahead", "in advance") else f"how {ahead}"


def _counted_noun(words: str) -> tuple[str, str, str]:
    """Return the noun that a number counts, or the extent it measures, and what is left of the words."""
    taken: list[str] = []
    listed = words.split()
    for place, word in enumerate(listed):
        if word in PREPOSITIONS | CONJUNCTIONS | BE | MODALS or (taken and word in PARTICIPLES):
            break
        taken.append(word)
        if word in _PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "is"))):
            following = listed[place + 1] if place + 1 < len(listed) else ""
            if following in _EXTENTS:
                return "", _EXTENTS[following], " ".join(listed[place + 2 :])
            return " ".join(taken), "", " ".join(listed[place + 1 :])
    return "", "", words


def _undecided(text: str) -> str:
    """Return a question that does not give its answer away: *no* and *nobody* are asked as *any*."""
    if text.startswith("why"):
        return text
    text = re.sub(r"\b(is|was) there no\b", r"\1 there a", text)
    others = {"no": "any", "nobody": "anybody", "nothing": "anything", "none": "any", "never": "ever"}
    return english_clauses.NEGATIVE.sub(lambda match: others.get(match[0].casefold(), "either"), text)


def _points_elsewhere(text: str) -> bool:
    """Tell whether a question has words that mean something outside of it."""
    return english_clauses.POINTING.search(re.sub(r"\b(?:is|are|was|were) there\b", "", text)) is not None
