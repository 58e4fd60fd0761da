"""What annotators say about a query: the spans that hold its answer, and how good an answer is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Any, TypeAlias

from rag_evaluation_framework.errors import Location, invalid
from rag_evaluation_framework.records.citations import SpanCitation

QUALITY_SCORES = ("completeness", "accuracy", "relevance", "clarity", "conciseness")
"""The five scores whose mean is the overall score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationAnnotation:
    """The spans that one annotator marked as sources for one query; none means that nothing answers it.

    What a file does not say is ``None``. ``extra`` keeps the fields that have no place here, so that writing
    back loses nothing; ``place`` is where a file has the annotation.
    """

    annotation_id: str
    query_id: str
    annotator_id: str | None = None
    timestamp: str | None = None
    citations: tuple[SpanCitation, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    place: Location = field(default=Location(), compare=False)

    def __post_init__(self) -> None:
        _check_ids(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerQualityAnnotation:
    """One annotator's scores (0 to 1) and ratings (words) of one answer, perhaps with citations."""

    annotation_id: str
    query_id: str
    annotator_id: str | None = None
    timestamp: str | None = None
    answer_text: str | None = None
    quality_scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    overall_score: float | None = None
    aspect_ratings: Mapping[str, str] = field(default_factory=dict, hash=False)
    citations: tuple[SpanCitation, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    place: Location = field(default=Location(), compare=False)

    def __post_init__(self) -> None:
        _check_ids(self)
        for name, score in self.quality_scores.items():
            if not 0 <= score <= 1:
                raise invalid(f"quality_scores.{name}", "a number from 0 to 1", score)

    @property
    def mean_score(self) -> float | None:
        """The mean of the five quality scores; ``None`` unless all five are there."""
        scores = [self.quality_scores[name] for name in QUALITY_SCORES if name in self.quality_scores]
        return fsum(scores) / len(scores) if len(scores) == len(QUALITY_SCORES) else None


Annotation: TypeAlias = CitationAnnotation | AnswerQualityAnnotation


@dataclass(frozen=True, slots=True)
class AnnotationSet:
    """The annotations of one dataset, in the order of the file; annotation ids are unique."""

    annotations: tuple[Annotation, ...]
    dataset_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __len__(self) -> int:
        return len(self.annotations)


def _check_ids(annotation: Annotation) -> None:
    for name in ("annotation_id", "query_id"):
        value = getattr(annotation, name)
        if not isinstance(value, str) or not value:
            raise invalid(name, "an id", value)
