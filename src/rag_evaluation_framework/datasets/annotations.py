"""Annotation files to records, by query and answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from rag_evaluation_framework.datasets.consistency import annotations_in
from rag_evaluation_framework.datasets.dialect import overlaid, residue
from rag_evaluation_framework.datasets.evaluation_sets import decode_citation, encode_citation
from rag_evaluation_framework.datasets.schemas import value_issues
from rag_evaluation_framework.datasets.value_files import read_document, write_document
from rag_evaluation_framework.errors import InputError, Issue, Problems, refused
from rag_evaluation_framework.files.atomic import locked
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.samples import (
    Annotation,
    AnnotationSet,
    AnswerQualityAnnotation,
    CitationAnnotation,
)
from rag_evaluation_framework.structs import replace

# Annotation files (``.gt.json``, ``.gt.yaml``) to and from records.
#
# Read: one annotation, a list of them, one a line, or ``{"dataset_id": …, "annotations": […]}``, which is
# what is written. An annotation with quality scores is an :class:`AnswerQualityAnnotation`, any other a
# :class:`CitationAnnotation`.

_ABOUT = ("annotation_id", "query_id", "annotator_id", "timestamp")
_CITATION_FIELDS = {
    "file": "file_name",
    "page": "page_number",
    "start": "start_char",
    "end": "end_char",
    "text": "text",
    "confidence": "annotation_confidence",
}


def read_annotations(path: str | Path, *, on_warning: Callable[[Issue], None] | None = None) -> AnnotationSet:
    """Read a file of annotations; every error of it is raised at once, warnings go to ``on_warning``."""
    document = read_document(path, lines=True)
    value = document.checked("annotations", on_warning=on_warning)
    dataset_id, extra = None, {}
    if isinstance(value, dict) and "annotations" in value:
        dataset_id = value.get("dataset_id")
        extra = {key: item for key, item in value.items() if key not in ("dataset_id", "annotations")}
    records = dict(annotations_in(value))
    places = document.places(list(records))
    annotations = tuple(
        replace(decoded_annotation(record), place=place)
        for record, place in zip(records.values(), places, strict=True)
    )
    return AnnotationSet(annotations, dataset_id, extra)


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
                found = f"duplicate {annotation.annotation_id!r}, also in {owner}"
                issues.append(Issue("duplicate-id", "unique annotation_ids", found, file=path))
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


def own_annotations(path: Path, dataset_id: str | None = None) -> AnnotationSet:
    """Read the file of one annotator; one that is not there yet is empty."""
    return read_annotations(path) if path.is_file() else AnnotationSet((), dataset_id)


def save_annotations(
    path: Path, query_id: str, annotations: Sequence[Annotation], *, dataset_id: str | None = None
) -> None:
    """Put annotations of one query in place of those that the file has of it; the others stay as they are.

    The file is read again and replaced as a whole, by one process at a time, so that those who write to it
    lose nothing of each other's.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused("create", path.parent, error) from error
    with locked(path.parent):
        before = own_annotations(path, dataset_id)
        about = [each.query_id == query_id for each in before.annotations]
        place = about.index(True) if True in about else len(about)
        kept = [each for each, is_about in zip(before.annotations, about, strict=True) if not is_about]
        together = (*kept[:place], *annotations, *kept[place:])
        write_annotations(replace(before, annotations=together), path)


def decoded_annotation(record: Mapping[str, Any]) -> Annotation:
    """Turn one valid annotation of a file into a record that loses nothing of it."""
    annotation: Annotation
    given = record.get("citations")
    spans = tuple(decode_citation(citation, _CITATION_FIELDS) for citation in given or ())
    about: dict[str, Any] = {name: record.get(name) for name in _ABOUT}
    if "quality_scores" in record:
        annotation = AnswerQualityAnnotation(
            **about,
            answer_text=record.get("answer_text"),
            quality_scores=record["quality_scores"],
            overall_score=record.get("overall_score"),
            aspect_ratings=record.get("aspect_ratings", {}),
            citations=None if given is None else spans,
        )
    else:
        annotation = CitationAnnotation(**about, citations=spans)
    return replace(annotation, extra=residue(record, encoded_annotation(annotation)))


