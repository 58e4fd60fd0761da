"""Scores answers by what golden sets expect: names, relations, steps, turns of a conversation.

The parts of an answer that decline or ask back tell nothing, whatever words they have (:mod:`.told_answers`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from rag_evaluation_framework.evaluation.conversation_turns import (
    NOT_TOLD_BY_TURN,
    TURNS,
    AnsweredTurn,
    answered_turns,
    is_conversation,
    no_answer_in_turn,
)
from rag_evaluation_framework.evaluation.scorers.answer_verdicts import NOT_ANSWERED
from rag_evaluation_framework.evaluation.scorers.expected_answers import class_by_patterns, may_be_declined
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods
from rag_evaluation_framework.evaluation.scorers.told_answers import told_in
from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.judging.milestones import first_tellings, golden_places, telling_places
from rag_evaluation_framework.judging.relations import Direction, read_relation
from rag_evaluation_framework.judging.turn_matching import match_reference
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.safety import DECLINED
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Entities, Milestones, Relation, Sample
from rag_evaluation_framework.records.scores import Score

_DIRECTIONS: Mapping[Direction, float] = {"right": 1.0, "mutual": 1.0, "not told": 0.5, "wrong": 0.0}


class ExpectationScorer(DeclaredMetricScorer):
    """A scorer of one kind of expectation, or a ``part`` of it; samples without it are skipped."""

    kind: type[Entities | Relation | Milestones]
    part: str
    unexpected: str

    def _inapplicable(self, sample: Sample, response: Response) -> str | None:
        if reason := super()._inapplicable(sample, response):
            return reason
        expected = sample.expectation
        is_expected = isinstance(expected, self.kind) and bool(getattr(expected, self.part))
        return None if is_expected else self.unexpected


class ToldScorer(ExpectationScorer):
    """A scorer of what an answer tells."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score what the answer tells; the class of one that tells nothing stands in the details."""
        told = told_in(sample, response.text or "")
        score = self.told(sample, told.text)
        if told.silent is not None and score.status == "skipped":
            return self.skipped(NOT_ANSWERED[told.silent])
        return replace(score, details={**score.details, **told.details})

    @abstractmethod
    def told(self, sample: Sample, answer: str) -> Score:
        """Score an answer."""


class EntityScorer(ToldScorer):
    """Scores which of the expected names an answer has."""

    kind, part, unexpected = Entities, "names", "the sample expects no entities"

    def told(self, sample: Sample, answer: str) -> Score:
        """Score the names."""
        expected = cast("Entities", sample.expectation)
        named = names_in(answer, expected.names, question=sample.question)
        pairs = list(zip(expected.names, named, strict=True))
        details = {
            "named": [name for name, is_named in pairs if is_named],
            "missing": [name for name, is_named in pairs if not is_named],
        }
        return self.scored(self.metric(named), details)


class RelationScorer(ToldScorer):
    """Scores what an answer says of a relation."""

    kind, part, unexpected = Relation, "relation", "the sample expects no relation"

    def told(self, sample: Sample, answer: str) -> Score:
        """Score ends, relation and direction; a relation whose words are not known is skipped."""
        expected = cast("Relation", sample.expectation)
        reading = read_relation(
            answer,
            (expected.subject, expected.relation, expected.object),
            question=sample.question,
            reference=sample.reference or "",
        )
        if reading.relation is None:
            reason = f"no words are known for the relation {expected.relation!r} in the answer's language"
            return self.skipped(f"{reason}; {sum(reading.ends)} of its 2 ends are named")
        details = {
            "subject": reading.subject,
            "object": reading.object,
            "relation": reading.relation,
            "direction": reading.direction,
        }
        return self.scored(
            self.metric(reading.ends, reading.relation, _DIRECTIONS[reading.direction]), details
        )


