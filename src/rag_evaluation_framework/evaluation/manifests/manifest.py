"""What a manifest (``agent.yaml``) says about evaluation; the rest of an AgentSpec file is left alone.

::

    spec:
      evaluation:
        framework: ragas                # recorded; the metrics are ours
        datasets:
          - name: rag-quality
            path: $file:evals/rag.jsonl
            metrics: [string_match]     # in place of the list below
        metrics: [answer_similarity, latency]
        thresholds: {answer_similarity: 0.8, latency: {max: 2000}}
        ciGate: true
        judge: {model: gpt-4o-mini}     # see evaluation.manifests.judge_settings
      api: …                            # see evaluation.manifests.agent_api

All problems of a file are reported at once, each with its line. A key that is almost one of ours is a problem
too: a misspelt ``thresholds`` would switch the gate off without a word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rag_evaluation_framework.errors import UnknownNameError, shown
from rag_evaluation_framework.evaluation.manifests.agent_api import AgentApi, read_api
from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings, read_judge
from rag_evaluation_framework.evaluation.manifests.manifest_reader import EVALUATION, ManifestReader
from rag_evaluation_framework.files.json_scanner import ValuePath
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.results.gate import Threshold

FRAMEWORKS = ("ragas", "deepeval", "langsmith", "braintrust", "custom")

_EVALUATION_KEYS = ("framework", "datasets", "metrics", "thresholds", "ciGate", "judge")
_DATASET_KEYS = ("name", "path", "metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetEntry:
    """A dataset that the manifest names; ``metrics`` are its own, or the global ones if it has none."""

    name: str
    path: Path | None
    metrics: tuple[str, ...]
    line: int | None = None
    dataset: Dataset | None = field(default=None, hash=False)
    """The data itself, where it is in memory and in no file."""
    format: str | None = None
    """The dialect of the file, where it is not to be told from its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What evaluation uses of a manifest. References to secrets are not resolved in it."""

    file: Path
    datasets: tuple[DatasetEntry, ...]
    thresholds: tuple[Threshold, ...] = ()
    ci_gate: bool = False
    framework: str | None = None
    api: AgentApi = field(default_factory=AgentApi)
    judge: JudgeSettings | None = None
    kind: Literal["suite", "golden"] = "suite"
    missing: tuple[str, ...] = ()
    """The splits that a folder of golden sets does not have."""
    configuration: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What the heads of its runs record."""

    def selected(self, names: tuple[str, ...]) -> tuple[DatasetEntry, ...]:
        """Return the datasets of these names in the manifest's order; all of them where none is named."""
        known = [entry.name for entry in self.datasets]
        for name in names:
            if name not in known:
                raise UnknownNameError("dataset", name, known)
        return tuple(entry for entry in self.datasets if not names or entry.name in names)


def read_manifest(path: str | Path, *, uses_metrics: bool = True) -> Manifest:
    """Read a manifest; :class:`InputError` has every problem with its line.

    Where others take the place of its metrics (``uses_metrics`` is false), these need not be known.
    """
    path = Path(path)
    reader = ManifestReader(path, expected="a manifest with spec.evaluation", uses_metrics=uses_metrics)
    reader.mapping(*EVALUATION, required=True)
    reader.check_keys(_EVALUATION_KEYS, *EVALUATION)
    datasets = _datasets(reader)
    framework, api = _framework(reader), read_api(reader)
    manifest = Manifest(
        file=path,
        datasets=datasets,
        thresholds=reader.thresholds(frozenset(metric for entry in datasets for metric in entry.metrics)),
        ci_gate=reader.gate(),
        framework=framework,
        api=api,
        judge=read_judge(reader),
        configuration={"manifest": path.name, "framework": framework, "protocol": api.protocol},
    )
    if manifest.ci_gate and not reader.at(*EVALUATION, "thresholds"):
        reader.problem((*EVALUATION, "ciGate"), "thresholds for the gate to hold", "none")
    reader.raise_all()
    return manifest


def _framework(reader: ManifestReader) -> str | None:
    place = (*EVALUATION, "framework")
    found = reader.optional_text(*place)
    if found is not None and found not in FRAMEWORKS:
        reader.problem(place, f"one of {', '.join(FRAMEWORKS)}", shown(found))
    return found


def _datasets(reader: ManifestReader) -> tuple[DatasetEntry, ...]:
    place = (*EVALUATION, "datasets")
    shared = _metrics(reader, EVALUATION)
    found: dict[str, DatasetEntry] = {}
    for number in range(len(reader.items(*place, expected="a list of datasets"))):
        entry = _dataset(reader, (*place, number), shared)
        if entry is not None and entry.name in found:
            reader.repeated((*place, number, "name"), first=found[entry.name].line)
        elif entry is not None:
            found[entry.name] = entry
    return tuple(found.values())


def _dataset(reader: ManifestReader, place: ValuePath, shared: tuple[str, ...] | None) -> DatasetEntry | None:
    if not isinstance(reader.at(*place), dict):
        reader.problem(place, "a dataset with name and path", shown(reader.at(*place)))
        return None
    reader.check_keys(_DATASET_KEYS, *place)
    name = reader.text(*place, "name")
    path = reader.existing_file(*place, "path")
    own = _metrics(reader, place)
    metrics = shared if own is None else own
    if metrics is None:
        reader.problem(place, "metrics, here or in spec.evaluation.metrics", "none")
    if not name or path is None:
        return None
    return DatasetEntry(name=name, path=path, metrics=metrics or (), line=reader.line(place))


def _metrics(reader: ManifestReader, place: ValuePath) -> tuple[str, ...] | None:
    """Return the metrics at a place; ``None`` where it lists none at all."""
    return None if reader.at(*place, "metrics") is None else reader.metrics(*place, "metrics")
