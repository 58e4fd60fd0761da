"""When one sample passes, and the share of those that do."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.records.responses import Failure, Response
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.results.evaluations import Threshold
from rag_evaluation_framework.results.gate import PassCounter, missed_bounds, sample_bounds, sample_passes

BOUNDS = (Threshold("similarity", ">=", 0.8), Threshold("hallucination", "<=", 0.1))


def result(**values: float | str | None) -> SampleResult:
    """A result with these scores: a number is scored, ``None`` skipped, a text failed."""
    scores = tuple(
        Score.skipped(name, "does not apply", method="t")
        if value is None
        else Score.failed(name, value, method="t")
        if isinstance(value, str)
        else Score.scored(name, value, method="t")
        for name, value in values.items()
    )
    return SampleResult("s", Response(text="a"), scores)


FAILED_REQUEST = SampleResult(
    "s",
    Response(failure=Failure(kind="timeout", message="m")),
    (Score.failed("similarity", "no answer: timeout", method="t"),),
)

EMPTY_ANSWER = SampleResult(
    "s", Response(text=" "), (Score.failed("similarity", "the answer is empty", method="t"),)
)
EMPTY_TURN = SampleResult(
    "s",
    Response(text="b", metadata={"turns": [{"answer": ""}, {"answer": "b"}]}),
    (Score.failed("similarity", "turn 1: the answer is empty", method="t"),),
)


@pytest.mark.parametrize(
    ("given", "passes"),
    [
        (result(similarity=0.8, hallucination=0.1), True),
        (result(similarity=0.79, hallucination=0.0), False),
        (result(similarity=0.9, hallucination=0.2), False),
        (result(similarity=0.9, hallucination=None), True),
        (result(similarity=None, hallucination=None), None),
        (result(similarity=0.9, hallucination="broke"), None),
        (result(similarity=0.1, hallucination="broke"), False),
        (result(similarity="broke", hallucination=0.2), False),
        (EMPTY_ANSWER, False),
        (EMPTY_TURN, False),
        (result(other=1.0), None),
        (result(other="broke"), None),
        (FAILED_REQUEST, False),
    ],
)
def test_a_sample_passes_when_each_score_with_a_threshold_meets_it(
    given: SampleResult, passes: bool | None
) -> None:
    assert sample_passes(given, BOUNDS) is passes


def test_without_thresholds_for_its_metrics_a_match_decides() -> None:
    thresholds = (Threshold("faithfulness", ">=", 0.8), Threshold("pass_rate", ">=", 0.9))
    bounds = sample_bounds(thresholds, ["string_match", "token_f1"])
    assert bounds == (Threshold("string_match", ">=", 1.0),)
    assert sample_passes(result(string_match=1.0, token_f1=0.1), bounds) is True
    assert sample_passes(result(string_match=0.0, token_f1=0.9), bounds) is False
    assert sample_bounds(thresholds, ["token_f1"]) == ()
    assert sample_passes(result(token_f1=0.9), ()) is None


def test_failed_requests_count_against_the_pass_rate_and_undecided_samples_are_left_out() -> None:
    counter = PassCounter(BOUNDS)
    for given in (
        result(similarity=0.9),
        result(similarity=0.9),
        result(similarity=0.1),
        FAILED_REQUEST,
        result(other=1.0),
    ):
        counter.add(given)
    summary = counter.rate()
    # 2 of 4: the low one and the failed request count against it; the last has nothing that counts.
    assert (summary.value, summary.n_scored, summary.n_skipped) == (0.5, 4, 1)
    assert counter.errors == 1
    assert summary.interval is not None
    assert summary.interval.method == "Wilson score"


def test_samples_that_may_pass_but_lack_a_score_are_no_part_of_the_pass_rate_and_counted_as_failed() -> None:
    counter = PassCounter(BOUNDS)
    for given in (
        result(similarity=0.9),
        result(similarity=0.1),
        result(similarity="no verdict: not-json"),
        result(similarity=0.1, hallucination="no verdict: not-json"),
        result(other=1.0),
    ):
        counter.add(given)
    summary = counter.rate()
    # 1 of 3: two miss a bound, one of them without its other score. One more lacks a score, and the last has
    # nothing that counts.
    assert summary.value == pytest.approx(1 / 3)
    assert (summary.n_scored, summary.n_failed, summary.n_skipped) == (3, 1, 1)
    assert counter.errors == 2


def test_the_pass_rate_of_nothing_is_missing() -> None:
    summary = PassCounter(BOUNDS).rate()
    assert (summary.value, summary.interval) == (None, None)


def test_a_failed_score_is_an_error_whether_or_not_it_has_a_threshold() -> None:
    counter = PassCounter(BOUNDS)
    counter.add(result(similarity=0.9, other="broke"))
    assert (counter.errors, counter.passed) == (1, 1)


def test_the_scores_that_miss_their_bounds_are_told() -> None:
    assert missed_bounds(result(similarity=0.25, hallucination=1 / 3), BOUNDS) == (
        "similarity 0.25, not >= 0.8",
        "hallucination 0.333333, not <= 0.1",
    )
    assert missed_bounds(result(similarity=0.8, hallucination="broke"), BOUNDS) == ()
    assert missed_bounds(FAILED_REQUEST, BOUNDS) == ()
