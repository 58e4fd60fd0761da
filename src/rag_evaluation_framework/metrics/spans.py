"""Which characters were retrieved: recall, precision, IoU and F1 over sets of characters.

Spans that overlap or touch are merged on both sides, so that each character counts once. The ``unmerged``
forms and ``precision_omega`` follow Chroma's chunking evaluation, to reproduce what it has published.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.span_columns import IntArray, Span, columns_of
from rag_evaluation_framework.metrics.span_sets import SpanCounts, count_characters, touched_chunks
from rag_evaluation_framework.metrics.views import HITS, NOTHING_RETRIEVED
from rag_evaluation_framework.records.spans import CharacterSpan

# Every metric is one count over another: (numerator, denominator) of each query.
FRACTIONS: Mapping[str, Callable[[SpanCounts], tuple[IntArray, IntArray]]] = {
    "span_recall": lambda counts: (counts.shared, counts.relevant),
    "span_precision": lambda counts: (counts.shared, counts.retrieved),
    "span_iou": lambda counts: (counts.shared, counts.retrieved + counts.relevant - counts.shared),
    "span_f1": lambda counts: (2 * counts.shared, counts.retrieved + counts.relevant),
    "span_precision_unmerged": lambda counts: (counts.shared, counts.unmerged),
    "span_iou_unmerged": lambda counts: (counts.shared, counts.unmerged + counts.relevant - counts.shared),
}

# What a metric is when its denominator is 0; two empty sets are equal.
EMPTY_VALUES: Mapping[str, float] = {
    **dict.fromkeys(FRACTIONS, 0.0),
    "span_iou": 1.0,
    "span_iou_unmerged": 1.0,
}


def _fraction(name: str, retrieved: Sequence[Span], relevant: Sequence[Span]) -> float:
    found, expected = columns_of([retrieved], [relevant])
    numerator, denominator = FRACTIONS[name](count_characters(found, expected, queries=1))
    return int(numerator[0]) / int(denominator[0]) if denominator[0] else EMPTY_VALUES[name]


@metric("span_recall", reads=HITS)
def span_recall(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """What share of the relevant characters was retrieved.

    Formula: |retrieved ∩ relevant| / |relevant|, in characters, each once.

    Empty: 0 when nothing is relevant; a summary leaves such queries out.

    Source: token-level evaluation of retrieval; both sides are merged.
    """
    return _fraction("span_recall", retrieved_spans, relevant_spans)


def _nothing_retrieved(retrieved_spans: Sequence[Span]) -> str | None:
    return None if retrieved_spans else NOTHING_RETRIEVED


@metric("span_precision", reads=HITS, unless=(_nothing_retrieved,))
def span_precision(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """What share of the retrieved characters is relevant.

    Formula: |retrieved ∩ relevant| / |retrieved|, in characters, each once.

    Empty: 0 when nothing was retrieved; a summary leaves such queries out.

    Source: token-level evaluation of retrieval; both sides are merged.
    """
    return _fraction("span_precision", retrieved_spans, relevant_spans)


@metric("span_iou", reads=HITS)
def span_iou(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """How far the retrieved and the relevant characters are the same.

    Formula: |retrieved ∩ relevant| / |retrieved ∪ relevant|, in characters, each once.

    Empty: 1 when both sides are empty, 0 when one is; a summary leaves out queries without relevant spans.

    Source: token-level evaluation of retrieval; Jaccard, 1901.
    """
    return _fraction("span_iou", retrieved_spans, relevant_spans)


@metric("span_f1", reads=HITS)
def span_f1(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """The harmonic mean of span recall and span precision.

    Formula: 2 × |retrieved ∩ relevant| / (|retrieved| + |relevant|), in characters, each once.

    Empty: 0 when either side is empty; a summary leaves out queries without relevant spans.

    Source: token-level evaluation of retrieval; van Rijsbergen, "Information Retrieval", 1979.
    """
    return _fraction("span_f1", retrieved_spans, relevant_spans)


@metric("span_precision_unmerged", reads=HITS, unless=(_nothing_retrieved,))
def span_precision_unmerged(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """What share of the retrieved text is relevant, where text retrieved twice is text read twice.

    Formula: |retrieved ∩ relevant| / sum of the lengths of the retrieved spans. The numerator counts each
    character once, the denominator as often as it was retrieved.

    Empty: 0 when nothing was retrieved; a summary leaves such queries out.

    Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024: its precision.
    """
    return _fraction("span_precision_unmerged", retrieved_spans, relevant_spans)


@metric("span_iou_unmerged", reads=HITS)
def span_iou_unmerged(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """How far retrieved and relevant text are the same, where text retrieved twice counts twice against.

    Formula: |retrieved ∩ relevant| / (sum of the lengths of the retrieved spans + relevant characters that
    were not retrieved).

    Empty: 1 when both sides are empty, 0 when one is; a summary leaves out queries without relevant spans.

    Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024: its IoU.
    """
    return _fraction("span_iou_unmerged", retrieved_spans, relevant_spans)


@metric("precision_omega", reads=HITS)
def precision_omega(
    chunk_spans: Sequence[Span], relevant_spans: Sequence[Span], *, touching: bool = False
) -> float:
    """The best precision a chunking allows: that of a retriever which finds exactly the chunks it needs.

    It judges the chunking alone, so its first argument is every chunk of the corpus, not what was
    retrieved.

    Formula: span IoU of the needed chunks and the relevant spans. Needed is a chunk that shares a character
    with a relevant span; with ``touching``, one that only borders on it too, as Chroma's own code has it.

    Empty: 1 when there are neither chunks nor relevant spans, 0 when one is missing; a summary leaves out
    queries without relevant spans.

    Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024.
    """
    every, expected = columns_of([chunk_spans], [relevant_spans])
    needed = touched_chunks(every, expected, touching=touching)
    numerator, denominator = FRACTIONS["span_iou"](count_characters(needed, expected, queries=1))
    if denominator[0]:
        return int(numerator[0]) / int(denominator[0])
    return 0.0 if chunk_spans else 1.0


class TokenLevelMetric(ABC):
    """A metric over character spans. It is called by position, so a subclass may rename the arguments."""

    @abstractmethod
    def calculate(self, retrieved: Sequence[CharacterSpan], ground_truth: Sequence[CharacterSpan]) -> float:
        """Score the retrieved spans of one query against its relevant ones."""


class SpanRecall(TokenLevelMetric):
    """What share of the relevant characters was retrieved."""

    def calculate(self, retrieved: Sequence[CharacterSpan], ground_truth: Sequence[CharacterSpan]) -> float:
        return span_recall(retrieved, ground_truth)


class SpanPrecision(TokenLevelMetric):
    """What share of the retrieved characters is relevant."""

    def calculate(self, retrieved: Sequence[CharacterSpan], ground_truth: Sequence[CharacterSpan]) -> float:
        return span_precision(retrieved, ground_truth)


class SpanIoU(TokenLevelMetric):
    """How far the retrieved and the relevant characters are the same."""

    def calculate(self, retrieved: Sequence[CharacterSpan], ground_truth: Sequence[CharacterSpan]) -> float:
        return span_iou(retrieved, ground_truth)


class SpanF1(TokenLevelMetric):
    """The harmonic mean of span recall and span precision."""

    def calculate(self, retrieved: Sequence[CharacterSpan], ground_truth: Sequence[CharacterSpan]) -> float:
        return span_f1(retrieved, ground_truth)
