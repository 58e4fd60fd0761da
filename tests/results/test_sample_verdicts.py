"""When one sample passes, and the share of those that do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from finished_runs import evaluated

from rag_evaluation_framework import Response, Score, Threshold
from rag_evaluation_framework.records.responses import Failure
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.results.evaluations import Row
from rag_evaluation_framework.results.gate import PassCounter, averaged, sample_bounds, sample_passes

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


@pytest.mark.parametrize(
    ("given", "value", "counts", "errors"),
    [
        # 2 of 4: the low one and the failed request count against it; the last has nothing that counts.
        (
            [*[result(similarity=0.9)] * 2, result(similarity=0.1), FAILED_REQUEST, result(other=1.0)],
            1 / 2,
            (4, 1, 0),
            1,
        ),
        # 1 of 3: two miss a bound, one of them without its other score. One more lacks a score, and the last
        # has nothing that counts.
        (
            [
                result(similarity=0.9),
                result(similarity=0.1),
                result(similarity="no verdict: not-json"),
                result(similarity=0.1, hallucination="no verdict: not-json"),
                result(other=1.0),
            ],
            1 / 3,
            (3, 1, 1),
            2,
        ),
        # A failed score is an error whether or not it has a threshold.
        ([result(similarity=0.9, other="broke")], 1.0, (1, 0, 0), 1),
        ([], None, (0, 0, 0), 0),
    ],
)
def test_failed_requests_count_against_the_pass_rate_and_undecided_samples_are_left_out(
    given: list[SampleResult], value: float | None, counts: tuple[int, int, int], errors: int
) -> None:
    counter = PassCounter(BOUNDS)
    rows = [Row(place, each) for place, each in enumerate(given)]
    assert list(counter.counted(rows)) == rows
    rate = counter.rate()
    assert (rate.metric, rate.higher_is_better) == ("pass_rate", True)
    assert rate.value == (None if value is None else pytest.approx(value))
    assert (rate.n_scored, rate.n_skipped, rate.n_failed, counter.errors) == (*counts, errors)
    assert (None if rate.interval is None else rate.interval.method) == (
        None if value is None else "Wilson score"
    )


def test_figures_of_samples_asked_again_are_over_those_of_which_most_answers_have_a_score() -> None:
    answers = {
        "a": (1.0, 1.0, 0.0),  # 2/3, and passes twice
        "b": (0.5, "broke", "broke"),  # one of three is not most of them; what is known passes
        "c": (0.0, 1.0, None),  # 1/2, and passes once of twice, which is not most
        "d": (None, None, None),
    }
    results = [
        replace(result(m=value), sample_id=f"{name}~{number}" if number else name)
        for name, values in answers.items()
        for number, value in enumerate(values)
    ]
    figures = averaged(
        evaluated(results, configuration={"selection": {"repeats": 3}}), [Threshold("m", ">=", 0.5)]
    ).metrics
    figure, rate = figures["m"], figures["pass_rate"]
    assert figure.value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert figure.interval is not None
    # Two answers that failed are one of the two samples that have no score.
    assert (figure.n_scored, figure.n_failed, figure.n_skipped) == (2, 1, 1)
    assert (rate.value, rate.n_scored, rate.n_skipped) == (pytest.approx(2 / 3), 3, 1)
    twice = [replace(result(m=value), sample_id=name) for name, value in (("a", 1.0), ("a~1", None))]
    half = averaged(evaluated(twice, configuration={"selection": {"repeats": 2}}), ()).metrics
    assert (half["m"].value, half["m"].n_skipped) == (None, 1)  # half of them is not most
    none = averaged(evaluated(results[-3:], configuration={"selection": {"repeats": 3}}), ()).metrics
    assert (none["m"].value, none["m"].interval, none["pass_rate"].value) == (None, None, None)
