"""One truth out of several annotators': what more than half of them say.

A character is kept when more than half of the annotators of its query marked it; of two annotators that is
what both marked. Scores are averaged. A rating in words is kept when more than half gave it. Characters that
exactly half marked, and aspects without a majority, are left out and stated in the annotation's metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum
from typing import Any

from rag_evaluation_framework.datasets.annotators.annotated_queries import (
    Answer,
    Marks,
    annotator_of,
    judged_answers,
    marks_by_query,
)
from rag_evaluation_framework.datasets.annotators.marked_characters import majority
from rag_evaluation_framework.records.annotations import (
    Annotation,
    AnnotationSet,
    AnswerQualityAnnotation,
    CitationAnnotation,
)

MERGED = "majority"
"""The annotator of a merged annotation."""


def merged_truth(annotations: AnnotationSet) -> AnnotationSet:
    """Return one annotation of the characters of each query, and one of each answer that was judged."""
    sources: dict[str, list[Annotation]] = {}
    for annotation in annotations.annotations:
        if annotation.citations is not None:
            sources.setdefault(annotation.query_id, []).append(annotation)
    merged: list[Annotation] = [
        _merged_marks(query, marks, sources[query])
        for query, marks in marks_by_query(annotations.annotations).items()
    ]
    answers: Counter[str] = Counter()
    for answer in judged_answers(annotations.annotations):
        answers[answer.query_id] += 1
        merged.append(_merged_answer(answer, number=answers[answer.query_id]))
    return replace(annotations, annotations=tuple(merged))


def _merged_marks(query: str, marks: Marks, sources: Sequence[Annotation]) -> CitationAnnotation:
    kept = majority(marks)
    return CitationAnnotation(
        annotation_id=f"merged_{query}",
        query_id=query,
        annotator_id=MERGED,
        timestamp=_latest(sources),
        citations=kept.spans,
        extra={"metadata": _provenance(sources) | {"tied_characters": kept.tied_characters}},
    )


def _merged_answer(answer: Answer, *, number: int) -> AnswerQualityAnnotation:
    sources = list(answer.ratings.values())
    scores = _mean_scores(sources)
    ratings, undecided = _majority_ratings(sources)
    merged = AnswerQualityAnnotation(
        annotation_id=f"merged_answer_{answer.query_id}" + (f"_{number}" if number > 1 else ""),
        query_id=answer.query_id,
        annotator_id=MERGED,
        timestamp=_latest(sources),
        answer_text=sources[0].answer_text,
        quality_scores=scores,
        aspect_ratings=ratings,
        extra={"metadata": _provenance(sources) | {"undecided_aspects": undecided}},
    )
    return replace(merged, overall_score=merged.mean_score)


def _mean_scores(sources: Sequence[AnswerQualityAnnotation]) -> dict[str, float]:
    given: dict[str, list[float]] = {}
    for annotation in sources:
        for name, score in annotation.quality_scores.items():
            given.setdefault(name, []).append(score)
    return {name: fsum(scores) / len(scores) for name, scores in given.items()}


def _majority_ratings(sources: Sequence[AnswerQualityAnnotation]) -> tuple[dict[str, str], list[str]]:
    """Return the rating of each aspect that has a majority, and the aspects that have none."""
    given: dict[str, Counter[str]] = {}
    for annotation in sources:
        for aspect, rating in annotation.aspect_ratings.items():
            given.setdefault(aspect, Counter())[rating] += 1
    leading = {aspect: ratings.most_common(1)[0] for aspect, ratings in given.items()}
    decided = {
        aspect: rating for aspect, (rating, votes) in leading.items() if 2 * votes > given[aspect].total()
    }
    return decided, [aspect for aspect in given if aspect not in decided]


def _provenance(sources: Sequence[Annotation]) -> dict[str, Any]:
    return {
        "merged_from": [annotation.annotation_id for annotation in sources],
        "annotators": [annotator_of(annotation) for annotation in sources],
    }


def _latest(sources: Sequence[Annotation]) -> str | None:
    """Return the last time at which any of them was made, as it is written."""
    times = [annotation.timestamp for annotation in sources if annotation.timestamp is not None]
    return max(times, key=_moment, default=None)


def _moment(timestamp: str) -> tuple[float, str]:
    try:
        return datetime.fromisoformat(timestamp).timestamp(), timestamp
    except (ValueError, OverflowError):
        return 0.0, timestamp  # a leap second, which Python does not know
