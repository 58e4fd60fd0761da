"""A model behind an OpenAI-compatible endpoint: what it is asked, and where its key goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fault_agent import RunningServer

from rag_evaluation_framework import Response, Sample, Turn, UsageError
from rag_evaluation_framework.adapters.openai import OpenAIModel, prompted
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.samples import Recorded

Answered = Callable[..., Response]


def sample(**recorded: Any) -> Sample:
    return Sample(
        id="s",
        turns=(Turn(role="user", content="Who wrote {this}?"),),
        recorded=Recorded(**recorded) if recorded else None,
    )


def body_sent(response: Response) -> Any:
    return json.loads(response.text or "")


def test_the_recorded_prompt_is_sent_as_it_is(
    server: RunningServer, answered: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    model = OpenAIModel("m1", base_url=server.fault("echo-body"), key_env="MY_KEY", max_tokens=50)
    assert isinstance(model, Target)
    assert model.name == "m1"
    response = answered(model, sample=sample(prompt="You are …", contexts=("[1] a",)))
    assert body_sent(response) == {
        "model": "m1",
        "temperature": 0,
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "You are …"}],
    }
    assert (response.contexts, response.context_origin) == (("[1] a",), "dataset")
    request = server.log()["requests"][-1]
    assert request["path"].endswith("/chat/completions")
    assert request["headers"]["authorization"] == "Bearer sk-very-secret"


def test_without_a_prompt_the_contexts_stand_numbered_before_the_question() -> None:
    (turn,) = prompted(sample(contexts=("first {x}", "[2] second"))).turns
    assert turn.content is not None
    assert "[1] first {x}\n[2] second\n\nQuestion: Who wrote {this}?" in turn.content


def test_without_contexts_the_question_is_asked_as_it_stands() -> None:
    assert prompted(sample()) == sample()


def test_no_temperature_is_sent_where_the_model_takes_none(
    server: RunningServer, answered: Answered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = OpenAIModel("m", base_url=server.fault("echo-body"), temperature=None)
    assert body_sent(answered(model, sample=sample())).keys() == {"model", "messages"}


def test_a_key_that_is_needed_and_missing_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        OpenAIModel("m")
    with pytest.raises(UsageError, match="NO_SUCH_KEY"):
        OpenAIModel("m", base_url="http://h/v1", key_env="NO_SUCH_KEY")
