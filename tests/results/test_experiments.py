"""A/B experiments: stable allocation, a winner only when shown and large enough, results under their name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import Evaluation, InputError
from rag_evaluation_framework.datasets.project import create_layout
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.results.experiments import (
    Experiment,
    ExperimentResult,
    Variant,
    read_experiment,
    run_experiment,
)
from rag_evaluation_framework.results.results_document import evaluation_of_document

UNITS = [f"user-{number}" for number in range(4_000)]


def experiment(*, runs: int = 1, **changes: Any) -> Experiment:
    first, second = (tuple(f"{name} {day}" for day in range(runs)) for name in ("baseline", "moe"))
    wish: dict[str, Any] = {
        "name": "moe_vs_baseline",
        "variants": (Variant("baseline", 0.5, first), Variant("moe", 0.5, second)),
        "metrics": ("hit@1",),
        "minimum_effect": 0.1,
        "output": "results",
    }
    return Experiment(**{**wish, **changes})


def answers(units: dict[str, float], *, day: int = 0, metric: str = "hit@1") -> Evaluation:
    queries = [{"query_id": unit, "individual_metrics": {metric: value}} for unit, value in units.items()]
    return evaluation_of_document(
        {
            "evaluation_id": f"day {day}",
            "timestamp": f"2026-11-{1 + day:02}T12:00:00Z",
            "dataset_id": "d",
            "retrieval_metrics": {metric: {"value": 0.5, "n_scored": len(queries), "method": "exact"}},
            "query_results": queries,
        }
    )


def looked_at(
    rates: dict[str, float], *, days: int = 1, units: int = 1_000, strangers: int = 0, **changes: Any
) -> ExperimentResult:
    """Give each unit to its variant; of every ten answers of it so many are right as its rate says."""
    planned = experiment(runs=days, **changes)
    found: dict[str, Evaluation] = {}
    for day in range(days):
        for variant, rate in rates.items():
            seen = UNITS[day * units : (day + 1) * units]
            given = [unit for unit in seen if planned.variant_of(unit) == variant]
            others = [unit for unit in seen if planned.variant_of(unit) != variant][:strangers]
            scores = {unit: float(place % 10 < 10 * rate) for place, unit in enumerate([*given, *others])}
            found[f"{variant} {day}"] = answers(scores, day=day)
    return run_experiment(planned, found.__getitem__)


def test_a_unit_is_always_given_the_same_variant_and_shares_are_kept() -> None:
    planned = experiment()
    given = [planned.variant_of(unit) for unit in UNITS]
    assert given == [experiment().variant_of(unit) for unit in UNITS]
    assert given[:5] == ["baseline", "moe", "moe", "moe", "moe"]  # on any machine, in any version
    assert Counter(given)["moe"] == pytest.approx(2_000, abs=100)
    other = experiment(name="another")
    agree = sum(planned.variant_of(unit) == other.variant_of(unit) for unit in UNITS)
    assert agree == pytest.approx(2_000, abs=100)  # experiments do not share their halves
    few = experiment(variants=(Variant("baseline", 0.9), Variant("moe", 0.1)))
    assert Counter(map(few.variant_of, UNITS))["moe"] == pytest.approx(400, abs=60)


@pytest.mark.parametrize(
    ("rates", "units", "word", "winner"),
    [
        ((0.5, 0.7), 1_000, "winner", "moe"),
        ((0.7, 0.5), 1_000, "winner", "baseline"),
        ((0.5, 0.5), 1_000, "running", None),
        ((0.5, 0.5), 2_000, "no winner", None),  # 1,522 were planned
        ((0.5, 0.7), 30, "not begun", None),
    ],
)
def test_there_is_a_winner_only_when_it_is_shown(
    rates: tuple[float, float], units: int, word: str, winner: str | None
) -> None:
    result = looked_at(dict(zip(("baseline", "moe"), rates, strict=True)), units=units)
    assert (result.word, result.winner) == (word, winner)


def test_a_difference_that_is_shown_but_does_not_matter_has_no_winner() -> None:
    result = looked_at({"baseline": 0.5, "moe": 0.7}, units=2_000, minimum_effect=0.3)
    assert (result.word, result.winner, result.decided_on) == ("too small", None, "2026-11-01")


def test_each_day_is_a_look_and_the_first_that_shows_it_is_kept() -> None:
    result = looked_at({"baseline": 0.5, "moe": 0.7}, days=3, units=200)
    looks = result.looks["hit@1"]
    assert [each.day for each in looks] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert [sum(each.n) for each in looks] == [200, 400, 600]
    assert looks[0].p_value > looks[-1].p_value
    assert (result.word, result.decided_on) == ("winner", "2026-11-02")
    assert looks[-1].low > 0


def test_units_of_the_other_variant_and_units_that_come_again_do_not_count() -> None:
    result = looked_at({"baseline": 0.5, "moe": 0.5}, strangers=7)
    assert (len(result.misplaced), result.units) == (14, 1_000)
    assert (
        "14 units are in a run of the variant that the hash of their id does not give" in result.warnings[0]
    )
    twice = experiment(runs=2)
    found = {
        f"{name} {day}": answers(dict.fromkeys(UNITS[:500], 1.0), day=day)
        for name in ("baseline", "moe")
        for day in (0, 1)
    }
    assert run_experiment(twice, found.__getitem__).repeated == 500


def test_shares_that_are_off_are_told() -> None:
    planned = experiment()
    given = {
        name: [unit for unit in UNITS if planned.variant_of(unit) == name] for name in ("baseline", "moe")
    }
    found = {
        "baseline 0": answers(dict.fromkeys(given["baseline"], 1.0)),
        "moe 0": answers(dict.fromkeys(given["moe"][:1_500], 1.0)),
    }
    (warning,) = run_experiment(planned, found.__getitem__).warnings
    assert "sample ratio mismatch" in warning


def test_the_first_metric_must_be_in_the_runs() -> None:
    with pytest.raises(UnknownNameError, match='unknown metric "mrr"'):
        looked_at({"baseline": 0.5, "moe": 0.5}, metrics=("mrr", "hit@1"))


def test_the_starter_configuration_is_an_experiment(tmp_path: Path) -> None:
    create_layout(tmp_path)
    found = read_experiment(tmp_path / "data" / "config" / "ab_testing_config.config.yaml")
    assert (found.name, [each.name for each in found.variants]) == ("moe_vs_baseline", ["baseline", "moe"])
    assert (found.metrics[0], found.minimum_effect, found.planned_units) == ("ndcg@5", 0.05, 6_085)


def test_all_that_is_wrong_with_a_file_is_told_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "ab.config.yaml"
    path.write_text(
        "experiment: a/b\nmetrics: []\nvariants:\n  a: {share: 0.5}\n  b: {share: 0.6, run: [x]}\n"
        "comparison:\n  aplha: 0.05\n  power: 2\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as refused:
        read_experiment(path)
    told = str(refused.value).replace(f"{path}:", "")
    for part in (
        "1: experiment: expected a name",
        "2: metrics: expected a list of metrics",
        "4: variants: expected shares that add up to 1, got 0.5 and 0.6",
        '5: unknown key "run" in variants.b. Did you mean "runs"?',
        '7: unknown key "aplha" in comparison. ',
        "8: comparison.power: expected a number between 0 and 1, got 2",
        '"comparison.minimum_effect" is missing; expected the smallest difference that matters',
    ):
        assert part in told, part
