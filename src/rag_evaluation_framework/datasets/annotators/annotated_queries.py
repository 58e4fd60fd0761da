"""Annotations by what they are about: the spans of each query, and the scores and ratings of each answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.records.annotations import Annotation, AnswerQualityAnnotation
from rag_evaluation_framework.records.citations import SpanCitation

OVERALL = "overall"
"""What the mean of the five quality scores is called."""

T = TypeVar("T")
Given = TypeVar("Given", bound=Annotation)

Marks = Mapping[str, tuple[SpanCitation, ...]]
"""The spans that each annotator marked for one query."""


@dataclass(frozen=True, slots=True)
class RatedUnit(Generic[T]):
    """One thing that was rated: its query, and what each annotator said of it."""

    query_id: str
    ratings: Mapping[str, T] = field(hash=False)


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
            expected = f"one annotation of {annotation.query_id!r} by each annotator"
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
