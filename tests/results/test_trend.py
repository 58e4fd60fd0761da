"""A metric is worse when it lies beyond what the earlier runs over the same data lead to expect."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.results.trend import metric_trends


def document(
    day: int,
    value: float | None,
    *,
    metric: str = "token_f1",
    n_scored: int = 50,
    method: str = "lexical",
    data: str = "d",
    content: str | None = None,
) -> dict[str, Any]:
    return {
        "evaluation_id": f"run_{day}",
        "timestamp": f"2026-{1 + day // 28:02}-{1 + day % 28:02}T12:00:00+00:00",
        "dataset_id": data,
        "answer_quality_metrics": {metric: {"value": value, "n_scored": n_scored, "method": method}},
        "metadata": {"dataset_hash": content} if content else {},
    }


def history(*values: float, **changes: Any) -> list[dict[str, Any]]:
    return [document(day, value, **changes) for day, value in enumerate(values, start=1)]


# Mean 0.55, s = sqrt(8 * 0.05 ** 2 / 7) = 0.0535, t(0.975, 7) = 2.3646:
# 0.55 ± 2.3646 * 0.0535 * sqrt(1 + 1/8) is 0.416 to 0.684.
EARLIER = (0.5, 0.6) * 4


@pytest.mark.parametrize(
    ("now", "verdict"),
    [(0.55, "steady"), (0.42, "steady"), (0.68, "steady"), (0.41, "regression"), (0.69, "improvement")],
)
def test_beyond_the_prediction_interval_is_a_change(now: float, verdict: str) -> None:
    (trend,) = metric_trends(history(*EARLIER, now))
    assert trend.baseline_mean == pytest.approx(0.55)
    assert (trend.low, trend.high) == (pytest.approx(0.4159, abs=1e-4), pytest.approx(0.6841, abs=1e-4))
    assert trend.verdict == verdict
    assert trend.current.evaluation_id == "run_9"


def test_a_steady_metric_is_called_worse_in_one_run_of_forty() -> None:
    rng = np.random.default_rng(1)
    found = [
        metric_trends(history(*rng.normal(0.5, 0.02, runs + 1).tolist()))[0].verdict
        for runs in (8, 20)
        for _ in range(1_000)
    ]
    # A standard error of 2,000 repetitions at 2.5 % is 0.35 points.
    assert 0.015 <= found.count("regression") / len(found) <= 0.035


def test_where_lower_is_better_a_rise_is_the_regression() -> None:
    (trend,) = metric_trends(history(*EARLIER, 0.9, metric="hallucination"))
    assert trend.verdict == "regression"


def test_only_the_last_thirty_runs_count() -> None:
    (trend,) = metric_trends(history(9.0, 9.0, *[0.5, 0.6] * 15, 0.2))
    assert (len(trend.history), trend.verdict) == (30, "regression")


def test_runs_over_other_questions_of_a_dataset_count() -> None:
    earlier = history(*EARLIER, content="sha256:0")
    (trend,) = metric_trends([*earlier, document(9, 0.39, content="sha256:1")])
    assert (trend.n_excluded, len(trend.history), trend.verdict) == (0, 8, "regression")


def test_runs_over_other_data_by_other_methods_or_on_few_samples_do_not_count() -> None:
    others = [
        document(1, 9.0, data="another"),
        document(2, 9.0, method="judge:m"),
        document(3, 9.0, n_scored=9),
        {**document(5, 9.0), "metadata": {"metric_versions": {"token_f1": 1}}},
    ]
    values = enumerate((*EARLIER, 0.39), start=6)
    runs = [document(day, value, content=f"sha256:{day}") for day, value in values]
    for run in runs:
        run["metadata"]["metric_versions"] = {"token_f1": 2}
    (trend,) = metric_trends([*others, *runs])
    assert (trend.n_excluded, len(trend.history), trend.verdict) == (4, 8, "regression")


def test_too_few_samples_or_runs_give_no_verdict_but_a_reason() -> None:
    (few_samples,) = metric_trends([*history(*EARLIER), document(9, 0.0, n_scored=9)])
    assert (few_samples.verdict, few_samples.reason) == (
        "too few",
        "not enough samples: 9 scored, 10 required",
    )
    (few_runs,) = metric_trends(history(*EARLIER[:7], 0.0))
    assert (few_runs.verdict, few_runs.low) == ("too few", None)
    assert few_runs.reason == "not enough history: 7 comparable earlier runs, 8 required"


def test_equal_runs_leave_no_room_but_rounding_is_no_change() -> None:
    assert metric_trends(history(*[0.1 + 0.2] * 8, 0.3))[0].verdict == "steady"
    assert metric_trends(history(*[0.3] * 8, 0.3001))[0].verdict == "improvement"


def test_the_order_of_the_documents_does_not_matter() -> None:
    runs = history(*EARLIER, 0.2, 0.6, 0.1)
    shuffled = random.Random(1).sample(runs, len(runs))
    assert metric_trends(shuffled) == metric_trends(runs)


def test_a_metric_without_counts_goes_by_the_queries_that_were_answered() -> None:
    runs = [
        {**document(day, None), "summary": {"successful_queries": 40}, "retrieval_metrics": {"mrr": value}}
        for day, value in enumerate((*EARLIER, 0.1))
    ]
    (trend,) = metric_trends(runs)  # token_f1 has no value, so no trend
    assert (trend.metric, trend.current.n_scored, trend.verdict) == ("mrr", 40, "regression")


def test_no_runs_and_runs_without_a_time_are_errors() -> None:
    with pytest.raises(UsageError, match="at least one"):
        metric_trends([])
    with pytest.raises(InputError, match="timestamp: expected a date-time"):
        metric_trends([{"evaluation_id": "x"}, *history(0.1)])
