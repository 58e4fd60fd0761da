"""The verdict on one answer: its state, who decided it, and why; and the one count of all answers.

Every answer, or turn of a conversation that expects something, has exactly one *state*. States fall into
four *grades*, and only grades are counted. The first line of :func:`decide` that applies decides.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.records.responses import (
    NOT_TOLD_BY_TURN,
    RECORDED,
    RETRIEVAL,
    TURNS,
    AnsweredTurn,
    Response,
    answered_turns,
    expected_turns,
    is_conversation,
)
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import (
    REFERENCE_HASH,
    Refusal,
    Sample,
    asked_until,
    question_key,
)
from rag_evaluation_framework.records.scores import Blame, Score

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.answer_evidence import AnswerEvidence
    from rag_evaluation_framework.judging.reference_words import WordFinding

State = Literal[
    "correct",
    "correct_refusal",
    "partly_correct",
    "wrong",
    "unsupported",
    "wrong_refusal",
    "missed_refusal",
    "no_answer",
    "not_judged",
]
STATES: tuple[State, ...] = get_args(State)
Grade = Literal["correct", "partly_correct", "wrong", "not_judged"]
GRADES: tuple[Grade, ...] = get_args(Grade)
"""The grades; the share of each is a metric of every run."""
CORRECT, PARTLY_CORRECT, WRONG, NOT_JUDGED = GRADES
Decider = Literal["person", "check", "metric", "judge", "local_model", "words", "request"]
RULE = 1
"""The version of the decision table; verdicts of another one are decided again."""

_GRADES: Mapping[State, Grade] = {
    "correct": "correct",
    "correct_refusal": "correct",
    "partly_correct": "partly_correct",
    "not_judged": "not_judged",
}
_RANKS: Mapping[Grade, float] = {"correct": 1.0, "partly_correct": 0.5, "wrong": 0.0}
_WORST_FIRST: tuple[State, ...] = (
    "no_answer",
    "missed_refusal",
    "wrong",
    "unsupported",
    "wrong_refusal",
    "partly_correct",
    "not_judged",
    "correct",
    "correct_refusal",
)
_OF_FINDINGS: Mapping[str, State] = {
    "matches": "correct",
    "partly_matches": "partly_correct",
    "contradicts": "wrong",
}
_WITHOUT_TRUTH: tuple[Decider, ...] = ("person", "check", "metric", "request")
Flag = Literal["unsupported_text", "wrong_citation"]
OFF_TOPIC = "contains none of the expected words"
AS_EXPECTED = "refuses as expected"
CONTRADICTS = "contradicts the reference"
NO_VERDICT = "the judge gave no verdict"
LEFT_OUT = "left out by the judge budget"
NOTHING_TO_JUDGE_BY = "no reference, label or judge"
"""Reason why an answer is not judged if it has no source of truth."""
CAUSES = ("retrieval_missed", "cut_passage", "not_used", "contradicted", "wrong_citation")
"""The kinds of blame that say where an answer that is not correct went wrong."""


class AnswerVerdict(msgspec.Struct, frozen=True):
    """The state of one answer, who decided it, and why in one clause.

    ``leaning`` is what an answer that was not judged looks like. A flag never changes the grade. ``cause``
    says what went wrong where the answer is not correct. A conversation has its turns' verdicts in ``turns``,
    and the worst of them as its own.
    """

    state: State
    by: Decider | None = None
    why: str = ""
    leaning: State | None = None
    flags: tuple[Flag, ...] = ()
    cause: str | None = None
    rule: int = RULE
    turns: tuple[AnswerVerdict, ...] = ()
    to_confirm: bool = False
    """True if a label of this answer is by another reference, and so does not decide."""

    @property
    def grade(self) -> Grade:
        return _GRADES.get(self.state, "wrong")

    @property
    def rank(self) -> float | None:
        """Return the grade from 0 for wrong to 1; ``None`` if the answer was not judged."""
        return _RANKS.get(self.grade)

    @property
    def is_correct(self) -> bool:
        return self.grade == "correct"

    @property
    def is_partly_correct(self) -> bool:
        return self.grade == "partly_correct"

    @property
    def is_wrong(self) -> bool:
        return self.grade == "wrong"

    @property
    def is_judged(self) -> bool:
        return self.grade != "not_judged"

    @property
    def is_unanswered(self) -> bool:
        return self.state == "no_answer"

    @property
    def looks_wrong(self) -> bool:
        """Return True if it is wrong, or was not judged and leans to a wrong state."""
        return self.is_wrong or (self.leaning is not None and _GRADES.get(self.leaning, "wrong") == "wrong")

    @property
    def is_flagged(self) -> bool:
        """Return True if a flag stands beside an answer that is not known to be wrong."""
        return bool(self.flags) and not self.is_wrong

    @property
    def deserves_attention(self) -> bool:
        """Return True unless the answer is correct and nothing about it was flagged."""
        return not self.is_correct or self.is_flagged

    @property
    def severity(self) -> int:
        """The place of the state among all, the worst first; what looks wrong stands before its like."""
        return 2 * _WORST_FIRST.index(self.state) - self.looks_wrong

    @property
    def has_failed(self) -> bool:
        """Return True if it is wrong or partly correct."""
        return self.is_wrong or self.is_partly_correct

    @property
    def is_listed(self) -> bool:
        """Return True if reports list it: it is wrong or partly correct, looks wrong or is flagged."""
        return self.is_partly_correct or self.looks_wrong or self.is_flagged

    @property
    def answers(self) -> tuple[AnswerVerdict, ...]:
        """The verdict of every single answer: one for each turn of a conversation, else this one."""
        return self.turns or (self,)

    @property
    def name(self) -> str:
        """The state in words, with its leaning: ``not judged (looks wrong)``."""
        told = name_of_state(self.state)
        if self.leaning is None:
            return told
        return f"{told} (looks {name_of_state(_GRADES.get(self.leaning, 'wrong'))})"

    @property
    def is_settled(self) -> bool:
        """Return True if lines 1 to 5 decide every turn, so that no judge needs to be asked."""
        return all(
            each.is_judged
            and (each.by in _WITHOUT_TRUTH or each.state == "missed_refusal" or each.why == AS_EXPECTED)
            for each in self.answers
        )

    @property
    def failure_kind(self) -> str:
        """The cause of a failure where it is known, else the state."""
        return self.cause or self.state

    @property
    def needs_cause(self) -> bool:
        """Return True if the state does not show which part of the system failed."""
        told: tuple[State, ...] = ("no_answer", "missed_refusal", "unsupported")
        has_failed = self.is_partly_correct or self.looks_wrong
        return has_failed and self.state not in told and self.leaning not in told

    @property
    def is_contradiction(self) -> bool:
        """Return True if a judge found that the answer contradicts its reference."""
        return self.by == "judge" and self.why == CONTRADICTS

    def with_cause(self, blame: Blame | None) -> AnswerVerdict:
        """Return it with what blame found out about where the answer, or each of its turns, went wrong."""
        if blame is None:
            return self
        if self.turns:
            turns = zip(self.turns, blame.turns.values(), strict=False)
            is_told = len(blame.turns) == len(self.turns)
            return _of_conversation([turn.with_cause(each) for turn, each in turns]) if is_told else self
        found: tuple[Flag, ...] = ("wrong_citation",) if blame.kind == "wrong_citation" else ()
        cause = blame.kind if self.needs_cause and blame.kind in CAUSES else None
        return replace(self, cause=cause, flags=tuple(dict.fromkeys((*self.flags, *found))))

    def to_cells(self) -> dict[str, Any]:
        """Return it as the cells of a table, the grades of a conversation's turns in one of them."""
        cells = {name: getattr(self, name) for name in ("state", "by", "why", "cause")}
        return {"verdict": self.grade, **cells, "turns": ", ".join(each.grade for each in self.turns) or None}

    def to_dict(self) -> dict[str, Any]:
        """Return it as results hold it."""
        found = {name: getattr(self, name) for name in ("state", "by", "why", "leaning", "cause", "rule")}
        turns = {"turns": [each.to_dict() for each in self.turns]} if self.turns else {}
        return {
            **found,
            "flags": list(self.flags),
            **turns,
            **({"to_confirm": True} if self.to_confirm else {}),
        }


