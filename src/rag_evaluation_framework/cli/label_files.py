"""The human labels that ``rag-eval calibrate`` is given: annotations, and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_evaluation_framework.cli.output import print_warnings
from rag_evaluation_framework.datasets.annotations import read_annotation_files
from rag_evaluation_framework.datasets.human_labels import (
    HumanLabel,
    LabelField,
    labels_of_annotations,
    read_labels,
)
from rag_evaluation_framework.errors import Issue, Problems, UsageError


def labels_in(
    annotations: tuple[Path, ...], label_files: tuple[Path, ...], wanted: Sequence[LabelField]
) -> list[HumanLabel]:
    """Read all labels; every problem of every file is in one error."""
    if not annotations and not label_files:
        raise UsageError("expected human labels: give --annotations FILE.gt.json or --labels FILE")
    problems = Problems()
    warnings: list[Issue] = []
    labels: list[HumanLabel] = []
    with problems.collected():
        read = read_annotation_files(annotations, on_warning=warnings.append)
        labels += labels_of_annotations(read.annotations)
    for path in label_files:
        with problems.collected():
            labels += read_labels(path, wanted=wanted, on_warning=warnings.append)
    problems.raise_all()
    print_warnings(warnings)
    return labels
