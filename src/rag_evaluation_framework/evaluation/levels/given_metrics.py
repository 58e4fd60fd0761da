"""Scores by the metric objects that a caller gives, ours or anybody else's, instead of a level's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Protocol

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.evaluation.levels.level_scoring import (
    ChunkingScorer,
    Chunks,
    LevelScorer,
    Retrieved,
    Scores,
)
from rag_evaluation_framework.evaluation.levels.retrieval_ground_truth import Level
from rag_evaluation_framework.records.scores import Score

CUSTOM = "custom"
"""The method of a score that somebody else's metric computed."""

_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class GivenMetric(Protocol):
    """A metric of either level: what was found, what is relevant, in that order."""

    def calculate(self, retrieved: Any, ground_truth: Any, /) -> float: ...


class GivenMetrics:
    """A level with other metrics than its own.

    One of ours is computed as always. Another one is named by its ``name`` or, in small letters, its class;
    samples without ground truth are skipped.
    """

    def __init__(self, level: LevelScorer, metrics: Sequence[GivenMetric]) -> None:
        self._level = level
        self._metrics = _named(metrics)
        self.level: Level = level.level
        self.metrics: tuple[str, ...] = tuple(self._metrics)

    def for_chunks(self, chunks: Chunks, *, chunker: str) -> ChunkingScorer:
        return _GivenScorer(self._level.for_chunks(chunks, chunker=chunker), self._metrics)


class _GivenScorer:
    def __init__(self, scorer: ChunkingScorer, metrics: Mapping[str, GivenMetric]) -> None:
        self._scorer, self._metrics = scorer, metrics
        self.pairs = scorer.pairs

    def scores(self, retrieved: Retrieved) -> Scores:
        pairs = self._scorer.pairs(retrieved)
        return {
            sample_id: tuple(
                own.get(name) or _computed(name, metric, pairs.get(sample_id))
                for name, metric in self._metrics.items()
            )
            for sample_id, own in _by_name(self._scorer.scores(retrieved))
        }


def _by_name(scores: Scores) -> list[tuple[str, dict[str, Score]]]:
    return [(sample_id, {score.metric: score for score in of_one}) for sample_id, of_one in scores.items()]


def _computed(name: str, metric: GivenMetric, pair: tuple[Any, Any] | None) -> Score:
    if pair is None:
        return Score.skipped(name, "the dataset has no ground truth for it", method=CUSTOM)
    value = metric.calculate(*pair)
    if not isfinite(value):
        return Score.failed(name, f"expected a finite number, got {value}", method=CUSTOM)
    return Score.scored(name, value, method=CUSTOM)


def _named(metrics: Sequence[GivenMetric]) -> dict[str, GivenMetric]:
    if not metrics:
        raise UsageError("metrics: expected at least one, got none")
    named: dict[str, GivenMetric] = {}
    for metric in metrics:
        if isinstance(metric, type) or not callable(getattr(metric, "calculate", None)):
            raise UsageError(f"metrics: expected objects with a method calculate, got {shown(metric)}")
        name = str(getattr(metric, "name", "") or _in_small_letters(type(metric).__name__))
        if name in named:
            raise UsageError(f"metrics: expected each name once, got {name} again")
        named[name] = metric
    return named


def _in_small_letters(class_name: str) -> str:
    """Write a class as metrics are written: ``SpanRecall`` is ``span_recall``."""
    return _WORD_BEGINS.sub("_", class_name.replace("IoU", "Iou")).lower()
