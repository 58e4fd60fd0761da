"""The gate's truth table: what was not measured never passes, and every report agrees with the exit code."""

from __future__ import annotations

import re
from itertools import product
from typing import Any, Literal

import pytest

from cases import tables_beside
from rag_evaluation_framework import (
    Evaluation,
    Gate,
    InputError,
    Response,
    Score,
    Threshold,
    UsageError,
    Verdict,
)
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.records.scores import NO_CONTEXTS
from rag_evaluation_framework.results.evaluations import Row
from rag_evaluation_framework.results.summaries import Counts, Figure, Unscored
from rag_evaluation_framework.results.verdicts import (
    GatedMetric,
    Movement,
    Operator,
    Regressions,
    read_thresholds,
)
from rag_evaluation_framework.statistics.intervals import Interval
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)

COMPLETE = RunOutcome(completed=True, interrupted=False, done=10, failed=0, remaining=0)
BOUND = Threshold("m", ">=", 0.8)


def figure(
    value: float | None,
    *,
    metric: str = "m",
    scored: int = 10,
    failed: int = 0,
    interval: tuple[float, float] | None = None,
    reasons: tuple[Unscored, ...] = (),
) -> Figure:
    return Figure(
        metric=metric,
        value=value,
        interval=Interval(*interval, 0.95, "test") if interval else None,
        n_scored=0 if value is None else scored,
        n_skipped=scored if value is None else 0,
        n_failed=failed,
        higher_is_better=True,
        method="test",
        reasons=reasons,
    )


def measured(*metrics: Figure, name: str = "d", **fields: Any) -> Evaluation:
    given: dict[str, Any] = {"counts": Counts(total=10, finished=10), "outcome": COMPLETE, **fields}
    return Evaluation(
        kind="answers",
        head=RunHead(run_id="r", dataset_id=name),
        metrics={each.metric: each for each in metrics},
        **given,
    )


def decided(*parts: Evaluation, **gate: Any) -> Verdict:
    whole = replace(parts[0], parts={str(number): part for number, part in enumerate(parts)})
    return Gate(**gate).decide(whole)


# The whole table. Each row is one combination of these; what it must come to is worked out beside it, rule by
# rule, in the order in which a verdict's words hold.

State = Literal["none", "met", "missed", "unscored", "unmeasured"]
STATES: tuple[State, ...] = ("none", "met", "missed", "unscored", "unmeasured")
SCORED = (10, 9, 8)  # of the ten samples the metric applies to
ERRORS = ((0, 0), (1, 1), (1, 0))  # how many there are, and how many are allowed
WAIVED = ((), ("m",), ("baseline",), ("m", "baseline"))
BASELINES: tuple[tuple[Movement | None, Literal["pass", "fail"]], ...] = (
    (None, "pass"),
    ("worse", "pass"),
    ("better", "pass"),
    ("no worse", "pass"),
    ("undecided", "pass"),
    ("undecided", "fail"),
    ("not evaluated", "pass"),
)
STOPPED = (None, "incomplete", "interrupted")

ROWS = (
    Row(0, SampleResult("a", Response(text="yes"), (Score.scored("m", 0.1, method="test"),)), passes=False),
    Row(1, SampleResult("b", Response(failure=Failure(kind="timeout", message="gone")))),
)


def sample_of(state: State, scored: int, errors: int, left_out: bool, stopped: str | None) -> Evaluation:
    value = {"met": 0.8, "missed": 0.79}.get(state)
    has_figure = state in ("met", "missed", "unscored") and not left_out
    return measured(
        *([figure(value, scored=scored, failed=10 - scored)] if has_figure else []),
        thresholds=() if state == "none" or left_out else (BOUND,),
        left_out=(BOUND,) if left_out and state != "none" else (),
        unmeasured={"m": "no truth"} if state == "unmeasured" else {},
        counts=Counts(total=10, finished=10, failed=errors, failures={"timeout": errors}),
        outcome=replace(
            COMPLETE, completed=stopped is None, interrupted=stopped == "interrupted", reason=stopped
        ),
        read_rows=lambda: ROWS,
    )


def expected_of(
    state: State,
    scored: int,
    errors: tuple[int, int],
    left_out: bool,
    waived: tuple[str, ...],
    baseline: tuple[Movement | None, str],
    stopped: str | None,
) -> tuple[str, int]:
    moved, on_undecided = baseline
    if stopped is not None:
        return "incomplete", 3 if stopped == "incomplete" else 130
    is_held = state in ("met", "missed") and not left_out and scored >= 9
    if (is_held and state == "missed") or errors[0] > errors[1] or moved == "worse":
        return "failed", 1
    is_open = state != "none" and not left_out and not is_held
    nothing = (state == "none" or left_out) and moved is None
    if nothing or (is_open and "m" not in waived) or (moved == "not evaluated" and "baseline" not in waived):
        return "not evaluated", 1
    if moved == "undecided":
        return "undecided", 1 if on_undecided == "fail" else 0
    return "passed", 0


