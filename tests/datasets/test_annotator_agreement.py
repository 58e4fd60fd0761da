"""Agreement between annotators: worked examples, the merged truth, and rules that always hold."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, SpanCitation
from rag_evaluation_framework.datasets.annotator_agreement import (
    ALPHA,
    INTERVAL_ALPHA,
    KAPPA,
    AgreementFigure,
    AgreementReport,
    agreement_report,
    jaccard,
    majority,
    marked_stretches,
    merged_truth,
)
from rag_evaluation_framework.records.samples import (
    QUALITY_SCORES,
    Annotation,
    AnnotationSet,
    AnswerQualityAnnotation,
    CitationAnnotation,
)
from rag_evaluation_framework.statistics.agreement import Resampling, cohens_kappa, krippendorff_alpha

FEW = Resampling(resamples=200)


def marked(query: str, who: str, *spans: tuple[str, int, int], page: int | None = None) -> CitationAnnotation:
    citations = tuple(SpanCitation(file, start, end, page) for file, start, end in spans)
    return CitationAnnotation(
        annotation_id=f"{query}-{who}", query_id=query, annotator_id=who, citations=citations
    )


def judged(query: str, who: str, rating: str, score: float, answer: str = "x") -> AnswerQualityAnnotation:
    return AnswerQualityAnnotation(
        annotation_id=f"{query}-{who}-{answer}",
        query_id=query,
        annotator_id=who,
        answer_text=answer,
        quality_scores=dict.fromkeys(QUALITY_SCORES, score),
        aspect_ratings={"structure": rating},
    )


def figure(report: AgreementReport, what: str) -> AgreementFigure:
    return next(figure for figure in report.figures if figure.what == what)


def test_mean_pairwise_jaccard_is_over_pairs_then_over_queries() -> None:
    report = agreement_report(
        [
            marked("q1", "ann", ("d", 0, 100)),
            marked("q1", "bob", ("d", 50, 150)),  # 50 of 150 characters: 1/3
            marked("q1", "cem", ("d", 0, 100)),  # 1 with ann, 1/3 with bob; the mean of three is 5/9
            marked("q2", "ann", ("d", 0, 10)),
            marked("q2", "bob", ("d", 0, 10)),  # 1
            marked("q3", "ann", ("d", 0, 10)),  # nobody else: does not count
        ],
        resampling=FEW,
    )
    jaccards = figure(report, "characters marked")
    assert jaccards.value == pytest.approx((5 / 9 + 1) / 2)
    assert (jaccards.n_queries, jaccards.target) == (2, 0.85)
    assert jaccards.interval is not None
    assert (report.n_queries, report.n_shared) == (3, 2)
    assert report.annotators == ("ann", "bob", "cem")


def test_who_disagrees_where_is_listed_worst_first() -> None:
    report = agreement_report(
        [
            marked("q1", "ann", ("d", 0, 100)),
            marked("q1", "bob", ("d", 0, 90)),
            marked("q2", "ann", ("d", 0, 100)),
            marked("q2", "bob", ("d", 0, 80)),
            marked("q2", "cem", ("e", 0, 80)),
        ],
        resampling=FEW,
    )
    assert [(row.query_id, row.furthest_pair, row.furthest_jaccard) for row in report.queries] == [
        ("q2", ("ann", "cem"), 0.0),
        ("q1", ("ann", "bob"), 0.9),
    ]
    assert [(row.pair, row.n_queries) for row in report.pairs] == [
        (("ann", "cem"), 1),
        (("bob", "cem"), 1),
        (("ann", "bob"), 2),
    ]
    assert report.pairs[2].jaccard == pytest.approx(0.85)  # (0.9 + 0.8) / 2


def test_two_annotators_who_both_mark_nothing_agree() -> None:
    report = agreement_report([marked("q", "ann"), marked("q", "bob")], resampling=FEW)
    assert figure(report, "characters marked").value == 1.0
    assert figure(report, "documents cited").value is None  # nobody cites anything, so chance agrees too


def test_pages_count_only_where_every_span_of_the_file_has_one() -> None:
    third, fourth = SpanCitation("d", 0, 10, 3), SpanCitation("d", 0, 10, 4)
    unpaged = SpanCitation("d", 0, 10)
    assert jaccard(marked_stretches({"a": [third], "b": [fourth]}), "a", "b") == 0.0
    assert jaccard(marked_stretches({"a": [third], "b": [unpaged]}), "a", "b") == 1.0


@pytest.mark.parametrize(
    ("measure", "formula", "cited"),
    [
        (KAPPA, lambda ratings: cohens_kappa(*ratings), [("de", "d"), ("f", "f"), ("d", "e"), ("", "d")]),
        (ALPHA, krippendorff_alpha, [("de", "d", "d"), ("f", "f", None), ("d", "e", "")]),
    ],
)
def test_documents_cited_by_two_or_more_are_compared_over_every_document_ever_cited(
    measure: str, formula: Callable[..., float], cited: list[tuple[str | None, ...]]
) -> None:
    annotations = [
        marked(f"q{number}", who, *((file, 0, 9) for file in files))
        for number, by in enumerate(cited)
        for who, files in zip(("ann", "bob", "cem"), by, strict=False)
        if files is not None
    ]
    documents = figure(agreement_report(annotations, resampling=FEW), "documents cited")
    ratings = [
        [None if files is None else file in files for files in column for file in "def"]
        for column in zip(*cited, strict=True)
    ]
    assert documents.measure == measure
    assert documents.value == pytest.approx(formula(ratings))


def test_ratings_in_words_and_scores_have_figures_of_their_own() -> None:
    given_ = [
        ("q1", "good", "good", 0.9, 0.8),
        ("q2", "poor", "good", 0.2, 0.6),
        ("q3", "poor", "poor", 0.1, 0.1),
    ]
    annotations: list[Annotation] = []
    for query, first, second, low, high in given_:
        annotations += [judged(query, "ann", first, low), judged(query, "bob", second, high)]
    report = agreement_report(annotations, resampling=FEW)
    structure, accuracy, overall = (figure(report, what) for what in ("structure", "accuracy", "overall"))
    assert structure.measure == KAPPA
    assert structure.value == pytest.approx(
        cohens_kappa([row[1] for row in given_], [row[2] for row in given_])
    )
    assert accuracy.measure == INTERVAL_ALPHA
    scores = [[row[3] for row in given_], [row[4] for row in given_]]
    assert accuracy.value == pytest.approx(krippendorff_alpha(scores, level="interval"))
    assert overall.value == pytest.approx(accuracy.value)  # all five scores are the same here
    worst = report.scores[0]
    assert (worst.query_id, worst.lowest, worst.highest) == ("q2", "ann", "bob")
    assert worst.difference == pytest.approx(0.4)


def test_answers_with_other_words_are_other_answers() -> None:
    report = agreement_report(
        [judged("q", "ann", "good", 1.0, "x"), judged("q", "bob", "poor", 0.0, "y")], resampling=FEW
    )
    assert report.figures == ()
    assert report.n_shared == 0


def test_the_same_annotator_twice_on_a_query_is_an_error_that_names_both() -> None:
    again = CitationAnnotation(annotation_id="again", query_id="q", annotator_id="ann")
    with pytest.raises(InputError, match="'q-ann' and 'again' by 'ann'"):
        agreement_report([marked("q", "ann"), again])


# --- the merged truth ---


def test_of_three_annotators_two_make_a_character_true() -> None:
    annotations = AnnotationSet(
        (
            marked("q", "ann", ("d", 0, 100)),
            marked("q", "bob", ("d", 50, 150)),
            marked("q", "cem", ("d", 90, 120), ("e", 0, 10)),
        ),
        "demo",
    )
    (merged,) = merged_truth(annotations).annotations
    assert isinstance(merged, CitationAnnotation)
    (span,) = merged.citations
    assert (span.file, span.start, span.end) == ("d", 50, 120)
    # 50–90 two of three, 90–100 all, 100–120 two: (40·2 + 10·3 + 20·2) / (3·70)
    assert span.confidence == pytest.approx(150 / 210)
    assert merged.extra["metadata"]["tied_characters"] == 0
    assert merged.annotator_id == "majority"


def test_of_two_annotators_half_is_a_tie_that_is_left_out_and_stated() -> None:
    annotations = AnnotationSet((marked("q", "ann", ("d", 0, 100)), marked("q", "bob", ("d", 50, 150))))
    (merged,) = merged_truth(annotations).annotations
    assert [(span.start, span.end) for span in merged.citations or ()] == [(50, 100)]
    assert merged.extra["metadata"]["tied_characters"] == 100
    assert merged.extra["metadata"]["merged_from"] == ["q-ann", "q-bob"]


def test_the_words_of_a_merged_span_are_cut_from_a_span_that_covers_it() -> None:
    text = "流泉之众的聚落中心"
    marks = {"ann": [SpanCitation("d", 10, 10 + len(text), text=text)], "bob": [SpanCitation("d", 12, 15)]}
    (span,) = majority(marks).spans
    assert span.text == text[2:5]
    shorter = {"ann": [SpanCitation("d", 10, 30, text="not all of it")], "bob": [SpanCitation("d", 12, 15)]}
    assert majority(shorter).spans[0].text is None


def test_merged_answers_have_mean_scores_and_the_ratings_of_most_where_most_agree() -> None:
    annotations = AnnotationSet(
        (judged("q", "ann", "good", 0.9), judged("q", "bob", "good", 0.6), judged("q", "cem", "poor", 0.3))
    )
    (merged,) = merged_truth(annotations).annotations
    assert isinstance(merged, AnswerQualityAnnotation)
    assert merged.quality_scores["accuracy"] == pytest.approx(0.6)
    assert merged.overall_score == pytest.approx(0.6)
    assert merged.aspect_ratings == {"structure": "good"}
    tied = AnnotationSet((judged("q", "ann", "good", 0.5), judged("q", "bob", "poor", 0.5)))
    (undecided,) = merged_truth(tied).annotations
    assert isinstance(undecided, AnswerQualityAnnotation)
    assert undecided.aspect_ratings == {}
    assert undecided.extra["metadata"]["undecided_aspects"] == ["structure"]


def test_the_merged_truth_carries_the_last_of_the_times() -> None:
    times = ["2025-08-30T12:00:00+02:00", "2025-08-30T11:00:00Z", "2025-08-30T10:30:00Z"]
    annotations = tuple(
        CitationAnnotation(annotation_id=str(n), query_id="q", annotator_id=str(n), timestamp=time)
        for n, time in enumerate(times)
    )
    (merged,) = merged_truth(AnnotationSet(annotations)).annotations
    assert merged.timestamp == times[1]  # noon at +02:00 is ten o'clock


spans = st.tuples(st.sampled_from("de"), st.integers(0, 8), st.integers(1, 8)).map(
    lambda span: SpanCitation(span[0], span[1], span[1] + span[2])
)
everyones_marks = st.lists(st.lists(spans, max_size=3), min_size=2, max_size=5).map(
    lambda lists: {f"a{number}": marks for number, marks in enumerate(lists)}
)


def characters(marks: list[SpanCitation] | tuple[SpanCitation, ...]) -> set[tuple[str, int]]:
    return {(span.file, position) for span in marks for position in range(span.start, span.end)}


@given(everyones_marks)
def test_jaccard_is_that_of_the_sets_of_characters(marks: dict[str, list[SpanCitation]]) -> None:
    stretches = marked_stretches(marks)
    for a, b in combinations(marks, 2):
        first, second = characters(marks[a]), characters(marks[b])
        expected = len(first & second) / len(first | second) if first | second else 1.0
        assert jaccard(stretches, a, b) == pytest.approx(expected)


@given(everyones_marks)
def test_the_majority_is_every_character_that_more_than_half_marked(
    marks: dict[str, list[SpanCitation]],
) -> None:
    sets = [characters(spans) for spans in marks.values()]
    votes = {character: sum(character in each for each in sets) for each in sets for character in each}
    merged = majority(marks)
    assert characters(merged.spans) == {c for c, count in votes.items() if 2 * count > len(marks)}
    assert merged.tied_characters == sum(2 * count == len(marks) for count in votes.values())
    for one, other in combinations(merged.spans, 2):
        assert one.file != other.file or one.end < other.start or other.end < one.start
