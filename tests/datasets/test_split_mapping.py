"""What a raw record becomes in each split."""

from __future__ import annotations

from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.datasets.split_mapping import (
    answer_citations,
    numbered_contexts,
    qa_record,
    reason_to_drop,
    summary_record,
)

TABLES = tables_beside(__file__)

RAG: dict[str, Any] = TABLES["rag"]
RAW: dict[str, Any] = {
    "task_id": "75bcdabf-4562-4886-b86e-ea183d451921",
    "task_type": "qa",
    "instruction": "What are the assumptions made in this paper?",
    "expected_response": "The paper assumes two things [2].",
    "rag": RAG,
    "metadata": {"document": "2510.25529.txt", "run_id": "r1"},
}


def test_a_qa_record_has_the_fields_of_the_specification_in_its_order() -> None:
    assert qa_record(RAW) == {
        "task_id": "75bcdabf-4562-4886-b86e-ea183d451921",
        "task_type": "qa",
        "question": "What are the assumptions made in this paper?",
        "reference_answer": "The paper assumes two things [2].",
        "rag_prompt": "You are a research paper assistant...",
        "contexts": ["[1] Assumption one.", "[2] 假设二。"],
        "sources": RAG["sources"],
        "retrieved": RAG["retrieved"],
        "citations": RAG["citations"],
        "answer_citations": [{"index": 2, "page": 29}],
        "metadata": {"document": "2510.25529.txt", "run_id": "r1"},
    }
    assert list(qa_record(RAW))[:4] == ["task_id", "task_type", "question", "reference_answer"]
    assert schema_issues("qa-pair", qa_record(RAW)) == []


def test_a_summary_record_has_an_instruction_and_no_answer_citations() -> None:
    mapped = summary_record({**RAW, "task_type": "summaries", "expected_response": "Summary: ..."})
    assert mapped["instruction"] == RAW["instruction"]
    assert mapped["reference_summary"] == "Summary: ..."
    assert "answer_citations" not in mapped
    assert "question" not in mapped
    assert schema_issues("summary", mapped) == []


def test_the_same_names_at_the_top_level_give_the_same_record() -> None:
    flat = {name: value for name, value in RAW.items() if name != "rag"}
    flat |= {name: value for name, value in RAG.items() if name not in ("prompt", "citations")}
    flat |= {"rag_prompt": RAG["prompt"], "rag": {"citations": RAG["citations"]}}
    assert qa_record(flat) == qa_record(RAW)


@pytest.mark.parametrize(
    ("names", "question", "reference"), TABLES["the_first_name_that_is_there_and_not_blank_counts"]
)
def test_the_first_name_that_is_there_and_not_blank_counts(
    names: dict[str, Any], question: str, reference: str
) -> None:
    mapped = qa_record({"task_id": "1", "task_type": "qa", **names})
    assert (mapped["question"], mapped["reference_answer"]) == (question, reference)
    assert mapped["rag_prompt"] == ""
    assert mapped["contexts"] == mapped["sources"] == mapped["retrieved"] == mapped["citations"] == []
    assert mapped["metadata"] == {}


def test_contexts_are_numbered_in_order_and_once() -> None:
    contexts = ["a", "[2] b", "  [3]c", "[9] Smith et al.", ""]
    once = ["[1] a", "[2] b", "[3] c", "[4] [9] Smith et al.", "[5] "]
    assert numbered_contexts(contexts) == once
    assert numbered_contexts(once) == once
    assert numbered_contexts(["x"] * 30)[-1] == "[30] x"


def test_answer_citations_are_the_records_own_list_where_it_has_one() -> None:
    own = [{"page": 1}]
    assert answer_citations({**RAW, "answer_citations": own, "citations": [{"page": 2}]}, "[2]") == own
    assert answer_citations({**RAW, "answer_citations": []}, "[2]") == []
    assert answer_citations({**RAW, "citations": own}, "[2]") == own
    assert answer_citations({**RAW, "citations": []}, "[2]") == [RAG["citations"][1]]


@pytest.mark.parametrize(
    ("reference", "used"),
    TABLES["answer citations are else the retrieved ones whose number the reference uses"],
)
def test_answer_citations_are_else_the_retrieved_ones_whose_number_the_reference_uses(
    reference: str, used: list[int]
) -> None:
    assert [citation["index"] for citation in answer_citations(RAW, reference)] == used


@pytest.mark.parametrize("citations", TABLES["a citations number is its own or its place in the list"])
def test_a_citations_number_is_its_own_or_its_place_in_the_list(citations: list[dict[str, Any]]) -> None:
    record = {**RAW, "rag": {**RAG, "citations": citations}}
    assert [citation["page"] for citation in answer_citations(record, "see [2]")] == [29]


def test_citations_in_another_order_are_found_by_their_own_number() -> None:
    record = {**RAW, "rag": {**RAG, "citations": [{"index": 2, "page": 29}, {"index": 1, "page": 28}]}}
    assert answer_citations(record, "see [1]") == [{"index": 1, "page": 28}]


def test_sources_must_be_as_many_as_the_contexts() -> None:
    with pytest.raises(InputError, match=r"rag.sources: expected one for each of the 2 contexts, got 1"):
        qa_record({**RAW, "rag": {**RAG, "sources": ["a"]}})
    with pytest.raises(InputError, match=r"^sources: expected one for each of the 1 context, got 2"):
        summary_record({"task_id": "1", "task_type": "summaries", "contexts": ["a"], "sources": ["a", "b"]})
    assert qa_record({**RAW, "rag": {**RAG, "sources": []}})["sources"] == []


def test_a_record_without_question_or_reference_has_a_reason_to_be_dropped() -> None:
    assert reason_to_drop(qa_record(RAW)) is None
    assert reason_to_drop(qa_record({**RAW, "instruction": "\n"})) == "missing_question"
    assert reason_to_drop(summary_record({**RAW, "expected_response": ""})) == "missing_reference"
