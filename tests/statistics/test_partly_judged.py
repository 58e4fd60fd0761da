"""A mean of which only some samples are judged: by hand, over many draws, and against a plain sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks._answers import EVOUNA
from benchmarks.judge_budget import Population, of_one_run, of_two_runs, paired, populations, until_narrow
from tests.sizes import LONG, size

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.statistics.partly_judged import (
    Draw,
    Judging,
    looks,
    mean_difference,
    pair_difference,
    strata_of,
    strata_of_pairs,
)

NAN = math.nan


def population(rate: float, right: float, *, n: int = 1_500, seed: int = 1) -> Population:
    """Return labels of which a flag says so many right; 0.5 says nothing."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < rate).astype(float)
    return Population(labels, np.where(rng.random(n) < right, labels, 1.0 - labels))


def test_by_hand() -> None:
    # Two strata of 60 and 40; 30 and 10 drawn, of which 27 and 2 are right.
    strata = np.repeat([0, 1], [60, 40])
    drawn = np.zeros(100, dtype=bool)
    drawn[:30] = drawn[60:70] = True
    verdicts = np.full(100, NAN)
    verdicts[:30] = [1.0] * 27 + [0.0] * 3
    verdicts[60:70] = [1.0] * 2 + [0.0] * 8
    found = Judging(strata, drawn, verdicts).mean()
    assert found is not None
    assert found.interval is not None
    # 0.6 x 0.9 + 0.4 x 0.2
    assert found.value == pytest.approx(0.62)
    # Spreads with two more of mean 0.62 each: p = 28.24 / 32 and 3.24 / 12.
    high, low = 28.24 / 32, 3.24 / 12
    variance = 0.36 * 0.5 * high * (1 - high) / 30 + 0.16 * 0.75 * low * (1 - low) / 10
    effective = 1 / (variance / (0.62 * 0.38) + 1 / 100)
    assert found.effective == pytest.approx(effective)
    assert found.effective > found.n_judged == 40
    assert found.interval.low < 0.62 < found.interval.high
    # A plain mean of what was judged would be 29 / 40 = 0.725: it was not drawn alike.


def test_what_does_not_apply_stands_for_others() -> None:
    # Of the second stratum half of those drawn have no verdict, so it counts for 20 samples of 80.
    strata = np.repeat([0, 1], [60, 40])
    verdicts = np.full(100, NAN)
    verdicts[:20], verdicts[60:65] = 1.0, 0.0
    drawn = np.zeros(100, dtype=bool)
    drawn[:20] = drawn[60:70] = True
    found = Judging(strata, drawn, verdicts).mean()
    assert found is not None
    assert (found.n, found.n_judged, found.value) == (80, 25, pytest.approx(0.75))


@pytest.mark.parametrize("judged", [0, 5, 40])
def test_too_few_verdicts_have_no_interval(judged: int) -> None:
    verdicts = np.full(100, NAN)
    verdicts[:judged] = 1.0
    found = Judging(np.zeros(100, dtype=np.int64), verdicts == 1.0, verdicts).mean()
    assert (found is None) == (judged == 0)
    assert found is None or (found.interval is None) == (judged < 20)
    if judged == 40:
        # All alike: the interval is not without width, and no larger than what 40 of 100 leave open.
        assert found is not None
        assert found.interval is not None
        assert 0.9 < found.interval.low < found.interval.high == 1.0


def test_the_same_draw_is_made_again_and_goes_on() -> None:
    ids = [f"q{number}" for number in range(400)]
    labels = population(0.7, 0.9, n=400)
    once, again = (Draw(ids, labels.cheap, seed=3) for _ in range(2))
    verdicts = np.full(400, NAN)
    first = once.extend(verdicts, 40)
    assert sorted(first) == sorted(again.extend(verdicts, 40))
    verdicts[first] = labels.labels[first]
    second = once.extend(verdicts, 100)
    assert not set(first) & set(second)
    assert sorted(second) == sorted(again.extend(verdicts, 100))
    assert len(first) + len(second) == 100
    other = Draw(ids, labels.cheap, seed=4).extend(np.full(400, NAN), 40)
    assert sorted(other) != sorted(first)
    assert len(once.extend(verdicts, 10_000)) == 300


def test_strata() -> None:
    assert strata_of([0.5] * 10).tolist() == [0] * 10
    assert strata_of([]).tolist() == []
    cheap = [0.0] * 50 + [1.0] * 50
    assert strata_of(cheap).tolist() == [0] * 50 + [1] * 50
    # What has no score is apart; a stratum of one joins its neighbour.
    assert strata_of([*cheap, *[NAN] * 20]).tolist() == [0] * 50 + [1] * 50 + [2] * 20
    assert max(strata_of([*cheap, NAN])) == 1
    with pytest.raises(UsageError, match="one cheap score per id"):
        Draw(["a", "b"], [0.5])


def test_looks() -> None:
    assert looks(200, 3_000) == [80, 200]
    assert looks(200, 90) == [36, 90]
    assert looks(None, 150) == [40, 100, 130, 150]
    with pytest.raises(UsageError, match="budget"):
        looks(0, 10)