def test_every_row_of_the_table_has_its_word_and_exit_code_and_all_reports_agree() -> None:
    rows = list(product(STATES, SCORED, ERRORS, (False, True), WAIVED, BASELINES, STOPPED))
    assert len(rows) == 5 * 3 * 3 * 2 * 4 * 7 * 3
    reported = set()
    for row in rows:
        state, scored, errors, left_out, waived, (moved, on_undecided), stopped = row
        given = sample_of(state, scored, errors[0], left_out, stopped)
        if moved is not None and stopped is None:
            named = {"worse": "worse", "undecided": "unconfirmed"}.get(moved, "better")
            found: dict[str, Any] = {named: (("d", "a"),)}
            regressions = Regressions(baseline="b", word=moved, paired=10, **found)
            given = replace(given, regressions=regressions)
        gate = Gate(max_errors=errors[1], on_undecided=on_undecided, waive=frozenset(waived))
        evaluation = replace(given, verdict=gate.decide(given))
        assert evaluation.verdict is not None
        word, code = evaluation.verdict.word, evaluation.verdict.exit_code
        assert (word, code) == expected_of(*row), row
        assert (evaluation.verdict.result == "PASS") == (code == 0), row
        same = (state, scored, errors[0], left_out, moved, stopped, repr(evaluation.verdict))
        if same in reported:  # another gate that says the same of the same
            continue
        reported.add(same)
        junit = evaluation.render("junit")
        assert bool(re.search("<(failure|error) ", junit)) == (code != 0), (row, junit)
        assert evaluation.render("markdown").split("\n")[0].split(":")[0][6:] == word.upper(), row
        assert evaluation.render().split(":")[0][2:] == word.upper(), row
        assert ("::error " in evaluation.render("github")) == (code != 0), row


def test_a_gate_that_is_off_decides_nothing_unless_the_run_stopped() -> None:
    for state, stopped in product(STATES, STOPPED):
        given = sample_of(state, 10, 1, False, stopped)
        evaluation = replace(given, verdict=Gate(enabled=False).decide(given))
        assert evaluation.verdict is not None
        code = {None: 0, "incomplete": 3, "interrupted": 130}[stopped]
        assert (evaluation.verdict.exit_code, evaluation.verdict.result) == (code, "N/A")
        assert evaluation.verdict.word == ("incomplete" if stopped else "no gate")
        assert bool(re.search("<(failure|error) ", evaluation.render("junit"))) == (code != 0)
        assert ("::error " in evaluation.render("github")) == (code != 0)


@pytest.mark.parametrize(("operator", "bound"), list(product([">=", "<="], [0.8, 0.05])))
def test_equality_passes_and_the_least_beyond_fails(operator: Operator, bound: float) -> None:
    step = 1e-12 if operator == ">=" else -1e-12
    for value, status in [(bound + step, "met"), (bound, "met"), (bound - step, "missed")]:
        verdict = decided(measured(figure(value), thresholds=(Threshold("m", operator, bound),)))
        (check,) = verdict.checks
        assert (check.status, check.operator, check.bound, check.value) == (status, operator, bound, value)
        assert verdict.passed == (status == "met")


def test_numbers_that_look_inverted_only_warn() -> None:
    for metric, written, value, passes in [
        ("hallucination", 0.95, 0.9, True),
        ("hallucination", 0.95, 0.96, False),
        ("faithfulness", 0.05, 0.06, True),
        ("faithfulness", 0.05, 0.04, False),
    ]:
        (threshold,) = read_thresholds(metric, written)
        assert threshold.warning is not None
        given = measured(figure(value, metric=metric), thresholds=(threshold,))
        assert decided(given).passed is passes


@pytest.mark.parametrize(
    ("metric", "written", "read"), TABLES["a_threshold_is_read_as_it_is_written_or_refused"]
)
def test_a_threshold_is_read_as_it_is_written_or_refused(metric: str, written: Any, read: str) -> None:
    if "expected" in read:
        with pytest.raises(InputError, match=f"^{re.escape(read)}$"):
            list(read_thresholds(metric, written, line=7))
        return
    found = list(read_thresholds(metric, written, line=7))
    told = [f"{each}{' looks inverted' if 'looks inverted' in str(each.warning) else ''}" for each in found]
    assert ", ".join(told) == read
    assert all(each.line == 7 and (each.warning is None) == ("inverted" not in read) for each in found)


