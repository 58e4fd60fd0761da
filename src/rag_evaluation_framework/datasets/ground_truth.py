"""Where people's annotations of a dataset are kept, and the truth that they give.

::

    data/evaluation/datasets/rag_v1.0.0.eval.json
    data/evaluation/ground_truth/rag_v1.0.0.gt.json                   what was agreed upon
    data/evaluation/ground_truth/annotations/anna/rag_v1.0.0.gt.json  what each annotator says

A dataset that lies elsewhere has the same files beside it: ``evals/rag.gt.json`` and
``evals/annotations/anna/rag.gt.json`` belong to ``evals/rag.jsonl``. The citations in them are truth wherever
the dataset is evaluated: of several annotators, the characters that more than half marked. What was agreed
upon holds until somebody annotates the query again.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_evaluation_framework.errors import UsageError, refused, shown

if TYPE_CHECKING:
    from rag_evaluation_framework.records.citations import SpanCitation
    from rag_evaluation_framework.records.samples import Annotation, AnnotationSet, Dataset, Sample

ANNOTATIONS = "annotations"
"""The folder that has one of its own for each annotator."""

_TRUTH_SUFFIXES = (".gt.json", ".gt.yaml", ".gt.yml", ".gt.jsonl")
_ENDING = re.compile(r"(\.eval)?\.(jsonl?|ya?ml|csv|tsv|parquet|trec|qrels)(\.(gz|zst))?\Z", re.IGNORECASE)
_NAME = re.compile(r"\w[\w .@+-]{0,63}")


@dataclass(frozen=True, slots=True)
class GroundTruthFiles:
    """The files of a dataset's annotations: ``agreed`` if there is one, and those of each annotator."""

    folder: Path
    name: str
    agreed: Path | None = None
    annotators: Mapping[str, Path] = field(default_factory=dict, hash=False)

    def __bool__(self) -> bool:
        return self.agreed is not None or bool(self.annotators)

    def of(self, annotator: str) -> Path:
        """Return the file of an annotator, which need not be there yet."""
        if not _NAME.fullmatch(annotator) or annotator != annotator.strip():
            expected = "letters, digits, spaces and . @ + - after the first, at most 64"
            raise UsageError(f"annotator: expected {expected}, got {shown(annotator)}")
        named = self.folder / ANNOTATIONS / annotator / f"{self.name}.gt.json"
        return self.annotators.get(annotator, named)


def ground_truth_files(dataset: str | Path) -> GroundTruthFiles:
    """Find the annotations that belong to the file or folder of a dataset."""
    path = Path(dataset)
    name = path.name if path.is_dir() else _ENDING.sub("", path.name)
    beside = path.parent
    folder = beside.parent / "ground_truth" if beside.name == "datasets" else beside
    annotators = {
        place.name: found
        for place in _folders(folder / ANNOTATIONS)
        if (found := _truth_named(place, name)) is not None
    }
    return GroundTruthFiles(folder, name, _truth_named(folder, name), annotators)


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(each for each in path.iterdir() if each.is_dir()) if path.is_dir() else []
    except OSError as error:
        raise refused("read", path, error) from error


def _truth_named(folder: Path, name: str) -> Path | None:
    return next((path for end in _TRUTH_SUFFIXES if (path := folder / f"{name}{end}").is_file()), None)


# The truth that annotations give.


@dataclass(frozen=True, slots=True)
class AnnotatedTruth:
    """The spans that people say answer each query; none of a query of which they say that nothing does."""

    spans: Mapping[str, tuple[SpanCitation, ...]] = field(default_factory=dict, hash=False)
    files: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spans)

    def applied(self, sample: Sample) -> Sample:
        """Return a sample with the spans that people marked in place of its own, if they marked any."""
        spans = self.spans.get(sample.id)
        return sample if spans is None else replace(sample, relevant_spans=spans)


NOTHING_ANNOTATED = AnnotatedTruth()


def annotated_truth(dataset: str | Path) -> AnnotatedTruth:
    """Return the truth that the annotations of a dataset give; every error in their files at once."""
    files = ground_truth_files(dataset)
    if not files:
        return NOTHING_ANNOTATED
    from rag_evaluation_framework.datasets.annotations import read_annotation_files

    agreed = () if files.agreed is None else read_annotation_files([files.agreed]).annotations
    paths = list(files.annotators.values())
    said = read_annotation_files(paths).annotations if paths else ()
    return AnnotatedTruth(_truth(agreed, said), (*([] if files.agreed is None else [files.agreed]), *paths))


def with_annotated_truth(dataset: Dataset, path: str | Path) -> Dataset:
    """Return a dataset that was read from a path with the truth that people annotated."""
    truth = annotated_truth(path)
    return replace(dataset, samples=tuple(map(truth.applied, dataset.samples))) if truth else dataset


def _truth(agreed: Sequence[Annotation], said: Sequence[Annotation]) -> dict[str, tuple[SpanCitation, ...]]:
    from rag_evaluation_framework.datasets.annotations import marks_by_query
    from rag_evaluation_framework.datasets.annotator_agreement import majority

    settled, marked = marks_by_query(agreed), marks_by_query(said)
    agreed_at, said_at = _times(agreed), _times(said)
    chosen = settled | {
        query: marks
        for query, marks in marked.items()
        if query not in settled or said_at[query] > agreed_at[query]
    }
    return {query: majority(marks).spans for query, marks in chosen.items()}


def _times(annotations: Sequence[Annotation]) -> dict[str, float]:
    """Return when the spans of each query were last annotated; 0 where nobody says."""
    from rag_evaluation_framework.datasets.annotator_agreement import moment

    times: dict[str, float] = {}
    for each in annotations:
        if each.citations is not None:
            when = 0.0 if each.timestamp is None else moment(each.timestamp)[0]
            times[each.query_id] = max(when, times.get(each.query_id, 0.0))
    return times


# One annotator's file: read, and rewritten whole after every change.


def own_annotations(path: Path, dataset_id: str | None = None) -> AnnotationSet:
    """Read the file of one annotator; one that is not there yet is empty."""
    from rag_evaluation_framework.datasets.annotations import read_annotations
    from rag_evaluation_framework.records.samples import AnnotationSet

    return read_annotations(path) if path.is_file() else AnnotationSet((), dataset_id)


def save_annotation(
    path: Path, annotation: Annotation | None, annotation_id: str, *, dataset_id: str | None = None
) -> None:
    """Put one annotation in place of the one of this id, or take that out; the others stay as they are.

    The file is read again and replaced as a whole, one process at a time, so that two that write to it lose
    nothing of each other's.
    """
    from rag_evaluation_framework.datasets.annotations import write_annotations

    with _alone_in(path):
        before = own_annotations(path, dataset_id)
        kept = [each for each in before.annotations if each.annotation_id != annotation_id]
        place = next(
            (n for n, each in enumerate(before.annotations) if each.annotation_id == annotation_id), len(kept)
        )
        if annotation is not None:
            kept.insert(place, annotation)
        write_annotations(replace(before, annotations=tuple(kept)), path)


@contextmanager
def _alone_in(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise refused("write", path.parent, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
