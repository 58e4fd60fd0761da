"""What words tell of an answer beside its references: seldom, and then rightly."""

from __future__ import annotations

from collections import defaultdict

import pytest
from benchmarks import answer_verdicts

from cases import tables_beside
from labelled_data import present
from rag_evaluation_framework.judging.reference_words import compare_with_references, exceeds_limits
from sizes import size

ROWS = [row for rows in tables_beside(__file__).values() for row in rows]
CAPITAL = "What is the capital?"
BESIDE = "The river has many bends and the hills around it are green in spring. "
PASSAGE = "The capital of the valley is Rome. " + BESIDE * 8


@pytest.mark.parametrize(("question", "references", "answer", "kind", "why"), ROWS)
def test_an_answer_beside_its_references(
    question: str, references: list[str], answer: str, kind: str, why: str
) -> None:
    found = compare_with_references(answer, references, question)
    assert (found.kind, why in found.why) == (kind, True), found
    assert (found.leaning is None) or kind == "undecided"


def test_of_several_references_the_best_counts() -> None:
    references = ["Rome is the capital of the valley.", "Milan", "Rome"]
    assert compare_with_references("It is Rome.", references, CAPITAL).kind == "matches"


@pytest.mark.parametrize(
    ("answer", "leaning"),
    [
        ("It is Rome or Milan.", "matches"),
        ("The old king lived there.", "contradicts"),
        ("The capital lies in the western valley.", "partly_matches"),
    ],
)
def test_an_undecided_answer_leans_by_its_words(answer: str, leaning: str) -> None:
    found = compare_with_references(answer, ["Rome", "the western hills"], CAPITAL)
    assert (found.kind, found.leaning) == ("undecided", leaning)


@pytest.mark.parametrize(("beside", "kind"), [(4, "matches"), (5, "undecided")])
def test_what_runs_on_beside_the_reference_is_undecided(beside: int, kind: str) -> None:
    found = compare_with_references("The capital is Rome. " + BESIDE * beside, ["Rome"], CAPITAL)
    assert found.kind == kind
    assert kind == "matches" or "words, of which most are beside" in found.why


@pytest.mark.parametrize(("beside", "kind"), [(7, "matches"), (8, "undecided")])
def test_sixty_chinese_words_are_ninety_six_characters(beside: int, kind: str) -> None:
    answer = "首都是兰城。" + "河边有许多小山和绿树。" * beside
    answer += "春天" * 9  # 93 or 103 characters
    assert compare_with_references(answer, ["兰城"], "首都是哪里？").kind == kind


def test_a_long_reference_may_have_five_times_its_words_beside_it() -> None:
    reference = "The capital of the valley is Rome, which lies on the river Tiber among seven hills."
    answer = reference + " " + BESIDE * 4
    assert compare_with_references(answer, [reference], CAPITAL).kind == "matches"


def test_a_copied_passage_is_undecided() -> None:
    reference = (
        "The capital of the valley is Rome, as the river and the green hills around it show in spring."
    )
    answer = reference + " " + BESIDE * 4
    passage = answer + BESIDE * 4
    assert compare_with_references(answer, [reference], CAPITAL).kind == "matches"
    found = compare_with_references(answer, [reference], CAPITAL, [passage])
    assert (found.kind, found.why) == ("undecided", "copies a retrieved passage")
    assert compare_with_references("It is Rome.", ["Rome"], CAPITAL, [PASSAGE]).kind == "matches"


def test_the_limits_hold_for_keys_too() -> None:
    question, keys = "Who founded it?", ["Anna Berg", "Karl Lund"]
    assert exceeds_limits("Anna Berg and Karl Lund founded it.", [], keys, question) is None
    several = "Anna Berg, Karl Lund and Peter Hale founded it."
    assert exceeds_limits(several, ["It was Peter Hale too."], keys, question) is None
    assert exceeds_limits(several, [], keys, question) == "offers a second value: Peter"


def test_people_agree_where_words_decide() -> None:
    present("evouna")
    answers = list(answer_verdicts.judged_answers(step=size(5, 1)))
    by_system: dict[str, list[answer_verdicts.Judged]] = defaultdict(list)
    for each in answers:
        by_system[each.system].append(each)
    right, given = answer_verdicts.precision(answers, "matches")
    assert right / given >= 0.98
    assert given / len(answers) >= 0.6
    for system, rows in by_system.items():
        right, given = answer_verdicts.precision(rows, "matches")
        assert right / given >= size(0.95, 0.975), system


def test_a_changed_number_contradicts_and_a_source_does_not() -> None:
    present("wice")
    present("evouna")
    labeled = [*answer_verdicts.sentence_answers(), *answer_verdicts.judged_answers(step=size(5, 1))]
    answers = [*answer_verdicts.planted_answers(), *labeled]
    wrong, given = answer_verdicts.precision(answers, "contradicts")
    assert given >= 100
    assert wrong / given >= 0.9
