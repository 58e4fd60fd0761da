"""The five golden sets: what a record means as a sample, and that writing it back keeps every field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from format_examples import GOLDEN_BOUNDARY, GOLDEN_MULTITURN, GOLDEN_RELATIONSHIP, GOLDEN_TRACKING
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import Entities, InputError, Milestones, Refusal, Relation, Sample, Turn
from rag_evaluation_framework.datasets.golden_sets import BOUNDARY, FACTUAL, MULTITURN, RELATIONSHIP, TRACKING
from rag_evaluation_framework.files import strict_json


def test_a_fact_expects_entities_and_knows_its_document() -> None:
    sample = FACTUAL.sample(
        {
            "id": "f",
            "question": "玛拉妮的性格？",
            "ground_truth": "热情...",
            "category": "character_info",
            "metrics": {"expected_entities": ["玛拉妮"], "difficulty": "easy"},
            "golden_context": {"file": "Data/a.txt", "scene_header": "聚落", "snippet": "她很热情"},
        }
    )
    assert sample.question == "玛拉妮的性格？"
    assert sample.reference == "热情..."
    assert sample.expectation == Entities(names=("玛拉妮",))
    assert (sample.category, sample.difficulty) == ("character_info", "easy")
    assert sample.reference_contexts == ("她很热情",)
    assert sample.relevant_documents == {"Data/a.txt": 1}


def test_relation_and_milestones_are_expectations() -> None:
    assert RELATIONSHIP.sample(GOLDEN_RELATIONSHIP[0]).expectation == Relation(
        subject="恰斯卡", relation="friend_of", object="卡齐娜"
    )
    assert TRACKING.sample(GOLDEN_TRACKING[0]).expectation == Milestones(
        steps=("初入纳塔", "报名竞技场", "赢得胜利", "授予古名"), hops=3
    )


def test_refusal_is_an_expectation_and_never_a_text() -> None:
    first, second = (BOUNDARY.sample(record) for record in GOLDEN_BOUNDARY)
    assert first.reference is None
    assert isinstance(first.expectation, Refusal)
    assert first.expectation.reason == "irrelevant_topic"
    assert second.expectation == Refusal(reason="tos_violation")
    turn = MULTITURN.sample(
        {
            "id": "s",
            "conversation": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "ground_truth": "Refusal"},
            ],
        }
    ).turns[1]
    assert (turn.reference, turn.expectation) == (None, Refusal())


def test_refusal_wins_over_what_else_a_record_expects_and_nothing_is_lost() -> None:
    record = {**GOLDEN_RELATIONSHIP[0], "ground_truth": "Refusal"}
    sample = RELATIONSHIP.sample(record)
    assert sample.expectation == Refusal()
    assert RELATIONSHIP.record(sample) == record


@pytest.mark.parametrize("dots", ["...", "…", " …… ", "", "....."])
def test_a_snippet_of_dots_alone_is_missing(dots: str) -> None:
    record = {"id": "a", "question": "q", "ground_truth": "t", "golden_context": {"snippet": dots}}
    sample = FACTUAL.sample(record)
    assert sample.reference_contexts == ()
    assert FACTUAL.record(sample) == record


def test_a_list_of_contexts_keeps_snippets_in_order_and_each_file_once() -> None:
    contexts = [
        {"file": "a.txt", "snippet": "one"},
        {"scene": "x", "snippet": "..."},
        {"file": "a.txt", "snippet": "two"},
        {"file": "b.txt"},
    ]
    sample = FACTUAL.sample({"id": "a", "question": "q", "ground_truth": "t", "golden_context": contexts})
    assert sample.reference_contexts == ("one", "two")
    assert list(sample.relevant_documents) == ["a.txt", "b.txt"]


def test_a_conversation_with_comments_reads_with_turns_that_need_context(tmp_path: Path) -> None:
    path = tmp_path / "multiturn_qa.json"
    text = strict_json.encode(GOLDEN_MULTITURN, indent=2).decode()
    path.write_text(text.replace('了什么？"', "了什么？\" // 测试指代消解 '它' -> '阿尤'"), encoding="utf-8")
    (sample,) = MULTITURN.read(path).samples
    assert [turn.role for turn in sample.turns] == ["user", "assistant", "user", "assistant"]
    assert sample.turns[1] == Turn(role="assistant", reference="他的龙伙伴叫阿尤。")
    assert sample.turns[3].needs == ("previous_turn_resolution",)
    assert sample.question == "在这个任务中“它”做了什么？"
    assert sample.origin.line == 2


def test_every_problem_of_a_set_is_told_with_its_line_behind_comments(tmp_path: Path) -> None:
    path = tmp_path / "factual_qa.json"
    path.write_text(
        '[ // 事实\n  {"id": "a", "question": 5, "ground_truth": "t"},\n  // more\n  {"id": "b",\n'
        '   "question": "q"},\n  []\n]',
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        FACTUAL.read(path)
    assert [(issue.line, issue.path, issue.code) for issue in caught.value.issues] == [
        (2, "[0].question", "wrong-type"),
        (4, "[1].ground_truth", "missing-field"),
        (6, "[2]", "wrong-type"),
    ]


def test_what_a_question_cannot_hold_is_refused_when_written() -> None:
    conversation = MULTITURN.sample(GOLDEN_MULTITURN[0])
    with pytest.raises(InputError, match="one turn of the user"):
        FACTUAL.record(conversation)
    both = Sample(
        id="a", turns=(Turn(role="user", content="q"),), reference="t", expectation=Refusal(reason="r")
    )
    with pytest.raises(InputError, match="a refusal or an answer"):
        BOUNDARY.record(both)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
contexts = st.dictionaries(st.sampled_from(["file", "scene_header", "scene", "snippet", "其他"]), texts)
records = st.fixed_dictionaries(
    {"id": texts.filter(bool), "question": texts, "ground_truth": texts | st.just("Refusal")},
    optional={
        "category": texts,
        "metrics": st.fixed_dictionaries(
            {}, optional={"expected_entities": st.lists(texts, max_size=3), "difficulty": texts, "x": texts}
        ),
        "golden_context": contexts | st.lists(contexts, max_size=3),
        "refusal_reason": texts,
        "expected_response_pattern": texts,
        "extra": st.none() | texts | st.lists(st.integers()),
    },
)


@given(records)
def test_any_question_is_written_back_as_it_was(record: dict[str, Any]) -> None:
    for dialect in (FACTUAL, BOUNDARY):
        assert dialect.record(dialect.sample(record)) == record


turns = st.fixed_dictionaries(
    {"role": st.just("user"), "content": texts}, optional={"note": texts}
) | st.fixed_dictionaries(
    {"role": st.just("assistant")},
    optional={
        "content": texts,
        "ground_truth": texts | st.just("Refusal"),
        "context_needs": st.lists(texts, max_size=2),
        "note": texts,
    },
)


@given(texts.filter(bool), st.lists(turns, min_size=1, max_size=4), st.none() | contexts)
def test_any_conversation_is_written_back_as_it_was(
    identifier: str, conversation: list[dict[str, Any]], context: dict[str, str] | None
) -> None:
    record: dict[str, Any] = {
        "id": identifier,
        "conversation": [{"role": "user", "content": "?"}, *conversation],
    }
    if context is not None:
        record["golden_context"] = context
    assert MULTITURN.record(MULTITURN.sample(record)) == record
