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

from rag_evaluation_framework.errors import InputError, Problems, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.manifests.agent_api import AgentApi, read_api
from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings, read_judge
from rag_evaluation_framework.evaluation.manifests.manifest_reader import ManifestReader
from rag_evaluation_framework.evaluation.manifests.thresholds import Threshold, read_thresholds
from rag_evaluation_framework.evaluation.scorers.known_metrics import check_known
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.files.text import read_text
from rag_evaluation_framework.files.values import ValuePath

_PLACE: ValuePath = ("spec", "evaluation")
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
    value, lines = yaml_documents.decode_with_lines(read_text(path), file=str(path))
    reader = ManifestReader(value, lines, file=str(path))
    if not isinstance(reader.value, dict) or not reader.mapping(("spec",)):
        reader.problem((), "settings with spec.evaluation", shown(reader.value))
        reader.raise_all()
    reader.check_keys(_PLACE, _KEYS)
    settings = GoldenSettings(
        file=path,
        thresholds=tuple(_thresholds(reader)),
        metrics=_metrics(reader),
        gate=_gate(reader),
        api=read_api(reader),
        judge=read_judge(reader, (*_PLACE, "judge"), path.parent),
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
    except (InputError, UsageError) as error:
        raise UsageError(f"--threshold {shown(text)}: {error}") from None


def _thresholds(reader: ManifestReader) -> Iterable[Threshold]:
    place = (*_PLACE, "thresholds")
    for metric, bound in reader.mapping(place).items():
        at = (*place, metric)
        try:
            check_known(metric, frozenset())
            yield from read_thresholds(metric, bound, line=reader.line(at))
        except UnknownNameError as error:
            reader.problem(at, "the name of a metric", str(error), code="unknown-metric")
        except (InputError, UsageError) as error:
            reader.problems(at, error)


def _metrics(reader: ManifestReader) -> dict[str, tuple[str, ...]]:
    """Return the metrics of the splits that are listed with metrics of their own."""
    place = (*_PLACE, "datasets")
    listed = reader.at(place)
    if listed is None:
        return {}
    if not isinstance(listed, list):
        reader.problem(place, "a list of splits with metrics", shown(listed))
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for number in range(len(listed)):
        at = (*place, number)
        if not isinstance(reader.at(at), dict):
            reader.problem(at, "a split with name and metrics", shown(reader.at(at)))
            continue
        reader.check_keys(at, _DATASET_KEYS)
        name = reader.text((*at, "name"), required=True)
        metrics = reader.at((*at, "metrics"))
        if not isinstance(metrics, list) or not metrics or not all(isinstance(each, str) for each in metrics):
            reader.problem((*at, "metrics"), "a list of metrics", shown(metrics))
        elif name is not None:
            found[name] = tuple(dict.fromkeys(each.strip() for each in metrics))
    return found


def _gate(reader: ManifestReader) -> bool:
    found = reader.at((*_PLACE, "ciGate"))
    if found is not None and not isinstance(found, bool):
        reader.problem((*_PLACE, "ciGate"), "true or false", shown(found))
    return found is True
