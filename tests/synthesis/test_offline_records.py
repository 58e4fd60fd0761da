"""Raw offline records: retrieved contexts, answers that cite them, and the whole way to an evaluation."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, failing, in_turn, running_chat

from cases import tables_beside
from command_lines import script_ended
from rag_evaluation_framework import Corpus, RecursiveCharacterChunker
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
from rag_evaluation_framework.synthesis.drafts import Rejection
from rag_evaluation_framework.synthesis.extractive import extractive_drafts
from rag_evaluation_framework.synthesis.offline_records import (
    Record,
    Task,
    ask_with_citations,
    cited_numbers,
    offline_records,
    offline_tasks,
    verified,
)

TABLES = tables_beside(__file__)

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "handbook" / "documents"
CONTEXTS = ["Ferries leave at noon.", "Dogs pay two pounds."]


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    corpus = Corpus.from_folder(HANDBOOK)
    pipeline = RetrievalPipeline(RecursiveCharacterChunker(500), retriever=BM25Retriever())
    pipeline.index(corpus)
    drafts = extractive_drafts(corpus, queries_per_doc=1).kept
    return list(offline_tasks(corpus, drafts, pipeline=pipeline, k=4))


def made(tasks: list[Task], model: Any = None) -> Iterator[Record | Rejection]:
    return offline_records(tasks, run_id="r1", folder="docs/", model=model, generator={"questions": "rules"})


def test_records_follow_the_schema_and_say_where_everything_comes_from(tasks: list[Task]) -> None:
    records = [each for each in made(tasks) if not isinstance(each, Rejection)]
    assert {record["task_type"] for record in records} == {"qa", "summaries", "citations", "retrieval"}
    assert len({record["task_id"] for record in records}) == len(records)
    corpus = Corpus.from_folder(HANDBOOK)
    for record in records:
        assert schema_issues("offline-record", record) == []
        rag, metadata = record["rag"], record["metadata"]
        assert len(rag["contexts"]) == len(rag["sources"]) == len(rag["retrieved"]) <= 4
        assert [each["score"] for each in rag["retrieved"]] == rag["scores"]
        if record["task_type"] != "summaries":  # whose contexts stand in the document's order
            assert rag["scores"] == sorted(rag["scores"], reverse=True)
        assert all(f"[{n}] {text}" in rag["prompt"] for n, text in enumerate(rag["contexts"], start=1))
        assert rag["prompt"].endswith(record["instruction"])
        for retrieved, context in zip(rag["retrieved"], rag["contexts"], strict=True):
            text = corpus[retrieved["document"]].content
            assert text[retrieved["start_char"] : retrieved["end_char"]] == context
        assert metadata["run_id"] == "r1"
        assert metadata["document"] in corpus.fingerprints


def test_every_expected_response_cites_contexts_that_hold_it(tasks: list[Task]) -> None:
    for record in made(tasks):
        if isinstance(record, Rejection) or record["task_type"] == "retrieval":
            continue
        numbers = cited_numbers(record["expected_response"])
        assert numbers == tuple(citation["index"] for citation in record["rag"]["citations"])
        assert verified(record["expected_response"], record["rag"]["contexts"]).problem is None or (
            record["task_type"] == "citations"
        )


def test_question_whose_passage_is_not_retrieved_becomes_no_record(tasks: list[Task]) -> None:
    rejected = [each for each in made(tasks) if isinstance(each, Rejection)]
    assert {each.reason for each in rejected} <= {"answer-not-retrieved"}
    assert len(rejected) < len(tasks) / 4


@pytest.mark.parametrize(("reply", "problem"), TABLES["citations"])
def test_citations_of_a_reply_are_verified(reply: str, problem: str | None) -> None:
    assert verified(reply, CONTEXTS).problem == problem


def test_reply_that_cites_nothing_is_asked_for_once_more_with_what_was_wrong() -> None:
    replies = iter(["Dogs pay two pounds.", "Dogs pay two pounds [2]."])
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return next(replies)

    answered = ask_with_citations(as_chat_model(answer, name="m"), "What do dogs pay?", CONTEXTS)
    assert (answered.text, answered.problem) == ("Dogs pay two pounds [2].", None)
    assert "no citations" in prompts[1]
    assert len(prompts) == 2


def test_model_that_fails_is_counted_by_its_kind(tasks: list[Task]) -> None:
    questions = [task for task in tasks if task.task_type == "qa"][:6]
    with (
        running_chat(in_turn(failing(401, "no key"))) as server,
        OpenAIChatModel("m", base_url=server.url) as model,
    ):
        rejected = [each for each in made(questions, model) if isinstance(each, Rejection)]
    assert {each.reason for each in rejected} - {"answer-not-retrieved"} == {"http-401"}


def script(
    *arguments: str, folder: Path, name: str = "generate_offline_dataset"
) -> subprocess.CompletedProcess[str]:
    return script_ended(name, *arguments, folder=folder)


def test_script_with_a_model_asks_nothing_twice(tmp_path: Path) -> None:
    def first_context(asked: dict[str, Any]) -> ChatReply | str:
        prompt = asked["messages"][-1]["content"]
        context = prompt.partition("[1] ")[2].partition("\n\n[2]")[0]
        return f"{context.replace(chr(10), ' ')} [1]"

    options = ("--task-type", "qa", "--queries-per-doc", "1", "--model", "m", "--force")
    with running_chat(first_context) as server:
        first = script(str(HANDBOOK), *options, "--base-url", server.url, folder=tmp_path)
        assert first.returncode == 0, first.stderr
        asked = len(server.requests)
        raw = (tmp_path / "evaluation/datasets/offline_dataset.jsonl").read_bytes()
        again = script(str(HANDBOOK), *options, "--base-url", server.url, folder=tmp_path)
        assert again.returncode == 0, again.stderr
        assert len(server.requests) == asked > 10
    assert (tmp_path / "evaluation/datasets/offline_dataset.jsonl").read_bytes() == raw


def test_script_refuses_to_replace_a_file_unasked(tmp_path: Path) -> None:
    (tmp_path / "raw.jsonl").write_text("mine", encoding="utf-8")
    refused = script(str(HANDBOOK), "--output", "raw.jsonl", folder=tmp_path)
    assert refused.returncode == 2
    assert "raw.jsonl already exists. Replace it with --force" in refused.stderr
    assert (tmp_path / "raw.jsonl").read_text(encoding="utf-8") == "mine"


def test_script_that_makes_no_record_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.md").write_text("# Nothing\n\nNo.\n", encoding="utf-8")
    failed = script("empty", folder=tmp_path)
    assert failed.returncode == 3
    assert "no record from 1 task: nothing-to-summarise 1" in failed.stderr
