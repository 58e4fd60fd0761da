"""Span metrics of many queries at once agree with those of each query by itself."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import CharacterSpan, DocumentId, InputError
from rag_evaluation_framework.metrics.spans import (
    SpanColumns,
    SpanF1,
    SpanRecall,
    count_characters,
    evaluate_spans,
    precision_omega,
    span_f1,
    span_iou,
    span_iou_unmerged,
    span_precision,
    span_precision_unmerged,
    span_recall,
)

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


def span(start: int, end: int) -> CharacterSpan:
    return CharacterSpan(DocumentId("doc"), start, end)


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