UNSTABLE = AnswerVerdict("not_judged", None, "not correct every time it was asked")
"""Stands for an asking of a question that is correct only at times."""


def name_of_state(state: str, count: int = 1) -> str:
    """Return a state in words, in the plural where there are several."""
    if state == "no_answer" and count != 1:
        return "without an answer"
    name = "unsupported claim" if state == "unsupported" else state.replace("_", " ")
    return f"{name}s" if count != 1 and name.endswith(("refusal", "claim")) else name


def state_of(decision: object) -> State | None:
    """Return the state that a deciding metric's value stands for; ``None`` if it is none."""
    if isinstance(decision, bool):
        return "correct" if decision else "wrong"
    return next((state for state in STATES if state == decision), None)


def is_correct(state: State) -> bool:
    """Return True if an answer in this state is correct."""
    return _GRADES.get(state) == "correct"


def read_verdict(written: Any) -> AnswerVerdict:
    """Return the verdict that a results document or a journal holds."""
    return msgspec.convert(written, AnswerVerdict)


Label: TypeAlias = State | Literal["disputed"]
"""The human label of an answer; ``disputed`` if two annotators disagree."""
Key = Literal["correct", "partly", "wrong"]
KEYS: tuple[Key, ...] = get_args(Key)
"""The labels that an annotator gives with one key."""