class MilestoneScorer(ToldScorer):
    """Scores which steps an answer tells, or their order."""

    kind, part, unexpected = Milestones, "steps", "the sample expects no milestones"

    def told(self, sample: Sample, answer: str) -> Score:
        """Score the steps; an order where none is told is skipped."""
        expected = cast("Milestones", sample.expectation)
        places = first_tellings(answer, expected.steps)
        told = [step for step, place in zip(expected.steps, places, strict=True) if place is not None]
        if self.metric.metric.name == "milestone_order" and not told:
            return self.skipped("the answer tells no milestone")
        missing = [step for step in expected.steps if step not in told]
        details = {"told": told, "missing": missing, "places": places}
        return self.scored(self.metric(places), details)


class HopScorer(ExpectationScorer):
    """Scores how many of the places were retrieved that must be put together."""

    kind, part, unexpected = Milestones, "hops", "the sample has no context_hops"
    counts_nothing_retrieved = True

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the contexts."""
        expected = cast("Milestones", sample.expectation)
        if sample.reference_contexts:
            places, by = golden_places(response.contexts, sample.reference_contexts), "golden snippets"
        else:
            places, by = telling_places(response.contexts, expected.steps), "contexts that tell a milestone"
        details = {"places": places, "hops": expected.hops, "counted": by}
        return self.scored(self.metric(places, expected.hops), details)


class TurnScorer(DeclaredMetricScorer):
    """Scores a conversation turn by turn; with ``only_with_needs``, the turns that need earlier ones."""

    scores_turns = True

    def __init__(self, metric: BoundMetric, *, only_with_needs: bool) -> None:
        super().__init__(metric)
        self._only_with_needs = only_with_needs

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the conversation; turns with an empty answer are reported one by one."""
        return self.measured(sample, response)

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score every turn that expects something; one without an answer fails the conversation.

        The details still have the values of the other turns.
        """
        if not is_conversation(sample):
            return self.skipped("the sample expects no turns")
        turns = answered_turns(sample, response)
        if turns is None:
            return self.skipped(NOT_TOLD_BY_TURN)
        wanted = [turn for turn in turns if turn.expected.needs or not self._only_with_needs]
        scored = list(_scored_turns(sample, [turn for turn in wanted if turn.answer.strip()]))
        details = {TURNS: scored} if scored else {}
        if (reason := no_answer_in_turn(response)) is not None:
            return self.failed(reason, details)
        if not wanted:
            return self.skipped("no turn needs the turns before it")
        if empty := [turn.number for turn in wanted if not turn.answer.strip()]:
            return self.failed(f"the answer is empty in turn {', '.join(map(str, empty))}", details)
        if not scored:
            return self.skipped("no turn has a reference with words")
        return self.scored(self.metric([turn["value"] for turn in scored]), details)


def _scored_turns(sample: Sample, turns: list[AnsweredTurn]) -> Iterator[dict[str, Any]]:
    for turn in turns:
        asked = turn.as_sample(sample)
        kind = class_by_patterns(turn.answer, turn.question).kind
        declined = {"turn": turn.number, "value": float(kind in DECLINED), "class": kind}
        if turn.expected.expectation is not None:
            yield {**declined, "expects": "refusal"}
            continue
        if kind in DECLINED and may_be_declined(asked):
            yield {**declined, "reason": "its reference declines too"}
            continue
        reference = turn.expected.reference or ""
        told = told_in(asked, turn.answer)
        match = match_reference(told.text, reference, turn.question, before=turn.before)
        if match is not None:
            found = {"said": list(match.said), "unsaid": list(match.unsaid)}
            needs = list(turn.expected.needs)
            yield {"turn": turn.number, "value": match.value, **found, "needs": needs, **told.details}


def golden_scorer(metric: BoundMetric, methods: ScoringMethods) -> DeclaredMetricScorer:
    """Return the scorer of a metric of golden sets; all of them are lexical."""
    match metric.metric.name:
        case "entity_coverage":
            return EntityScorer(metric)
        case "relation_match":
            return RelationScorer(metric)
        case "hop_coverage":
            return HopScorer(metric)
        case "milestone_recall" | "milestone_order":
            return MilestoneScorer(metric)
        case name:
            return TurnScorer(metric, only_with_needs=name == "context_turn_correctness")
