"""How a golden run is gated and what it is scored by: from the command line, and from a YAML file.

::

    spec:
      evaluation:
        datasets:                       # only for splits with other metrics than usual
          - name: facts
            metrics: [entity_coverage, token_f1]
        thresholds: {entity_coverage: 0.8, over_refusal: {max: 0.05}}
        ciGate: true
        judge: {model: gpt-4o-mini}
      api: …                            # as in any manifest

On the command line a threshold is ``entity_coverage=0.8``, ``over_refusal<=0.05`` or, for one split alone,
``facts:token_f1>=0.5``; one that is given switches the gate on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rag_evaluation_framework.errors import InputError, Problems, UsageError, shown
from rag_evaluation_framework.evaluation.manifests.agent_api import AgentApi, read_api
from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings, read_judge
from rag_evaluation_framework.evaluation.manifests.manifest_reader import EVALUATION, ManifestReader
from rag_evaluation_framework.evaluation.manifests.thresholds import Threshold, read_thresholds
from rag_evaluation_framework.evaluation.scorers.known_metrics import check_known

_KEYS = ("framework", "datasets", "thresholds", "ciGate", "judge")
_DATASET_KEYS = ("name", "metrics")
_THRESHOLD = re.compile(
    r"\s*(?:(?P<split>[a-z]+):)?(?P<metric>\w+(?:\([^()]*\))?(?:@\d+)?)"
    r"\s*(?P<operator>>=|<=|=)\s*(?P<bound>\S+)\s*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenSettings:
    """The gate of a golden run, the metrics that take the place of a split's own, and the system's API."""

    file: Path | None = None
    thresholds: tuple[Threshold, ...] = ()
    metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    gate: bool = False
    api: AgentApi = field(default_factory=AgentApi)
    judge: JudgeSettings | None = None

    @property
    def splits_named(self) -> tuple[str, ...]:
        """The splits that settings were made for."""
        held = (threshold.dataset for threshold in self.thresholds if threshold.dataset is not None)
        return tuple(dict.fromkeys((*self.metrics, *held)))


def read_golden_settings(path: str | Path) -> GoldenSettings:
    """Read settings from a file; :class:`InputError` has every problem with its line."""
    path = Path(path)
    reader = ManifestReader(path, expected="settings with spec.evaluation")
    reader.mapping(*EVALUATION)
    reader.check_keys(_KEYS, *EVALUATION)
    settings = GoldenSettings(
        file=path,
        thresholds=reader.thresholds(),
        metrics=_metrics(reader),
        gate=reader.gate(),
        api=read_api(reader),
        judge=read_judge(reader),
    )
    reader.raise_all()
    return settings


def with_thresholds(settings: GoldenSettings, written: Iterable[str]) -> GoldenSettings:
    """Return the settings with thresholds as the command line writes them; these switch the gate on."""
    thresholds = list(settings.thresholds)
    problems = Problems()
    texts = list(written)
    for text in texts:
        with problems.collected():
            thresholds += _written(text)
    problems.raise_all()
    return replace(settings, thresholds=tuple(thresholds), gate=settings.gate or bool(texts))


def _written(text: str) -> list[Threshold]:
    match = _THRESHOLD.fullmatch(text)
    try:
        bound = float(match["bound"]) if match else None
    except ValueError:
        bound = None
    if match is None or bound is None:
        raise UsageError(f"--threshold: expected METRIC=NUMBER, got {shown(text)}")
    metric, side = match["metric"], {">=": "min", "<=": "max"}.get(match["operator"])
    check_known(metric, frozenset())
    try:
        read = read_thresholds(metric, bound if side is None else {side: bound})
        return [replace(threshold, dataset=match["split"]) for threshold in read]
    except InputError as error:
        raise UsageError(f"--threshold {shown(text)}: {error}") from None


def _metrics(reader: ManifestReader) -> dict[str, tuple[str, ...]]:
    """Return the metrics of the splits that are listed with metrics of their own."""
    place = (*EVALUATION, "datasets")
    if reader.at(*place) is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int | None] = {}
    for number in range(len(reader.items(*place, expected="a list of splits with metrics"))):
        at = (*place, number)
        if not isinstance(reader.at(*at), dict):
            reader.problem(at, "a split with name and metrics", shown(reader.at(*at)))
            continue
        reader.check_keys(_DATASET_KEYS, *at)
        name = reader.text(*at, "name")
        if name in found:
            reader.repeated((*at, "name"), first=lines[name])
        elif name:
            lines[name] = reader.line(at)
        found[name] = reader.metrics(*at, "metrics")
    return found