def key_of_state(state: State) -> Key | None:
    """Return the key that stands for the grade of a state; ``None`` if it is not judged."""
    return dict(zip(GRADES, KEYS, strict=False)).get(_GRADES.get(state, "wrong"))


class FoundLabel(NamedTuple):
    """The human label of an answer; ``references`` are other correct answers to the same question."""

    label: Label | None = None
    references: tuple[str, ...] = ()
    is_to_confirm: bool = False
    why: str = ""


NO_LABEL = FoundLabel()


class Labels(Protocol):
    """A source of human labels of answers."""

    def concern(self, sample: Sample) -> bool:
        """Return True if any of them is about a question that is asked in a sample."""

    def find(self, asked: tuple[str, ...], sample: Sample, answer: str) -> FoundLabel:
        """Return what they say of an answer to the last question of ``asked``."""


def label_together(states: Sequence[State]) -> Label | None:
    """Return what several annotators say of an answer, the latest last."""
    if len({_GRADES.get(state, "wrong") for state in states}) > 1:
        return "disputed"
    return states[-1] if states else None


def grade_of(label: Label) -> Grade | None:
    """Return the grade of a label; ``None`` where annotators disagree, or nothing is judged."""
    grade = None if label == "disputed" else _GRADES.get(label, "wrong")
    return None if grade == NOT_JUDGED or label == "no_answer" else grade


def is_reference(label: Label | None) -> bool:
    """Return True if an answer with this label is a further reference for its question."""
    return label == CORRECT


def state_of_key(key: Key, sample: Sample, answer: str) -> State:
    """Return the state that a key gives an answer: a refusal where one is expected or should not be."""
    from rag_evaluation_framework.judging.answer_evidence import AnswerEvidence

    if key == "partly":
        return "partly_correct"
    evidence = AnswerEvidence(sample, Response(text=answer), ())
    if evidence.expects_refusal:
        return "correct_refusal" if key == "correct" else "missed_refusal"
    if key == "correct":
        return "correct"
    return "wrong_refusal" if evidence.refuses and evidence.states_nothing_else else "wrong"


