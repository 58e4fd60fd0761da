"""The gate's truth table: nothing that was not measured ever passes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, Literal

import pytest

from rag_evaluation_framework import Comparison, Evaluation, Gate, Threshold, Verdict
from rag_evaluation_framework.evaluation.manifest import read_thresholds
from rag_evaluation_framework.records.runs import RunHead, RunOutcome
from rag_evaluation_framework.results.comparison import MetricComparison, Uncompared
from rag_evaluation_framework.results.evaluations import Operator
from rag_evaluation_framework.results.summaries import Counts, Figure
from rag_evaluation_framework.statistics.intervals import Interval

# How the measured value lies to the bound; "unscored" ran and scored nothing, "not run" did not run.
Lies = Literal["better", "equal", "worse", "unscored", "not run"]
LIES: tuple[Lies, ...] = ("better", "equal", "worse", "unscored", "not run")


def summary(
    value: float | None,
    *,
    metric: str = "m",
    interval: tuple[float, float] | None = None,
    higher: bool = True,
) -> Figure:
    return Figure(
        metric=metric,
        value=value,
        interval=Interval(*interval, 0.95, "test") if interval else None,
        n_scored=0 if value is None else 4,
        n_skipped=4 if value is None else 0,
        n_failed=0,
        higher_is_better=higher,
        method="test",
    )


def measured(
    *metrics: Figure,
    name: str = "d",
    counts: Counts | None = None,
    compared: tuple[MetricComparison, ...] = (),
    uncompared: tuple[Uncompared, ...] = (),
    **fields: Any,
) -> Evaluation:
    return Evaluation(
        kind="answers",
        head=RunHead(run_id="r", dataset_id=name),
        metrics={each.metric: each for each in metrics},
        counts=counts or Counts(total=4, finished=4),
        outcome=RunOutcome(completed=True, interrupted=False, done=4, failed=0, remaining=0),
        comparison=Comparison(
            baseline="baseline", contenders=("this run",), metrics=compared, uncompared=uncompared
        ),
        **fields,
    )


def decided(*parts: Evaluation, **gate: Any) -> Verdict:
    whole = replace(parts[0], parts={str(number): part for number, part in enumerate(parts)})
    return Gate(**gate).decide(whole)


def value_for(lies: Lies, operator: Operator, bound: float) -> float | None:
    step = 1e-12 if operator == ">=" else -1e-12
    return {"better": bound + step, "equal": bound, "worse": bound - step}.get(lies)


@pytest.mark.parametrize(
    ("operator", "bound", "lies", "samples", "errors", "allowed", "unfinished", "enabled"),
    list(
        product(
            [">=", "<="],
            [0.8, 0.05],  # one of the two looks inverted for either direction
            LIES,
            [0, 4],  # an empty or filtered-to-nothing dataset, and one with samples
            [0, 1],
            [0, 1],
            [0, 1],
            [True, False],
        )
    ),
)
def test_the_gate_passes_exactly_what_was_measured_wholly_and_meets_its_threshold(
    operator: Operator,
    bound: float,
    lies: Lies,
    samples: int,
    errors: int,
    allowed: int,
    unfinished: int,
    enabled: bool,
) -> None:
    value = value_for(lies, operator, bound) if samples else None
    given = measured(
        *(() if lies == "not run" else (summary(value),)),
        thresholds=(Threshold("m", operator, bound),),
        counts=Counts(total=samples, finished=max(0, samples - unfinished), errors=errors),
    )
    verdict = decided(given, enabled=enabled, max_errors=allowed)
    meets = lies in ("better", "equal") and value is not None
    whole = samples > 0 and not unfinished
    assert verdict.passed == (meets and whole and errors <= allowed)
    assert verdict.result == ("N/A" if not enabled else "PASS" if verdict.passed else "FAIL")
    (row,) = verdict.checks
    expected_status = "not evaluated" if lies == "not run" else "passed" if meets else "failed"
    assert (row.status, row.operator, row.bound, row.value) == (expected_status, operator, bound, value)
    assert verdict.passed == (not verdict.reasons)


def test_the_table_is_whole_for_both_directions_and_inverted_looking_numbers_only_warn() -> None:
    for metric, written, value, passes in [
        ("hallucination", 0.95, 0.9, True),
        ("hallucination", 0.95, 0.96, False),
        ("faithfulness", 0.05, 0.06, True),
        ("faithfulness", 0.05, 0.04, False),
    ]:
        (threshold,) = read_thresholds(metric, written)
        assert threshold.warning is not None
        given = measured(summary(value, metric=metric), thresholds=(threshold,))
        assert decided(given).passed is passes


def test_values_are_compared_unrounded() -> None:
    given = measured(summary(0.7999999), thresholds=(Threshold("m", ">=", 0.8),))
    assert not decided(given).passed


def test_min_and_max_together_are_two_rows_and_both_must_hold() -> None:
    thresholds = tuple(read_thresholds("chrf", {"min": 0.2, "max": 0.6}))
    for value, statuses in [
        (0.4, ["passed", "passed"]),
        (0.7, ["passed", "failed"]),
        (0.1, ["failed", "passed"]),
    ]:
        verdict = decided(measured(summary(value, metric="chrf"), thresholds=thresholds))
        assert [row.status for row in verdict.checks] == statuses
        assert verdict.passed == ("failed" not in statuses)


@pytest.mark.parametrize(
    ("operator", "interval", "held", "value", "passes"),
    [
        (">=", (0.79, 0.95), "lower bound", 0.79, False),
        (">=", (0.80, 0.95), "lower bound", 0.80, True),
        ("<=", (0.01, 0.81), "upper bound", 0.81, False),
        ("<=", (0.01, 0.80), "upper bound", 0.80, True),
        (">=", None, "lower bound", None, False),
    ],
)
def test_by_its_bound_the_near_end_of_the_interval_counts(
    operator: Operator, interval: tuple[float, float] | None, held: str, value: float | None, passes: bool
) -> None:
    given = measured(summary(0.8, interval=interval), thresholds=(Threshold("m", operator, 0.8),))
    verdict = decided(given, confidence="lower-bound")
    (row,) = verdict.checks
    assert (row.held, row.value, verdict.passed) == (held, value, passes)


def test_a_threshold_is_not_evaluated_only_where_its_metric_ran_on_no_dataset() -> None:
    thresholds = (Threshold("a", ">=", 0.5), Threshold("b", ">=", 0.5), Threshold("c", ">=", 0.5))
    first = measured(summary(0.6, metric="a"), name="one", thresholds=thresholds)
    second = measured(summary(0.6, metric="b"), name="two", thresholds=thresholds)
    verdict = decided(first, second)
    assert [(row.dataset, row.metric, row.status) for row in verdict.checks] == [
        ("one", "a", "passed"),
        ("two", "b", "passed"),
        (None, "c", "not evaluated"),
    ]
    assert verdict.passed


def test_a_threshold_for_one_dataset_is_listed_there_though_its_metric_ran_elsewhere() -> None:
    everywhere, own = Threshold("a", ">=", 0.5), Threshold("a", ">=", 0.9, dataset="two")
    first = measured(summary(0.6, metric="a"), name="one", thresholds=(everywhere,))
    second = measured(summary(0.6, metric="b"), name="two", thresholds=(everywhere, own))
    verdict = decided(first, second)
    assert [(row.dataset, row.bound, row.status, row.reason) for row in verdict.checks] == [
        ("one", 0.5, "passed", None),
        ("two", 0.9, "not evaluated", "the metric did not run"),
    ]


def test_a_dataset_that_cannot_measure_a_metric_is_listed_with_the_reason() -> None:
    thresholds = (Threshold("a", ">=", 0.5), Threshold("b", ">=", 0.5))
    first = measured(summary(0.6, metric="a"), name="one", thresholds=thresholds)
    second = measured(name="two", thresholds=thresholds, unmeasured={"a": "no truth", "b": "no text"})
    third = measured(name="three", thresholds=thresholds)  # not scored by either: nothing to list
    verdict = decided(first, second, third)
    assert [(row.dataset, row.metric, row.status, row.reason) for row in verdict.checks] == [
        ("one", "a", "passed", None),
        ("two", "a", "not evaluated", "no truth"),
        ("two", "b", "not evaluated", "no text"),
    ]


def test_the_gate_of_several_datasets_is_their_conjunction_and_errors_add_up() -> None:
    good = measured(summary(0.9), thresholds=(Threshold("m", ">=", 0.5),))
    bad = measured(summary(0.1), name="e", thresholds=(Threshold("m", ">=", 0.5),))
    assert decided(good, good).passed
    assert not decided(good, bad).passed
    one_error = measured(
        summary(0.9), thresholds=(Threshold("m", ">=", 0.5),), counts=Counts(total=4, finished=4, errors=1)
    )
    assert decided(one_error, max_errors=1).passed
    assert not decided(one_error, one_error, max_errors=1).passed


def test_a_gate_that_had_nothing_to_check_does_not_pass() -> None:
    assert not decided(measured(summary(1.0))).passed
    unmeasured = measured(summary(1.0), thresholds=(Threshold("other", ">=", 0.5),))
    assert not decided(unmeasured).passed


def comparison(difference: float, p: float | None, *, higher: bool = True) -> MetricComparison:
    return MetricComparison(
        metric="m",
        baseline="baseline",
        contender="this run",
        n=20,
        n_unpaired=0,
        baseline_mean=0.8,
        contender_mean=0.8 + difference,
        difference=difference,
        interval=None,
        p_value=p,
        p_adjusted=p,
        test="test",
        effect_size=None,
        wins=0,
        ties=0,
        losses=0,
        smallest_detectable=None,
        higher_is_better=higher,
        alpha=0.05,
    )


@pytest.mark.parametrize(
    ("difference", "p", "higher", "max_drop", "passes"),
    [
        (-0.1, 0.01, True, 0.0, False),
        (-0.1, 0.20, True, 0.0, True),  # not shown
        (+0.0, None, True, 0.0, True),  # too few to test, and nothing dropped
        (+0.1, None, True, 0.0, True),
        (-0.125, None, True, 0.125, True),
        (-0.1, None, True, 0.0, False),  # a drop that cannot be tested, and nothing else was measured
        (+0.1, None, False, 0.0, False),
        (-0.1, 0.01, True, 0.125, True),  # within what is allowed
        (-0.125, 0.01, True, 0.125, True),  # equal to it
        (-0.25, 0.01, True, 0.125, False),
        (+0.1, 0.01, True, 0.0, True),
        (+0.1, 0.01, False, 0.0, False),  # lower is better
        (-0.1, 0.01, False, 0.0, True),
    ],
)
def test_a_significant_drop_from_the_baseline_fails(
    difference: float, p: float | None, higher: bool, max_drop: float, passes: bool
) -> None:
    given = measured(compared=(comparison(difference, p, higher=higher),))
    assert decided(given, max_drop=max_drop).passed is passes


def test_a_check_against_the_baseline_names_the_method_of_its_figures() -> None:
    missed = (Uncompared("m", in_baseline=True),)
    given = measured(summary(0.7), compared=(comparison(-0.1, 0.01),), uncompared=missed)
    assert [row.method for row in decided(given).checks] == ["test", "test"]


def test_a_drop_that_cannot_be_tested_is_not_evaluated() -> None:
    single = replace(comparison(-0.3, None), n=1)
    given = measured(compared=(single, replace(comparison(0.0, 1.0), metric="other")))
    verdict = decided(given)
    assert verdict.passed  # by the other metric
    row = verdict.checks[0]
    assert (row.status, row.reason) == ("not evaluated", "-0.3 over 1 sample, too few to test")


def test_a_comparison_that_could_not_be_made_fails_unless_the_baseline_has_no_score_either() -> None:
    verdict = decided(measured(uncompared=(Uncompared("m", in_baseline=True),)))
    assert not verdict.passed
    assert verdict.checks[0].reason == "no sample was scored in both runs"
    missed = (Uncompared("m", in_baseline=False),)
    verdict = decided(measured(uncompared=missed, compared=(comparison(0.0, 1.0),)))
    assert verdict.passed
    row = verdict.checks[1]
    assert (row.status, row.reason) == ("not evaluated", "the baseline has no score of it")


def test_the_reasons_name_dataset_metric_value_and_threshold() -> None:
    given = measured(
        summary(0.7512345678),
        thresholds=(Threshold("m", ">=", 0.8),),
        counts=Counts(total=4, finished=3, errors=2),
    )
    assert decided(given).reasons == (
        "d: 1 of 4 samples are not finished",
        "2 samples with errors, at most 0 allowed",
        "d: m mean 0.751235, not >= 0.8",
    )
