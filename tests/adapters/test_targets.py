"""One text names the system under test."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_evaluation_framework import HttpAgent, UsageError
from rag_evaluation_framework.adapters.openai import OpenAIModel
from rag_evaluation_framework.components import TARGETS, target_from
from rag_evaluation_framework.evaluation.targets import PythonCallable, RecordedAnswers


def test_each_kind_of_text_names_its_kind_of_target(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "a", "answer": "A"}\n', encoding="utf-8")
    assert isinstance(target_from("http://localhost:4000"), HttpAgent)
    assert isinstance(target_from("http(url='http://h', protocol=openai-compatible)"), HttpAgent)
    assert isinstance(target_from(str(answers)), RecordedAnswers)
    assert isinstance(target_from("builtins:str.upper"), PythonCallable)
    assert isinstance(target_from("python(function='json:dumps')"), PythonCallable)
    assert isinstance(target_from('openai(model="m", base_url="http://h/v1")'), OpenAIModel)
    assert TARGETS.names() == ["http", "openai", "python", "recorded"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opnai(model=m)", "Did you mean openai"),
        ("openai(base_url='http://h')", "expected the setting model, got none"),
        ("openai(model=m, base_url='http://h', modle=x)", 'there is no setting "modle". Did you mean model'),
        ("openai(", "expected"),
        ("", "expected a name"),
    ],
)
def test_a_text_that_names_nothing_is_wrong_usage(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        target_from(text)