def decide(
    sample: Sample,
    response: Response,
    scores: Iterable[Score] = (),
    label: Label | None = None,
    checks: Sequence[tuple[str, bool | None]] | None = None,
    *,
    turn: AnsweredTurn | None = None,
    labeled: Sequence[str] = (),
) -> AnswerVerdict:
    """Return the verdict on one answer, or on one ``turn`` of a conversation given as a sample of its own.

    ``labeled`` are other answers to the question that people labeled correct, ``checks`` names of checks and
    whether each holds, in place of the sample's own. The docs have the decision table
    (docs/explanation/verdicts.md); the numbers of its lines stand beside the code.
    """
    from rag_evaluation_framework.judging.answer_evidence import AnswerEvidence

    if response.failure is not None:  # line 1
        return AnswerVerdict("no_answer", "request", response.failure.kind)
    if response.is_empty:
        return AnswerVerdict("no_answer", "request", "the answer is empty")
    if label == "disputed":  # line 2
        return AnswerVerdict("not_judged", "person", "annotators disagree")
    if label is not None:
        return AnswerVerdict(label, "person", "labeled")
    evidence = AnswerEvidence(sample, response, scores, turn, labeled)
    flags: tuple[Flag, ...] = ("unsupported_text",) if evidence.is_flagged_by_words else ()
    if checks is None and sample.checks:
        from rag_evaluation_framework.records.checks import judge_checks  # few samples have any

        checks = judge_checks(sample.checks, response.text or "")
    checks = checks or ()
    if failed := [name for name, holds in checks if holds is False]:  # line 3
        return AnswerVerdict("wrong", "check", f"fails {', '.join(failed)}", flags=flags)
    if unfinished := [name for name, holds in checks if holds is None]:
        return AnswerVerdict("not_judged", "check", f"ran out of time: {', '.join(unfinished)}", flags=flags)
    found = _decide_by_own_metrics(evidence.own_decisions) or _decide_expected_refusal(evidence)
    if found is None and checks and not evidence.has_truth:
        found = AnswerVerdict("correct", "check", f"passes {counted(len(checks), 'check')}")
    if found is None and evidence.is_judge_silent(evidence.JUDGED_METRICS):  # line 6
        found = AnswerVerdict("not_judged", "judge", LEFT_OUT if evidence.is_left_out else NO_VERDICT)
    if found is None:
        found = _decide_by_judge_or_words(evidence, has_checks=bool(checks))
        if evidence.is_unsupported_by_judge and not found.is_wrong:  # line 12
            found = AnswerVerdict("unsupported", "judge", "makes a claim that no retrieved passage supports")
    return replace(found, flags=flags) if flags else found


def _decide_by_own_metrics(decisions: Mapping[str, State | None]) -> AnswerVerdict | None:
    """Line 4: one wrong is wrong, all correct is correct, else not judged."""
    if not decisions:
        return None
    names = ", ".join(decisions)
    states: list[State] = ["not_judged" if state is None else state for state in decisions.values()]
    worst = min(states, key=_WORST_FIRST.index)
    if _GRADES.get(worst, "wrong") == "wrong" or len({_GRADES.get(state) for state in states}) == 1:
        return AnswerVerdict(worst, "metric", names)
    return AnswerVerdict("not_judged", "metric", f"{names}: verdicts differ")


def _decide_expected_refusal(evidence: AnswerEvidence) -> AnswerVerdict | None:
    """Line 5."""
    if not evidence.expects_refusal:
        return None
    if evidence.contains_expected_refusal:
        return AnswerVerdict("correct_refusal", "check", "contains the expected refusal")
    if evidence.is_judge_silent(evidence.REFUSAL_METRICS):
        return AnswerVerdict("not_judged", "judge", LEFT_OUT if evidence.is_left_out else NO_VERDICT)
    found = evidence.refusal
    if found.kind == "refuses":
        return AnswerVerdict("correct_refusal", found.by, AS_EXPECTED)
    if found.kind == "answers":
        return AnswerVerdict("missed_refusal", found.by, "answers a question that it should refuse")
    return AnswerVerdict("not_judged", found.by, found.why, leaning="missed_refusal")


