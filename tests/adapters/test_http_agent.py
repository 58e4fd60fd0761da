"""What an HTTP agent is sent, and how its secrets stay its own."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fault_agent import RunningServer, answer_to
from model_server import running_models

from asked_targets import answer_of
from cases import tables_beside
from rag_evaluation_framework import HttpAgent, Options, Refusal, Response, Sample, Turn, UsageError, evaluate
from rag_evaluation_framework.adapters import http_client
from rag_evaluation_framework.adapters.http_agent import joined_address
from rag_evaluation_framework.adapters.http_client import header_mask
from rag_evaluation_framework.adapters.openai import OpenAIModel
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.secrets import MaskedTarget, Secrets, shown_address
from rag_evaluation_framework.evaluation.targets import PythonCallable, RecordedAnswers
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import History
from rag_evaluation_framework.records.samples import Recorded

TABLES = tables_beside(__file__)


CONVERSATION = Sample(
    id="c",
    turns=(
        Turn(role="system", content="Be brief."),
        Turn(role="user", content="Who?"),
        Turn(role="assistant", reference="Someone else."),
        Turn(role="user", content="When?"),
    ),
)


def last_requests(server: RunningServer, count: int) -> list[dict[str, object]]:
    requests: list[dict[str, object]] = server.log()["requests"]
    return requests[-count:]


def test_a_question_goes_out_as_a_message_with_thread_and_key(server: RunningServer) -> None:
    agent = HttpAgent(
        server.url, headers={"X-Tenant": "blue"}, secret_headers={"Authorization": "Bearer abc"}
    )
    assert isinstance(agent, Target)
    response = answer_of(agent, "What is RAG?", key="key-9", thread_id="thread-9")
    assert response.text == answer_to("What is RAG?")
    (request,) = last_requests(server, 1)
    assert request["path"] == "/v1/chat"
    assert request["body"] == {"message": "What is RAG?"}
    headers = request["headers"]
    assert isinstance(headers, dict)
    expected = TABLES["expected"]
    assert expected.items() <= headers.items()


def test_an_openai_compatible_agent_gets_messages_and_its_model(server: RunningServer) -> None:
    answer_of(HttpAgent(server.url, path="/chat", protocol="openai-compatible", model="m"), "Why?")
    (request,) = last_requests(server, 1)
    assert request["path"] == "/chat"
    assert request["body"] == {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}


def test_a_conversation_is_replayed_in_one_thread_with_a_key_for_each_turn(server: RunningServer) -> None:
    response = answer_of(HttpAgent(server.url), sample=CONVERSATION, key="k", thread_id="t")
    requests = last_requests(server, 2)
    assert [request["body"] for request in requests] == [{"message": "Who?"}, {"message": "When?"}]
    headers = [request["headers"] for request in requests]
    assert [(it["x-thread-id"], it["idempotency-key"]) for it in headers] == [("t", "k-1"), ("t", "k-2")]  # type: ignore[index]
    assert response.text == answer_to("When?")
    turns = response.metadata["turns"]
    assert [(turn["question"], turn["answer"]) for turn in turns] == [
        ("Who?", answer_to("Who?")),
        ("When?", answer_to("When?")),
    ]


def test_the_history_of_a_conversation_is_what_the_system_itself_said(server: RunningServer) -> None:
    answer_of(HttpAgent(server.url, protocol="openai-compatible"), sample=CONVERSATION)
    body = last_requests(server, 1)[0]["body"]
    assert body == {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Who?"},
            {"role": "assistant", "content": answer_to("Who?")},
            {"role": "user", "content": "When?"},
        ]
    }


def test_contexts_are_the_datasets_where_the_agent_returns_none(server: RunningServer) -> None:
    sample = Sample(
        id="s", turns=(Turn(role="user", content="q"),), recorded=Recorded(contexts=("from the file",))
    )
    response = answer_of(HttpAgent(server.url), sample=sample)
    assert (response.contexts, response.context_origin) == (("from the file",), "dataset")
    own = answer_of(HttpAgent(server.fault("echo-headers")), sample=sample)
    assert own.context_origin == "system"
    assert own.contexts != ("from the file",)


def test_a_secret_that_the_agent_sends_back_is_hidden_in_answers_contexts_and_errors(
    server: RunningServer,
) -> None:
    secrets = {"Authorization": "Bearer tok-5f3a", "X-Key": 'quo"ted\\key'}
    response = answer_of(HttpAgent(server.fault("echo-headers"), secret_headers=secrets))
    with pytest.raises(TargetError) as caught:
        answer_of(HttpAgent(server.fault("echo-headers-in-an-error"), secret_headers=secrets))
    for text in (str(response), str(caught.value)):
        assert "tok-5f3a" not in text
        assert "ted" not in text
    assert json.loads(response.text or "")["authorization"] == "***"


def test_a_password_in_the_url_is_sent_and_neither_named_nor_shown(server: RunningServer) -> None:
    url = server.fault("echo-headers").replace("http://", "http://user:open-sesame@")
    agent = HttpAgent(url + "?token=hidden")
    assert agent.name == server.fault("echo-headers") + "/v1/chat"
    answer_of(agent)
    (request,) = last_requests(server, 1)
    assert str(request["headers"]["authorization"]).startswith("Basic ")  # type: ignore[index]
    assert str(request["path"]).endswith("/v1/chat?token=hidden")


def test_what_is_secret_in_a_url_is_hidden_in_every_form_in_which_the_agent_may_send_it_back() -> None:
    agent = HttpAgent("http://user:open%40sesame@h?api_key=tok-5f3a&page=chapter-one")
    # The header of basic authentication is user:open@sesame in base 64.
    echoed = "open%40sesame open@sesame dXNlcjpvcGVuQHNlc2FtZQ== tok-5f3a chapter-one"
    assert agent.mask(echoed) == "*** *** *** *** chapter-one"


@pytest.mark.parametrize("user", ["user:open-sesame@", "user@"])
def test_a_user_in_the_url_beside_an_authorization_header_is_refused_without_showing_either(
    user: str,
) -> None:
    with pytest.raises(UsageError, match="expected either a user and password or the header") as caught:
        HttpAgent(f"http://{user}h:1", secret_headers={"authorization": "Bearer tok-5f3a"})
    assert not any(secret in str(caught.value) for secret in ("user:", "sesame", "tok-5f3a"))


def test_a_secret_is_hidden_encoded_too_and_a_short_word_is_left_alone() -> None:
    mask = header_mask(["Bearer a/b+c=d", "ok"])
    assert mask("x a/b+c=d y a%2Fb%2Bc%3Dd z") == "x *** y *** z"
    assert mask("YS9iK2M9ZA==") == "***"  # the same in base 64
    assert mask("looks ok") == "looks ok"


@pytest.mark.parametrize(("url", "path", "expected"), TABLES["a_path_goes_behind_the_url"])
def test_a_path_goes_behind_the_url(url: str, path: str, expected: str) -> None:
    assert joined_address(url, path) == expected


@pytest.mark.parametrize("url", ["", "localhost:4000", "ftp://h", "http://", "http://h:port", "http://[::1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="url: expected http"):
        HttpAgent(url)


def test_an_address_is_shown_without_user_password_and_query() -> None:
    assert shown_address("https://me:secret@h:8/a?key=secret#secret") == "https://h:8/a"


@pytest.mark.parametrize("headers", [{"A b": "x"}, {"": "x"}, {"A:": "x"}, {"A": "x\r\nB: y"}, {"Ü": "x"}])
def test_a_header_that_would_break_the_request_is_refused_without_showing_it(headers: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="header") as caught:
        HttpAgent("http://h", secret_headers=headers)
    assert "B: y" not in str(caught.value)


def test_an_unknown_protocol_or_part_is_refused() -> None:
    with pytest.raises(UsageError, match=r'unknown protocol "grpc"\. Available: dify, gradio'):
        HttpAgent("http://h", protocol="grpc")
    with pytest.raises(UsageError, match='Did you mean "answer'):
        HttpAgent("http://h", response_paths={"anwser": "a"})


def test_the_latency_is_that_of_all_requests(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    late, read = 0.0, http_client.HttpClient._body_of

    async def slowly_read(client: http_client.HttpClient, response: Any) -> bytes:
        nonlocal late
        late += 60  # a minute, on this clock
        return await read(client, response)

    monkeypatch.setattr(http_client, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + late))
    monkeypatch.setattr(http_client.HttpClient, "_body_of", slowly_read)
    once, twice = (
        answer_of(HttpAgent(server.url), sample=asked).latency_ms for asked in (None, CONVERSATION)
    )
    assert once is not None
    assert twice is not None
    assert 60_000 <= once < 120_000
    assert 120_000 <= twice < 180_000


# Upon which answers a conversation's turns are asked: the system's own, or those it should have given.

THREE_TURNS = Sample(
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
    return answer_of(target, sample=THREE_TURNS, history=history)


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
        with pytest.raises(UsageError, match="does not take the earlier turns"):
            evaluate([THREE_TURNS], target=target, metrics=["latency"], options=REFERENCE)


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

    with pytest.raises(TargetError, match="timeout: turn 2 of 3: no answer in time") as failed:
        answer_of(PythonCallable(answer), sample=THREE_TURNS, timeout=0.3)
    assert [turn["answer"] for turn in failed.value.answered] == ["own q1"]


def test_a_single_question_that_fails_names_no_turn() -> None:
    with pytest.raises(TargetError) as failed:
        answer_of(PythonCallable(refusing_q2), "q2")
    assert (str(failed.value), failed.value.answered) == ("http-400: bad request", ())


def test_the_turns_before_a_failure_hold_no_secret() -> None:
    secrets = Secrets()
    secrets.add("sesame-42")

    def answer(question: str) -> str:
        return f"{refusing_q2(question)} with sesame-42"

    with pytest.raises(TargetError) as failed:
        asked(MaskedTarget(PythonCallable(answer), secrets))
    assert [turn["answer"] for turn in failed.value.answered] == ["own q1 with ***"]
