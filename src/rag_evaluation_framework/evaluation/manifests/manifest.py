"""What a manifest (``agent.yaml``) says about evaluation; the rest of an AgentSpec file is left alone.

::

    spec:
      evaluation:
        framework: ragas                # recorded; the metrics are ours
        datasets:
          - name: rag-quality
            path: $file:evals/rag.jsonl
            metrics: [string_match]     # in place of the list below
        metrics: [answer_similarity]
        thresholds: {answer_similarity: 0.8, latency: {max: 2000}}
        ciGate: true
        judge: {model: gpt-4o-mini}     # see evaluation.manifests.judge_settings
      api: …                            # see evaluation.manifests.agent_api

All problems of a file are reported at once, each with its line. A key that is almost one of ours is a problem
too: a misspelt ``thresholds`` would switch the gate off without a word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from rag_evaluation_framework.errors import InputError, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.manifests.agent_api import AgentApi, read_api
from rag_evaluation_framework.evaluation.manifests.judge_settings import JudgeSettings, read_judge
from rag_evaluation_framework.evaluation.manifests.manifest_reader import ManifestReader
from rag_evaluation_framework.evaluation.manifests.references import file_inside
from rag_evaluation_framework.evaluation.manifests.thresholds import Threshold, read_thresholds
from rag_evaluation_framework.evaluation.scorers.known_metrics import PASS_RATE, check_known
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.files.text import read_text
from rag_evaluation_framework.files.values import ValuePath

FRAMEWORKS = ("ragas", "deepeval", "langsmith", "braintrust", "custom")

_EVALUATION_KEYS = ("framework", "datasets", "metrics", "thresholds", "ciGate", "judge")
_DATASET_KEYS = ("name", "path", "metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetEntry:
    """A dataset that the manifest names; ``metrics`` are its own, or the global ones if it has none."""

    name: str
    path: Path
    metrics: tuple[str, ...]
    line: int | None = None


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

    def selected(self, names: tuple[str, ...]) -> tuple[DatasetEntry, ...]:
        """Return the datasets of these names in the manifest's order; all of them where none is named."""
        known = [entry.name for entry in self.datasets]
        for name in names:
            if name not in known:
                raise UnknownNameError("dataset", name, known)
        return tuple(entry for entry in self.datasets if not names or entry.name in names)


def read_manifest(path: str | Path) -> Manifest:
    """Read a manifest; :class:`InputError` has every problem with its line."""
    path = Path(path)
    value, lines = yaml_documents.decode_with_lines(read_text(path), file=str(path))
    reader = ManifestReader(value, lines, file=str(path))
    manifest = _Evaluation(reader, path.parent).read(path)
    reader.raise_all()
    return manifest


class _Evaluation:
    """Reads ``spec.evaluation`` and ``spec.api``."""

    PLACE: ValuePath = ("spec", "evaluation")

    def __init__(self, reader: ManifestReader, folder: Path) -> None:
        self.reader, self.folder = reader, folder

    def read(self, path: Path) -> Manifest:
        reader, place = self.reader, self.PLACE
        if not isinstance(reader.value, dict) or not reader.mapping(("spec",)):
            reader.problem((), "a manifest with spec.evaluation", shown(reader.value))
            reader.raise_all()
        reader.mapping(place, required=True)
        reader.check_keys(place, _EVALUATION_KEYS)
        datasets = self.datasets()
        manifest = Manifest(
            file=path,
            datasets=datasets,
            thresholds=self.thresholds(datasets),
            ci_gate=self.ci_gate(),
            framework=self.framework(),
            api=read_api(reader),
            judge=read_judge(reader, (*place, "judge"), self.folder),
        )
        if manifest.ci_gate and not reader.at((*place, "thresholds")):
            reader.problem((*place, "ciGate"), "thresholds for the gate to hold", "none")
        return manifest

    def framework(self) -> str | None:
        place = (*self.PLACE, "framework")
        found = self.reader.text(place)
        if found is not None and found not in FRAMEWORKS:
            self.reader.problem(place, f"one of {', '.join(FRAMEWORKS)}", shown(found))
        return found

    def ci_gate(self) -> bool:
        found = self.reader.at((*self.PLACE, "ciGate"))
        if found is not None and not isinstance(found, bool):
            self.reader.problem((*self.PLACE, "ciGate"), "true or false", shown(found))
        return found is True

    def datasets(self) -> tuple[DatasetEntry, ...]:
        place = (*self.PLACE, "datasets")
        listed = self.reader.at(place)
        if not isinstance(listed, list) or not listed:
            found = "nothing" if listed is None else shown(listed)
            self.reader.problem(place, "a list of datasets", found)
            return ()
        everyone = self.metrics((*self.PLACE, "metrics"))
        entries = [self.dataset((*place, number), everyone) for number in range(len(listed))]
        found_entries = [entry for entry in entries if entry is not None]
        seen: set[str] = set()
        for number, entry in enumerate(entries):
            if entry is not None and entry.name in seen:
                self.reader.problem((*place, number, "name"), "each name once", f"{entry.name!r} again")
            seen |= {entry.name} if entry else set()
        return tuple(found_entries)

    def dataset(self, place: ValuePath, everyone: tuple[str, ...] | None) -> DatasetEntry | None:
        reader = self.reader
        if not isinstance(reader.at(place), dict):
            reader.problem(place, "a dataset with name and path", shown(reader.at(place)))
            return None
        reader.check_keys(place, _DATASET_KEYS)
        name = reader.text((*place, "name"), required=True)
        written = reader.text((*place, "path"), required=True)
        metrics = self.metrics((*place, "metrics"))
        metrics = everyone if metrics is None else metrics
        if not metrics and not reader.at((*place, "metrics")):
            reader.problem(place, "metrics, here or in spec.evaluation.metrics", "none")
        path = None if written is None else self.file((*place, "path"), written)
        if name is None or path is None:
            return None
        return DatasetEntry(name=name, path=path, metrics=metrics or (), line=reader.line(place))

    def file(self, place: ValuePath, written: str) -> Path | None:
        try:
            path = file_inside(written, self.folder)
        except InputError as error:
            self.reader.problems(place, error)
            return None
        if not path.exists():
            self.reader.problem(place, "a file that exists", shown(written), code="missing-file")
            return None
        return path

    def metrics(self, place: ValuePath) -> tuple[str, ...] | None:
        """Return a list of metrics; ``None`` where there is none at all."""
        listed = self.reader.at(place)
        if listed is None:
            return None
        if not isinstance(listed, list) or not all(isinstance(name, str) and name.strip() for name in listed):
            self.reader.problem(place, "a list of metrics", shown(listed))
            return ()
        if not listed:
            self.reader.problem(place, "at least one metric", "an empty list")
        if PASS_RATE in listed:
            found = f"{PASS_RATE}, which every run has: set a threshold for it"
            self.reader.problem((*place, listed.index(PASS_RATE)), "a metric", found)
        return tuple(dict.fromkeys(name.strip() for name in listed))

    def thresholds(self, datasets: tuple[DatasetEntry, ...]) -> tuple[Threshold, ...]:
        place = (*self.PLACE, "thresholds")
        declared = frozenset(metric for entry in datasets for metric in entry.metrics)
        found: list[Threshold] = []
        for metric, written in self.reader.mapping(place).items():
            at = (*place, metric)
            try:
                check_known(metric, declared)
                found += read_thresholds(metric, written, line=self.reader.line(at))
            except UnknownNameError as error:
                self.reader.problem(at, "the name of a metric", str(error), code="unknown-metric")
            except (InputError, UsageError) as error:
                self.reader.problems(at, error)
        return tuple(found)