def _decide_by_judge_or_words(evidence: AnswerEvidence, *, has_checks: bool) -> AnswerVerdict:
    """Lines 7 to 14."""
    if not evidence.is_no_answer and (claims := evidence.judged_claims) is not None:  # line 7
        return _decide_by_claims(*claims)
    if not evidence.is_no_answer and (modeled := evidence.modeled_claims) is not None:  # line 8
        total, stated, absent, denied = modeled
        if denied or stated + absent == total:
            return _decide_by_claims(total, stated, denied, by="local_model")
    if evidence.is_no_answer and (found := _decide_refusal(evidence, has_checks)) is not None:  # line 9
        return found
    if language := evidence.unmeasured_language:
        return AnswerVerdict("not_judged", "words", f"word overlap was not measured on {language}")
    by_key = evidence.key  # line 10
    if by_key is not None and (by_key.kind in _OF_FINDINGS or not evidence.references):
        return _of_finding(by_key)
    if evidence.references:  # line 11
        by_words = evidence.words
        return _of_finding(by_words if by_key is None or by_words.kind in _OF_FINDINGS else by_key)
    if evidence.compares_contexts:  # line 13
        return AnswerVerdict("not_judged", "words", "only its retrieved passages could be compared")
    return AnswerVerdict("not_judged", None, NOTHING_TO_JUDGE_BY)  # line 14


def _decide_refusal(evidence: AnswerEvidence, has_checks: bool) -> AnswerVerdict | None:
    """Line 9: an answer that refuses, doesn't know or asks back where an answer is expected."""
    by = evidence.class_by
    if evidence.reference_refuses and evidence.refuses:
        return AnswerVerdict("correct_refusal", by, "refuses as its reference does")
    if not evidence.has_truth and not has_checks:
        return AnswerVerdict("not_judged", None, NOTHING_TO_JUDGE_BY)
    if not evidence.refuses:
        return AnswerVerdict("not_judged", by, "asks back")
    if evidence.states_reference:
        return AnswerVerdict("not_judged", by, "refuses but states the expected answer", leaning="correct")
    if evidence.states_nothing_else:
        return AnswerVerdict("wrong_refusal", by, "refuses although an answer is expected")
    return None


def _decide_by_claims(total: int, stated: int, contradicted: int, *, by: Decider = "judge") -> AnswerVerdict:
    """Lines 7 and 8: verdicts on the claims of the reference; additions do not count here."""
    if contradicted:
        return AnswerVerdict("wrong", by, CONTRADICTS)
    state: State = "correct" if stated == total else "partly_correct" if stated else "wrong"
    return AnswerVerdict(state, by, f"states {stated} of {total} claims of the reference")


def _of_finding(found: WordFinding) -> AnswerVerdict:
    if (state := _OF_FINDINGS.get(found.kind)) is not None:
        return AnswerVerdict(state, "words", found.why)
    leaning = None if found.leaning is None else _OF_FINDINGS[found.leaning]
    why = OFF_TOPIC if leaning == "wrong" and not found.share else found.why
    return AnswerVerdict("not_judged", "words", why, leaning=leaning)


