"""Upon which answers a conversation's turns are asked: the system's own, or those it should have given."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fault_agent import RunningServer, answer_to
from model_server import running_models

from rag_evaluation_framework import (
    HttpAgent,
    Options,
    Refusal,
    Request,
    Response,
    Sample,
    Turn,
    UsageError,
    evaluate,
)
from rag_evaluation_framework.adapters.openai import OpenAIModel
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.secrets import MaskedTarget, Secrets
from rag_evaluation_framework.evaluation.targets import PythonCallable, RecordedAnswers
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import History

CONVERSATION = Sample(
    id="c",
    turns=(
        Turn(role="user", content="q1"),
        Turn(role="assistant", reference="expected 1"),
        Turn(role="user", content="q2"),
        Turn(role="assistant", expectation=Refusal()),
        Turn(role="user", content="q3"),
    ),
)


REFERENCE = Options(history="reference")


def asked(target: Target, history: History = "own") -> Response:
    request = Request(sample=CONVERSATION, key="k", thread_id="thread", timeout=10, history=history)

    async def ask() -> Response:
        try:
            return await target.answer(request)
        finally:
            await target.close()

    return asyncio.run(ask())


def contents(messages: list[dict[str, str]]) -> list[str]:
    return [message["content"] for message in messages]


def test_an_openai_compatible_agent_is_asked_upon_the_reference(server: RunningServer) -> None:
    response = asked(HttpAgent(server.url, protocol="openai-compatible"), "reference")
    last = server.log()["requests"][-1]["body"]
    # What should be declined has no words: there the system's own answer stands.
    assert contents(last["messages"]) == ["q1", "expected 1", "q2", answer_to("q2"), "q3"]
    assert [turn["answer"] for turn in response.metadata["turns"]] == [
        answer_to("q1"),
        answer_to("q2"),
        answer_to("q3"),
    ]


def test_a_model_is_asked_upon_the_reference_or_upon_its_own_answers() -> None:
    with running_models({"q1": "own 1", "q2": "own 2", "q3": "own 3"}) as models:
        asked(OpenAIModel("careful", base_url=models.url))
        asked(OpenAIModel("careful", base_url=models.url), "reference")
    own, reference = models.asked[2], models.asked[5]
    assert contents(own["messages"]) == ["q1", "own 1", "q2", "own 2", "q3"]
    assert contents(reference["messages"]) == ["q1", "expected 1", "q2", "own 2", "q3"]


def test_a_function_gets_the_reference_as_its_history() -> None:
    seen: list[list[str]] = []

    def answer(question: str, history: list[dict[str, Any]]) -> str:
        seen.append(contents(history))
        return f"own {question}"

    asked(PythonCallable(answer), "reference")
    assert seen == [[], ["q1", "expected 1"], ["q1", "expected 1", "q2", "own q2"]]


def test_a_function_that_returns_responses_keeps_its_turns() -> None:
    def answer(question: str) -> Response:
        return Response(text=f"own {question}", contexts=(f"context of {question}",), metadata={"mine": 1})

    response = asked(PythonCallable(answer))
    assert response.metadata["mine"] == 1
    assert [(turn["answer"], turn["contexts"]) for turn in response.metadata["turns"]] == [
        ("own q1", ["context of q1"]),
        ("own q2", ["context of q2"]),
        ("own q3", ["context of q3"]),
    ]


def test_a_function_that_returns_responses_may_say_that_it_retrieved_nothing() -> None:
    def answer(question: str) -> Response:
        return Response(text=question, retrieved_nothing=question == "q3")

    response = asked(PythonCallable(answer))
    assert response.retrieved_nothing
    assert ["retrieved_nothing" in turn for turn in response.metadata["turns"]] == [False, False, True]


def test_a_target_that_is_not_sent_the_conversation_cannot_be_asked_upon_the_reference(
    server: RunningServer, tmp_path: Path
) -> None:
    (tmp_path / "answers.jsonl").write_text('{"id": "c", "answer": "a"}\n')
    for target in (
        HttpAgent(server.url),
        PythonCallable(lambda question: question),
        RecordedAnswers(tmp_path / "answers.jsonl"),
    ):
        with pytest.raises(UsageError, match="is not sent the conversation so far"):
            evaluate([CONVERSATION], target=target, metrics=["latency"], options=REFERENCE)


def refusing_q2(question: str) -> str:
    if question == "q2":
        raise TargetError("http-400", "bad request", retry=True, retry_after=2.0)
    return f"own {question}"


def test_a_turn_that_fails_is_named_and_the_turns_before_it_are_kept() -> None:
    with pytest.raises(TargetError) as failed:
        asked(PythonCallable(refusing_q2))
    assert str(failed.value) == "http-400: turn 2 of 3: bad request"
    assert (failed.value.retry, failed.value.retry_after) == (True, 2.0)
    assert failed.value.answered == ({"question": "q1", "answer": "own q1", "contexts": []},)


def test_a_turn_that_takes_too_long_is_named_too() -> None:
    async def answer(question: str) -> str:
        await asyncio.sleep(0 if question == "q1" else 60)
        return f"own {question}"

    async def ask() -> None:
        request = Request(sample=CONVERSATION, key="k", thread_id="thread", timeout=0.3)
        await PythonCallable(answer).answer(request)

    with pytest.raises(TargetError, match="timeout: turn 2 of 3: no answer in time") as failed:
        asyncio.run(ask())
    assert [turn["answer"] for turn in failed.value.answered] == ["own q1"]


def test_a_single_question_that_fails_names_no_turn() -> None:
    async def ask() -> None:
        single = Sample(id="s", turns=(Turn(role="user", content="q2"),))
        request = Request(sample=single, key="k", thread_id="thread", timeout=10)
        await PythonCallable(refusing_q2).answer(request)

    with pytest.raises(TargetError) as failed:
        asyncio.run(ask())
    assert (str(failed.value), failed.value.answered) == ("http-400: bad request", ())


def test_the_turns_before_a_failure_hold_no_secret() -> None:
    secrets = Secrets()
    secrets.add("sesame-42")

    def answer(question: str) -> str:
        return f"{refusing_q2(question)} with sesame-42"

    with pytest.raises(TargetError) as failed:
        asked(MaskedTarget(PythonCallable(answer), secrets))
    assert [turn["answer"] for turn in failed.value.answered] == ["own q1 with ***"]
