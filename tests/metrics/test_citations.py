"""Citations: their forms, in an answer and beside it, and the metrics of spans, claims and contexts."""

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
    ContextCitation,
    DocumentId,
    InputError,
    SpanCitation,
    evaluate,
    evaluate_citation_spans,
)
from rag_evaluation_framework.metrics.citations import (
    citation_completeness,
    citation_correctness,
    citation_exact_jaccard,
    citation_f1,
    citation_precision,
    citation_recall,
    citation_span_f1,
    citation_span_precision,
    citation_span_recall,
    citation_tolerance_jaccard,
    citation_validity,
    cited_context_f1,
    cited_context_precision,
    cited_context_recall,
    factual_consistency,
    hallucination_rate,
    heaviest_pairs,
    overall_citation_accuracy,
)
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.records.citations import (
    Citation,
    TokenSpanCitation,
    blanked,
    citations_in,
    parse_citations,
    span_citations,
    without_citations,
)

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
def test_pairs_by_hand(
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
def test_no_pairing_shares_more_characters(true: list[SpanCitation], predicted: list[SpanCitation]) -> None:
    report = evaluate_citation_spans(true, predicted)
    fewer, more = sorted((set(true), set(predicted)), key=len)
    best = max(
        sum(overlap(one, other) for one, other in zip(fewer, order, strict=True))
        for order in permutations(more, len(fewer))
    )
    assert sum(overlap(pair.true, pair.predicted) for pair in report.pairs) == best


@given(citations, citations, citations)
def test_a_place_twice_is_one(
    true: list[SpanCitation], predicted: list[SpanCitation], more: list[SpanCitation]
) -> None:
    again = [each for each in more if each in true], [each for each in more if each in predicted]
    expected = evaluate_citation_spans(true, predicted)
    assert (
        evaluate_citation_spans(true + true[:1] + again[0], predicted + predicted[:1] + again[1]) == expected
    )


@given(citations, citations, st.integers(0, 8))
def test_figures_equal_those_of_sets(
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


FLAGS = [True, True, True, False]


def test_each_metric_is_the_share_of_its_flags() -> None:
    for share in (
        citation_recall,
        citation_precision,
        citation_completeness,
        citation_correctness,
        citation_validity,
    ):
        assert share(FLAGS) == 3 / 4
        assert share([False]) == 0.0


def test_consistency_and_hallucination_add_up_and_no_claim_has_neither() -> None:
    assert (factual_consistency(FLAGS), hallucination_rate(FLAGS)) == (3 / 4, 1 / 4)
    assert (factual_consistency([]), hallucination_rate([])) == (None, None)
    assert (citation_recall([]), citation_completeness([]), citation_f1([], [True])) == (None, None, None)


def test_the_overall_accuracy_weighs_its_parts() -> None:
    parts = {
        "tolerance_jaccard": 0.5,
        "citation_validity": 1.0,
        "mean_consistency": 0.8,
        "no_hallucination": 0.6,
    }
    # 0.30 × 0.5 + 0.30 × 1 + 0.25 × 0.8 + 0.15 × 0.6
    assert overall_citation_accuracy(parts) == pytest.approx(0.15 + 0.3 + 0.2 + 0.09)
    lacking = {**parts, "mean_consistency": None}
    assert overall_citation_accuracy(lacking) is None
    assert overall_citation_accuracy(lacking, {"citation_validity": 1.0, "mean_consistency": 0.0}) == 1.0


def test_f1_is_the_harmonic_mean_of_recall_and_precision() -> None:
    # Recall 3/4, precision 1/2: 2 × 0.375 / 1.25 = 0.6.
    assert citation_f1(FLAGS, [True, False]) == pytest.approx(0.6)
    assert citation_f1(FLAGS, []) == 0.0
    assert citation_f1([False], [True]) == 0.0


def test_an_answer_that_cites_nothing_has_precision_zero_and_no_correctness_or_validity() -> None:
    assert citation_precision([]) == 0.0
    assert citation_correctness([]) is None
    assert citation_validity([]) is None


@pytest.mark.parametrize(
    "name",
    ["citation_recall", "citation_precision", "citation_f1", "citation_completeness", "citation_correctness"],
)
def test_metrics_of_claims_run_by_both_methods(name: str) -> None:
    metric = parse_metric(f"{name}(method=judge)")
    assert metric.metric.methods == ("lexical", "judge")
    assert str(metric) == f"{name}(method=judge)"
    assert metric.metric.family == "citations"
    assert metric.metric.higher_is_better


@pytest.mark.parametrize(
    ("answer", "reference", "precision", "recall", "f1"),
    [
        ("[1]", "[1]", 1.0, 1.0, 1.0),
        ("So it is [1][3].", "It is so [3].", 1 / 2, 1.0, 2 / 3),
        ("So it is [2], yes [2].", "It is so [2][4].", 1.0, 1 / 2, 2 / 3),
        # one of two is right, one of three is found: 2 × 1 / (2 + 3)
        ("Noon [1], fares [4].", "[1][2][3]", 0.5, 1 / 3, 0.4),
        ("[1-3]", "[1, 2]", 2 / 3, 1.0, 0.8),
        ("[1][1]", "[1]", 1.0, 1.0, 1.0),
        ("At noon.", "[2]", None, 0.0, 0.0),
        ("[2]", "[1]", 0.0, 0.0, 0.0),
    ],
)
def test_each_cited_context_counts(
    answer: str, reference: str, precision: float | None, recall: float, f1: float
) -> None:
    assert cited_context_precision(answer, reference) == pytest.approx(precision)
    assert cited_context_recall(answer, reference) == pytest.approx(recall)
    assert cited_context_f1(answer, reference) == pytest.approx(f1)


def test_a_reference_that_cites_nothing_is_skipped_with_the_reason() -> None:
    rows = [{"user_input": "q", "response": "At noon [1].", "reference": each} for each in ("[1]", "Noon.")]
    figure = evaluate(rows, metrics=["cited_context_f1"]).metrics["cited_context_f1"]
    assert (figure.value, figure.n_scored, figure.n_skipped) == (1.0, 1, 1)


PLACE = {"file_name": "a.md", "start_char": 5, "end_char": 9}
SPAN = SpanCitation("a.md", 5, 9)
READ: list[tuple[Any, list[Citation]]] = [
    (SPAN, [SPAN]),
    (TokenSpanCitation("a.md", 5, 9, "cl100k"), [TokenSpanCitation("a.md", 5, 9, "cl100k")]),
    (2, [ContextCitation(2)]),
    ({"context": 2}, [ContextCitation(2)]),
    ({"number": 2, "start": None}, [ContextCitation(2)]),
    ({"context_number": 2}, [ContextCitation(2)]),
    ("[1-2]", [ContextCitation(1), ContextCitation(2)]),
    ("[a.md:?:5-9]", [SPAN]),
    (PLACE, [SPAN]),
    ({"file": "a.md", "start": 5, "end": 9}, [SPAN]),
    ({"source": "a.md", "start": 5, "end": 9, "page": 3}, [SpanCitation("a.md", 5, 9, page=3)]),
    ({**PLACE, "page_number": "?"}, [SPAN]),
    ({**PLACE, "page_number": None, "page": 3}, [SpanCitation("a.md", 5, 9, page=3)]),
    ({**PLACE, "quote": "word", "confidence": 0.5}, [SpanCitation("a.md", 5, 9, None, "word", 0.5)]),
    ({**PLACE, "text": ["no", "text"]}, [SPAN]),
    ({"document_id": 7, "start": 5, "end": 9}, [SpanCitation("7", 5, 9)]),
    # Characters tell more than the number that the source has in the answer.
    ({**PLACE, "number": 2}, [SPAN]),
]


@pytest.mark.parametrize(("item", "expected"), READ)
def test_items_that_are_read(item: Any, expected: list[Citation]) -> None:
    assert list(citations_in(item)) == expected


UNREADABLE = [
    ({"file_name": "a.md"}, "start_char: expected a whole number of at least 0, got None"),
    ({"file": "a.md", "start": 9, "end": 5}, "end: expected a whole number above 9, got 5"),
    ({"start": 5, "end": 9}, "file_name: expected a file name, got None"),
    ({**PLACE, "page": "3"}, "page: expected a whole number, got '3'"),
    ({**PLACE, "confidence": 87}, "confidence: expected a number from 0 to 1, got 87"),
    ({**PLACE, "end_char": 1 << 54}, "end_char: expected a number up to 9007199254740992"),
    ({"context": "one"}, "context: expected a whole number of at least 1, got 'one'"),
    (10**30, "number: expected a number up to 9007199254740992"),
    (0, "number: expected a whole number of at least 1, got 0"),
    ("a.md", "expected a citation, got 'a.md'"),
    ("[1][0]", "expected a citation, got"),
    ("[1]" * 5000, "expected a citation, got"),
    (None, "expected a span citation, got None"),
]


@pytest.mark.parametrize(("item", "message"), UNREADABLE)
def test_what_cannot_be_read_is_said_under_its_own_name(item: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        citations_in(item)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("given", [None, "[a.md:?:5-9]", PLACE, 7])
def test_citations_come_as_a_list(given: Any) -> None:
    with pytest.raises(InputError, match="true: expected a list of citations, got"):
        span_citations(given, "true")


def span(file: str, page: int | None, start: int, end: int, text: str | None = None) -> SpanCitation:
    return SpanCitation(file, start, end, page=page, text=text)


@pytest.mark.parametrize(("text", "expected"), TABLES["forms_that_are_read"])
def test_forms_that_are_read(text: str, expected: list[Any]) -> None:
    found = parse_citations(f"As stated {text}, it is.")
    assert [placed.citation for placed in found.citations] == [
        ContextCitation(each) if isinstance(each, int) else span(*each) for each in expected
    ]
    assert found.malformed == ()


MALFORMED = TABLES["malformed"]


@pytest.mark.parametrize(("text", "expected"), MALFORMED)
def test_what_is_meant_as_a_citation_and_cannot_be_read_is_reported(text: str, expected: str) -> None:
    answer = f"As stated {text} and [1]."
    found = parse_citations(answer)
    (problem,) = found.malformed
    assert (problem.text, problem.expected) == (text, expected)
    assert answer[problem.start : problem.end] == text
    assert [placed.citation for placed in found.citations] == [ContextCitation(1)]


@pytest.mark.parametrize("text", TABLES["other_brackets_are_text"])
def test_other_brackets_are_text(text: str) -> None:
    found = parse_citations(f"As stated {text}.")
    assert found.citations == ()
    assert found.malformed == ()


def test_citations_know_their_place_in_the_answer() -> None:
    answer = 'One [1, 2]. Two [a.md:1:0-9, 20-30 | excerpt: "words"].'
    found = parse_citations(answer)
    assert [answer[placed.start : placed.end] for placed in found.citations] == [
        "[1, 2]",
        "[1, 2]",
        '[a.md:1:0-9, 20-30 | excerpt: "words"]',
        '[a.md:1:0-9, 20-30 | excerpt: "words"]',
    ]


def test_an_excerpt_of_several_spans_is_kept_and_given_to_none_of_them() -> None:
    found = parse_citations('[a.md:1:0-9, 20-30 | excerpt: "words"]')
    assert [placed.excerpt for placed in found.citations] == ["words", "words"]
    assert [placed.citation for placed in found.citations] == [span("a.md", 1, 0, 9), span("a.md", 1, 20, 30)]


file_names = st.text(
    st.characters(exclude_characters='[]【】［］|｜",，、;；\n', exclude_categories=["C", "Z"]), min_size=1
).map(lambda stem: f"{stem}.pdf")


@given(file_names, st.none() | st.integers(0, 999), st.integers(0, 9999), st.integers(1, 999))
def test_what_is_written_reads_back(file: str, page: int | None, start: int, length: int) -> None:
    text = f"[{file}:{'?' if page is None else page}:{start}-{start + length}]"
    assert [placed.citation for placed in parse_citations(text).citations] == [
        span(file, page, start, start + length)
    ]


@given(st.text('[]0123456789:-,.|?a "\n“”', max_size=60))
def test_any_text_is_read_without_failing(text: str) -> None:
    found = parse_citations(text)
    for placed in (*found.citations, *found.malformed):
        assert text[placed.start] == "["
        assert text[placed.end - 1] == "]"


@pytest.mark.parametrize("mark", TABLES["what_nothing_can_open_is_no_citation"])
def test_what_nothing_can_open_is_no_citation(mark: str) -> None:
    found = parse_citations(f"It rains {mark}.")
    assert (found.citations, found.malformed) == ((), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *TABLES["spaces_stand_in_the_place_of_citations"],
        ('It rains [a.md:2:0-9, 12-15 | excerpt: "A. B"].', f"It rains {' ' * 37}."),
        ("It rains【1】 here 【4:0†source】.", f"It rains    here {' ' * 12}."),
        ("It rains [Doc 1], [Sources 1 and 2].", f"It rains {' ' * 7}, {' ' * 17}."),
        ("下雨[文档1]了[来源1、2]。", f"下雨{' ' * 5}了{' ' * 7}。"),
        ("It rains [^1].\n\n[^1]: rain.pdf", f"It rains {' ' * 4}.\n\n{' ' * 14}"),
        ("It rains ([a.pdf](https://a.org)).", f"It rains {' ' * 24}."),
        ("It rains [1](https://a.org).", f"It rains {' ' * 18}."),
        ("It rains [1, p. 3], [1†source].", f"It rains {' ' * 9}, {' ' * 10}."),
        ("下雨（来源：文档1）。", f"下雨{' ' * 8}。"),
        ("下雨（資料來源：《指南》，第3頁）。", f"下雨{' ' * 15}。"),
        ("It rains (Source: rain.pdf, page 3).", f"It rains {' ' * 26}."),
        ("下雨【港口.txt：？：0-9】了［１］。", f"下雨{' ' * 14}了   。"),
    ],
)
def test_spaces_stand_in_the_place_of_citations(text: str, said: str) -> None:
    assert without_citations(text) == said


@pytest.mark.parametrize("mark", TABLES["named_sources"])
def test_a_named_source_with_its_page_is_not_said(mark: str) -> None:
    assert without_citations(f"It rains {mark}.") == f"It rains {' ' * len(mark)}."
    assert without_citations(f"下雨{mark}。") == f"下雨{' ' * len(mark)}。"


@pytest.mark.parametrize("text", TABLES["a_bracket_that_says_something_stays"])
def test_a_bracket_that_says_something_stays(text: str) -> None:
    assert without_citations(f"It rains {text}.") == f"It rains {text}."


@given(st.text('[]【】［０１0123456789:：-,，.|｜?？a "\n“”', max_size=60))
def test_what_is_blanked_is_what_is_read(text: str) -> None:
    found = parse_citations(text)
    places = [(placed.start, placed.end) for placed in (*found.citations, *found.malformed)]
    assert without_citations(text) == blanked(text, places)


@given(st.text('[]【】12:：?？-–,，.ap "|｜（）', max_size=60))
def test_full_width_is_read_like_half_width(text: str) -> None:
    half = text.translate(str.maketrans("【】：？，｜", "[]:?,|"))
    assert len(without_citations(text)) == len(text)
    places, half_places = (
        [(each.start, each.end) for each in (*found.citations, *found.malformed)]
        for found in (parse_citations(text), parse_citations(half))
    )
    assert places == half_places


def test_a_long_row_of_separators_is_read_at_once() -> None:
    text = "[1" + ",  " * 300 + "x]"  # backtracking over the spaces would never end
    assert parse_citations(text).citations == ()
    assert without_citations(text) == text
