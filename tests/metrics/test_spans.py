"""Span and chunk metrics: worked values, and equality with sets of characters, one query or many at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import (
    CharacterSpan,
    ChunkF1,
    ChunkLevelMetric,
    ChunkPrecision,
    ChunkRecall,
    DocumentId,
    InputError,
    PositionAwareChunk,
    SpanIoU,
    SpanPrecision,
    SpanRecall,
    generate_pa_chunk_id,
)
from rag_evaluation_framework.metrics.spans import (
    SpanColumns,
    SpanF1,
    chunk_f1,
    chunk_precision,
    chunk_recall,
    count_characters,
    evaluate_spans,
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
def test_precision_omega_equals_that_of_character_sets(chunks: Spans, truth: Spans, touching: bool) -> None:
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


OVERLAPPING = ([span(0, 100), span(50, 150)], [span(60, 90)])
SHARING = (["a", "b", "c", "d"], ["b", "d", "e"])


@pytest.mark.parametrize(
    ("metric", "sides", "expected"),
    [
        *((metric(), OVERLAPPING, 0.2) for metric in (SpanPrecision, SpanIoU)),
        *((SpanRecall(), OVERLAPPING, 1.0), (SpanF1(), OVERLAPPING, 1 / 3)),
        *((ChunkRecall(), SHARING, 2 / 3), (ChunkPrecision(), SHARING, 1 / 2), (ChunkF1(), SHARING, 4 / 7)),
    ],
)
def test_classes_take_arguments_by_position_and_by_name(metric: Any, sides: Any, expected: float) -> None:
    retrieved, truth = sides
    assert metric.calculate(retrieved, truth) == pytest.approx(expected)
    assert metric.calculate(retrieved=retrieved, ground_truth=truth) == pytest.approx(expected)


METRICS = {
    "span_recall": span_recall,
    "span_precision": span_precision,
    "span_iou": span_iou,
    "span_f1": span_f1,
    "span_precision_unmerged": span_precision_unmerged,
    "span_iou_unmerged": span_iou_unmerged,
}

spans = st.lists(
    st.builds(
        lambda document, start, length: CharacterSpan(DocumentId(document), start, start + length),
        st.sampled_from("abc"),
        st.integers(0, 20),
        st.integers(1, 9),
    ),
    max_size=5,
)
queries = st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), spans)


@given(queries, queries, spans)
def test_every_query_scores_as_by_itself(
    retrieved: dict[str, list[CharacterSpan]],
    relevant: dict[str, list[CharacterSpan]],
    chunks: list[CharacterSpan],
) -> None:
    report = evaluate_spans(retrieved, relevant, chunks=chunks, touching=True)
    assert set(report.query_ids) == {*retrieved, *relevant}
    for row, query in enumerate(report.query_ids):
        found, truth = retrieved.get(query, []), relevant.get(query, [])
        for name, metric in METRICS.items():
            assert report.per_query[name][row] == metric(found, truth)
        assert report.per_query["precision_omega"][row] == precision_omega(chunks, truth, touching=True)


def test_what_has_nothing_to_measure_is_counted_and_left_out_of_the_mean() -> None:
    report = evaluate_spans(
        {"hit": [span(0, 10)], "unjudged": [span(0, 10)], "silent": []},
        {"hit": [span(5, 15)], "silent": [span(0, 4)], "absent": [span(0, 4)]},
    )
    assert report.query_ids == ("hit", "silent", "absent", "unjudged")
    assert report.scored["span_recall"].tolist() == [True, True, True, False]
    assert report.mean["span_recall"] == pytest.approx((0.5 + 0 + 0) / 3)
    assert report.scored["span_precision"].tolist() == [True, False, False, False]
    assert report.mean["span_precision"] == 0.5
    assert report.mean["span_iou"] == pytest.approx((5 / 15 + 0 + 0) / 3)
    assert report.scored["span_precision"].tolist().count(True) == 1
    one = evaluate_spans({"q": [span(0, 1)]}, {"q": [span(0, 1)]}, chunks=[span(0, 1)])
    assert set(one.mean.values()) == {1.0}
    assert one.mean.keys() == {*METRICS, "precision_omega"}


def test_the_mean_has_the_same_bits_in_any_order_of_queries() -> None:
    rng = random.Random(7)
    names = [f"q{number}" for number in range(300)]
    retrieved = {name: [span(start := rng.randrange(500), start + rng.randrange(1, 90))] for name in names}
    relevant = {name: [span(start := rng.randrange(500), start + rng.randrange(1, 90))] for name in names}
    mean = evaluate_spans(retrieved, relevant).mean
    for _ in range(5):
        rng.shuffle(names)
        assert evaluate_spans(retrieved, {name: relevant[name] for name in names}).mean == mean


def test_a_hundred_thousand_spans_count_as_many_characters_as_a_bitmap() -> None:
    rng = np.random.default_rng(3)
    sides, bitmaps = [], []
    for _ in range(2):
        document, start = rng.integers(0, 20, 100_000), rng.integers(0, 400_000, 100_000)
        end = start + rng.integers(1, 12, 100_000)
        sides.append(SpanColumns(np.zeros_like(document), document, start, end))
        steps = np.zeros((20, 400_100), np.int32)
        np.add.at(steps, (document, start), 1)
        np.add.at(steps, (document, end), -1)
        bitmaps.append(np.cumsum(steps, axis=1) > 0)
    counts = count_characters(sides[0], sides[1], queries=1)
    assert counts.retrieved[0] == bitmaps[0].sum()
    assert counts.relevant[0] == bitmaps[1].sum()
    assert counts.shared[0] == (bitmaps[0] & bitmaps[1]).sum()


def test_columns_that_are_no_spans_are_refused() -> None:
    one = np.array([1])
    with pytest.raises(InputError, match=r"spans\[0\]: expected .* start 1, end 1"):
        SpanColumns(one, one, one, one)
    with pytest.raises(InputError, match="columns of one length"):
        SpanColumns(one, one, one, np.array([2, 3]))


@pytest.mark.parametrize(
    "wrong", [(-1, 0, 0, 5), (0, -1, 0, 5), (0, 0, -1, 5), (0, 0, 5, 4), (0, 0, 0, 2**62 + 1)]
)
def test_each_number_of_a_span_must_be_one(wrong: tuple[int, ...]) -> None:
    columns = [np.array(each) for each in zip((0, 0, 0, 2**62), wrong, strict=True)]
    told = "query {}, document {}, start {}, end {}".format(*wrong)
    with pytest.raises(InputError, match=rf"spans\[1\]: expected numbers of at least 0 and .*, got {told}"):
        SpanColumns(*columns)
    assert len(SpanColumns(*(column[:1] for column in columns))) == 1


def test_the_longest_line_is_counted_and_one_more_character_refused() -> None:
    # A document is as long as its last character and one more: twice 2**62 - 1 is within 63 bits.
    for end, fits in ((2**62 - 2, True), (2**62 - 1, False)):
        side = SpanColumns(*(np.array([each]) for each in (1, 0, 5, end)))
        if fits:
            assert count_characters(side, side, queries=2).shared.tolist() == [0, end - 5]
        else:
            with pytest.raises(InputError, match="fewer queries at once"):
                count_characters(side, side, queries=2)

    # Two documents of 2**62 - 1 and 2**62 characters are as long as a line may be.
    ends = np.array([2**62 - 2, 2**62 - 1])
    both = SpanColumns(np.zeros(2, np.int64), np.arange(2), ends - 5, ends)
    assert count_characters(both, both, queries=1).shared.tolist() == [10]


def test_a_metric_object_has_the_name_of_what_it_computes() -> None:
    class Doubled(SpanRecall):
        def calculate(self, retrieved: object, ground_truth: object) -> float:
            return 2.0

    assert (SpanRecall().name, SpanF1().name, Doubled().name) == ("span_recall", "span_f1", "")


def test_a_chunk_far_longer_than_those_after_it_is_found_by_what_it_holds() -> None:
    # The first chunk reaches over all the others; 40-45 stands in it and in the last one.
    chunks = [span(0, 100), span(10, 20), span(20, 30), span(40, 50)]
    for truth, needed in (([span(40, 45)], 100), ([span(12, 13), span(22, 23)], 100), ([span(120, 130)], 0)):
        total = sum(each.end - each.start for each in truth)
        shared = total if needed else 0
        assert precision_omega(chunks, truth) == shared / (needed + total - shared)


def test_more_than_the_line_can_hold_is_refused_and_not_miscounted() -> None:
    far = 2**61
    sides = [SpanColumns(*(np.array(column) for column in ([0, 9], [0, 0], [0, far], [5, far + 5])))] * 2
    with pytest.raises(InputError, match="fewer queries at once"):
        count_characters(sides[0], sides[1], queries=10)


ids = st.lists(st.sampled_from([f"chunk_{letter}" for letter in "abcdefgh"]), max_size=10)

WORKED = [
    # retrieved, relevant, recall, precision, F1
    (["a", "b", "c", "d"], ["b", "d", "e"], 2 / 3, 2 / 4, 4 / 7),  # 2 shared of 4 and 3
    (["a"], ["a"], 1.0, 1.0, 1.0),
    (["a", "a", "b"], ["a"], 1.0, 1 / 2, 2 / 3),  # a repeated id counts once: 1 of {a, b}
    (["a", "b"], ["c"], 0.0, 0.0, 0.0),
    ([], ["a"], 0.0, 0.0, 0.0),
    (["a"], [], 0.0, 0.0, 0.0),
    ([], [], 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("retrieved", "relevant", "recall", "precision", "f1"), WORKED)
def test_chunks_by_hand(
    retrieved: list[str], relevant: list[str], recall: float, precision: float, f1: float
) -> None:
    assert chunk_recall(retrieved, relevant) == recall
    assert chunk_precision(retrieved, relevant) == precision
    assert chunk_f1(retrieved, relevant) == pytest.approx(f1, abs=1e-15)


@given(ids, ids)
def test_f1_is_the_harmonic_mean_of_recall_and_precision(retrieved: list[str], relevant: list[str]) -> None:
    shared = len(set(retrieved) & set(relevant))
    if not shared:
        assert chunk_f1(retrieved, relevant) == 0.0
        return
    recall, precision = Fraction(shared, len(set(relevant))), Fraction(shared, len(set(retrieved)))
    assert chunk_f1(retrieved, relevant) == float(2 * precision * recall / (precision + recall))


def test_a_metric_of_ones_own_may_name_its_arguments_as_it_likes() -> None:
    class FirstIsRelevant(ChunkLevelMetric):
        def calculate(self, retrieved_chunk_ids, ground_truth_chunk_ids):  # type: ignore[no-untyped-def]
            return float(retrieved_chunk_ids[0] in ground_truth_chunk_ids)

    metric: ChunkLevelMetric = FirstIsRelevant()
    assert metric.calculate(["a", "b"], ["a"]) == 1.0
