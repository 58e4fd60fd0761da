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

from rag_evaluation_framework.datasets.golden_sets import SPLITS
from rag_evaluation_framework.errors import InputError, Problems, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.manifests.agent_api import AgentApi, read_api
from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings, read_judge
from rag_evaluation_framework.evaluation.manifests.manifest_reader import EVALUATION, ManifestReader
from rag_evaluation_framework.evaluation.manifests.thresholds import read_thresholds
from rag_evaluation_framework.metrics.declaration import check_known
from rag_evaluation_framework.results.gate import Operator, Threshold

_KEYS = ("framework", "datasets", "thresholds", "ciGate", "judge")
_DATASET_KEYS = ("name", "metrics")
_THRESHOLD = re.compile(
    r"\s*(?:(?P<split>[a-z]+):)?(?P<metric>[^()<>=]+(?:\(.*\)[^()<>=]*)?)"
    r"(?P<operator>>=|<=|=)\s*(?P<bound>\S+)\s*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenSettings:
    """The gate of a golden run, the metrics that take the place of a split's own, and the system's API."""

    file: Path | None = None
    thresholds: tuple[Threshold, ...] = ()
    metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    lines: Mapping[str, int | None] = field(default_factory=dict, hash=False)
    """Where the metrics of each split are written."""
    gate: bool = False
    api: AgentApi = field(default_factory=AgentApi)
    judge: JudgeSettings | None = None


def read_golden_settings(path: str | Path) -> GoldenSettings:
    """Read settings from a file; :class:`InputError` has every problem with its line."""
    path = Path(path)
    reader = ManifestReader(path, expected="settings with spec.evaluation")
    reader.mapping(*EVALUATION)
    reader.check_keys(_KEYS, *EVALUATION)
    metrics, lines = _metrics(reader)
    settings = GoldenSettings(
        file=path,
        thresholds=reader.thresholds(),
        metrics=metrics,
        lines=lines,
        gate=reader.gate(),
        api=read_api(reader),
        judge=read_judge(reader),
    )
    reader.raise_all()
    return settings


def with_thresholds(settings: GoldenSettings, written: Iterable[str]) -> GoldenSettings:
    """Return the settings with thresholds as the command line writes them; these switch the gate on."""
    problems = Problems()
    found: list[Threshold] = []
    texts: dict[tuple[str | None, str, Operator], str] = {}
    for text in dict.fromkeys(written):
        with problems.collected():
            threshold = _written(text)
            first = texts.setdefault((threshold.dataset, threshold.metric, threshold.operator), text)
            if first != text:
                told = f"expected one bound of {threshold.metric}, got another beside {shown(first)}"
                raise UsageError(f"--threshold {shown(text)}: {told}")
            found.append(threshold)
    problems.raise_all()
    thresholds = (*settings.thresholds, *found)
    return replace(settings, thresholds=thresholds, gate=settings.gate or bool(found))


def _written(text: str) -> Threshold:
    match = _THRESHOLD.fullmatch(text)
    try:
        bound = float(match["bound"]) if match else None
    except ValueError:
        bound = None
    if match is None or bound is None:
        raise UsageError(f"--threshold: expected METRIC=NUMBER, got {shown(text)}")
    metric, side = match["metric"].strip(), {">=": "min", "<=": "max"}.get(match["operator"])
    try:
        if match["split"] is not None:
            _check_split(match["split"])
        check_known(metric)
        (threshold,) = read_thresholds(metric, bound if side is None else {side: bound})
        return replace(threshold, dataset=match["split"])
    except (InputError, UnknownNameError) as error:
        raise UsageError(f"--threshold {shown(text)}: {error}") from None


def _check_split(name: str) -> None:
    if name not in SPLITS:
        raise UnknownNameError("split", name, list(SPLITS))


def _metrics(reader: ManifestReader) -> tuple[dict[str, tuple[str, ...]], dict[str, int | None]]:
    """Return the metrics of the splits that are listed with metrics of their own, and their lines."""
    place = (*EVALUATION, "datasets")
    if reader.at(*place) is None:
        return {}, {}
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
            try:
                _check_split(name)
            except UnknownNameError as error:
                reader.problem((*at, "name"), "the name of a split", str(error))
        found[name] = reader.metrics(*at, "metrics")
    return found, lines