def encoded_annotation(annotation: Annotation) -> dict[str, Any]:
    """Turn a record into one annotation of a file, the fields it came with included."""
    record: dict[str, Any] = {name: getattr(annotation, name) for name in _ABOUT}
    if isinstance(annotation, AnswerQualityAnnotation):
        record |= {
            "answer_text": annotation.answer_text,
            "quality_scores": dict(annotation.quality_scores),
            "overall_score": annotation.overall_score,
            "aspect_ratings": dict(annotation.aspect_ratings) or None,
        }
    if annotation.citations is not None:
        record["citations"] = encoded_citations(annotation.citations)
    return overlaid(drop_nulls(record), annotation.extra, replace=True)


def encoded_citations(citations: Iterable[SpanCitation]) -> list[dict[str, Any]]:
    """Turn spans into citations of a file."""
    return [encode_citation(citation, _CITATION_FIELDS) for citation in citations]


# Annotations by what they are about: the spans of each query, and the scores and ratings of each answer.

OVERALL = "overall"
"""Name of the mean of the five quality scores."""

T = TypeVar("T")
Given = TypeVar("Given", bound=Annotation)

Marks = Mapping[str, tuple[SpanCitation, ...]]
"""The spans that each annotator marked for one query."""


class RatedUnit(msgspec.Struct, Generic[T], frozen=True):
    """One thing that was rated: its query, and what each annotator said of it."""

    query_id: str
    ratings: Mapping[str, T]


Answer = RatedUnit[AnswerQualityAnnotation]


def annotator_of(annotation: Annotation) -> str:
    """Return who annotated; one who gave no name is taken for a different one each time."""
    return annotation.annotator_id or f"unnamed ({annotation.annotation_id})"


def marks_by_query(annotations: Sequence[Annotation]) -> dict[str, Marks]:
    """Return the spans that each annotator marked, query by query, in the order of the file."""
    marking = [annotation for annotation in annotations if annotation.citations is not None]
    return {
        query: {who: annotation.citations or () for who, annotation in given.items()}
        for query, given in _by_annotator(marking, lambda annotation: annotation.query_id).items()
    }


def judged_answers(annotations: Sequence[Annotation]) -> list[Answer]:
    """Return every answer with its annotations; answers are the same if their queries and words are."""
    judging = [annotation for annotation in annotations if isinstance(annotation, AnswerQualityAnnotation)]
    answers = _by_annotator(judging, lambda annotation: (annotation.query_id, annotation.answer_text))
    return [RatedUnit(query, given) for (query, _), given in answers.items()]


def aspect_ratings(answers: Sequence[Answer]) -> dict[str, list[RatedUnit[str]]]:
    """Return, for each aspect, the answers that two annotators or more rated."""
    return _by_name(answers, lambda annotation: annotation.aspect_ratings)


def quality_scores(answers: Sequence[Answer]) -> dict[str, list[RatedUnit[float]]]:
    """Return, for each quality score and for their mean, the answers that two annotators or more gave it."""
    return _by_name(answers, _scores)


def _scores(annotation: AnswerQualityAnnotation) -> Mapping[str, float]:
    mean = annotation.mean_score
    return annotation.quality_scores if mean is None else {**annotation.quality_scores, OVERALL: mean}


def _by_annotator(annotations: Sequence[Given], subject: Callable[[Given], T]) -> dict[T, dict[str, Given]]:
    """Group annotations by subject and annotator; the same annotator twice on a subject is an error."""
    groups: dict[T, dict[str, Given]] = {}
    issues = []
    for annotation in annotations:
        given, who = groups.setdefault(subject(annotation), {}), annotator_of(annotation)
        if who in given:
            found = f"{given[who].annotation_id!r} and {annotation.annotation_id!r} by {who!r}"
            expected = f"one annotation of {annotation.query_id!r} per annotator"
            issues.append(Issue("annotated-twice", expected, found, "annotations"))
        given[who] = annotation
    if issues:
        raise InputError(issues)
    return groups


def _by_name(
    answers: Sequence[Answer], named: Callable[[AnswerQualityAnnotation], Mapping[str, T]]
) -> dict[str, list[RatedUnit[T]]]:
    units: dict[str, list[RatedUnit[T]]] = {}
    for answer in answers:
        ratings: dict[str, dict[str, T]] = {}
        for who, annotation in answer.ratings.items():
            for name, rating in named(annotation).items():
                ratings.setdefault(name, {})[who] = rating
        for name, given in ratings.items():
            if len(given) >= 2:
                units.setdefault(name, []).append(RatedUnit(answer.query_id, given))
    return units
