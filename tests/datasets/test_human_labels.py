"""Labels of people: read from annotations and tables, merged by majority or mean, refused when unclear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import InputError, Issue, UsageError
from rag_evaluation_framework.datasets.human_labels import (
    HumanLabel,
    LabelField,
    check_words,
    fields_of,
    is_same_answer,
    labels_of_annotations,
    merged_labels,
    read_labels,
)
from rag_evaluation_framework.records.samples import AnswerQualityAnnotation, CitationAnnotation

TABLES = tables_beside(__file__)

SCORES = {"completeness": 0.5, "accuracy": 1.0, "relevance": 0.75, "clarity": 0.25, "conciseness": 0.0}


def label(query: str, who: str, **fields: Any) -> HumanLabel:
    return HumanLabel(query, who, None, fields)


def test_an_annotation_gives_its_scores_their_mean_its_ratings_and_what_else_it_has() -> None:
    quality = AnswerQualityAnnotation(
        annotation_id="a1",
        query_id="q1",
        annotator_id="anna",
        answer_text="It is so.",
        quality_scores=SCORES,
        aspect_ratings={"factual_correctness": "fully_correct"},
        extra={"hallucinated": False},
    )
    marked = CitationAnnotation(annotation_id="a2", query_id="q1", annotator_id="anna")
    first, second = labels_of_annotations([quality, marked])
    assert first.answer_text == "It is so."
    assert (first.fields["accuracy"], first.fields["overall"]) == (1.0, 0.5)
    assert fields_of([first]) == ["hallucinated", "factual_correctness", *SCORES, "overall"]
    assert fields_of([second]) == []


def test_several_annotators_are_merged_by_their_mean() -> None:
    merged = merged_labels(
        [label("q1", "anna", accuracy=0.5), label("q1", "ben", accuracy=1.0), label("q2", "ben", accuracy=0)],
        LabelField("accuracy"),
    )
    assert merged.values == {"q1": 0.75, "q2": 0.0}
    assert (merged.merging, merged.is_binary, merged.undecided) == ("mean of annotators", False, 0)


def test_labels_of_yes_and_no_are_merged_by_majority_and_a_tie_is_left_out() -> None:
    votes = {"q1": [1, 1, 0], "q2": [1, 0], "q3": [0]}
    labels = [
        label(query, f"p{who}", ok=bool(vote))
        for query, given in votes.items()
        for who, vote in enumerate(given)
    ]
    merged = merged_labels(labels, LabelField("ok"))
    assert merged.values == {"q1": 1.0, "q3": 0.0}
    assert (merged.merging, merged.is_binary, merged.undecided) == ("majority of annotators", True, 1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, 1.0), (0, 0.0), (0.25, 0.25), ("0.25", 0.25), ("Yes", 1.0), ("no", 0.0), ("TRUE", 1.0)],
)
def test_numbers_truths_and_words_of_yes_and_no_are_labels(value: Any, expected: float) -> None:
    assert merged_labels([label("q1", "anna", ok=value)], LabelField("ok")).values == {"q1": expected}


def test_other_words_need_to_be_told_which_are_good() -> None:
    labels = [label("q1", "anna", fact="fully_correct"), label("q2", "anna", fact="wrong")]
    with pytest.raises(UsageError, match=r"contains words \('fully_correct', 'wrong'\).* fact:WORD,WORD"):
        merged_labels(labels, LabelField("fact"))
    assert merged_labels(labels, LabelField.parse("fact:fully_correct")).values == {"q1": 1.0, "q2": 0.0}


def test_words_that_no_label_has_are_named_with_those_there_are() -> None:
    labels = [
        label("q1", "anna", fact="fully_correct"),
        label("q2", "anna", fact="wrong"),
        label("q3", "anna"),
    ]
    check_words(labels, LabelField.parse("fact:wrong,fully_correct"))
    check_words(labels, LabelField("fact"))
    with pytest.raises(UsageError) as caught:
        check_words(labels, LabelField.parse("fact:fully_corect,zz"))
    assert str(caught.value).splitlines() == [
        'unknown word of label fact "fully_corect". Did you mean "fully_correct"?',
        'unknown word of label fact "zz". Available: fully_correct and wrong.',
    ]


@pytest.mark.parametrize("value", [float("nan"), "nan", "-inf", [1], {"a": 1}, 10**400])
def test_what_is_no_label_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"ok: expected a number, yes or no for 'q1', got .* by 'anna'"):
        merged_labels([label("q1", "anna", ok=value)], LabelField("ok"))


@pytest.mark.parametrize(
    ("name", "text", "places"),
    [
        ("labels.csv", "id,label\nq1,1\nq2,nan\nq3,0\nq4,maybe\n", ["3: label", "5: label"]),
        ("labels.jsonl", '{"id": "q1", "label": 1}\n{"id": "q2", "label": [1]}\n', ["2: label"]),
        ("labels.json", '[{"id": "q1", "label": 1},\n{"id": "q2", "label": "x"}]', ["2: [1].label"]),
    ],
)
def test_every_label_that_is_none_is_named_with_its_file_and_line(
    name: str, text: str, places: list[str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        merged_labels(read_labels(path), LabelField("label"))
    assert [str(issue.location) for issue in caught.value.issues] == [f"{path}:{place}" for place in places]


@pytest.mark.parametrize(
    ("text", "name", "words", "is_reversed", "is_quality"),
    [
        ("accuracy", "accuracy", (), False, True),
        ("overall", "overall", (), False, True),
        ("-hallucinated", "hallucinated", (), True, False),
        ("fact:good,fair", "fact", ("good", "fair"), False, True),
    ],
)
def test_a_field_is_read_as_it_is_written(
    text: str, name: str, words: tuple[str, ...], is_reversed: bool, is_quality: bool
) -> None:
    field = LabelField.parse(text)
    assert (field.name, field.words, field.is_reversed, field.is_quality) == (
        name,
        words,
        is_reversed,
        is_quality,
    )
    assert str(field) == text


def test_a_label_is_of_the_same_answer_up_to_white_space_and_width() -> None:
    given = HumanLabel("q1", "anna", "It  is\nso １.")
    assert is_same_answer(given, "It is so 1.")
    assert not is_same_answer(given, "It is not so.")
    assert is_same_answer(given, None)
    assert is_same_answer(HumanLabel("q1", "anna"), "anything")


@pytest.mark.parametrize(("name", "text"), TABLES["a_table_of_ids_and_labels_is_read"])
def test_a_table_of_ids_and_labels_is_read(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    labels = read_labels(path)
    assert [(each.query_id, each.annotator) for each in labels] == [
        ("q1", "anna"),
        ("q2", f"unnamed ({path})"),
    ]
    assert merged_labels(labels, LabelField("label")).values == {"q1": 1.0, "q2": 0.5}


@pytest.mark.parametrize("header", ["query_id|label", "q0,1", "Query_ID,Label"])
def test_a_table_without_a_column_of_ids_is_one_problem_not_one_a_row(header: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"{header}\n" + "q1,1\n" * 100, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_labels(path)
    expected = (
        "columns separated by commas, semicolons or tabs, including at least one of query_id, sample_id, id"
    )
    assert str(caught.value) == f"{path}:1: expected {expected}, got {header!r}"


def test_labels_of_a_query_by_nobody_in_particular_are_those_of_different_people(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id,label\nq1,1\nq1,0\nq2,1\n", encoding="utf-8")
    assert [label.annotator for label in read_labels(path)] == [
        f"unnamed ({path})",
        f"unnamed 2 ({path})",
        f"unnamed ({path})",
    ]


def test_one_annotator_twice_is_named_with_both_places(tmp_path: Path) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in paths:
        path.write_text("id,annotator_id,label\nq1,anna,1\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        merged_labels([*read_labels(paths[0]), *read_labels(paths[1])], LabelField("label"))
    assert str(caught.value) == (
        f"{paths[1]}:2: label: expected one label of 'q1' per annotator, got 2 by 'anna', "
        f"the first in {paths[0]}:2"
    )


def test_rows_that_stand_twice_are_told_of_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id,label\nq1,1\nq1,1\nq1,0\nq2,1\nq2,1\nq3,1\n", encoding="utf-8")
    warnings: list[Issue] = []
    labels = read_labels(path, on_warning=warnings.append)
    (warning,) = warnings
    assert str(warning) == (
        f"{path}:3: expected unique rows, or an annotator_id in each row, got a duplicate of {path}:2 "
        "and 1 more such row, counted as labels of different annotators"
    )
    # As three votes of q1 they have a majority; without the second there would be a tie.
    assert merged_labels(labels, LabelField("label")).values == {"q1": 1.0, "q2": 1.0, "q3": 1.0}


def test_rows_that_differ_or_name_their_annotators_are_not_told_of(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id,annotator_id,label\nq1,,1\nq1,,0\nq2,anna,1\nq2,ben,1\n", encoding="utf-8")
    warnings: list[Issue] = []
    read_labels(path, on_warning=warnings.append)
    assert warnings == []


def test_what_is_wrong_with_labels_and_who_repeats_them_is_told_together() -> None:
    labels = [label("q1", "anna", ok=1), label("q1", "anna", ok=0), label("q2", "ben", ok="maybe")]
    with pytest.raises(InputError) as error:
        merged_labels(labels, LabelField("ok"))
    assert [issue.code for issue in error.value.issues] == ["annotated-twice", "wrong-label"]