def decide_result(sample: Sample, result: SampleResult, labels: Labels | None = None) -> AnswerVerdict | None:
    """Return the verdict on an answer, turn by turn; ``None`` where only retrieval is recorded."""
    response = result.response
    is_recorded_retrieval = response.metadata.get(RECORDED) == RETRIEVAL
    if response.failure is None and response.text is None and (is_recorded_retrieval or response.hits):
        return None
    if not is_conversation(sample):
        return _decide_labeled(sample, asked_until(sample), response, result.scores, labels)
    expected, answered = expected_turns(sample), answered_turns(sample, response)
    if answered is None:
        return AnswerVerdict("not_judged", None, NOT_TOLD_BY_TURN)
    by_number = {turn.number: turn for turn in answered}
    kind = "no answer in this turn" if response.failure is None else response.failure.kind
    missing = AnswerVerdict("no_answer", "request", kind)
    return _of_conversation(
        [
            _decide_turn(sample, result, by_number[number], labels) if number in by_number else missing
            for number in expected
        ]
    )


def verdict_as_read(
    sample: Sample,
    result: SampleResult,
    known: AnswerVerdict | None,
    labels: Labels | None,
    *,
    is_whole: bool = True,
) -> AnswerVerdict | None:
    """Return the verdict on an answer as it is read: the ``known`` one, unless labels decide another.

    What is not known ``whole`` was decided by more than what is left of it: only labels of that answer
    decide, and what words find in answers that are labeled correct.
    """
    if labels is None or not labels.concern(sample):
        is_fresh = known is not None and (known.rule == RULE or not is_whole)
        return known if is_fresh else decide_result(sample, result)
    decided = decide_result(sample, result, labels)
    if is_whole or known is None or decided is None or decided.to_confirm:
        return decided
    is_by_person = any(each.by == "person" for each in decided.answers)
    is_by_words = known.by in ("words", None) and decided.is_judged
    return decided if is_by_person or is_by_words else known


def _decide_turn(
    sample: Sample, result: SampleResult, turn: AnsweredTurn, labels: Labels | None
) -> AnswerVerdict:
    scores = filter(None, (_score_of_turn(score, turn.number) for score in result.scores))
    response, asked = turn.as_response(result.response), asked_until(sample, turn.number)
    return _decide_labeled(turn.as_sample(sample), asked, response, scores, labels, turn)


def _decide_labeled(
    sample: Sample,
    asked: tuple[str, ...],
    response: Response,
    scores: Iterable[Score],
    labels: Labels | None,
    turn: AnsweredTurn | None = None,
) -> AnswerVerdict:
    """Decide by what people say of the answer, where there is something."""
    found = NO_LABEL if labels is None else labels.find(asked, sample, response.text or "")
    verdict = decide(sample, response, scores, found.label, turn=turn, labeled=found.references)
    if found.label is not None and verdict.by == "person":
        verdict = replace(verdict, why=found.why)
    return replace(verdict, to_confirm=True) if found.is_to_confirm else verdict


def _score_of_turn(score: Score, number: int) -> Score | None:
    """Return what a metric that scores turn by turn says of one of them; what failed, failed for all."""
    turns = score.details.get(TURNS)
    for turn in turns if isinstance(turns, list) else ():
        if turn["turn"] == number:
            return replace(score, status="scored", value=turn["value"], reason=None, details=turn)
    return score if score.status == "failed" or score.is_undrawn else None


def _of_conversation(turns: Sequence[AnswerVerdict]) -> AnswerVerdict:
    worst = min(turns, key=lambda turn: _WORST_FIRST.index(turn.state))
    flags = tuple(dict.fromkeys(flag for turn in turns for flag in turn.flags))
    return replace(worst, flags=flags, turns=tuple(turns))


class AnswerCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The one count of answers, by grade: every report shows these numbers.

    ``questions`` is how many were asked, ``conversations`` how many of them had several turns, ``unstable``
    how many have answers of different grades.
    """

    states: Mapping[State, int] = {}
    by: Mapping[str, int] = {}
    kinds: Mapping[str, int] = {}
    """Number of wrong answers by kind of failure: the cause, or the state if no cause is known."""
    looks_wrong: int = 0
    """Number of answers that were not judged and look wrong."""
    off_topic: int = 0
    without_truth: int = 0
    """Number of answers without anything to judge them by."""
    without_verdict: int = 0
    """Number of answers that a judge was asked about without giving a verdict."""
    left_out: int = 0
    """Number of answers beyond the judge budget."""
    flagged: int = 0
    flags: Mapping[Flag, int] = {}
    """Number of answers with each flag, of those not known to be wrong."""
    listed: int = 0
    """Number of answers that are wrong, partly correct, look wrong or are flagged."""
    refusals_expected: int = 0
    """Number of answers that should refuse, judged or not."""
    to_confirm: int = 0
    """Number of answers with a label by another reference."""
    questions: int = 0
    conversations: int = 0
    unstable: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return sum(self.states.values())

    @property
    def correct(self) -> int:
        return self.count("correct")

    @property
    def partly_correct(self) -> int:
        return self.count("partly_correct")

    @property
    def wrong(self) -> int:
        return self.count("wrong")

    @property
    def not_judged(self) -> int:
        return self.count("not_judged")

    @property
    def judged(self) -> int:
        return self.total - self.not_judged

    @property
    def asked_of_judge(self) -> int:
        """Return the number of answers that a judge was asked to decide."""
        return self.by.get("judge", 0) - self.left_out

    @property
    def failed(self) -> int:
        """The number of answers that are wrong or partly correct."""
        return self.wrong + self.partly_correct

    @property
    def refusals(self) -> dict[str, int]:
        """Return the numbers of correct, wrong and missed refusals."""
        states: tuple[State, ...] = ("correct_refusal", "wrong_refusal", "missed_refusal")
        return {state.removesuffix("_refusal"): self.states.get(state, 0) for state in states}

    @property
    def missed_refusals(self) -> int:
        return self.states.get("missed_refusal", 0)

    @property
    def unanswered(self) -> int:
        return self.states.get("no_answer", 0)

    def count(self, grade: Grade) -> int:
        """Return the number of answers of a grade."""
        return sum(count for state, count in self.states.items() if _GRADES.get(state, "wrong") == grade)

    def __str__(self) -> str:
        return ", ".join(f"{self.count(grade):,} {name_of_state(grade)}" for grade in GRADES)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as results and JSON reports hold them."""
        return {
            **{grade: self.count(grade) for grade in GRADES},
            **{name: getattr(self, name) for name in ("flagged", "total", "questions")},
            "states": {state: self.states[state] for state in STATES if state in self.states},
            "kinds": dict(self.kinds),
            "by": dict(self.by),
            "unstable": list(self.unstable),
            **({"to_confirm": self.to_confirm} if self.to_confirm else {}),
            "rule": RULE,
        }

    def with_unstable(self, names: Iterable[str]) -> AnswerCounts:
        """Return the counts with further questions that are unstable."""
        return replace(self, unstable=tuple(dict.fromkeys((*self.unstable, *names))))

    @classmethod
    def of(cls, rows: Iterable[Any]) -> AnswerCounts:
        """Count the answers of rows that have an ``id``, a ``sample``, a ``split`` and a ``verdict``."""
        counter = AnswerCounter()
        for row in rows:
            counter.add(row)
        return counter.counts()

    @classmethod
    def weighted(cls, counts: Iterable[tuple[AnswerCounts, int]]) -> AnswerCounts:
        """Return the counts of so many answers of each sort as those of one run."""
        summed: dict[str, Counter[Any]] = {name: Counter() for name in ("states", "by", "kinds", "flags")}
        more: Counter[str] = Counter()
        for each, number in counts:
            for name, total in summed.items() if number else ():
                total.update({key: number * count for key, count in getattr(each, name).items()})
            more.update({name: number * getattr(each, name) for name in _ADDED})
        found: dict[str, Any] = {**summed, **more}
        return cls(**found)

    @classmethod
    def together(cls, counts: Iterable[AnswerCounts]) -> AnswerCounts:
        """Return the counts of several runs as those of one."""
        counter = AnswerCounter()
        for each in counts:
            counter.take(each)
        return counter.counts()


