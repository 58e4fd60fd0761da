"""A/B experiments: units (questions, users) go to two systems by hash, and are looked at as often as liked.

An experiment is described by a ``.config.yaml``; its results are kept as ``ab_test_<name>_<look>``. The first
metric decides, by a test that keeps its error rate for any number of looks
(:mod:`rag_evaluation_framework.statistics.sequential`). There is a winner only where the difference is shown
and at least as large as the smallest that matters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from rag_evaluation_framework.errors import UnknownNameError, UsageError, counted, shown
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.files.yaml_documents import YamlReader
from rag_evaluation_framework.metrics.declaration import known_metric
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.results_document import EvaluationResultsStorage
from rag_evaluation_framework.results.summaries import section_of
from rag_evaluation_framework.statistics.intervals import normal_two_sided
from rag_evaluation_framework.statistics.resampling import exact_mean
from rag_evaluation_framework.statistics.sequential import (
    always_valid_p,
    always_valid_reach,
    guarded_variance,
    sequential_size,
)
from rag_evaluation_framework.structs import asdict

LEAST_UNITS = 20
"""So many units each variant needs before the first look: means of fewer are not near enough to normal."""

ExperimentWord = Literal["winner", "too small", "running", "no winner", "not begun"]

_KEYS = ("experiment", "dataset", "metrics", "variants", "comparison", "output")
_COMPARISON_KEYS = ("minimum_effect", "significance_level", "power", "standard_deviation")
_NAME = re.compile(r"\w[\w.+-]{0,99}\Z")
# Of scores from 0 to 1 nothing spreads more than halves of zeros and ones.
_WIDEST_SPREAD = 0.5


class Variant(msgspec.Struct, frozen=True):
    """A system in an experiment: the share of the units it is given, and the runs that hold its answers."""

    name: str
    share: float
    runs: tuple[str, ...] = ()


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """Two variants, the first of which is in use, and what is decided by which metric.

    ``minimum_effect`` is the smallest difference that matters; ``standard_deviation`` that of a score, as far
    as it is known beforehand.
    """

    name: str
    variants: tuple[Variant, Variant]
    metrics: tuple[str, ...]
    minimum_effect: float
    significance_level: float = 0.05
    power: float = 0.8
    standard_deviation: float = _WIDEST_SPREAD
    dataset: str | None = None
    output: str = "data/evaluation/results"

    def variant_of(self, unit: str) -> str:
        """Return the variant a unit is given, always the same: by the hash of the experiment and the unit."""
        digest = hashlib.blake2b(f"{self.name}\n{unit}".encode(), digest_size=8).digest()
        first, second = self.variants
        return first.name if int.from_bytes(digest, "big") / 2**64 < first.share else second.name

    @property
    def planned_units(self) -> int:
        """The number of units of both variants that shows the smallest relevant difference at this power."""
        return sequential_size(
            self.minimum_effect,
            self.standard_deviation,
            share=self.variants[0].share,
            power=self.power,
            alpha=self.significance_level,
        )


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment; raise one error with everything that is wrong with the file."""
    reader = YamlReader(read_text(path), file=str(path))
    reader.mapping(required=True)
    reader.check_keys(_KEYS, strict=True)
    reader.check_keys(_COMPARISON_KEYS, "comparison", strict=True)
    name = reader.text("experiment")
    if name and not _NAME.match(name):
        reader.problem(("experiment",), "a name of letters, digits, '_', '-', '+' and '.'", shown(name))
    metrics = reader.texts("metrics", expected="a list of metrics, the first of which decides")
    variants = [_variant(reader, each) for each in reader.mapping("variants", required=True)]
    if variants and len(variants) != 2:
        reader.problem(("variants",), "two variants", counted(len(variants), "variant"))
    elif variants and abs(sum(each.share for each in variants) - 1) > 1e-9:
        reader.problem(
            ("variants",), "shares that add up to 1", " and ".join(f"{v.share:g}" for v in variants)
        )
    found = {key: _number(reader, key) for key in _COMPARISON_KEYS}
    if found["minimum_effect"] is None:
        reader.problem(("comparison", "minimum_effect"), "the smallest difference that matters", "nothing")
    output = reader.optional_text("output")
    dataset = reader.optional_text("dataset")
    reader.raise_all()
    settings: dict[str, Any] = {key: value for key, value in found.items() if value is not None}
    settings |= {"output": output} if output else {}
    return Experiment(
        name=name, variants=(variants[0], variants[1]), metrics=metrics, dataset=dataset, **settings
    )


def _variant(reader: YamlReader, name: str) -> Variant:
    place = ("variants", name)
    reader.check_keys(("share", "runs"), *place, strict=True)
    share = reader.share(*place, "share", default=0.5)
    if not 0 < share < 1:
        reader.problem((*place, "share"), "a number between 0 and 1", shown(share))
    runs = reader.at(*place, "runs")
    listed = () if runs in (None, []) else reader.texts(*place, "runs", expected="a list of runs or files")
    return Variant(name, share, listed)


