"""A run against an earlier one of the same dataset: paired by sample, metric by metric.

Samples pair by id, and only where they are the same in both runs, content included. Scores by different
methods are not comparable, and times depend on the machine: the former are refused, the latter left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.comparison import Comparison, Uncompared, compare_systems
from rag_evaluation_framework.results.metric_sections import stand_in
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.sample_list import read_list

_BASELINE, _CURRENT = "baseline", "this run"

_Scores = dict[str, dict[str, float]]
"""Value by sample by metric."""


class ScoredBy(Protocol):
    """What is compared of a metric: its name, how it is measured, and which way is better."""

    @property
    def name(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def higher_is_better(self) -> bool: ...


def check_baseline(baseline: RunFolder, scorers: Sequence[ScoredBy]) -> None:
    """Raise :class:`UsageError` if the baseline was scored in another way, or is not complete."""
    name = baseline.head.run_id
    if baseline.state != "complete":
        raise UsageError(f"baseline {name} is {baseline.state}: expected a complete run")
    methods = _methods(baseline)
    for scorer in _compared(scorers):
        then = methods.get(scorer.name)
        if then is None:
            raise UsageError(f"baseline {name} was not scored with {scorer.name}; run rag-eval score first")
        if scorer.method not in then:
            found = " and ".join(sorted(then))
            raise UsageError(f"baseline {name} has {scorer.name} by {found}, this run by {scorer.method}")


def compare_with_baseline(
    baseline: RunFolder, current: RunFolder, scorers: Sequence[ScoredBy], *, seed: int = 0
) -> Comparison:
    """Compare two runs over the samples that both scored."""
    compared = _compared(scorers)
    same = set(read_list(baseline.samples_path)) & set(read_list(current.samples_path))
    shared = {identifier for identifier, _ in same}
    names = {scorer.name for scorer in compared}
    scores = {
        name: _scores(folder, names, shared) for name, folder in ((_BASELINE, baseline), (_CURRENT, current))
    }
    metrics = [
        stand_in(scorer.name, scorer.method, higher_is_better=scorer.higher_is_better)
        for scorer in compared
        if scores[_BASELINE][scorer.name].keys() & scores[_CURRENT][scorer.name].keys()
    ]
    comparable = {str(metric) for metric in metrics}
    missed = [scorer.name for scorer in compared if scorer.name not in comparable]
    in_baseline = _scored(baseline) if missed else set()
    return Comparison(
        baseline=_BASELINE,
        contenders=(_CURRENT,),
        metrics=tuple(compare_systems(scores, metrics, baseline=_BASELINE, seed=seed)) if metrics else (),
        uncompared=tuple(Uncompared(name, in_baseline=name in in_baseline) for name in missed),
    )


def _compared(scorers: Sequence[ScoredBy]) -> list[ScoredBy]:
    return [scorer for scorer in scorers if scorer.method != TIMING_METHOD]


def _methods(folder: RunFolder) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for result in folder.results():
        for score in result.scores:
            found.setdefault(score.metric, set()).add(score.method)
    return found


def _scored(folder: RunFolder) -> set[str]:
    return {score.metric for result in folder.results() for score in result.scores if score.value is not None}


def _scores(folder: RunFolder, metrics: set[str], samples: set[str]) -> _Scores:
    found: _Scores = {metric: {} for metric in metrics}
    for result in folder.results():
        for score in result.scores:
            if score.value is not None and score.metric in metrics and result.sample_id in samples:
                found[score.metric][result.sample_id] = score.value
    return found
