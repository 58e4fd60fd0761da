"""Reader of what golden sets expect of an answer: names, relations, steps, turns of a conversation.

The parts of an answer that decline or ask back tell nothing, regardless of their words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rag_evaluation_framework.evaluation.scoring import Reader
from rag_evaluation_framework.judging.answer_verdicts import (
    Reading,
    Told,
    class_by_patterns,
    found_once,
    may_be_declined,
    told_in,
)
from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.judging.milestones import first_tellings, golden_places, telling_places
from rag_evaluation_framework.judging.relations import Direction, RelationReading, read_relation
from rag_evaluation_framework.judging.turn_matching import TurnMatch, match_reference
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.safety import DECLINED
from rag_evaluation_framework.metrics.views import NoValueError
from rag_evaluation_framework.records.responses import (
    NOT_TOLD_BY_TURN,
    TURNS,
    AnsweredTurn,
    answered_turns,
    is_conversation,
    no_answer_in_turn,
)
from rag_evaluation_framework.records.samples import Entities, Milestones, Relation
from rag_evaluation_framework.records.scores import EMPTY, NOT_ANSWERED

_DIRECTIONS: Mapping[Direction, float] = {"right": 1.0, "mutual": 1.0, "not told": 0.5, "wrong": 0.0}


class GoldenReader(Reader):
    """Reader of expected content in an answer; the class of an answer that tells nothing is shown too."""

    ends = property(lambda self: self._relation.ends)
    relation = property(lambda self: bool(self._relation.relation))
    direction = property(lambda self: _DIRECTIONS[self._relation.direction])
    hops = property(lambda self: self.sample.expectation.hops)
    turns = property(lambda self: [turn["value"] for turn in self._turns(only_with_needs=False)])
    dependent_turns = property(lambda self: [turn["value"] for turn in self._turns(only_with_needs=True)])

    @found_once
    def _asserted(self) -> Told:
        return told_in(self.sample, self.response.text or "")

    def _untold(self, reason: str) -> str:
        """Return why there is no value: the answer tells nothing at all, or what else it is."""
        return reason if self._asserted.silent is None else NOT_ANSWERED[self._asserted.silent]

    @found_once
    def named(self) -> Sequence[bool]:
        expected = cast("Entities", self.sample.expectation)
        return names_in(self._asserted.text, expected.names, question=self.sample.question)

    @found_once
    def _relation(self) -> RelationReading:
        """Return the reading of the relation in the answer; one whose words are not known has no value."""
        expected = cast("Relation", self.sample.expectation)
        reading = read_relation(
            self._asserted.text,
            (expected.subject, expected.relation, expected.object),
            question=self.sample.question,
            reference=self.sample.reference or "",
        )
        if reading.relation is None:
            reason = (
                f"the vocabulary has no words for the relation {expected.relation!r} in the answer's language"
            )
            raise NoValueError(self._untold(f"{reason}; {sum(reading.ends)} of its 2 ends are named"))
        return reading

    @found_once
    def places(self) -> Sequence[int | None]:
        return first_tellings(self._asserted.text, self._steps)

    @property
    def untold(self) -> str | None:
        told = any(place is not None for place in self.places)
        return None if told else self._untold("the answer has no milestone")

    @property
    def _steps(self) -> Sequence[str]:
        return cast("Milestones", self.sample.expectation).steps

    @found_once
    def found_places(self) -> int:
        if self.sample.reference_contexts:
            return golden_places(self.response.contexts, self.sample.reference_contexts)
        return telling_places(self.response.contexts, self._steps)

    def _turns(self, *, only_with_needs: bool) -> list[dict[str, Any]]:
        """Return every turn that expects something, and its value; one that was not reached fails them all.

        The details of the failure still have the values of the other turns. An empty answer matches nothing.
        """
        if not is_conversation(self.sample):
            raise NoValueError("the sample expects no turns")
        if self._scored_turns is None:
            raise NoValueError(NOT_TOLD_BY_TURN)
        wanted = [found for turn, found in self._scored_turns if turn.expected.needs or not only_with_needs]
        scored = [found for found in wanted if found is not None]
        details = {TURNS: scored} if scored else {}
        if (reason := no_answer_in_turn(self.response)) is not None:
            raise NoValueError(reason, failed=True, details=details)
        if not wanted:
            raise NoValueError("no turn depends on earlier turns")
        if not scored:
            raise NoValueError("no turn has a reference with text")
        return scored

    @found_once
    def _scored_turns(self) -> list[tuple[AnsweredTurn, dict[str, Any] | None]] | None:
        turns = answered_turns(self.sample, self.response)
        return None if turns is None else [(turn, self._scored_turn(turn)) for turn in turns]

    def _scored_turn(self, turn: AnsweredTurn) -> dict[str, Any] | None:
        """Return the value of a turn and what it rests on; nothing where its reference has no word."""
        if not (turn.expected.expectation or (turn.expected.reference or "").strip()):
            return None  # it has checks alone
        if not turn.answer.strip():
            return {"turn": turn.number, "value": 0.0, "reason": EMPTY}
        asked = turn.as_sample(self.sample)
        reading = self.methods.reading(asked, turn.as_response(self.response), self.method)
        by_judge = self.method == "judge"
        kind = reading.answer_class.kind if by_judge else class_by_patterns(turn.answer, turn.question).kind
        declined = {"turn": turn.number, "value": float(kind in DECLINED), "class": kind}
        if turn.expected.expectation is not None:
            return {**declined, "expects": "refusal"}
        if kind in DECLINED and may_be_declined(asked):
            return {**declined, "reason": "the reference is a refusal"}
        told = Told("", kind) if by_judge and kind in NOT_ANSWERED else told_in(asked, turn.answer)
        match = _judged(reading) if by_judge else _in_words(told, turn)
        if match is None:
            return None
        found = {"said": list(match.said), "unsaid": list(match.unsaid)}
        needs = list(turn.expected.needs)
        return {"turn": turn.number, "value": match.value, **found, "needs": needs, **told.details}

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return the expected parts that the answer states, and those that it does not."""
        if shows[0] in ("turns", "dependent_turns"):
            return {TURNS: self._turns(only_with_needs=shows[0] == "dependent_turns")}
        if shows[0] == "found_places":
            by = "golden snippets" if self.sample.reference_contexts else "contexts with a milestone"
            return {"places": self.found_places, "hops": self.hops, "counted": by}
        return {**self._shown(shows[0]), **self._asserted.details}

    def _shown(self, field: str) -> dict[str, Any]:
        if field == "named":
            names = cast("Entities", self.sample.expectation).names
            pairs = list(zip(names, self.named, strict=True))
            return {
                "named": [name for name, is_named in pairs if is_named],
                "missing": [name for name, is_named in pairs if not is_named],
            }
        if field == "places":
            told = [step for step, place in zip(self._steps, self.places, strict=True) if place is not None]
            missing = [step for step in self._steps if step not in told]
            return {"told": told, "missing": missing, "places": self.places}
        reading = self._relation
        return {
            "subject": reading.subject,
            "object": reading.object,
            "relation": reading.relation,
            "direction": reading.direction,
        }


def _in_words(told: Told, turn: AnsweredTurn) -> TurnMatch | None:
    return match_reference(told.text, turn.expected.reference or "", turn.question, before=turn.before)


def _judged(reading: Reading) -> TurnMatch | None:
    """Return the share of the reference's claims that a judge finds in an answer; declining makes none."""
    claims = [claim.text for claim in reading.reference_claims]
    if not claims:
        return None
    if reading.answer_class.kind != "answered":
        return TurnMatch(0.0, (), tuple(claims))
    verdicts = reading.reference_by_answer
    said = [verdict.claim.text for verdict in verdicts if verdict.is_supported]
    unsaid = [verdict.claim.text for verdict in verdicts if not verdict.is_supported]
    return TurnMatch(len(said) / len(verdicts), tuple(said), tuple(unsaid))