def test_min_and_max_together_are_two_rows_and_both_must_hold() -> None:
    thresholds = tuple(read_thresholds("chrf", {"min": 0.2, "max": 0.6}))
    for value, statuses in [(0.4, ["met", "met"]), (0.7, ["met", "missed"]), (0.1, ["missed", "met"])]:
        verdict = decided(measured(figure(value, metric="chrf"), thresholds=thresholds))
        assert [check.status for check in verdict.checks] == statuses
        assert verdict.passed == ("missed" not in statuses)


@pytest.mark.parametrize(
    ("operator", "interval", "held", "value", "status"),
    TABLES["by_its_bound_the_near_end_of_the_interval_counts"],
)
def test_by_its_bound_the_near_end_of_the_interval_counts(
    operator: Operator, interval: tuple[float, float] | None, held: str, value: float | None, status: str
) -> None:
    given = measured(figure(0.8, interval=interval), thresholds=(Threshold("m", operator, 0.8),))
    (check,) = decided(given, confidence="lower-bound").checks
    assert (check.held, check.value, check.status) == (held, value, status)


@pytest.mark.parametrize(
    ("scored", "failed", "lacking", "unfinished", "share", "status"),
    TABLES["those_that_were_scored_do_not_decide_for_those_that_failed"],
)
def test_those_that_were_scored_do_not_decide_for_those_that_failed(
    scored: int, failed: int, lacking: int, unfinished: int, share: float, status: str
) -> None:
    reasons = (Unscored("skipped", NO_CONTEXTS, lacking), Unscored("skipped", "does not apply", 7))
    given = measured(
        figure(0.9, scored=scored, failed=failed, reasons=reasons if lacking else reasons[1:]),
        thresholds=(BOUND,),
        counts=Counts(total=20, finished=20 - unfinished),
    )
    (check,) = decided(given, min_scored=share).checks
    assert check.status == status
    if status == "not evaluated":
        assert (
            check.reason
            == f"{scored} of {scored + failed + lacking + unfinished} samples scored, and "
            + ("at least 0.9 required")
        )


def test_a_threshold_that_applied_nowhere_is_not_evaluated_and_fails() -> None:
    thresholds = (Threshold("a", ">=", 0.5), Threshold("b", ">=", 0.5), Threshold("c", ">=", 0.5))
    first = measured(figure(0.6, metric="a"), name="one", thresholds=thresholds)
    second = measured(figure(0.6, metric="b"), name="two", thresholds=thresholds)
    verdict = decided(first, second)
    assert [(check.dataset, check.metric, check.status) for check in verdict.checks] == [
        ("one", "a", "met"),
        ("two", "b", "met"),
        (None, "c", "not evaluated"),
    ]
    assert (verdict.word, verdict.reasons) == ("not evaluated", ("c not evaluated: the metric did not run",))
    assert decided(first, second, waive=frozenset({"c"})).word == "passed"


def test_a_threshold_for_one_dataset_is_listed_there_though_its_metric_ran_elsewhere() -> None:
    everywhere, own = Threshold("a", ">=", 0.5), Threshold("a", ">=", 0.9, dataset="two")
    first = measured(figure(0.6, metric="a"), name="one", thresholds=(everywhere,))
    second = measured(figure(0.6, metric="b"), name="two", thresholds=(everywhere, own))
    assert [(check.dataset, check.bound, check.status) for check in decided(first, second).checks] == [
        ("one", 0.5, "met"),
        ("two", 0.9, "not evaluated"),
    ]


def test_a_dataset_that_cannot_measure_a_metric_is_listed_with_the_reason() -> None:
    thresholds = (Threshold("a", ">=", 0.5), Threshold("b", ">=", 0.5))
    first = measured(figure(0.6, metric="a"), name="one", thresholds=thresholds)
    second = measured(name="two", thresholds=thresholds, unmeasured={"a": "no truth", "b": "no text"})
    third = measured(name="three", thresholds=thresholds)  # not scored by either: nothing to list
    verdict = decided(first, second, third)
    assert [(check.dataset, check.metric, check.status, check.reason) for check in verdict.checks] == [
        ("one", "a", "met", None),
        ("two", "a", "not evaluated", "no truth"),
        ("two", "b", "not evaluated", "no text"),
    ]
    assert verdict.exit_code == 1


def test_the_gate_of_several_datasets_is_their_conjunction_and_errors_add_up() -> None:
    good = measured(figure(0.9), thresholds=(BOUND,))
    bad = measured(figure(0.1), name="e", thresholds=(BOUND,))
    assert decided(good, good).passed
    assert not decided(good, bad).passed
    one_error = replace(good, counts=Counts(total=10, finished=10, failed=1))
    assert decided(one_error, max_errors=1).passed
    assert not decided(one_error, one_error, max_errors=1).passed


def test_one_dataset_that_stopped_stops_them_all() -> None:
    good = measured(figure(0.9), thresholds=(BOUND,))
    half = replace(good, outcome=replace(COMPLETE, completed=False))
    interrupted = replace(good, outcome=replace(COMPLETE, completed=False, interrupted=True))
    codes = {decided(good, other).exit_code: other for other in (half, interrupted)}
    assert codes == {3: half, 130: interrupted}
    assert decided(half, interrupted).exit_code == 130


