"""Recorded answers pair by id, else by question, and a sample without one is a failure."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from asked_targets import answer_of
from cases import tables_beside
from rag_evaluation_framework import ContextCitation, InputError, Sample, Turn
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.targets import RecordedAnswers
from rag_evaluation_framework.extensions import Target

TABLES = tables_beside(__file__)


def recorded(folder: Path, *records: Any) -> RecordedAnswers:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return RecordedAnswers(path)


def sample(identifier: str, question: str) -> Sample:
    return Sample(id=identifier, turns=(Turn(role="user", content=question),))


def test_an_answer_pairs_by_id_before_question(tmp_path: Path) -> None:
    target = recorded(
        tmp_path,
        {"id": "a", "input": "Q", "answer": "by id", "contexts": ["c"], "citations": [1]},
        {"input": "P", "response": "by question"},
    )
    assert isinstance(target, Target)
    response = answer_of(target, sample=sample("a", "P"))
    assert (response.text, response.contexts, response.citations) == ("by id", ("c",), (ContextCitation(1),))
    assert answer_of(target, sample=sample("z", "P")).text == "by question"
    assert answer_of(target, sample=sample("z", "Q")).text == "by id"


@pytest.mark.parametrize("record", TABLES["other_tools_names_are_known"])
def test_other_tools_names_are_known(record: dict[str, Any], tmp_path: Path) -> None:
    assert answer_of(recorded(tmp_path, record), sample=sample("a", "Q")).text == "A"


def test_a_sample_without_an_answer_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="no-recorded-answer") as caught:
        answer_of(recorded(tmp_path, {"id": "a", "answer": "A"}), sample=sample("b", "Q"))
    assert not caught.value.retry


def test_a_question_that_stands_twice_pairs_with_nobody(tmp_path: Path) -> None:
    target = recorded(tmp_path, {"input": "Q", "answer": "A"}, {"input": "Q", "answer": "B"})
    with pytest.raises(TargetError, match=r"ambiguous-answer: .* lines 1, 2"):
        answer_of(target, sample=sample("b", "Q"))


def test_a_failure_that_was_recorded_is_a_failure_again(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="recorded-failure: it broke"):
        answer_of(recorded(tmp_path, {"id": "a", "error": "it broke"}), sample=sample("a", "Q"))


def test_all_problems_of_a_file_are_told_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    lines = TABLES["lines"]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        RecordedAnswers(path)
    assert sorted(issue.line or 0 for issue in caught.value.issues) == [2, 3, 4, 5, 6]
    assert "'a', already on line 1" in str(caught.value)


def test_a_line_without_an_answer_is_told_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"id": "a"}\n[1]\n')
    with pytest.raises(InputError) as caught:
        RecordedAnswers(path)
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{path}:1: expected an answer at response, message, ")
    assert first.endswith(", got an object with id")
    assert second == f"{path}:2: expected an object with an answer, got a list"


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "a", "answer": "A"}\n'))
    assert answer_of(RecordedAnswers(path), sample=sample("a", "Q")).text == "A"


def test_the_latency_is_what_was_recorded_and_unknown_where_nothing_was(tmp_path: Path) -> None:
    target = recorded(
        tmp_path,
        {"id": "a", "answer": "A", "latency_ms": 120},
        {"id": "b", "answer": "B", "latencyMs": 0.5},
        {"id": "c", "answer": "C"},
    )
    latencies = [answer_of(target, sample=sample(name, "Q")).latency_ms for name in "abc"]
    assert latencies == [120.0, 0.5, None]


@pytest.mark.parametrize("latency", [-1, "fast", True, 1e999])
def test_a_latency_that_is_none_is_an_error_with_its_line(tmp_path: Path, latency: object) -> None:
    path = tmp_path / "answers.jsonl"
    written = "1e999" if latency == 1e999 else json.dumps(latency)
    path.write_text(f'{{"id": "a", "answer": "A", "latency_ms": {written}}}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"answers\.jsonl:1"):
        RecordedAnswers(path)
