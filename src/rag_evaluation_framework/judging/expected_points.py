"""The points that an answer should state.

Where a sample says by itself what counts, the points are read as its own metric reads them: the names, the
relation or the steps that are expected, and in a conversation what the turn's reference adds. Otherwise they
are the claims of the reference, whose words are matched with those of the answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec

from rag_evaluation_framework.judging.claims import claims_of, said_in
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.judging.milestones import first_tellings
from rag_evaluation_framework.judging.reference_match import kept_match
from rag_evaluation_framework.judging.relations import RelationReading, read_relation
from rag_evaluation_framework.judging.turn_matching import TurnMatch, match_reference
from rag_evaluation_framework.records.responses import AnsweredTurn
from rag_evaluation_framework.records.samples import Entities, Milestones, Relation, Sample
from rag_evaluation_framework.records.scores import Claim, Label
from rag_evaluation_framework.text.tokens import content_keys

# How much of a claim of the reference an answer must have to make it, where its words are matched: half of a
# few, most of more. "It opens at noon" is no support for "it opens at nine", so that brief references always
# are. ``python -m benchmarks.said_claims`` tells how often people agree.
_BRIEF, _HALF, _MOST = 6, 0.5, 0.6


class Point(msgspec.Struct, frozen=True):
    """Something that should be said, whether a text says it or denies it, and the passage that shows it."""

    text: str
    label: Label
    find: Callable[[], str | None] | None = None
    """Function that finds the passage to show."""

    @property
    def is_supported(self) -> bool:
        return self.label == "supported"

    @property
    def shown_by(self) -> str | None:
        """The passage that shows it."""
        return None if self.find is None else self.find()


class ExpectedPoints(ABC):
    """The points of one kind, with the finding of each in an answer.

    ``what`` names them, ``denied`` describes a point that is stated wrongly. ``are_enough`` is True if an
    answer with all of them is correct, with any other content; ``stand_together`` is True if a passage that
    supports them must have all of them.
    """

    what: str
    denied = ""
    are_enough = True
    stand_together = False

    def __init__(self, points: Iterable[Point]) -> None:
        self.points = tuple(points)

    @abstractmethod
    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        """Return those of the points that stand in none of the texts."""

    def shown(self, points: Sequence[Point], texts: Sequence[str]) -> Sequence[Point]:
        """Return the points with the passages of the texts that show them, where these were looked at."""
        return points


def expected_points(
    sample: Sample,
    answer: str,
    texts: Sequence[str],
    *,
    readings: Sequence[str],
    turn: AnsweredTurn | None = None,
) -> ExpectedPoints:
    """Return what an answer should say, by the surest that its sample, or its turn, tells.

    ``readings`` are the texts that the reference allows: the one counts of which the answer says most, and of
    equal ones that of which ``texts``, the retrieved ones, say most.
    """
    if turn is not None:
        return _News(turn, answer)
    match sample.expectation:
        case Entities(names=names) if names:
            return _Names(names, answer, sample.question)
        case Milestones(steps=steps) if steps:
            return _Steps(steps, answer)
        case Relation() as expected:
            relation = _RelationTold(sample, expected, answer)
            if relation.points:
                return relation
    claims = [_Claims(text, answer, sample.question) for text in readings]
    if len(claims) == 1:
        return claims[0]
    return min(claims, key=lambda each: (each.lacking, len(each.absent(each.points, texts))))


def statements_of(text: str) -> Sequence[Claim]:
    """Return the claims of a text; one that is no sentence, such as a name, is a claim as a whole."""
    claims = claims_of(text)
    bare = text.strip()
    if claims or not bare:
        return claims
    start = text.index(bare)
    return [Claim(bare, start, start + len(bare))]


class _Claims(ExpectedPoints):
    """The claims of one reading of the reference."""

    what = "claims of the reference"
    are_enough = False

    def __init__(self, reference: str, answer: str, question: str) -> None:
        self._question = question
        said = said_in(reference)
        statements = statements_of(said if said.strip() else reference)
        self._claims = {claim.text: claim for claim in statements}
        self._points: dict[tuple[str, ...], dict[str, Point]] = {}
        super().__init__(self._matched(list(self._claims.values()), answer))

    def _matched(self, claims: Sequence[Claim], answer: str) -> Iterator[Point]:
        """Yield the points, said where the answer has their words and numbers; metrics match the same."""
        said, wanted = ([claim.text for claim in each] for each in (statements_of(said_in(answer)), claims))
        match = kept_match(tuple(said), tuple(wanted), self._question)
        for claim, share, has_figures in zip(claims, match.recalled, match.has_figures, strict=True):
            is_most = share >= _MOST or (share >= _HALF and len(content_keys(claim.text)) <= _BRIEF)
            yield _point(claim.text, is_most and has_figures)

    @property
    def lacking(self) -> int:
        return sum(not point.is_supported for point in self.points)

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        found = self._found([self._claims[point.text] for point in points], tuple(texts))
        return [point for point in found if not point.is_supported]

    def shown(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        known = self._points.get(tuple(texts), {})
        return [known.get(point.text, point) for point in points]

    def _found(self, claims: Sequence[Claim], texts: tuple[str, ...]) -> list[Point]:
        """Return whether texts bear claims out; each is held against the same texts once."""
        known = self._points.setdefault(texts, {})
        unknown = [claim for claim in claims if claim.text not in known]
        support, question = LexicalSupport(), self._question
        flags = support.are_supported(unknown, texts, question=question) if unknown else []
        for claim, flag in zip(unknown, flags, strict=True):
            find = partial(support.closest, claim, texts, question=question)
            known[claim.text] = Point(claim.text, "supported" if flag else "unsupported", find)
        return [known[claim.text] for claim in claims]


class _Names(ExpectedPoints):
    """The names that are expected, "A/B" being either."""

    what = "expected names"
    stand_together = True

    def __init__(self, names: Sequence[str], answer: str, question: str) -> None:
        self._question = question
        super().__init__(map(_point, names, names_in(answer, names, question=question)))

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        named = names_in("\n".join(texts), [point.text for point in points], question=self._question)
        return [_point(point.text, False) for point, found in zip(points, named, strict=True) if not found]


class _Steps(ExpectedPoints):
    """The expected steps; a step that comes before one that it should follow is stated wrongly."""

    what = "expected steps"
    denied = "stated too early"

    def __init__(self, steps: Sequence[str], answer: str) -> None:
        places = first_tellings(answer, steps)
        latest = [
            max((each for each in places[:n] if each is not None), default=0) for n in range(len(places))
        ]
        super().__init__(map(_step, steps, places, latest))

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        places = first_tellings("\n".join(texts), [point.text for point in points])
        return [_point(point.text, False) for point, at in zip(points, places, strict=True) if at is None]


class _RelationTold(ExpectedPoints):
    """The relation that is expected; no point where no words are known for it."""

    what = "expected relations"
    denied = "stated in the opposite direction"

    def __init__(self, sample: Sample, expected: Relation, answer: str) -> None:
        self._sample, self._triple = sample, (expected.subject, expected.relation, expected.object)
        reading = self._reading(answer)
        text = " ".join(self._triple)
        super().__init__([] if reading.relation is None else [Point(text, _label_of(reading))])

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        # A context often names one end only; that the relation is told in it is what can be seen.
        if any(self._reading(text).relation for text in texts):
            return []
        return [_point(point.text, False) for point in points]

    def _reading(self, text: str) -> RelationReading:
        asked, reference = self._sample.question, self._sample.reference or ""
        return read_relation(text, self._triple, question=asked, reference=reference)


class _News(ExpectedPoints):
    """The content of a turn's reference beyond its question and the turns before."""

    what = "new parts of the reference"

    def __init__(self, turn: AnsweredTurn, answer: str) -> None:
        self._turn = turn
        match = self._match(answer)
        said, unsaid = ((), ()) if match is None else (match.said, match.unsaid)
        super().__init__([*(_point(text, True) for text in said), *(_point(text, False) for text in unsaid)])

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        # A yes stands in a text that says what was asked, and in no other words.
        said = {part for text in texts if (match := self._match(text)) for part in match.said}
        return [
            _point(point.text, False)
            for point in points
            if point.text not in said and not any(_has(text, point.text) for text in texts)
        ]

    def _match(self, text: str) -> TurnMatch | None:
        turn = self._turn
        return match_reference(text, turn.expected.reference or "", turn.question, before=turn.before)


def _has(text: str, part: str) -> bool:
    match = match_reference(text, part)
    return match is not None and match.value == 1


def _point(text: str, is_said: bool) -> Point:
    return Point(text, "supported" if is_said else "unsupported")


def _step(text: str, place: int | None, latest: int) -> Point:
    return (
        Point(text, "contradicted")
        if place is not None and place < latest
        else _point(text, place is not None)
    )


def _label_of(reading: RelationReading) -> Label:
    if not reading.relation or not all(reading.ends) or reading.direction == "not told":
        return "unsupported"
    return "contradicted" if reading.direction == "wrong" else "supported"
