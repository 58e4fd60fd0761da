"""Span metrics of one query: worked values, and equality with sets of characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import (
    CharacterSpan,
    DocumentId,
    InputError,
    PositionAwareChunk,
    SpanIoU,
    SpanPrecision,
    SpanRecall,
    TokenLevelMetric,
    generate_pa_chunk_id,
)
from rag_evaluation_framework.metrics.spans import (
    SpanF1,
    merge_spans,
    precision_omega,
    span_f1,
    span_iou,
    span_iou_unmerged,
    span_precision,
    span_precision_unmerged,
    span_recall,
)

Spans = list[CharacterSpan]
Characters = set[tuple[str, int]]


def span(start: int, end: int, document: str = "doc") -> CharacterSpan:
    return CharacterSpan(DocumentId(document), start, end)


def characters(spans: Sequence[CharacterSpan]) -> Characters:
    return {(each.doc_id, position) for each in spans for position in range(each.start, each.end)}


def exact(numerator: int, denominator: int, empty: float = 0.0) -> float:
    return float(Fraction(numerator, denominator)) if denominator else empty


span_lists = st.lists(
    st.builds(
        lambda document, start, length: span(start, start + length, document),
        st.sampled_from("ab"),
        st.integers(0, 30),
        st.integers(1, 12),
    ),
    max_size=8,
)


def test_the_seed_example_of_two_overlapping_chunks() -> None:
    retrieved, truth = [span(0, 100), span(50, 150)], [span(60, 90)]
    assert span_recall(retrieved, truth) == 1.0  # 30 of 30
    assert span_precision(retrieved, truth) == 0.2  # 30 of the merged 150
    assert span_iou(retrieved, truth) == 0.2  # 30 of 150 ∪ 30 = 150
    assert span_f1(retrieved, truth) == 2 * 30 / (150 + 30)
    assert span_precision_unmerged(retrieved, truth) == 30 / 200  # 100 + 100 characters were read
    assert span_iou_unmerged(retrieved, truth) == 30 / 200  # and no relevant one was missed


def test_span_recall_counts_a_character_once_when_truths_overlap() -> None:
    # Truth is 0–30 (30 characters), not 20 + 20; of it 10–30 was retrieved.
    assert span_recall([span(10, 40)], [span(0, 20), span(10, 30)]) == 20 / 30


def test_the_same_positions_in_another_document_share_nothing() -> None:
    assert span_iou([span(0, 10, "a")], [span(0, 10, "b")]) == 0.0
    assert span_recall([span(0, 10, "a"), span(0, 10, "b")], [span(5, 15, "b")]) == 0.5


def test_the_end_of_one_document_does_not_touch_the_start_of_the_next() -> None:
    assert merge_spans([span(0, 10, "a"), span(0, 5, "b")]) == [span(0, 10, "a"), span(0, 5, "b")]


@pytest.mark.parametrize(
    ("metric", "no_truth", "nothing_retrieved", "neither"),
    [
        (span_recall, 0.0, 0.0, 0.0),
        (span_precision, 0.0, 0.0, 0.0),
        (span_iou, 0.0, 0.0, 1.0),
        (span_f1, 0.0, 0.0, 0.0),
        (span_precision_unmerged, 0.0, 0.0, 0.0),
        (span_iou_unmerged, 0.0, 0.0, 1.0),
        (precision_omega, 0.0, 0.0, 1.0),
    ],
)
def test_empty_sides(
    metric: Callable[[Spans, Spans], float], no_truth: float, nothing_retrieved: float, neither: float
) -> None:
    some = [span(0, 5)]
    assert (metric(some, []), metric([], some), metric([], [])) == (no_truth, nothing_retrieved, neither)


@given(span_lists, span_lists)
def test_every_metric_equals_the_one_over_sets_of_characters(retrieved: Spans, truth: Spans) -> None:
    found, expected = characters(retrieved), characters(truth)
    shared, either = len(found & expected), len(found | expected)
    raw = sum(each.length() for each in retrieved)
    assert span_recall(retrieved, truth) == exact(shared, len(expected))
    assert span_precision(retrieved, truth) == exact(shared, len(found))
    assert span_iou(retrieved, truth) == exact(shared, either, empty=1.0)
    assert span_f1(retrieved, truth) == exact(2 * shared, len(found) + len(expected))
    assert span_precision_unmerged(retrieved, truth) == exact(shared, raw)
    assert span_iou_unmerged(retrieved, truth) == exact(shared, raw + len(expected - found), empty=1.0)


@given(span_lists)
def test_merged_spans_hold_the_same_characters_with_gaps_between(spans: Spans) -> None:
    merged = merge_spans(spans)
    assert characters(merged) == characters(spans)
    assert sum(each.length() for each in merged) == len(characters(spans))
    assert merged == sorted(merged)
    for before, after in pairwise(merged):
        assert before.doc_id != after.doc_id or before.end < after.start


def test_precision_omega_is_the_precision_of_the_needed_chunks() -> None:
    chunks = [span(0, 100), span(100, 200), span(200, 300)]
    # 150–220 needs the second and third chunk: 70 of 200 characters.
    assert precision_omega(chunks, [span(150, 220)]) == 70 / 200
    # 50–100 needs the first alone; where bordering counts, the second is needed too.
    assert precision_omega(chunks, [span(50, 100)]) == 50 / 100
    assert precision_omega(chunks, [span(50, 100)], touching=True) == 50 / 200


def test_precision_omega_counts_relevant_text_that_no_chunk_holds() -> None:
    # Shared 50–100, needed chunk 100 characters, and 100–120 is in no chunk.
    assert precision_omega([span(0, 100)], [span(50, 120)]) == 50 / (100 + 20)


@given(span_lists, span_lists, st.booleans())
def test_precision_omega_equals_the_one_over_sets_of_characters(
    chunks: Spans, truth: Spans, touching: bool
) -> None:
    reach = 1 if touching else 0
    needed = [
        chunk
        for chunk in chunks
        if any(
            chunk.doc_id == each.doc_id and chunk.start < each.end + reach and each.start < chunk.end + reach
            for each in truth
        )
    ]
    shared = len(characters(needed) & characters(truth))
    either = len(characters(needed) | characters(truth))
    assert precision_omega(chunks, truth, touching=touching) == exact(
        shared, either, empty=0.0 if chunks else 1.0
    )


def test_chunks_are_taken_as_they_are() -> None:
    chunk = PositionAwareChunk(generate_pa_chunk_id("hello"), "hello", DocumentId("doc"), 5, 10)
    assert span_recall([chunk], [span(0, 10)]) == 0.5


def test_positions_beyond_any_document_are_refused() -> None:
    with pytest.raises(InputError, match="a position up to"):
        span_recall([span(0, 10**30)], [span(0, 5)])
    with pytest.raises(InputError, match="start < end <="):
        span_recall([span(0, 2**62 + 1)], [span(0, 5)])
    assert span_recall([span(0, 2**62)], [span(0, 5)]) == 1.0


@pytest.mark.parametrize(
    ("metric", "expected"), [(SpanRecall(), 1.0), (SpanPrecision(), 0.2), (SpanIoU(), 0.2), (SpanF1(), 1 / 3)]
)
def test_classes_take_arguments_by_position_and_by_name(metric: TokenLevelMetric, expected: float) -> None:
    retrieved, truth = [span(0, 100), span(50, 150)], [span(60, 90)]
    assert metric.calculate(retrieved, truth) == expected
    assert metric.calculate(retrieved=retrieved, ground_truth=truth) == expected
