"""Answers held against references: pairs of a right and a wrong one, and people's verdicts on answers."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks._answers import (
    agreement,
    by_metric,
    one_reference_each,
    ordered_pairs,
    plain_f1,
    plain_recall,
    questions,
)
from benchmarks._labelled_data import DATA

from cases import tables_beside
from labelled_data import present
from rag_evaluation_framework import Response, Sample, Turn
from rag_evaluation_framework.evaluation.scoring import scorer_for

TABLES = tables_beside(__file__)
UNSEEN = ("hedged", "turned round")


def scored(name: str, answer: str, *references: str, question: str = "How long?") -> float | None:
    first, *others = references
    turns = (Turn(role="user", content=question),)
    sample = Sample(id="s", turns=turns, reference=first, references=tuple(others))
    return scorer_for(name).score(sample, Response(text=answer)).value


def test_right_answers_are_told_from_wrong_ones() -> None:
    counts = ordered_pairs(by_metric("answer_correctness"))
    assert sum(total for _, total in counts.values()) == 60
    # Words do not see which of two values is left open, nor who did what to whom.
    assert all(right >= total - 1 for kind, (right, total) in counts.items() if kind not in UNSEEN), counts
    # What words do by themselves, so that the table is not one that anything could pass.
    for plain in (plain_recall, plain_f1):
        assert sum(right for right, _ in ordered_pairs(plain).values()) <= 40


@pytest.mark.parametrize("kind", TABLES)
def test_a_right_answer_says_most_of_its_reference(kind: str) -> None:
    said = [scored("claim_recall", right, wanted, question=asked) for asked, wanted, right, _ in TABLES[kind]]
    assert sum((value or 0) >= 0.5 for value in said) >= len(said) - 1


def test_a_longer_answer_is_right_and_another_number_is_not() -> None:
    right = scored("answer_correctness", "You may return it within 30 days of delivery.", "30 days")
    wrong = scored("answer_correctness", "You may return it within 90 days of delivery.", "30 days")
    assert right is not None
    assert right > 0.9
    assert wrong == 0.0


@pytest.mark.parametrize(
    "name", ["answer_correctness", "claim_recall", "claim_f1", "token_f1", "string_match"]
)
def test_of_several_references_the_best_counts(name: str) -> None:
    alone, among = scored(name, "two weeks", "two weeks"), scored(name, "two weeks", "a month", "two weeks")
    assert alone == among == 1.0
    assert scored(name, "two weeks", "a month") == 0.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, 0.0) for name in ("answer_correctness", "claim_recall", "claim_f1", "answer_similarity")],
        *[(name, 0.0) for name in ("token_f1", "string_match", "exact_match", "rouge", "bleu", "chrf")],
        *[(name, None) for name in ("faithfulness", "hallucination", "claim_precision", "citation_recall")],
        *[(name, None) for name in ("grounded_fraction", "toxicity", "over_refusal")],
    ],
)
def test_an_empty_answer_is_wrong_by_its_reference_and_says_nothing(name: str, value: float | None) -> None:
    sample = Sample(
        id="s", turns=(Turn(role="user", content="Where is the ferry?"),), reference="In the harbour."
    )
    score = scorer_for(name).score(sample, Response(text=" ", contexts=("It is in the harbour.",)))
    assert (score.status, score.value) == ("skipped" if value is None else "scored", value)
    assert "the answer is empty" in (score.reason, score.details.get("reason"))


@pytest.fixture(scope="module")
def asked() -> list[dict[str, Any]]:
    present("evouna")
    return questions(DATA)


@pytest.mark.parametrize(("metric", "more"), [("answer_correctness", 0.02), ("claim_f1", 0.01)])
def test_with_one_reference_more_is_told_than_by_plain_words(
    asked: list[dict[str, Any]], metric: str, more: float
) -> None:
    kept = one_reference_each(asked)[::2]
    for system in ("chatgpt", "newbing"):
        plain = agreement(kept, system, plain_recall)
        assert agreement(kept, system, by_metric(metric)) >= max(0.82, plain + more)
