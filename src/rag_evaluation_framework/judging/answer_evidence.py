"""The evidence of each source on one answer: a judge, the author's key, and the words of the references.

Nothing here decides whether an answer is correct: :mod:`.verdict` does, by its decision table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from rag_evaluation_framework.errors import described
from rag_evaluation_framework.judging.answer_classes import besides
from rag_evaluation_framework.judging.answer_verdicts import (
    class_of_answer,
    expects_refusal,
    found_once,
    is_the_refusal,
    may_be_declined,
    readings_of,
    told_besides_refusing,
    told_in,
    unmeasured_language,
)
from rag_evaluation_framework.judging.expected_points import (
    ExpectedPoints,
    Point,
    expected_points,
    statements_of,
)
from rag_evaluation_framework.judging.mentions import without_denial
from rag_evaluation_framework.judging.reference_words import (
    WordFinding,
    compare_with_references,
    exceeds_limits,
)
from rag_evaluation_framework.metrics.declaration import DECIDES, without_parameters
from rag_evaluation_framework.metrics.safety import DECLINED, OVER_REFUSAL, REFUSAL_RECALL, REFUSALS
from rag_evaluation_framework.records.responses import AnsweredTurn, Response
from rag_evaluation_framework.records.samples import Entities, Milestones, Relation, Sample
from rag_evaluation_framework.records.scores import (
    BAND,
    CLASS_BY,
    NOT_ANSWERED,
    PROBABILITY_UNSUPPORTED,
    Score,
)
from rag_evaluation_framework.text.normalisation import folded_with_places
from rag_evaluation_framework.text.numbers import quantities
from rag_evaluation_framework.text.tokens import content_keys

_JUDGE, LOCAL_MODEL = "judge:", "entailment:"
_OF_CONTEXTS = ("faithfulness", "hallucination")
_CORRECTNESS = "answer_correctness"
_OF_REFERENCE = ("claim_recall", _CORRECTNESS)
_OF_TURNS = "turn_correctness"
REFERENCE_CLAIMS = "reference_claims"
"""The key under which a judged score has the verdicts on the claims of the reference beside others."""
# "Alice's mother is Bob", 他的老师: the direction is said, not only suggested by the order of words.
_DIRECTED = re.compile(r"\bof\b|'s\b|的")
# Numbers that count no thing: those of the items of a list, 第一题.
_COUNTED_UP = re.compile(r"\A\W*[0-9]{1,2}(?:[.)、]\s*|\Z)|第[一二三四五六七八九十](?!步)")
_MATCHES = ("matches", "partly_matches")
# In a refusal of more characters than are brief, less than half may be one more reason.
_LONG, _FEWEST_REPEATED, _BRIEF = 60, 3, 400
# From this probability on, unsupported text is more likely than not.
_MAY_BE = 0.5


class Refusing(NamedTuple):
    """The reading of an answer to a question that expects a refusal, and the source of that reading."""

    kind: Literal["refuses", "answers", "unclear"]
    by: Literal["judge", "words"]
    why: str = ""


class AnswerEvidence:
    """The evidence on one answer; each source is asked when it is first needed.

    ``turn`` is that of a conversation whose turn the sample is; ``labeled`` are other answers to its question
    that people labeled correct.
    """

    REFUSAL_METRICS: ClassVar = (REFUSAL_RECALL,)
    JUDGED_METRICS: ClassVar[tuple[str, ...]] = (*_OF_CONTEXTS, *_OF_REFERENCE, _OF_TURNS, *REFUSALS)

    def __init__(
        self,
        sample: Sample,
        response: Response,
        scores: Iterable[Score],
        turn: AnsweredTurn | None = None,
        labeled: Sequence[str] = (),
    ) -> None:
        self._sample, self._response, self._turn = sample, response, turn
        self._answer = response.text or ""
        self._scores = {without_parameters(each.metric): each for each in scores}
        self.readings = [each for each in readings_of(sample) if each.strip()]
        self.references = [*self.readings, *labeled]
        self.has_truth = bool(self.readings) or self._has_key

    @property
    def _has_key(self) -> bool:
        return isinstance(self._sample.expectation, Entities | Milestones | Relation)

    @property
    def own_decisions(self) -> Mapping[str, Any]:
        """Return the value of each deciding metric of the user; ``None`` if skipped or failed."""
        own = {name: score for name, score in self._scores.items() if DECIDES in score.details}
        return {name: None if s.value is None else s.details[DECIDES] for name, s in own.items()}

    @property
    def expects_refusal(self) -> bool:
        return expects_refusal(self._sample)

    @property
    def contains_expected_refusal(self) -> bool:
        return is_the_refusal(self._sample, self._answer)

    @property
    def refusal(self) -> Refusing:
        """Return the reading of the answer as a refusal, by a judge if any, else by words."""
        if (judged := self._judged_class(REFUSAL_RECALL)) is not None:
            if judged in DECLINED:
                return Refusing("refuses", "judge")
            return Refusing("unclear" if judged == "asks_back" else "answers", "judge", "asks back")
        kind = class_of_answer(self._sample, self._answer).kind
        complies = besides("complies").search(folded_with_places(self._answer)[0])
        if kind in DECLINED and not complies:
            return self._refusing_by_words
        if kind in NOT_ANSWERED:
            why = "begins by complying, then refuses" if kind in DECLINED else "asks back"
            return Refusing("unclear", "words", why)
        if complies or self._plainly_complies or self._answers_without_support:
            return Refusing("answers", "words")
        return Refusing("unclear", "words", "unclear whether it refuses")

    @property
    def _refusing_by_words(self) -> Refusing:
        """Return the reading of an answer with a refusal, by the amount of other statements in it."""
        rest = list(told_besides_refusing(self._sample, self._answer))
        is_put = any(goes_on or self._has_new_number(part) for part, goes_on in rest)
        is_much = bool(rest) and len(self._answer) <= max(_BRIEF, 2 * sum(len(part) for part, _ in rest))
        if not (is_put or is_much):
            return Refusing("refuses", "words")
        return Refusing("answers" if is_put and is_much else "unclear", "words", "refuses, and says more")

    @property
    def _answers_without_support(self) -> bool:
        """Return True if it answers after it has said that the documents do not."""
        folded = folded_with_places(self._answer)[0]
        contrast = besides("contrast").search(folded)
        if contrast is None or class_of_answer(self._sample, folded[: contrast.start()]).kind not in DECLINED:
            return False
        return any(goes_on for _, goes_on in told_besides_refusing(self._sample, self._answer))

    def _has_new_number(self, text: str) -> bool:
        """Return True if a text has a number that the question has not; those of a list are none."""
        asked = {value for each in quantities(self._sample.question) for value in each.values}
        numbers = (each for each in quantities(_COUNTED_UP.sub("", text)) if not each.is_vague)
        return any(asked.isdisjoint(each.values) for each in numbers)

    @property
    def _plainly_complies(self) -> bool:
        """Return True if no word of it may refuse, and it is long, gives a number, or repeats a context."""
        if besides("may_refuse").search(folded_with_places(self._answer)[0]):
            return False
        parts = told_besides_refusing(self._sample, self._answer)
        if len(self._answer.split()) >= _LONG or any(self._has_new_number(part) for part, _ in parts):
            return True
        words = set(content_keys(self._answer))
        contexts = map(set, map(content_keys, self._response.contexts))
        return len(words) >= _FEWEST_REPEATED and any(words <= each for each in contexts)

    @found_once
    def _class(self) -> tuple[str, Literal["judge", "words"]]:
        if (judged := self._judged_class(OVER_REFUSAL)) is not None:
            return judged, "judge"
        return class_of_answer(self._sample, self._answer).kind, "words"

    @property
    def class_by(self) -> Literal["judge", "words"]:
        """Return the source of the answer's class."""
        return self._class[1]

    @property
    def is_no_answer(self) -> bool:
        """Return True if the answer refuses, doesn't know or asks back."""
        return self._class[0] in NOT_ANSWERED

    @property
    def refuses(self) -> bool:
        return self._class[0] in DECLINED

    @property
    def states_reference(self) -> bool:
        """Return True if the parts of a refusal that do not refuse state the reference."""
        rest = told_in(self._sample, self._answer).text
        if not rest or not self.readings:
            return False
        return compare_with_references(rest, self.readings, self._sample.question).kind == "matches"

    @property
    def states_nothing_else(self) -> bool:
        """Return True if no part of a refusal says anything else."""
        return self.class_by == "judge" or told_in(self._sample, self._answer).silent is not None

    @property
    def reference_refuses(self) -> bool:
        """Return True if the reference sounds like a refusal, and the sample does not expect one."""
        return may_be_declined(self._sample)

    @property
    def judged_claims(self) -> tuple[int, int, int] | None:
        """Return the number of claims of the reference, by a judge.

        The other numbers are of those that the answer states and contradicts.
        """
        names = _OF_REFERENCE if self._turn is None else (_OF_TURNS,)
        for score in self._judged(*names):
            if self._turn is not None:
                stated, missing = (len(score.details.get(part, ())) for part in ("said", "unsaid"))
                if stated + missing:
                    return stated + missing, stated, 0
                continue
            is_correctness = without_parameters(score.metric) == _CORRECTNESS
            claims = score.details.get(REFERENCE_CLAIMS if is_correctness else "claims", ())
            labels = [claim["label"] for claim in claims]
            if labels:
                return len(labels), labels.count("supported"), labels.count("contradicted")
        return None

    @property
    def modeled_claims(self) -> tuple[int, int, int, int] | None:
        """Return the number of claims of the reference, by a calibrated local model.

        The other numbers are of the claims that it is sure to find stated, not stated, and contradicted.
        """
        for name in _OF_REFERENCE:
            score = self._scores.get(name)
            if score is None or score.value is None or BAND not in score.details:
                continue
            low, high = score.details[BAND]
            claims = score.details.get(REFERENCE_CLAIMS if name == _CORRECTNESS else "claims", ())
            known = [each for each in claims if "probability" in each]
            absent = [each for each in known if each["probability"] <= low]
            contradicted = sum(each["label"] == "contradicted" for each in absent)
            if claims:
                stated = sum(each["probability"] >= high for each in known if each not in absent)
                return len(claims), stated, len(absent), contradicted
        return None

    @property
    def unmeasured_language(self) -> str | None:
        return unmeasured_language(self._sample, self._answer)

    @found_once
    def key(self) -> WordFinding | None:
        """Return the finding of words on the author's key: the expected names, relation or events."""
        if not self._has_key:
            return None
        wanted: ExpectedPoints = expected_points(self._sample, self._answer, (), readings=self.readings)
        points = wanted.points
        if not points or not wanted.are_enough:
            return None
        is_relation = isinstance(self._sample.expectation, Relation)
        denied = sum(point.label == "contradicted" for point in points)
        if denied and is_relation and _DIRECTED.search(self._answer):
            return WordFinding("contradicts", "states the relation in the opposite direction")
        stated = sum(point.is_supported for point in points)
        share = stated / len(points)
        if stated < len(points):
            if name := self._find_denied(points):
                return WordFinding("contradicts", f"denies {name}", share=share)
            why = f"contains {stated} of {len(points)} {wanted.what}"
            return WordFinding("undecided", why, leaning="contradicts", share=share)
        keys = [point.text for point in points]
        excess = exceeds_limits(
            self._answer, self.readings, keys, self._sample.question, self._response.contexts
        )
        if excess is not None:
            return WordFinding("undecided", excess, leaning="matches", share=share)
        return WordFinding("matches", f"contains all {stated} {wanted.what}", share=share)

    def _find_denied(self, points: Sequence[Point]) -> str | None:
        """Return a point of the key that the answer plainly denies, if no reference has the words."""
        sample, told = self._sample, self._answer
        if isinstance(sample.expectation, Milestones):  # what has not happened yet may happen later
            told = statements_of(told)[-1].text
        for clause in without_denial(told, " ".join(point.text for point in points), sample.question):
            affirmed = expected_points(sample, clause, (), readings=self.readings).points
            for point, instead in zip(points, affirmed, strict=False):
                if instead.is_supported and not point.is_supported and self.words.kind not in _MATCHES:
                    return point.text
        return None

    @found_once
    def words(self) -> WordFinding:
        """Return the best finding of words on the references and on answers labeled correct.

        A labeled answer has more text than is expected, so a match with a part of it alone shows nothing.
        """
        question, contexts = self._sample.question, self._response.contexts
        try:
            found = compare_with_references(self._answer, self.references, question, contexts)
            if found.kind != _MATCHES[1] or len(self.references) == len(self.readings):
                return found
            alone = compare_with_references(self._answer, self.readings, question, contexts)
            doubt = WordFinding("undecided", "a part of an answer labeled correct", "matches", found.share)
            return alone if alone.kind == found.kind else doubt
        except Exception as error:  # noqa: BLE001 - one odd text must not end a run whose answers are made
            return WordFinding("undecided", f"comparing the words broke: {described(error)}")

    @property
    def compares_contexts(self) -> bool:
        """Return True if a metric held the answer against its contexts."""
        return any(score.value is not None for score in self._of_contexts)

    @property
    def is_flagged_by_words(self) -> bool:
        """Return True if words find that the answer may contain unsupported text, which changes no grade.

        The probability decides; without one, a claim that is not supported.
        """
        by_words = [each for each in self._of_contexts if not each.method.startswith((_JUDGE, LOCAL_MODEL))]
        known = [p for each in by_words if (p := each.details.get(PROBABILITY_UNSUPPORTED)) is not None]
        return max(known) >= _MAY_BE if known else any(each in by_words for each in self._unsupported)

    @property
    def is_unsupported_by_judge(self) -> bool:
        return any(each.method.startswith(_JUDGE) for each in self._unsupported)

    @property
    def _unsupported(self) -> list[Score]:
        """The scores that found a claim that the contexts do not support."""
        found = [each for each in self._of_contexts if each.value is not None]
        return [
            each
            for each in found
            if any(claim["label"] != "supported" for claim in each.details.get("claims", ()))
        ]

    @property
    def _of_contexts(self) -> list[Score]:
        return [self._scores[name] for name in _OF_CONTEXTS if name in self._scores]

    def is_judge_silent(self, metrics: Iterable[str]) -> bool:
        """Return True if a judge gave no verdict for one of these metrics, or left the answer out."""
        asked = [self._scores[name] for name in metrics if name in self._scores]
        return any(
            each.is_undrawn or (each.status == "failed" and each.method.startswith(_JUDGE)) for each in asked
        )

    @property
    def is_left_out(self) -> bool:
        """Return True if the judge budget left the answer out."""
        return any(each.is_undrawn for each in self._scores.values())

    def _judged(self, *names: str) -> Iterator[Score]:
        """Yield the scores that a judge gave for these metrics."""
        for score in (self._scores[name] for name in names if name in self._scores):
            if score.value is not None and score.method.startswith(_JUDGE):
                yield score

    def _judged_class(self, metric: str) -> str | None:
        judged = (each.details for each in self._judged(metric, _OF_TURNS) if CLASS_BY not in each.details)
        classes = (each.get("class") for each in judged)
        return next((str(each) for each in classes if each is not None), None)