@pytest.mark.parametrize(
    ("rate", "right", "budget", "saved"),
    [(0.85, 0.95, 100, 2.0), (0.5, 0.5, 50, 0.97), (0.9, 0.5, 100, 0.97)],
)
def test_intervals_cover_and_no_label_is_wasted(rate: float, right: float, budget: int, saved: float) -> None:
    draws = size(250, 2_000)
    found = of_one_run(population(rate, right), budget, draws=draws)
    # Chance moves a share of 250 by .04, one of 2,000 by .015.
    assert found.covered >= (0.93 if LONG else 0.91)
    assert abs(found.bias) < (0.5 if LONG else 1.0)
    assert found.saved >= saved


@pytest.mark.parametrize("together", [True, False])
def test_two_runs_are_paired(together: bool) -> None:
    first, second = population(0.8, 0.95), population(0.8, 0.95)
    rng = np.random.default_rng(2)
    changed = rng.random(len(second.labels)) < 0.1
    second = Population(np.where(changed, 0.0, second.labels), np.where(changed, 0.0, second.cheap))
    found = of_two_runs(first, second, 100, together=together, draws=size(150, 2_000))
    assert found.covered >= 0.91
    assert abs(found.bias) < 1.0
    assert found.saved >= (1.5 if together else 0.97)


def test_pairs_are_cut_by_both_scores_and_no_label_is_wasted_where_these_say_nothing() -> None:
    # Low or high in either run: four strata, numbered to and fro; the last, of one pair, joins the third.
    low, high = [0.1] * 50, [0.9] * 50
    before = [*low, *low, *high, 0.9]
    after = [*low, *high, *high, 0.1]
    assert strata_of_pairs(before, after).tolist() == [*[0] * 50, *[1] * 50, *[2] * 51]
    useless = of_two_runs(population(0.7, 0.5), population(0.6, 0.5), 100, draws=size(150, 2_000))
    assert useless.covered >= 0.91
    assert useless.saved >= 0.97


def test_runs_of_two_seeds_are_no_pairs_and_intervals_cover_all_the_same() -> None:
    rng = np.random.default_rng(5)
    labels = (rng.random(300) < 0.7).astype(float)
    other = np.where(rng.random(300) < 0.1, 1.0 - labels, labels)  # so the runs are much alike
    covered = []
    for number in range(size(120, 1_000)):
        judged = []
        for verdicts, seed in ((labels, number), (other, number + 5_000)):
            draw = Draw(list(map(str, range(300))), np.zeros(300), seed=seed)
            drawn = np.zeros(300, dtype=bool)
            drawn[draw.extend(np.full(300, NAN), 60)] = True
            judged.append(Judging(draw.strata, drawn, np.where(drawn, verdicts, NAN)))
        found = mean_difference(judged[1], judged[0])
        assert found is not None
        assert found.interval is not None
        covered.append(found.interval.low <= other.mean() - labels.mean() <= found.interval.high)
    assert np.mean(covered) >= 0.89


def test_answers_that_are_alike_in_both_runs_shrink_the_difference_and_its_interval() -> None:
    differences = np.array([1.0, -1.0, 0.0, 1.0] * 10)
    drawn = np.arange(40) < 30
    pairs = Judging(np.zeros(40, dtype=np.int64), drawn, np.where(drawn, differences, NAN))
    alone, beside = pair_difference(pairs), pair_difference(pairs, same=60)
    assert alone is not None
    assert beside is not None
    assert alone.interval is not None
    assert beside.interval is not None
    assert alone.value == pytest.approx(differences[:30].mean())
    assert beside.value == pytest.approx(0.4 * alone.value)  # 40 of 100
    assert beside.interval.high == pytest.approx(0.4 * alone.interval.high)
    assert beside.p_value == alone.p_value


def test_the_difference_of_a_run_and_itself_is_none() -> None:
    labels = population(0.7, 0.9, n=400)
    draw, verdicts = Draw(list(map(str, range(400))), labels.cheap), np.full(400, NAN)
    places = draw.extend(verdicts, 100)
    verdicts[places] = labels.labels[places]
    one = Judging(draw.strata, ~np.isnan(verdicts), verdicts)
    found = mean_difference(one, one)
    assert found is not None
    assert (found.value, found.n_both) == (0.0, 100)
    nothing = Judging(draw.strata, np.zeros(400, dtype=bool), np.full(400, NAN))
    assert mean_difference(one, nothing) is None


def test_judging_until_it_is_narrow() -> None:
    covered, bias, judged = until_narrow(population(0.85, 0.9), 0.04, draws=size(60, 1_000))
    assert covered >= (0.93 if LONG else 0.85)
    assert abs(bias) < 1.0
    # A plain sample needs 306 for ±0.04.
    assert judged < 280


@pytest.mark.skipif(not LONG, reason="minutes: RAG_EVAL_LONG_TESTS=1, or python -m benchmarks.judge_budget")
def test_labelled_sets() -> None:
    everything = populations()
    if not everything:
        pytest.skip("no labelled data")
    saved = {}
    for name, each in everything.items():
        for budget in each.budgets(name):
            found = of_one_run(each, budget)
            assert found.covered >= 0.93, (name, budget)
            assert abs(found.bias) < 0.5, (name, budget)
            assert found.saved >= 1 / 1.03, (name, budget)
            saved[name] = max(saved.get(name, 0.0), found.saved)
    assert sum(each >= 1.5 for each in saved.values()) >= 2
    for name, systems in ((EVOUNA, ("fid", "gpt4")), ("XSTest", ("gpt4", "llama2new"))):
        if name in everything:
            found = of_two_runs(*paired(name, systems), 100)
            assert found.covered >= 0.93, name
            assert abs(found.bias) < 0.5, name
            assert found.saved >= 1.5, name
