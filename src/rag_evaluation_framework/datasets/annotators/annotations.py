"""Annotation files (``.gt.json``, ``.gt.yaml``) to and from records.

Read: one annotation, a list of them, one a line, or ``{"dataset_id": …, "annotations": […]}``, which is what
is written. An annotation with quality scores is an :class:`AnswerQualityAnnotation`, any other a
:class:`CitationAnnotation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import read_document, write_document
from rag_evaluation_framework.datasets.checks.validation import value_issues
from rag_evaluation_framework.datasets.dialects.residues import overlaid, residue
from rag_evaluation_framework.errors import InputError, Issue, Problems
from rag_evaluation_framework.records.annotations import (
    Annotation,
    AnnotationSet,
    AnswerQualityAnnotation,
    CitationAnnotation,
)
from rag_evaluation_framework.records.citations import SpanCitation

_CITATION_FIELDS = ("file_name", "page_number", "start_char", "end_char", "text", "annotation_confidence")


def read_annotations(path: str | Path, *, on_warning: Callable[[Issue], None] | None = None) -> AnnotationSet:
    """Read a file of annotations; every error of it is raised at once, warnings go to ``on_warning``."""
    document = read_document(path, lines=True)
    value = document.checked("annotations", on_warning=on_warning)
    dataset_id, extra = None, {}
    if isinstance(value, dict) and "annotations" in value:
        dataset_id = value.get("dataset_id")
        extra = {key: item for key, item in value.items() if key not in ("dataset_id", "annotations")}
    records = dict(_annotations(value))
    places = document.places(list(records))
    annotations: list[Annotation] = []
    issues: list[Issue] = []
    for (within, record), place in zip(records.items(), places, strict=True):
        try:
            annotations.append(replace(decoded_annotation(record), place=place))
        except InputError as error:
            issues += [issue.located(within=within) for issue in error.issues]
    if issues:
        raise InputError(document.place(issues)).located(document.file)
    return AnnotationSet(tuple(annotations), dataset_id, extra)


def read_annotation_files(
    paths: Sequence[str | Path], *, on_warning: Callable[[Issue], None] | None = None
) -> AnnotationSet:
    """Read several files, one for each annotator say, as one set; they must be of the same dataset."""
    problems = Problems()
    sets: dict[str, AnnotationSet] = {}
    for path in paths:
        with problems.collected():
            sets[str(path)] = read_annotations(path, on_warning=on_warning)
    problems.raise_all()
    owners: dict[str, str] = {}
    issues = []
    for path, given in sets.items():
        for annotation in given.annotations:
            owner = owners.setdefault(annotation.annotation_id, path)
            if owner != path:
                found = f"{annotation.annotation_id!r} in {owner} too"
                issues.append(Issue("duplicate-id", "each annotation_id once", found, file=path))
    datasets = {given.dataset_id: path for path, given in sets.items() if given.dataset_id is not None}
    if len(datasets) > 1:
        found = ", ".join(f"{dataset!r} ({path})" for dataset, path in datasets.items())
        issues.append(Issue("several-datasets", "annotations of one dataset", found, "dataset_id"))
    if issues:
        raise InputError(issues)
    if len(sets) == 1:
        return next(iter(sets.values()))
    together = tuple(annotation for given in sets.values() for annotation in given.annotations)
    return AnnotationSet(together, next(iter(datasets), None))


def write_annotations(annotations: AnnotationSet, path: str | Path) -> None:
    """Write annotations as ``{"dataset_id": …, "annotations": […]}``, in YAML if the name says so."""
    value: dict[str, Any] = {} if annotations.dataset_id is None else {"dataset_id": annotations.dataset_id}
    value |= annotations.extra
    value["annotations"] = [encoded_annotation(annotation) for annotation in annotations.annotations]
    errors = [issue for issue in value_issues("annotations", value) if issue.severity == "error"]
    if errors:
        raise InputError(errors)
    write_document(value, path)


def decoded_annotation(record: Mapping[str, Any]) -> Annotation:
    """Turn one valid annotation of a file into a record that loses nothing of it."""
    annotation: Annotation
    citations = record.get("citations")
    spans = None if citations is None else tuple(_citation(citation) for citation in citations)
    about: dict[str, Any] = {
        name: record.get(name) for name in ("annotation_id", "query_id", "annotator_id", "timestamp")
    }
    if "quality_scores" in record:
        annotation = AnswerQualityAnnotation(
            **about,
            answer_text=record.get("answer_text"),
            quality_scores=record["quality_scores"],
            overall_score=record.get("overall_score"),
            aspect_ratings=record.get("aspect_ratings", {}),
            citations=spans,
        )
    else:
        annotation = CitationAnnotation(**about, citations=spans or ())
    return replace(annotation, extra=residue(record, encoded_annotation(annotation)))


def encoded_annotation(annotation: Annotation) -> dict[str, Any]:
    """Turn a record into one annotation of a file, the fields it came with included."""
    record: dict[str, Any] = {
        "annotation_id": annotation.annotation_id,
        "query_id": annotation.query_id,
        "annotator_id": annotation.annotator_id,
        "timestamp": annotation.timestamp,
    }
    if isinstance(annotation, AnswerQualityAnnotation):
        record |= {
            "answer_text": annotation.answer_text,
            "quality_scores": dict(annotation.quality_scores),
            "overall_score": annotation.overall_score,
            "aspect_ratings": dict(annotation.aspect_ratings) or None,
        }
    if annotation.citations is not None:
        record["citations"] = [_encoded_citation(citation) for citation in annotation.citations]
    stated = {name: value for name, value in record.items() if value is not None}
    return overlaid(stated, annotation.extra, replace=True)


def _annotations(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each annotation of a checked file with its path."""
    if isinstance(value, dict) and "annotations" not in value:
        yield "", value
        return
    within, records = ("annotations", value["annotations"]) if isinstance(value, dict) else ("", value)
    for index, record in enumerate(records):
        yield f"{within}[{index}]", record


def _citation(citation: Mapping[str, Any]) -> SpanCitation:
    page = citation.get("page_number")
    return SpanCitation(
        file=citation["file_name"],
        # JSON Schema takes 5.0 for an integer, and so do we.
        start=int(citation["start_char"]),
        end=int(citation["end_char"]),
        page=None if page is None else int(page),
        text=citation.get("text"),
        confidence=citation.get("annotation_confidence"),
        extra={key: value for key, value in citation.items() if key not in _CITATION_FIELDS},
    )


def _encoded_citation(citation: SpanCitation) -> dict[str, Any]:
    values = (
        citation.file,
        citation.page,
        citation.start,
        citation.end,
        citation.text,
        citation.confidence,
    )
    stated = dict(zip(_CITATION_FIELDS, values, strict=True))
    return {name: value for name, value in stated.items() if value is not None} | dict(citation.extra)
