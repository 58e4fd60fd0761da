"""Answers that say the contrary of their reference: another number or date, no for yes, with for without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import Response, Sample, Turn
from rag_evaluation_framework.evaluation.scoring import scorer_for
from rag_evaluation_framework.judging.reference_words import compare_with_references
from rag_evaluation_framework.records.scores import Score

TABLES: dict[str, Any] = tables_beside(__file__)
METRICS = ("answer_correctness", "answer_similarity")
EVEN = 0.5


def score_of(metric: str, question: str, reference: str, answer: str) -> Score:
    sample = Sample(id="s", turns=(Turn(role="user", content=question),), reference=reference)
    return scorer_for(metric).score(sample, Response(text=answer))


def values_of(question: str, reference: str, answer: str) -> list[float]:
    return [score_of(metric, question, reference, answer).value or 0.0 for metric in METRICS]


@pytest.mark.parametrize(("question", "reference", "answer"), TABLES["another number or date in its place"])
def test_another_number_or_date_in_its_place_stays_below_even_odds(
    question: str, reference: str, answer: str
) -> None:
    assert max(values_of(question, reference, answer)) < EVEN
    assert min(values_of(question, reference, reference)) == 1.0


@pytest.mark.parametrize(
    ("question", "reference", "answer"), TABLES["the same number or date, or one beside it"]
)
def test_the_same_number_in_another_form_or_one_beside_it_is_not_contrary(
    question: str, reference: str, answer: str
) -> None:
    assert min(values_of(question, reference, answer)) > EVEN


def texts_of(language: str, value: str) -> Iterator[str]:
    """Yield texts of 1 to 60 words, the value before, among and behind the others."""
    text = TABLES["words"][language]
    words, join = (text.split(), " ") if language == "English" else (list("".join(text.split())), "")
    for length in range(60):
        for place in sorted({0, length // 2, length}):
            yield join.join([*words[:place], value, *words[place:length]]) + ("." if join else "。")


@pytest.mark.parametrize(
    ("language", "value", "other"),
    [(language, *pair) for language, pairs in TABLES["replaced"].items() for pair in pairs],
)
def test_a_replaced_number_or_date_stays_below_even_odds_at_any_length(
    language: str, value: str, other: str
) -> None:
    pairs = list(zip(texts_of(language, value), texts_of(language, other), strict=True))
    reached = [wrong for right, wrong in pairs if max(values_of("What is known?", right, wrong)) >= EVEN]
    assert reached == []


@pytest.mark.parametrize("beside", [0, 5, 20, 60])
@pytest.mark.parametrize(("reply", "other"), [("Yes", "No"), ("No", "Yes")])
def test_a_reversed_yes_or_no_stays_below_even_odds_at_any_length(
    reply: str, other: str, beside: int
) -> None:
    text = " ".join(TABLES["words"]["English"].split()[:beside])
    assert max(values_of("Is it open to all?", f"{reply}, {text}.", f"{other}, {text}.")) < EVEN


@pytest.mark.parametrize(("question", "reference", "answer", "value"), TABLES["yes or no"])
@pytest.mark.parametrize("metric", METRICS)
def test_a_yes_or_no_is_compared_with_that_of_the_answers_first_clause(
    metric: str, question: str, reference: str, answer: str, value: float | None
) -> None:
    score = score_of(metric, question, reference, answer)
    assert score.value == value
    if value is None:
        assert (score.status, score.reason) == (
            "skipped",
            "the answer says neither a plain yes nor a plain no",
        )


@pytest.mark.parametrize(("question", "reference", "answer"), TABLES["a without behind the reference"])
def test_a_without_behind_the_reference_does_not_negate_it(
    question: str, reference: str, answer: str
) -> None:
    assert min(values_of(question, reference, answer)) > 0.8
    assert compare_with_references(answer, [reference], question).kind == "matches"


@pytest.mark.parametrize(
    ("question", "reference", "answer"), TABLES["what one side has without, and the other with it"]
)
def test_what_is_had_without_is_not_had_with_it(question: str, reference: str, answer: str) -> None:
    assert max(values_of(question, reference, answer)) < EVEN
    assert compare_with_references(answer, [reference], question).kind != "matches"
