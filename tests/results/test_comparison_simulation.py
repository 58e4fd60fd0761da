"""On simulated runs whose truth is known, comparing errs as rarely, and finds as often, as it says.

Each repetition is a pair of runs over 40 queries. Scores vary between queries and, less, between runs; the
contender's are higher by the true effect. 1,000 repetitions have a standard error of 0.7 points at 5 % and
of 1.3 points at 80 %.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from benchmarks.comparing import claims, false_claims
from scipy import stats

from rag_evaluation_framework.metrics.declaration import parse_metrics
from rag_evaluation_framework.results.comparison import MetricComparison, compare_systems
from rag_evaluation_framework.statistics.paired import (
    paired_randomisation_test,
    smallest_detectable_difference,
)

QUERIES = 40
REPETITIONS = 1_000
ALPHA = 0.05
# The difference of two scores that each vary by 0.1 from run to run varies by sqrt(2) * 0.1.
SPREAD = 0.1 * 2**0.5
METRICS = parse_metrics(["token_f1", "chrf", "rouge", "bleu"])


def simulated(
    effect: float, *, metrics: int = 1, repetitions: int = REPETITIONS, seed: int
) -> Iterator[list[MetricComparison]]:
    """Yield the comparison of each repetition."""
    rng = np.random.default_rng(seed)
    names = [f"q{n}" for n in range(QUERIES)]
    for repetition in range(repetitions):
        systems: dict[str, dict[str, dict[str, float]]] = {"old": {}, "new": {}}
        for metric in METRICS[:metrics]:
            difficulty = rng.normal(0.5, 0.3, QUERIES)
            for system, shift in (("old", 0.0), ("new", effect)):
                values = difficulty + shift + rng.normal(0.0, 0.1, QUERIES)
                systems[system][str(metric)] = dict(zip(names, values.tolist(), strict=True))
        yield compare_systems(
            systems, METRICS[:metrics], baseline="old", alpha=ALPHA, resamples=1_000, seed=repetition
        )


def power_of_t(effect: float) -> float:
    """Return the power of the two-sided paired t test, which the randomisation test has closely."""
    critical = stats.t.ppf(1 - ALPHA / 2, QUERIES - 1)
    shift = effect / SPREAD * QUERIES**0.5
    return float(stats.nct.sf(critical, QUERIES - 1, shift) + stats.nct.cdf(-critical, QUERIES - 1, shift))


def test_without_an_effect_one_test_in_twenty_claims_one() -> None:
    rng = np.random.default_rng(1)
    repetitions = 4_000  # a standard error of 0.34 points
    differences = rng.normal(0.0, SPREAD, (repetitions, QUERIES))
    claimed = [
        paired_randomisation_test(row, np.zeros(QUERIES), resamples=1_000, seed=number).p_value < ALPHA
        for number, row in enumerate(differences)
    ]
    assert 0.04 <= np.mean(claimed) <= 0.06


def test_without_an_effect_a_comparison_hardly_ever_claims_one_and_its_interval_holds_zero() -> None:
    compared = [each[0] for each in simulated(0.0, seed=1)]
    claimed = np.mean([each.verdict != "no difference shown" for each in compared])
    assert 0.03 <= claimed <= 0.07  # 5 % ± 3 standard errors of 1,000 repetitions
    covered = np.mean([each.interval.low <= 0 <= each.interval.high for each in compared if each.interval])
    assert 0.92 <= covered <= 0.97  # the percentile bootstrap is a little narrow at 40 queries


@pytest.mark.parametrize(("share", "power"), [(0.5, 0.29), (1.0, 0.80)], ids=["small", "large"])
def test_an_effect_is_found_as_often_as_the_power_says(share: float, power: float) -> None:
    # The large effect is the smallest that 40 queries show in 80 % of all cases; the small is half of it.
    effect = share * smallest_detectable_difference(SPREAD, QUERIES, alpha=ALPHA)
    assert power_of_t(effect) == pytest.approx(power, abs=0.01)
    verdicts = [each[0].verdict for each in simulated(effect, seed=2)]
    assert verdicts.count("better") / REPETITIONS == pytest.approx(power, abs=0.04)
    assert verdicts.count("worse") <= 5


def test_many_metrics_do_not_manufacture_a_difference() -> None:
    any_claimed = [
        any(each.verdict != "no difference shown" for each in compared)
        for compared in simulated(0.0, metrics=4, repetitions=250, seed=3)
    ]
    # Uncorrected, 1 - 0.95^4 = 19 % of the comparisons would claim something.
    assert np.mean(any_claimed) <= 0.08


@pytest.mark.parametrize(("metrics", "thresholds"), [(1, False), (3, True)])
def test_a_verdict_without_an_effect_errs_in_one_case_of_twenty(metrics: int, thresholds: bool) -> None:
    verdicts = list(claims(100, 0.0, metrics=metrics, thresholds=thresholds, repetitions=400))
    assert false_claims(verdicts) <= 0.06 + 0.011  # a standard error of 400 repetitions is 0.011


def test_where_answers_decide_a_large_effect_is_found_and_never_the_wrong_way() -> None:
    verdicts = list(claims(100, 0.1, metrics=3, thresholds=True, repetitions=100))
    assert verdicts.count("better") >= 95
    assert "worse" not in verdicts