def _number(reader: YamlReader, key: str) -> float | None:
    found = reader.at("comparison", key)
    if found is None:
        return None
    most = 1.0 if key in ("significance_level", "power") else float("inf")
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < most:
        expected = "a number between 0 and 1" if most == 1.0 else "a number above 0"
        reader.problem(("comparison", key), expected, shown(found))
    return found if isinstance(found, float) else float(found) if isinstance(found, int) else None


# What has come of an experiment so far.


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a metric on a day, over all runs up to it: the two means and their difference.

    The interval holds the true difference at all looks together; ``p_value`` counts all of them too.
    """

    day: str
    metric: str
    n: tuple[int, int]
    means: tuple[float, float]
    difference: float
    low: float
    high: float
    p_value: float
    effect_size: float


class ExperimentResult(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment as it stands: its looks by metric, the decision, and the units that do not count.

    ``decided_on`` is the day of the first look that showed a difference.
    """

    experiment: Experiment
    looks: Mapping[str, tuple[Look, ...]]
    word: ExperimentWord
    winner: str | None = None
    decided_on: str | None = None
    misplaced: tuple[str, ...] = ()
    repeated: int = 0
    higher_is_better: Mapping[str, bool] = {}
    warnings: tuple[str, ...] = ()

    @property
    def latest(self) -> Look | None:
        """The latest look at the metric that decides."""
        looks = self.looks.get(self.experiment.metrics[0], ())
        return looks[-1] if looks else None

    @property
    def units(self) -> int:
        return 0 if self.latest is None else sum(self.latest.n)

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as a results document."""
        control, treatment = self.experiment.variants
        sections: dict[str, dict[str, Any]] = {}
        tests: dict[str, Any] = {}
        for metric, looks in self.looks.items():
            for look in looks[-1:]:
                sections.setdefault(section_of(metric, "exact"), {})[metric] = {
                    "value": look.means[1],
                    "n_scored": look.n[1],
                    "higher_is_better": self.higher_is_better.get(metric, True),
                }
                tests[metric] = {
                    "baseline": control.name,
                    "current": treatment.name,
                    "baseline_mean": look.means[0],
                    "current_mean": look.means[1],
                    "difference": look.difference,
                    "confidence_interval": [look.low, look.high],
                    "p_value": look.p_value,
                    "significant": any(each.p_value <= self.experiment.significance_level for each in looks),
                    "effect_size": look.effect_size,
                    "test": "mixture sequential, valid at every look",
                    "n": list(look.n),
                }
        return {
            "evaluation_id": self.evaluation_id,
            "timestamp": f"{self.latest.day}T00:00:00Z" if self.latest else None,
            "system_version": treatment.name,
            "dataset_id": self.experiment.dataset or self.experiment.name,
            "configuration": asdict(self.experiment),
            "summary": {"total_queries": self.units, "successful_queries": self.units, "failed_queries": 0},
            "retrieval_metrics": {},
            **sections,
            "query_results": [],
            "statistical_analysis": {"significance_tests": tests},
            "ab_test": {
                "decision": self.word,
                "winner": self.winner,
                "decided_on": self.decided_on,
                "planned_units": self.experiment.planned_units,
                "units": self.units,
                "misplaced_units": list(self.misplaced),
                "repeated_units": self.repeated,
                "looks": {metric: [asdict(each) for each in looks] for metric, looks in self.looks.items()},
                "warnings": list(self.warnings),
            },
        }

    @property
    def evaluation_id(self) -> str:
        """The id that the results are kept as: its number is that of the looks so far."""
        looks = len(self.looks.get(self.experiment.metrics[0], ()))
        return f"ab_test_{self.experiment.name}_{looks:03}"

    def save(self) -> Path:
        """Keep the results in the folder that the experiment names."""
        storage = EvaluationResultsStorage(self.experiment.output)
        return Path(storage.save_results(self.to_dict(), "ab_test"))


def run_experiment(experiment: Experiment, find: Callable[[str], Evaluation]) -> ExperimentResult:
    """Read the runs of both variants, found by name, and decide what may be said today."""
    units, misplaced, repeated = _Units(experiment), [], 0
    for variant in experiment.variants:
        for evaluation in sorted(map(find, variant.runs), key=lambda each: each.head.started_at or ""):
            strangers, again = units.add(variant.name, evaluation)
            misplaced += strangers
            repeated += again
    looks = {metric: tuple(units.looks(metric)) for metric in experiment.metrics if metric in units.metrics}
    if units.metrics and experiment.metrics[0] not in units.metrics:
        raise UnknownNameError("metric", experiment.metrics[0], list(units.metrics))
    primary = looks.get(experiment.metrics[0], ())
    word, winner, day = _decided(experiment, primary, units.metrics.get(experiment.metrics[0], True))
    return ExperimentResult(
        experiment=experiment,
        looks=looks,
        word=word,
        winner=winner,
        decided_on=day,
        misplaced=tuple(misplaced),
        repeated=repeated,
        higher_is_better=units.metrics,
        warnings=tuple(_warnings(experiment, units, misplaced)),
    )


def _decided(
    experiment: Experiment, looks: Sequence[Look], higher_is_better: bool
) -> tuple[ExperimentWord, str | None, str | None]:
    """Return the decision, the winner and the day of the first look that showed a difference."""
    if not looks:
        return "not begun", None, None
    shown_on = next((each.day for each in looks if each.p_value <= experiment.significance_level), None)
    last = looks[-1]
    if shown_on is None:
        return ("no winner" if sum(last.n) >= experiment.planned_units else "running"), None, None
    if abs(last.difference) < experiment.minimum_effect:
        return "too small", None, shown_on
    control, treatment = experiment.variants
    winner = treatment if (last.difference > 0) == higher_is_better else control
    return "winner", winner.name, shown_on


class _Units:
    """The first answer of each unit, by variant and day."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self.metrics: dict[str, bool] = {}
        self.found: dict[str, dict[str, tuple[str, Mapping[str, float]]]] = {
            each.name: {} for each in experiment.variants
        }

    def add(self, variant: str, evaluation: Evaluation) -> tuple[list[str], int]:
        """Add a run; return the units that were not allocated to the variant, and how many came again."""
        day = (evaluation.head.started_at or "")[:10]
        if not day:
            raise UsageError(f"expected a run that says when it began, got {evaluation.head.run_id}")
        for part in evaluation.runs:
            for metric, figure in part.metrics.items():
                if metric in self._experiment.metrics:
                    self.metrics.setdefault(metric, figure.higher_is_better)
        strangers, again = [], 0
        for row in evaluation.rows:
            if self._experiment.variant_of(row.id) != variant:
                strangers.append(row.id)
            elif row.id in self.found[variant]:
                again += 1
            else:
                scores = {name: each for name, each in row.values.items() if name in self._experiment.metrics}
                self.found[variant][row.id] = (day, scores)
        return strangers, again

    def looks(self, metric: str) -> Iterator[Look]:
        """Yield the state of a metric for each day on which answers came and both variants had enough."""
        control, treatment = (
            [(day, scores[metric]) for day, scores in self.found[each.name].values() if metric in scores]
            for each in self._experiment.variants
        )
        for day in sorted({day for day, _ in (*control, *treatment)}):
            values = [[value for when, value in arm if when <= day] for arm in (control, treatment)]
            if min(map(len, values)) >= LEAST_UNITS and (look := self._look(day, metric, values)):
                yield look

    def _look(self, day: str, metric: str, values: list[list[float]]) -> Look | None:
        known, experiment = known_metric(metric), self._experiment
        is_share = known is not None and known.is_share
        spreads = [guarded_variance(each, is_share=is_share) for each in values]
        if spreads[0] is None or spreads[1] is None:
            return None
        first, second = (exact_mean(each) for each in values)
        variance = spreads[0] / len(values[0]) + spreads[1] / len(values[1])
        scale, difference = experiment.minimum_effect, second - first
        reach = always_valid_reach(variance, scale=scale, alpha=experiment.significance_level)
        pooled = (spreads[0] + spreads[1]) / 2
        return Look(
            day=day,
            metric=metric,
            n=(len(values[0]), len(values[1])),
            means=(first, second),
            difference=difference,
            low=difference - reach,
            high=difference + reach,
            p_value=always_valid_p(difference, variance, scale=scale),
            effect_size=difference / pooled**0.5,
        )


_UNLIKELY = 0.001


def _warnings(experiment: Experiment, units: _Units, misplaced: Sequence[str]) -> Iterator[str]:
    counts = [len(units.found[each.name]) for each in experiment.variants]
    total = sum(counts)
    if misplaced:
        yield (
            f"{counted(len(misplaced), 'unit is', 'units are')} in a run of the variant that the hash of "
            f"{'its' if len(misplaced) == 1 else 'their'} id does not give, and left out"
        )
    primary = experiment.metrics[0]
    unscored = [
        unit for arm in units.found.values() for unit, (_, scores) in arm.items() if primary not in scores
    ]
    if unscored:
        have = counted(len(unscored), "unit has", "units have")
        yield f"{have} no {primary} and does not count: {', '.join(unscored[:5])}"
    if total:
        share = experiment.variants[0].share
        z = (counts[0] - share * total) / (total * share * (1 - share)) ** 0.5
        if normal_two_sided(z) < _UNLIKELY:
            yield (
                f"sample ratio mismatch: {counts[0]:,} units of {experiment.variants[0].name} and "
                f"{counts[1]:,} of {experiment.variants[1].name}, where {share:g} were planned"
            )
