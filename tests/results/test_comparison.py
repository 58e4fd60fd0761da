"""Comparisons pair by query, correct for the number of tests, and claim no more than was shown."""

from __future__ import annotations

import numpy as np
import pytest

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.results.comparison import compare_systems
from rag_evaluation_framework.results.summaries import summarise

MRR, HOLE = parse_metric("mrr"), parse_metric("hole@5")


def test_rows_pair_by_query_and_never_by_position() -> None:
    old = {"a": 0.0, "b": 0.5, "c": 1.0, "only old": 0.3}
    new = {"c": 1.0, "b": 0.5, "a": 1.0, "only new": 0.1, "also new": 0.2}
    (compared,) = compare_systems({"old": {"mrr": old}, "new": {"mrr": new}}, [MRR], baseline="old")
    assert (compared.n, compared.n_unpaired) == (3, 3)
    assert compared.difference == pytest.approx(1 / 3)  # (1 + 0 + 0) / 3
    assert (compared.wins, compared.ties, compared.losses) == (1, 2, 0)


def test_the_figures_do_not_depend_on_the_order_of_the_queries() -> None:
    rng = np.random.default_rng(3)
    old = {f"q{n}": value for n, value in enumerate(rng.random(50))}
    new = {f"q{n}": value for n, value in enumerate(rng.random(50))}
    shuffled = dict(sorted(old.items(), key=lambda item: item[1]))
    first = compare_systems({"old": {"mrr": old}, "new": {"mrr": new}}, [MRR], baseline="old")
    second = compare_systems({"old": {"mrr": shuffled}, "new": {"mrr": new}}, [MRR], baseline="old")
    assert first == second


def test_holm_corrects_over_all_metrics_and_contenders_together() -> None:
    rng = np.random.default_rng(5)
    systems = {
        name: {
            str(metric): {f"q{n}": value for n, value in enumerate(rng.random(30))} for metric in (MRR, HOLE)
        }
        for name in ("base", "x", "y")
    }
    compared = compare_systems(systems, [MRR, HOLE], baseline="base")
    assert [(each.metric, each.contender) for each in compared] == [
        ("mrr", "x"),
        ("mrr", "y"),
        ("hole@5", "x"),
        ("hole@5", "y"),
    ]
    smallest = min(compared, key=lambda each: each.p_value or 1)
    assert smallest.p_value is not None
    assert smallest.p_adjusted == pytest.approx(min(1, 4 * smallest.p_value))  # four tests


def test_equal_systems_show_no_difference() -> None:
    same = {f"q{n}": n / 10 for n in range(10)}
    (compared,) = compare_systems({"a": {"mrr": same}, "b": {"mrr": dict(same)}}, [MRR], baseline="a")
    assert (compared.p_value, compared.effect_size, compared.verdict) == (1.0, 0.0, "no difference shown")


def test_one_shared_query_is_too_little_for_a_test_and_says_so() -> None:
    (compared,) = compare_systems({"a": {"mrr": {"q": 0.0}}, "b": {"mrr": {"q": 1.0}}}, [MRR], baseline="a")
    assert (
        compared.p_value is compared.p_adjusted is compared.interval is compared.smallest_detectable is None
    )
    assert "at least two queries" in compared.test
    assert compared.verdict == "no difference shown"


def test_systems_without_a_query_in_common_cannot_be_compared() -> None:
    with pytest.raises(UsageError, match="no scored query in common"):
        compare_systems({"a": {"mrr": {"q": 0.0}}, "b": {"mrr": {"p": 1.0}}}, [MRR], baseline="a")


def test_a_baseline_or_a_test_that_there_is_not_is_refused() -> None:
    scores = {"old": {"mrr": {"p": 0.0, "q": 1.0}}, "new": {"mrr": {"p": 1.0, "q": 1.0}}}
    with pytest.raises(UnknownNameError, match=r'unknown baseline "odl"\. Did you mean "old'):
        compare_systems(scores, [MRR], baseline="odl")
    with pytest.raises(UnknownNameError, match='unknown paired test "student"'):
        compare_systems(scores, [MRR], baseline="old", test="student")  # type: ignore[arg-type]


def test_a_summary_of_nothing_has_no_value() -> None:
    summary = summarise(MRR, [], n_skipped=4)
    assert (summary.value, summary.interval, summary.n_scored, summary.n_skipped) == (None, None, 0, 4)
    assert summary.to_dict()["confidence_interval"] is None


def test_the_interval_of_a_difference_of_scores_stays_between_minus_one_and_one() -> None:
    for factor, ends in ((1.0, (-1.0, 1.0)), (100.0, pytest.approx((-585.3102, 685.3102), abs=1e-3))):
        systems = {"old": {"mrr": {"a": 0.0, "b": 0.0}}, "new": {"mrr": {"a": factor, "b": 0.0}}}
        (compared,) = compare_systems(systems, [MRR], baseline="old")
        assert compared.interval is not None
        # Student's t of one degree is 12.706205: 0.5 ± 6.353102, were it not for scores.
        assert (compared.interval.low, compared.interval.high) == ends


def test_a_summary_names_the_method_of_its_interval() -> None:
    assert "Wilson" in summarise(parse_metric("hit@1"), [0.0, 1.0, 1.0]).to_dict()["interval_method"]
    many = [number / 40 for number in range(40)]
    assert "bootstrap" in summarise(MRR, many).to_dict()["interval_method"]
