"""Citation spans: pairing, exact and tolerance Jaccard, characters."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import (
    CharacterSpan,
    DocumentId,
    InputError,
    SpanCitation,
    evaluate_citation_spans,
)
from rag_evaluation_framework.metrics.citations import (
    citation_exact_jaccard,
    citation_span_f1,
    citation_span_precision,
    citation_span_recall,
    citation_tolerance_jaccard,
    heaviest_pairs,
)
from rag_evaluation_framework.metrics.declaration import parse_metric

TABLES = tables_beside(__file__)


def cite(start: int, end: int, *, file: str = "guide.pdf", page: int | None = None) -> SpanCitation:
    return SpanCitation(file, start, end, page=page)


citations = st.lists(
    st.builds(
        lambda file, page, start, length: cite(start, start + length, file=file, page=page),
        st.sampled_from(["a.pdf", "b.pdf"]),
        st.sampled_from([None, 1, 2]),
        st.integers(0, 25),
        st.integers(1, 15),
    ),
    max_size=4,
)

WORKED = [
    # true, predicted, tolerance, exact Jaccard, tolerance Jaccard
    ((100, 200), (150, 250), 10, 50 / 150, 50 / 150),  # both ends are 50 away
    ((100, 150), (100, 150), 10, 1.0, 1.0),  # the perfect match of 50 characters
    ((100, 200), (105, 190), 10, 85 / 100, 1.0),  # both ends within 10
    ((100, 200), (95, 250), 10, 100 / 155, 100 / 150),  # the start moves to 100, the end stays
    ((100, 200), (90, 210), 10, 100 / 120, 1.0),  # exactly 10 away is within
    ((100, 200), (89, 200), 10, 100 / 111, 100 / 111),  # 11 away is not
    ((100, 200), (105, 190), 0, 85 / 100, 85 / 100),  # no tolerance
]


@pytest.mark.parametrize(("true", "predicted", "tolerance", "exact", "tolerant"), WORKED)
def test_worked_pairs(
    true: tuple[int, int], predicted: tuple[int, int], tolerance: int, exact: float, tolerant: float
) -> None:
    report = evaluate_citation_spans([cite(*true)], [cite(*predicted)], tolerance_chars=tolerance)
    assert report.mean_exact_jaccard == exact
    assert report.mean_tolerance_jaccard == tolerant


def test_spans_that_share_no_character_stay_at_zero_however_near() -> None:
    for near in (cite(105, 110), cite(106, 111)):  # touching, and one character apart
        report = evaluate_citation_spans([cite(100, 105)], [near])
        assert report.mean_tolerance_jaccard == 0.0
        assert report.pairs == ()


def test_unpaired_spans_on_either_side_count_zero() -> None:
    report = evaluate_citation_spans([cite(0, 10), cite(50, 60)], [cite(0, 10), cite(80, 90), cite(95, 99)])
    # One pair of Jaccard 1, one true and two predicted spans alone: 1 / 4.
    assert report.mean_exact_jaccard == 1 / 4
    assert (report.unpaired_true, report.unpaired_predicted) == (1, 2)
    assert report.character_precision == 10 / 24
    assert report.character_recall == 10 / 20
    assert report.character_f1 == pytest.approx(2 * 10 / (24 + 20))


def test_a_prediction_serves_one_true_span_only() -> None:
    report = evaluate_citation_spans([cite(0, 10), cite(10, 20)], [cite(0, 20)])
    assert len(report.pairs) == 1
    assert report.mean_exact_jaccard == 0.5 / 2
    assert report.character_recall == 1.0


def test_the_pairing_is_the_best_as_a_whole_not_the_greediest() -> None:
    # 0–100 shares 60 with 40–130 and 50 with 50–100; 90–180 shares 40 with the former, 10 with the latter.
    # Taking the largest first gives 60 + 10; the best is 50 + 40.
    true = [cite(0, 100), cite(90, 180)]
    report = evaluate_citation_spans(true, [cite(40, 130), cite(50, 100)])
    assert [(pair.true.start, pair.predicted.start) for pair in report.pairs] == [(0, 50), (90, 40)]


def test_perfect_is_exact_and_good_allows_the_tolerance() -> None:
    true = [cite(0, 100), cite(200, 300), cite(400, 500)]
    predicted = [cite(0, 100), cite(205, 295), cite(450, 500)]
    report = evaluate_citation_spans(true, predicted)
    # 1.0 exactly; 0.9, within the tolerance 1.0; 0.5.
    assert (report.perfect_matches, report.good_matches) == (1, 2)


def test_pages_part_spans_only_when_both_have_one() -> None:
    assert evaluate_citation_spans([cite(0, 9, page=3)], [cite(0, 9, page=4)]).mean_exact_jaccard == 0.0
    assert evaluate_citation_spans([cite(0, 9, page=3)], [cite(0, 9, page=4)]).character_recall == 0.0
    assert evaluate_citation_spans([cite(0, 9, page=3)], [cite(0, 9)]).mean_exact_jaccard == 1.0
    assert evaluate_citation_spans([cite(0, 9, page=3)], [cite(0, 9)]).character_f1 == 1.0
    assert evaluate_citation_spans([cite(0, 9)], [cite(0, 9, file="other.pdf")]).mean_exact_jaccard == 0.0


def test_nothing_on_either_side_has_no_value() -> None:
    report = evaluate_citation_spans([], [])
    assert report.mean_exact_jaccard is None
    assert report.mean_tolerance_jaccard is None
    assert (report.character_precision, report.character_recall, report.character_f1) == (None, None, None)


def test_one_empty_side_scores_zero_and_has_no_precision_or_no_recall() -> None:
    silent = evaluate_citation_spans([cite(0, 9)], [])
    assert (silent.mean_exact_jaccard, silent.character_precision, silent.character_recall) == (
        0.0,
        None,
        0.0,
    )
    invented = evaluate_citation_spans([], [cite(0, 9)])
    assert (invented.mean_exact_jaccard, invented.character_precision, invented.character_recall) == (
        0.0,
        0.0,
        None,
    )
    assert silent.character_f1 == invented.character_f1 == 0.0


def test_dictionaries_of_evaluation_files_and_character_spans_are_read() -> None:
    true = TABLES["true_"]
    predicted = CharacterSpan(DocumentId("project_tool_guide.pdf"), 1250, 1350)
    report = evaluate_citation_spans([true], [predicted])
    assert report.perfect_matches == 1
    assert report.pairs[0].true == SpanCitation("project_tool_guide.pdf", 1250, 1350, page=3, confidence=0.95)


@pytest.mark.parametrize(("changed", "message"), TABLES["a_wrong_citation_is_named"])
def test_a_wrong_citation_is_named(changed: dict[str, Any], message: str) -> None:
    right = {"file_name": "a.pdf", "start_char": 5, "end_char": 9}
    with pytest.raises(InputError, match=message):
        evaluate_citation_spans([right], [right, {**right, **changed}])


def test_what_is_no_citation_or_no_tolerance_is_refused() -> None:
    with pytest.raises(InputError, match=r"true\[0\]: expected a span citation, got '\[1\]'"):
        evaluate_citation_spans(["[1]"], [])  # type: ignore[list-item]
    for tolerance in (-1, True):
        message = f"tolerance_chars: expected a whole number of at least 0, got {tolerance}"
        with pytest.raises(InputError, match=message):
            evaluate_citation_spans([], [], tolerance_chars=tolerance)


def overlap(true: SpanCitation, predicted: SpanCitation) -> int:
    if true.file != predicted.file or (
        true.page is not None and predicted.page is not None and true.page != predicted.page
    ):
        return 0
    return len(set(range(true.start, true.end)) & set(range(predicted.start, predicted.end)))


@given(citations, citations)
def test_no_other_pairing_shares_more_characters(
    true: list[SpanCitation], predicted: list[SpanCitation]
) -> None:
    report = evaluate_citation_spans(true, predicted)
    fewer, more = sorted((set(true), set(predicted)), key=len)
    best = max(
        sum(overlap(one, other) for one, other in zip(fewer, order, strict=True))
        for order in permutations(more, len(fewer))
    )
    assert sum(overlap(pair.true, pair.predicted) for pair in report.pairs) == best


@given(citations, citations, citations)
def test_the_same_place_twice_is_one_on_either_side(
    true: list[SpanCitation], predicted: list[SpanCitation], more: list[SpanCitation]
) -> None:
    again = [each for each in more if each in true], [each for each in more if each in predicted]
    expected = evaluate_citation_spans(true, predicted)
    assert (
        evaluate_citation_spans(true + true[:1] + again[0], predicted + predicted[:1] + again[1]) == expected
    )


@given(citations, citations, st.integers(0, 8))
def test_means_and_characters_equal_those_over_sets(
    true: list[SpanCitation], predicted: list[SpanCitation], tolerance: int
) -> None:
    report = evaluate_citation_spans(true, predicted, tolerance)
    for pair in report.pairs:
        one = set(range(pair.true.start, pair.true.end))
        other = set(range(pair.predicted.start, pair.predicted.end))
        assert pair.exact_jaccard == float(Fraction(len(one & other), len(one | other)))
        assert pair.exact_jaccard <= pair.tolerance_jaccard <= 1.0
    size = len(report.pairs) + report.unpaired_true + report.unpaired_predicted
    if size:
        exact = sum(Fraction(pair.exact_jaccard) for pair in report.pairs) / size
        assert report.mean_exact_jaccard == pytest.approx(float(exact), abs=1e-15)
    assert report.character_recall == covered(true, predicted)
    assert report.character_precision == covered(predicted, true)


def covered(side: list[SpanCitation], other: list[SpanCitation]) -> float | None:
    own = {(each.file, each.page, place) for each in side for place in range(each.start, each.end)}
    facing = {(each.file, each.page, place) for each in other for place in range(each.start, each.end)}
    anywhere = {(file, place) for file, _, place in facing}
    shared = sum(
        (file, place) in anywhere
        if page is None
        else bool({(file, page, place), (file, None, place)} & facing)
        for file, page, place in own
    )
    return float(Fraction(shared, len(own))) if own else None


@given(citations, citations, st.randoms(use_true_random=False))
def test_the_order_of_citations_does_not_matter(
    true: list[SpanCitation],
    predicted: list[SpanCitation],
    random,  # type: ignore[no-untyped-def]
) -> None:
    shuffled = random.sample(true, len(true)), random.sample(predicted, len(predicted))
    assert evaluate_citation_spans(*shuffled) == evaluate_citation_spans(true, predicted)


weight_tables = st.lists(st.dictionaries(st.integers(0, 4), st.integers(1, 9), max_size=5), max_size=5)


@given(weight_tables)
def test_no_other_assignment_is_heavier(weights: list[dict[int, int]]) -> None:
    pairs = heaviest_pairs(weights)
    assert len(set(pairs.values())) == len(pairs)
    assert sum(weights[row][column] for row, column in pairs.items()) == best_by_columns(weights)


def best_by_columns(weights: list[dict[int, int]]) -> int:
    """The best total by trying each column, or none, for every row in turn."""

    def best(row: int, free: frozenset[int]) -> int:
        if row == len(weights):
            return 0
        taken = [weights[row][column] + best(row + 1, free - {column}) for column in free & set(weights[row])]
        return max(best(row + 1, free), *taken) if taken else best(row + 1, free)

    return best(0, frozenset(range(5)))


def test_the_declared_metrics_are_the_figures_of_the_report() -> None:
    true, predicted = [cite(0, 100)], [cite(5, 95), cite(200, 210)]
    assert citation_exact_jaccard(predicted, true) == 0.9 / 2
    assert citation_tolerance_jaccard(predicted, true) == 1.0 / 2
    assert citation_tolerance_jaccard(predicted, true, tolerance_chars=4) == 0.9 / 2
    assert citation_span_precision(predicted, true) == 90 / 100
    assert citation_span_recall(predicted, true) == 90 / 100
    assert citation_span_f1(predicted, true) == pytest.approx(0.9)
    assert parse_metric("citation_tolerance_jaccard(tolerance_chars=4)")(predicted, true) == 0.45


def test_earlier_rows_move_where_that_gains() -> None:
    # Each row would take column 0 first; 9 + 8 is more than 9 + 1 or 8 + 2.
    assert heaviest_pairs([{0: 9, 1: 8}, {0: 9, 1: 2}]) == {0: 1, 1: 0}


def test_five_rows_over_three_columns_leave_the_two_that_gain_least() -> None:
    # One row a column: 2 + 3 + 3 = 8 of rows 0, 1 and 4; no weight is above 3, and column 0 has none above 2.
    weights = [{0: 2, 1: 3, 2: 2}, {0: 1, 1: 3, 2: 3}, {1: 1, 2: 1}, {0: 1, 1: 2}, {0: 1, 2: 3}]
    assert heaviest_pairs(weights) == {0: 0, 1: 1, 4: 2}


def test_rows_without_a_column_and_no_rows_pair_with_nothing() -> None:
    assert heaviest_pairs([{}, {3: 1}, {3: 2}]) == {2: 3}
    assert heaviest_pairs([]) == {}
