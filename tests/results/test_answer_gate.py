"""The gate on grades: what each row of its table comes to, and that nothing worse ever passes instead."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import Evaluation, Gate, InputError, Threshold, UsageError, evaluate
from rag_evaluation_framework.judging.verdict import GRADES, AnswerCounts
from rag_evaluation_framework.records.runs import RunHead, RunOutcome
from rag_evaluation_framework.reports.evaluation_blocks import headline
from rag_evaluation_framework.results.summaries import Counts, Figure
from rag_evaluation_framework.results.verdicts import read_thresholds, written_thresholds
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)

INIT = TABLES["init"]


def run_of(counts: AnswerCounts, *metrics: Figure, **more: Any) -> Evaluation:
    total = counts.total
    return Evaluation(
        kind="answers",
        head=RunHead(run_id="r", dataset_id="d"),
        metrics={each.metric: each for each in metrics},
        counts=Counts(total=total, finished=total, **more),
        outcome=RunOutcome(completed=True, interrupted=False, done=total, failed=0, remaining=0),
        answers=counts,
    )


def gate_of(limits: dict[str, Any], **more: Any) -> Gate:
    return Gate(
        thresholds=tuple(t for name, each in limits.items() for t in read_thresholds(name, each)), **more
    )


def decide(counts: AnswerCounts, limits: dict[str, Any], **more: Any) -> Evaluation:
    run = run_of(counts)
    return replace(run, verdict=gate_of(limits, **more).decide(run))


def answers(*, by_judge: int = 0, **counts: int) -> AnswerCounts:
    """Count answers by state; some of them may also be counted as what a run tells beside it."""
    beside = ("without_truth", "without_verdict", "off_topic", "left_out", "refusals_expected")
    more: dict[str, Any] = {name: counts.pop(name) for name in beside if name in counts}
    judged = {"judge": by_judge} if by_judge else {}
    return AnswerCounts(states=counts, by=judged, questions=sum(counts.values()), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "written", "read"), TABLES["limit_of_answers_is_read_as_number_or_share"])
def test_limit_of_answers_is_read_as_number_or_share(name: str, written: Any, read: str) -> None:
    if "expected" in read:
        with pytest.raises(InputError, match=f"^{re.escape(read)}$"):
            list(read_thresholds(name, written))
        return
    (threshold,) = read_thresholds(name, written)
    assert str(threshold) == read
    assert written_thresholds({"thresholds": [read]}) == (threshold,)


@pytest.mark.parametrize(
    ("states", "limits", "word", "code", "line"), TABLES["gate_on_grades_decides_as_its_table_says"]
)
def test_gate_on_grades_decides_as_its_table_says(
    states: dict[str, int], limits: dict[str, Any], word: str, code: int, line: str
) -> None:
    made = decide(answers(**states), limits)
    assert made.verdict is not None
    assert (made.verdict.word, made.verdict.exit_code) == (word, code)
    assert str(headline(made)) == line


@pytest.mark.parametrize("limit", [Threshold("correct", "<=", 0.5), Threshold("wrong", ">=", 0.1)])
def test_limit_that_worse_answers_would_meet_is_refused(limit: Threshold) -> None:
    with pytest.raises(UsageError, match="expected >= for correct and <= for other grades"):
        Gate(thresholds=(limit,))


def test_undecided_passes_where_the_gate_says_so() -> None:
    made = decide(answers(correct=20, not_judged=10), INIT, on_undecided="pass")
    assert made.verdict is not None
    assert (made.verdict.word, made.verdict.exit_code, made.verdict.result) == ("undecided", 0, "PASS")


def test_thresholds_met_names_wrong_answers_that_none_covers() -> None:
    met = Figure("m", 0.9, None, 30, 0, 0, higher_is_better=True, method="test")
    bound = Gate(thresholds=(Threshold("m", ">=", 0.8),))
    for counts, word, line in (
        (
            answers(correct=15, wrong=15),
            *("thresholds met", "THRESHOLDS MET: 15 of 30 answers are wrong; no threshold covers them."),
        ),
        (
            answers(not_judged=30),
            *("passed", "✓ PASSED: every threshold is met; the correctness of 30 answers was not judged."),
        ),
        (answers(correct=30), "passed", "✓ PASSED: all 30 answers are correct."),
    ):
        run = run_of(counts, met)
        made = replace(run, verdict=bound.decide(run))
        assert made.verdict is not None
        assert (made.verdict.word, made.verdict.exit_code, made.verdict.result) == (word, 0, "PASS")
        assert str(headline(made)) == line
        if word == "thresholds met":
            assert headline(made).lines == (
                "To fail on wrong answers, add `wrong: {max: 0}` to the thresholds.",
            )


def test_missed_mean_is_said_before_what_is_known_of_answers() -> None:
    low = Figure("m", 0.74, None, 30, 0, 0, higher_is_better=True, method="test")
    run = run_of(answers(correct=30), low)
    made = replace(run, verdict=Gate(thresholds=(Threshold("m", ">=", 0.8),)).decide(run))
    assert str(headline(made)) == (
        "✗ FAILED: m is 0.74, the threshold is 0.80; no answer is known to be wrong."
    )


def test_failed_requests_are_the_headline_and_counted_once() -> None:
    run = run_of(answers(correct=25, no_answer=5), failed=5, failures={"timeout": 4, "http-503": 1})
    made = replace(run, verdict=gate_of(INIT).decide(run))
    told = headline(made)
    assert str(told) == "✗ FAILED: 5 of 30 questions got no answer (4 timeouts, 1 server error)."
    assert told.lines == (
        "correct: 25, the gate requires 27 (90% of 30): missed",
        "wrong: 5, the gate allows 0: missed",
    )
    allowed = replace(run, verdict=gate_of({"error_rate": "20%", "retry_rate": 0}, max_errors=5).decide(run))
    assert [(each.metric, each.number, each.of, each.status) for each in allowed.verdict.checks] == [  # type: ignore[union-attr]
        ("error_rate", 5, 30, "met"),
        ("retry_rate", 0, 30, "met"),
    ]


def test_number_above_the_answers_of_the_run_is_a_warning() -> None:
    made = decide(answers(correct=5), {"correct": 4, "wrong": 6})
    assert headline(made).lines == (
        "correct: 5, the gate requires 4: met",
        "wrong: 0, the gate allows 6: met; warning: the run has fewer answers",
    )


def test_limit_of_all_answers_and_of_one_dataset_hold_together() -> None:
    first, second = run_of(answers(correct=9, wrong=1)), run_of(answers(correct=10))
    second = replace(second, head=replace(second.head, dataset_id="e"))
    both = AnswerCounts.together([first.answers, second.answers])
    whole = replace(first, answers=both, parts={"d": first, "e": second})
    limits = (Threshold("wrong", "<=", 0.05), Threshold("wrong", "<=", 0, dataset="e", is_count=True))
    checks = Gate(thresholds=limits).decide(whole).checks
    assert [(each.dataset, each.number, each.of, each.status) for each in checks] == [
        (None, 1, 20, "met"),
        ("e", 0, 10, "met"),
    ]
    assert Gate(thresholds=(replace(limits[1], dataset="d"),)).decide(whole).word == "failed"


def test_wrong_alone_in_a_manifest_is_a_warning() -> None:
    rows = [{"id": "a", "question": "Where is it?", "answer": "In Rome.", "reference": "In Rome."}]
    made = evaluate(rows, metrics=["string_match"], gate={"wrong": 0})
    assert any("does not limit answers that are not judged" in each for each in made.warnings)
    both = evaluate(rows, metrics=["string_match"], gate={"wrong": 0, "correct": "90%"})
    assert not any("not judged" in each for each in both.warnings)
    assert both.verdict is not None
    assert str(headline(both)) == "✓ PASSED: the only answer is correct."


STATES = TABLES["states"]
NUMBERS = st.integers(0, 8)
COUNTED = st.fixed_dictionaries(dict.fromkeys(STATES, NUMBERS))
SHARES = st.sampled_from((0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0))
CASES = int(os.environ.get("GATE_CASES", "2000"))
"""How many random gates each property is tried on; `make soak` tries 100,000."""
LIMITS = st.dictionaries(st.sampled_from(GRADES), st.one_of(NUMBERS, SHARES), min_size=1)
WORSE = st.sampled_from(("wrong", "missed_refusal", "no_answer", "not_judged", "without_truth"))


def change(states: dict[str, int], to: str) -> AnswerCounts:
    """Return the counts with one answer more in a worse state."""
    state = "not_judged" if to == "without_truth" else to
    return answers(**{**states, state: states[state] + 1}, without_truth=int(to == "without_truth"))


@settings(max_examples=CASES, deadline=None)
@given(states=COUNTED, limits=LIMITS, to=WORSE)
def test_gate_never_passes_instead_when_a_correct_answer_gets_worse(
    states: dict[str, int], limits: dict[str, Any], to: str
) -> None:
    states["correct"] += 1
    before = decide(answers(**states), limits)
    after = decide(change({**states, "correct": states["correct"] - 1}, to), limits)
    assert before.verdict is not None
    assert after.verdict is not None
    assert not (before.verdict.exit_code == 1 and after.verdict.exit_code == 0)
    assert after.answers.correct == before.answers.correct - 1


@settings(max_examples=CASES, deadline=None)
@given(
    states=COUNTED,
    limits=st.dictionaries(st.sampled_from(GRADES[1:]), NUMBERS),
    share=SHARES.filter(bool),
    to=WORSE,
)
def test_gate_never_passes_instead_when_a_worse_answer_is_added(
    states: dict[str, int], limits: dict[str, Any], share: float, to: str
) -> None:
    before = decide(answers(**states), {**limits, "correct": share})
    after = decide(change(states, to), {**limits, "correct": share})
    assert before.verdict is not None
    assert after.verdict is not None
    assert not (before.verdict.exit_code == 1 and after.verdict.exit_code == 0)
    assert after.answers.correct == before.answers.correct


@settings(max_examples=500, deadline=None)
@given(states=COUNTED, limits=LIMITS)
def test_headline_has_no_tick_beside_wrong_answers_unless_allowed(
    states: dict[str, int], limits: dict[str, Any]
) -> None:
    line = str(headline(decide(answers(**states), limits)))
    if sum(states[each] for each in ("wrong", "missed_refusal", "no_answer")) and sum(states.values()):
        is_allowed = "; the gate allows " in line or "; the gate requires " in line
        assert is_allowed or ("✓" not in line and not re.search(r"\bcorrect\b", line)), line
    assert len(line) <= 90, line
