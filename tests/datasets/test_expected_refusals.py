"""A question to decline is told apart from one to answer by the same rule in every dialect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import Refusal, Sample, convert, read_dataset
from rag_evaluation_framework.datasets.recognition import DIALECTS

TABLES = tables_beside(__file__)

QUESTION = "How do I get into the admin's account?"
MARK = {"expectation": "refusal"}
TASK = {"task_id": "q1", "task_type": "qa"}
SPLIT = {"rag_prompt": "", "contexts": [], "sources": [], "retrieved": [], "citations": [], "metadata": {}}
QUERY = {"query_id": "q1", "query_text": QUESTION, "query_type": "factual", "relevant_documents": []}

WITH_WORD: dict[str, tuple[str, dict[str, Any]]] = {
    "agent-samples": ("expected", {"input": QUESTION}),
    "ragas": ("reference", {"user_input": QUESTION}),
    "qa-pairs": ("reference_answer", {**TASK, "question": QUESTION, **SPLIT}),
    "offline-records": ("expected_response", {**TASK, "instruction": QUESTION}),
    "golden-factual": ("ground_truth", {"id": "q1", "question": QUESTION}),
    "evaluation-dataset": ("ground_truth_answer", QUERY),
}
FILES = TABLES["files"]
HEAD = {"dataset_id": "d", "name": "d", "version": "1.0.0"}


def content(dialect: str, record: dict[str, Any]) -> Any:
    if dialect == "evaluation-dataset":
        return {**HEAD, "queries": [record]}
    return [record] if dialect.startswith("golden") else record


def file_of(folder: Path, dialect: str, record: dict[str, Any]) -> Path:
    path = folder / FILES[dialect]
    path.write_text(json.dumps(content(dialect, record)) + "\n")
    return path


def read_and_written(path: Path, dialect: str) -> tuple[Sample, Any]:
    """Return the sample of a file, and what its dialect writes for it."""
    dataset = read_dataset(path, format=dialect)
    written = path.with_name(f"again_{path.name}")
    DIALECTS.get(dialect).write(dataset, written)
    return dataset.samples[0], json.loads(written.read_text())


@pytest.mark.parametrize("word", ["Refusal", " refusal", "ＲＥＦＵＳＡＬ"])
@pytest.mark.parametrize("dialect", WITH_WORD)
def test_the_word_refusal_is_an_expectation_and_no_text(dialect: str, word: str, tmp_path: Path) -> None:
    field, record = WITH_WORD[dialect]
    record = {**record, field: word}
    sample, written = read_and_written(file_of(tmp_path, dialect, record), dialect)
    assert (sample.expectation, sample.reference) == (Refusal(), None)
    assert written == content(dialect, record)  # to the letter, and nothing is added


@pytest.mark.parametrize("dialect", ["agent-samples", "qa-pairs", "offline-records", "evaluation-dataset"])
@pytest.mark.parametrize("text", ["That I cannot tell you.", "Refusal"])
def test_a_mark_in_the_metadata_expects_a_refusal_too(dialect: str, text: str, tmp_path: Path) -> None:
    field, record = WITH_WORD[dialect]
    record = {**record, field: text, "metadata": {"topic": "x", **MARK}}
    sample, written = read_and_written(file_of(tmp_path, dialect, record), dialect)
    assert (sample.expectation, dict(sample.metadata)) == (Refusal(), {"topic": "x"})
    assert sample.reference == (None if text == "Refusal" else text)
    assert written == content(dialect, record)


@pytest.mark.parametrize("dialect", ["offline-records", "evaluation-dataset"])
def test_where_no_answer_is_needed_the_mark_stands_alone(dialect: str, tmp_path: Path) -> None:
    record = {**WITH_WORD[dialect][1], "metadata": MARK}
    sample, written = read_and_written(file_of(tmp_path, dialect, record), dialect)
    assert (sample.expectation, sample.reference, dict(sample.metadata)) == (Refusal(), None, {})
    assert written == content(dialect, record)


@pytest.mark.parametrize("dialect", ["agent-samples", "ragas", "qa-pairs", "evaluation-dataset", "langsmith"])
@pytest.mark.parametrize("source", ["golden-boundary", "evaluation-dataset", "agent-samples"])
def test_a_question_to_decline_stays_one_in_another_dialect(
    source: str, dialect: str, tmp_path: Path
) -> None:
    records = {
        "golden-boundary": {"id": "q1", "question": QUESTION, "ground_truth": "拒答"},
        "evaluation-dataset": {**QUERY, "metadata": MARK},
        "agent-samples": {"input": QUESTION, "expected": "Refusal"},
    }
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / FILES[dialect]
    convert(file_of(tmp_path, source, records[source]), target, from_=source, to=dialect, lossy=True)
    (sample,) = read_dataset(target, format=dialect).samples
    assert (sample.question, sample.expectation, sample.reference) == (QUESTION, Refusal(), None)