def test_the_gates_own_thresholds_hold_for_their_dataset_unless_the_run_has_some() -> None:
    own = (Threshold("m", ">=", 0.95, dataset="one"), Threshold("m", ">=", 0.5))
    first, second = (measured(figure(0.9), name=name) for name in ("one", "two"))
    for parts, statuses in [
        ((first, second), ["missed", "met", "met"]),
        ((replace(first, thresholds=(BOUND,)), second), ["met", "met"]),
    ]:
        assert [check.status for check in decided(*parts, thresholds=own).checks] == statuses


def test_a_verdict_tells_the_gate_that_gave_it() -> None:
    given = measured(figure(None), thresholds=(BOUND,))
    for gate in (
        Gate(),
        Gate(min_scored=0.5, max_errors=3, on_undecided="pass", waive=frozenset({"m"}), enabled=False),
        Gate(confidence="lower-bound"),
    ):
        assert Gate.of_verdict(gate.decide(given)) == gate
    silent = measured(figure(1.0))
    assert Gate(enabled=False).decide(silent).unevaluated == ()
    assert len(Gate().decide(silent).unevaluated) == 1


def test_no_samples_and_nothing_to_check_never_pass() -> None:
    empty = measured(figure(None), thresholds=(BOUND,), counts=Counts(total=0, finished=0))
    assert (decided(empty).word, decided(empty).reasons[0]) == ("not evaluated", "d: no samples")
    assert decided(empty, waive=frozenset({"m"})).word == "not evaluated"
    assert decided(measured(figure(1.0))).word == "not evaluated"


def test_the_reasons_name_dataset_metric_value_and_threshold() -> None:
    given = measured(
        figure(0.7512345678), thresholds=(BOUND,), counts=Counts(total=100, finished=99, failed=2)
    )
    assert decided(given, min_scored=0.0).reasons == (
        "d: 1 of 100 samples are not finished",
        "2 requests failed, at most 0 allowed",
        "d: m mean 0.751235, not >= 0.8",
    )


def moved(word: Movement, worse: int, *, drop: float = 0.0, metric_drop: float | None = 0.0) -> Evaluation:
    regressions = Regressions(
        baseline="b",
        word=word,
        worse=tuple(("d", str(number)) for number in range(worse)),
        paired=10,
        drop=drop,
        metrics=(GatedMetric(dataset="d", metric="m", drop=metric_drop),),
    )
    return measured(figure(0.9), thresholds=(BOUND,), regressions=regressions)


def test_more_answers_that_got_worse_than_allowed_fail() -> None:
    for worse, allowed, code in [(0, 0, 0), (1, 0, 1), (1, 1, 0), (3, 2, 1)]:
        given = moved("worse" if worse else "no worse", worse)
        verdict = Gate(max_regressions=allowed).decide(given)
        assert verdict.exit_code == code
        assert [check.metric for check in verdict.checks] == ["m", "baseline"]
        assert verdict.checks[1].reason == f"{worse} worse, 0 better of 10, compared with b"
    given = replace(given, regressions=Regressions(baseline="b", word="not evaluated", reason="too few"))
    (told,) = Gate(waive=frozenset({"baseline"})).decide(given).checks[1:]
    assert str(told) == "baseline not evaluated (waived): too few"


def test_a_drop_must_lie_surely_below_what_is_allowed() -> None:
    for drop, metric_drop, code in [
        (0.04, 0.04, 0),
        (0.05, 0.04, 1),
        (0.04, 0.05, 1),
        (0.04, None, 1),  # no sample pairs: nothing tells how far it fell
    ]:
        given = moved("no worse", 0, drop=drop, metric_drop=metric_drop)
        assert Gate(max_drop=0.05).decide(given).exit_code == code
        assert Gate().decide(given).exit_code == 0


def test_a_waiver_of_what_is_not_demanded_is_refused_with_the_nearest_names() -> None:
    Gate(waive=frozenset({"m", "baseline"})).check_waivers([BOUND])
    with pytest.raises(
        UnknownNameError, match=r'unknown threshold to waive "baselin"\. Did you mean "baseline'
    ):
        Gate(waive=frozenset({"baselin"})).check_waivers([BOUND])


@pytest.mark.parametrize(("field", "value", "expected"), TABLES["settings_that_make_no_sense_are_refused"])
def test_settings_that_make_no_sense_are_refused(field: str, value: Any, expected: str) -> None:
    with pytest.raises(UsageError, match=f"{field}: expected {expected}, got "):
        Gate(**{field: value})
    Gate(min_scored=1, max_errors=0, max_drop=0, max_regressions=0)
