"""Metrics look at what an answer says: not at how it cites, its sources or its courtesies."""

from __future__ import annotations

import pytest

from cases import tables_beside
from rag_evaluation_framework import Response, Sample, Score, Turn
from rag_evaluation_framework.evaluation.scoring import scorer_for

TABLES = tables_beside(__file__)

BOAT = "The boat leaves at noon. It returns at six."


def scored(name: str, answer: str, context: str, reference: str = "The boat leaves at noon.") -> Score:
    turn = Turn(role="user", content="What is known of boat or fee?")
    sample = Sample(id="s", turns=(turn,), reference=reference)
    return scorer_for(name).score(sample, Response(text=answer, contexts=(context,)))


@pytest.mark.parametrize("mark", TABLES["how_an_answer_cites_changes_no_figure"])
@pytest.mark.parametrize(
    "name", ["faithfulness", "claim_precision", "claim_recall", "answer_correctness", "grounded_fraction"]
)
def test_how_an_answer_cites_changes_no_figure(name: str, mark: str) -> None:
    assert scored(name, f"The boat leaves at noon {mark}.", BOAT).value == 1.0


@pytest.mark.parametrize(
    "sources",
    [
        "References:\n[1] Fee schedule 2020.\n[2] Contract handbook.",
        "参考资料：\n[1] Fee schedule 2020.\n[2] Contract handbook.",
        "Sources:\n- handbook.pdf, page 3\n- fees.pdf, page 9",
    ],
)
@pytest.mark.parametrize(
    "name", ["faithfulness", "citation_recall", "citation_completeness", "grounded_fraction"]
)
def test_a_list_of_sources_claims_nothing(name: str, sources: str) -> None:
    answer = f"The boat leaves at noon [1]. It returns at six [1].\n\n{sources}"
    assert scored(name, answer, BOAT).value == 1.0


@pytest.mark.parametrize("name", ["faithfulness", "citation_recall", "grounded_fraction"])
@pytest.mark.parametrize(("answer", "context"), TABLES["courtesies_are_not_counted"])
def test_courtesies_and_what_leads_up_to_a_statement_are_not_counted(
    name: str, answer: str, context: str
) -> None:
    assert scored(name, answer, context).value == 1.0


def test_new_words_of_courtesies_are_not_unsupported() -> None:
    # of "boat leaves midnight" one word is new; "question", "hope", "helps" claim nothing
    score = scored(
        "unsupported_tokens", "Great question! The boat leaves at midnight. I hope this helps!", BOAT
    )
    assert (score.value, score.details["new_tokens"]) == (1, [[35, 43]])


@pytest.mark.parametrize(("answer", "context", "value"), TABLES["what_begins_like_a_courtesy_is_counted"])
def test_what_begins_like_a_courtesy_is_counted(answer: str, context: str, value: float) -> None:
    assert scored("faithfulness", answer, context).value == value


@pytest.mark.parametrize(("answer", "context", "fraction", "new"), TABLES["numbers_are_grounded_or_new"])
def test_numbers_are_grounded_or_new_as_words_are(
    answer: str, context: str, fraction: float, new: int
) -> None:
    assert scored("grounded_fraction", answer, context).value == pytest.approx(fraction)
    assert scored("unsupported_tokens", answer, context).value == new


def test_new_words_and_numbers_are_told_where_they_stand() -> None:
    score = scored("grounded_fraction", "It costs 500 [t.md:?:0-24] dollars.", "It costs 200 euros.")
    assert score.details["new_tokens"] == [[9, 12], [27, 34]]


@pytest.mark.parametrize("name", ["grounded_fraction", "unsupported_tokens", "faithfulness"])
def test_an_answer_that_does_not_answer_is_skipped_by_word_as_by_claim(name: str) -> None:
    score = scored(name, "I don't know.", BOAT)
    assert (score.status, score.reason) == ("skipped", "the answer says that it does not know")


def test_an_expected_bracket_is_no_empty_reference() -> None:
    assert scored("answer_correctness", "It is [1].", BOAT, reference="[1]").status == "skipped"