_ADDED = tuple(name for name, kind in AnswerCounts.__annotations__.items() if kind == "int")
_TURNS = len(GRADES)
_REPEAT = re.compile(r"~[0-9]+\Z")


def original_sample_id(sample_id: str) -> str:
    """Return the id of the sample that was asked again under this one."""
    return _REPEAT.sub("", sample_id)


def _question_of(row: Any) -> int:
    """Return a number that the repeats of a question share: what was asked, by its key, and is expected."""
    sample = row.sample
    if sample is None or not sample.question.strip():
        return hash(original_sample_id(row.id))
    expected = [(each.reference, each.expectation, each.checks) for each in (sample, *sample.turns)]
    hashed = sample.extra.get(REFERENCE_HASH)
    return hash((row.split, question_key(sample), repr((expected, sample.references, hashed))))


def _refusals_expected(sample: Sample | None, verdict: AnswerVerdict) -> int:
    """Return how many answers to a sample should refuse; each that is missed should."""
    expecting = expected_turns(sample).values() if sample and verdict.turns else [sample]
    expected = sum(isinstance(getattr(each, "expectation", None), Refusal) for each in expecting)
    return max(expected, sum(each.state == "missed_refusal" for each in verdict.answers))


class AnswerCounter:
    """Takes the verdicts of a run one by one; of each it keeps the name, what was asked and the grade."""

    def __init__(self) -> None:
        self._states, self._flags = Counter[State](), Counter[Flag]()
        self._by, self._kinds, self._more = Counter[str](), Counter[str](), Counter[str]()
        self._names, self._asked, self._grades = list[str](), array("q"), array("b")
        self._unstable: dict[str, None] = {}

    def add(self, row: Any) -> None:
        """Count the answers of one row; one that has no verdict only retrieves."""
        if (verdict := row.verdict) is None:
            return
        self._names.append(row.id)
        self._asked.append(_question_of(row))
        self._grades.append(GRADES.index(verdict.grade) + _TURNS * bool(verdict.turns))
        self._more["refusals_expected"] += _refusals_expected(row.sample, verdict)
        for each in verdict.answers:
            self._states[each.state] += 1
            self._by[each.by or "nothing"] += 1
            if each.is_wrong:
                self._kinds[each.failure_kind] += 1
            else:
                self._more["looks_wrong"] += each.looks_wrong
            self._more["flagged"] += each.is_flagged
            self._more["listed"] += each.is_listed
            self._flags.update(each.flags if each.is_flagged else ())
            self._more["off_topic"] += each.why == OFF_TOPIC
            self._more["without_truth"] += each.why == NOTHING_TO_JUDGE_BY
            self._more["without_verdict"] += each.why == NO_VERDICT
            self._more["left_out"] += each.why == LEFT_OUT
            self._more["to_confirm"] += each.to_confirm

    def take(self, counts: AnswerCounts) -> None:
        """Count what was counted elsewhere, of other questions."""
        for name in ("states", "by", "kinds", "flags"):
            getattr(self, f"_{name}").update(getattr(counts, name))
        self._more.update({name: getattr(counts, name) for name in _ADDED})
        self._unstable |= dict.fromkeys(counts.unstable)

    def counts(self) -> AnswerCounts:
        """Return what was counted."""
        import numpy as np  # takes long

        grades, more = np.asarray(self._grades), Counter(self._more)
        _, first, question = np.unique(self._asked, return_index=True, return_inverse=True)
        more.update(questions=len(first), conversations=int((grades[first] >= _TURNS).sum()))
        differing = np.unique(first[question[grades != grades[first][question]]])
        return AnswerCounts(
            states=dict(self._states),
            by=dict(self._by),
            kinds=dict(self._kinds.most_common()),
            flags=dict(self._flags),
            unstable=(*self._unstable, *[original_sample_id(self._names[each]) for each in differing]),
            **more,
        )
