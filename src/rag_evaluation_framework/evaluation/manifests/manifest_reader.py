"""Reads the parts of ``spec.evaluation`` that manifests and the settings of golden sets have in common."""

from __future__ import annotations

from pathlib import Path

from rag_evaluation_framework.errors import InputError, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.manifests.references import file_inside
from rag_evaluation_framework.evaluation.manifests.thresholds import read_thresholds
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.files.json_scanner import ValuePath
from rag_evaluation_framework.files.yaml_documents import YamlReader
from rag_evaluation_framework.metrics.declaration import PASS_RATE, check_known, check_metric, metric_name
from rag_evaluation_framework.results.gate import Threshold

EVALUATION: ValuePath = ("spec", "evaluation")


class ManifestReader(YamlReader):
    """The values of a manifest; its paths are relative to the folder it is in."""

    code = "invalid-manifest"

    def __init__(self, path: Path, *, expected: str, uses_metrics: bool = True) -> None:
        """Open a file with a ``spec``; one without is not what was ``expected``."""
        super().__init__(read_text(path), file=str(path))
        self.folder = path.parent
        self.uses_metrics = uses_metrics
        if not self.mapping("spec"):
            self.problem((), expected, shown(self.value))
            self.raise_all()

    def gate(self) -> bool:
        """Tell whether the gate is switched on."""
        return self.true_or_false(*EVALUATION, "ciGate")

    def thresholds(self, declared: frozenset[str] = frozenset()) -> tuple[Threshold, ...]:
        """Return the thresholds, of metrics that are known or ``declared`` by the datasets."""
        place = (*EVALUATION, "thresholds")
        found: list[Threshold] = []
        spelt: dict[str, str] = {}
        for metric, written in self.mapping(*place).items():
            at = (*place, metric)
            first = spelt.setdefault(metric_name(metric), metric)
            if first != metric:
                told = f"{metric_name(metric)} again, after {first} on line {self.line((*place, first))}"
                self.problem(at, "each metric once, however it is spelt", told)
            try:
                check_known(metric, declared)
                found += read_thresholds(metric, written, line=self.line(at))
            except UnknownNameError as error:
                self.problem(at, "the name of a metric", str(error), code="unknown-metric")
            except InputError as error:
                self.problems(at, error)
        return tuple(found)

    def metrics(self, *place: str | int) -> tuple[str, ...]:
        """Return the metrics listed at a place, where there must be some; if they are used, known ones."""
        metrics = self.texts(*place, expected="a list of metrics")
        for number, metric in enumerate(metrics if self.uses_metrics else ()):
            try:
                if metric == PASS_RATE:
                    raise UsageError(f"{PASS_RATE}, which every run has: set a threshold for it")
                check_metric(metric)
            except UsageError as error:
                self.problem((*place, number), "a metric", str(error), code="unknown-metric")
        return metrics

    def repeated(self, place: ValuePath, *, first: int | None) -> None:
        """Note that the name at a place was given before, on the line ``first``."""
        self.problem(place, "each name once", f"{self.at(*place)!r} again, first on line {first}")

    def existing_file(self, *place: str | int) -> Path | None:
        """Return the file named at a place, which must exist and lie inside the manifest's folder."""
        written = self.text(*place)
        try:
            path = file_inside(written, self.folder) if written else None
        except InputError as error:
            self.problems(place, error)
            return None
        if path is not None and not path.exists():
            self.problem(place, "a file that exists", shown(written), code="missing-file")
            return None
        return path
