"""The chat model over HTTP: from threads and event loops, one layer of retries, keys that never show."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from chat_server import (
    Asked,
    ChatReply,
    ChatServer,
    Script,
    failing,
    garbage,
    hanging,
    in_turn,
    last_message,
    only_with,
    refused,
    reset,
    running_chat,
    throttled,
    truncated,
)
from fault_agent import RunningServer

from asked_targets import answer_of
from cases import tables_beside
from rag_evaluation_framework import Usage, UsageError
from rag_evaluation_framework.adapters.openai import OpenAIChatModel, OpenAIModel
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.evaluation import attempts
from rag_evaluation_framework.models.chat import ChatModel, Message

TABLES = tables_beside(__file__)

KEY = "sk-verysecret-0123456789"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
HELLO = [Message("user", "hello there")]


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)


@contextmanager
def scripted(script: Script, **options: Any) -> Iterator[tuple[ChatServer, OpenAIChatModel]]:
    with running_chat(script) as server, OpenAIChatModel("m", base_url=server.url, **options) as model:
        yield server, model


def echo(asked: Asked) -> str:
    return f"to {last_message(asked)}"


def failure(script: Script, **options: Any) -> tuple[ModelError, ChatServer]:
    """Ask once; return the failure, and the server for what it was asked."""
    with scripted(script, **options) as (server, model), pytest.raises(ModelError) as caught:
        model.chat(HELLO)
    return caught.value, server


def test_a_conversation_is_completed() -> None:
    with scripted(echo, max_tokens=9, seed=3) as (server, model):
        completion = model.chat([Message("system", "Be kind."), *HELLO], draw=1)
    assert isinstance(model, ChatModel)
    assert completion.text == "to hello there"
    assert completion.usage == Usage(input_tokens=4, output_tokens=3)
    assert (completion.finish_reason, completion.is_cached) == ("stop", False)
    assert server.requests == TABLES["first_request"]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_many_threads_share_one_model_within_its_limit() -> None:
    def script(asked: Asked) -> ChatReply:
        return ChatReply(content=echo(asked), delay=0.02)

    with scripted(script, concurrency=8) as (server, model), ThreadPoolExecutor(32) as pool:
        replies = list(pool.map(lambda number: model.chat([Message("user", f"{number}")]), range(120)))
    assert [reply.text for reply in replies] == [f"to {number}" for number in range(120)]
    assert 4 < server.most_at_once <= 8
    assert model.spending.calls == 120


@pytest.mark.parametrize(
    "faults",
    [
        [throttled(), throttled("0"), failing(503, "later", Retry_After="0.01")],
        [failing(500), failing(502), failing(504), failing(408)],
        [reset(), reset()],
        [garbage()],
    ],
)
def test_what_passes_is_tried_again(faults: list[ChatReply]) -> None:
    with scripted(in_turn(*faults, "well")) as (server, model):
        assert model.chat(HELLO).text == "well"
    assert len(server.requests) == len(faults) + 1
    assert model.spending.calls == 1


@pytest.mark.parametrize(
    ("reply", "kind", "requests"),
    [
        (failing(400, "the prompt is too long"), "http-400", 1),
        (failing(401), "http-401", 1),
        (failing(404), "http-404", 1),
        (failing(422), "http-422", 1),
        (ChatReply(status=307, headers={"Location": "http://127.0.0.1:9/"}), "http-307", 1),
        (failing(500), "http-500", 3),
        (throttled(), "http-429", 3),
        (reset(), "connection-reset", 3),
        (garbage(), "malformed-json", 2),
        (garbage(b"\xff\xfe\xfd"), "wrong-charset", 1),
        (garbage(b""), "empty-reply", 1),
        (garbage(b"<html>Welcome</html>"), "html-page", 1),
        (garbage(b'{"choices": []}'), "no-completion", 1),
        (garbage(b'{"choices": [{"message": {"content": NaN}}]}'), "malformed-json", 2),
        (refused(), "refused", 1),
        (ChatReply(content="", finish_reason="content_filter"), "refused", 1),
        (truncated("to h"), "truncated", 1),
    ],
)
def test_what_remains_is_a_failure_of_its_kind(reply: ChatReply, kind: str, requests: int) -> None:
    error, server = failure(in_turn(reply), max_attempts=3)
    assert error.kind == kind
    assert len(server.requests) == requests


def test_a_server_that_is_not_there_is_one_clear_error() -> None:
    with (
        OpenAIChatModel("m", base_url="http://127.0.0.1:9/v1") as model,
        pytest.raises(
            ModelError, match=r"connection-failed: m at http://127\.0\.0\.1:9/v1/chat/completions: cannot"
        ),
    ):
        model.chat(HELLO)


def test_a_server_that_throttles_gets_fewer_requests_at_once() -> None:
    def script(asked: Asked) -> ChatReply | str:
        return throttled("0") if server.at_once > 3 else ChatReply(content="well", delay=0.02)

    with running_chat(script) as server, OpenAIChatModel("m", base_url=server.url, concurrency=24) as model:
        with ThreadPoolExecutor(24) as pool:
            futures = [pool.submit(model.chat, [Message("user", str(number))]) for number in range(100)]
        outcomes = [future.exception() for future in futures]
    assert outcomes.count(None) > 60
    assert model._attempts.limit.limit < 16


def test_retries_stay_a_bounded_part_of_all_requests() -> None:
    with scripted(in_turn(failing(500)), concurrency=8) as (server, model):
        with ThreadPoolExecutor(16) as pool:
            futures = [pool.submit(model.chat, [Message("user", str(number))]) for number in range(200)]
        assert all(isinstance(future.exception(), ModelError) for future in futures)
    assert len(server.requests) < 2.0 * 200


def test_an_endpoint_without_schemas_is_told_them_in_the_prompt_from_then_on() -> None:
    with scripted(only_with({"json_object"}, lambda _: "{}")) as (server, model):
        for _ in range(3):
            model.chat(HELLO, schema=SCHEMA)
        model.chat(HELLO)
    kinds = [asked.get("response_format", {}).get("type") for asked in server.requests]
    assert kinds == ["json_schema", "json_object", "json_object", "json_object", None]
    assert '"integer"' not in last_message(server.requests[0])
    assert all('"integer"' in last_message(asked) for asked in server.requests[1:4])
    assert last_message(server.requests[4]) == "hello there"


def test_an_endpoint_that_takes_no_format_at_all_is_asked_plainly() -> None:
    with scripted(only_with(set(), lambda _: "{}")) as (server, model):
        for _ in range(2):
            model.chat(HELLO, schema=SCHEMA)
    kinds = [asked.get("response_format", {}).get("type") for asked in server.requests]
    assert kinds == ["json_schema", "json_object", None, None]
    assert '"integer"' in last_message(server.requests[-1])


def test_a_concession_that_did_not_help_is_not_remembered() -> None:
    replies = in_turn(failing(400, "temperature and more is wrong"), failing(400, "still wrong"), "well")
    with scripted(replies) as (server, model):
        with pytest.raises(ModelError, match=r"http-400: .*still wrong"):
            model.chat(HELLO)
        model.chat(HELLO)
    assert ["temperature" in asked for asked in server.requests] == [True, False, True]


def test_every_reply_that_was_paid_for_is_counted_usable_or_not() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    replies = [
        ChatReply(content="a", usage=usage),
        ChatReply(content="b", usage=usage, finish_reason="length"),
    ]
    with scripted(in_turn(*replies), price_input=1.0, price_output=10.0) as (_, model):
        # 1,000 / 1e6 * 1 + 100 / 1e6 * 10 = 0.002 for each of the two
        assert model.chat(HELLO).usage == Usage(input_tokens=1000, output_tokens=100, cost_usd=0.002)
        with pytest.raises(ModelError, match="truncated"):
            model.chat(HELLO)
    assert model.spending.usage == Usage(input_tokens=2000, output_tokens=200, cost_usd=0.004)


@pytest.mark.parametrize(
    "reply",
    [
        failing(401, f"Incorrect API key provided: {KEY}"),
        garbage(f"oops {KEY}".encode()),
        garbage(f'{{"error": "{KEY}"}}'.encode()),
        refused(f"I do not like {KEY}"),
        ChatReply(status=307, headers={"Location": f"http://127.0.0.1:9/{KEY}"}),
    ],
)
def test_a_key_never_shows_in_an_error(reply: ChatReply) -> None:
    error, _ = failure(in_turn(reply))
    assert KEY not in str(error)
    assert KEY not in str(error.__cause__)


def test_a_key_in_the_address_never_shows_and_does_not_tell_endpoints_apart() -> None:
    with running_chat(in_turn(failing(400, "key topsecret99 is wrong"))) as server:
        model = OpenAIChatModel("m", base_url=f"{server.url}?api_key=topsecret99")
        with model, pytest.raises(ModelError) as caught:
            model.chat(HELLO)
    assert "topsecret99" not in str(caught.value) + model.cache_key


def test_keys_are_needed_where_they_were_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match=r"needs an API key\. Set OPENAI_API_KEY, or name"):
        OpenAIChatModel("m")
    with pytest.raises(UsageError, match="m needs an API key"):
        OpenAIChatModel("m", base_url="http://localhost:1/v1", key_env="OTHER_KEY")
    with scripted(echo) as (server, model):
        model.chat(HELLO)
    assert "authorization" not in server.headers[0]


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_chat(echo) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with OpenAIChatModel("m") as model:
            assert model.chat(HELLO).text == "to hello there"


@pytest.mark.parametrize(
    "options", [*TABLES["what_cannot_be_asked_is_refused_when_built"], {"temperature": float("nan")}]
)
def test_what_cannot_be_asked_is_refused_when_built(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="expected"):
        OpenAIChatModel("m", **options)
    with pytest.raises(UsageError, match="model: expected a name"):
        OpenAIChatModel(" ")


def test_settings_that_change_replies_tell_models_apart() -> None:
    def key(**options: Any) -> str:
        return OpenAIChatModel("m", **{"base_url": "http://localhost:1/v1", **options}).cache_key

    different = [
        key(),
        key(temperature=1),
        key(max_tokens=5),
        key(seed=1),
        key(base_url="http://localhost:2/v1"),
    ]
    assert len(set(different)) == 5
    assert key() == key(concurrency=2, timeout=5, price_input=1.0, price_output=1.0)


def test_who_waits_when_a_model_is_closed_gets_a_failure_and_the_next_one_an_answer() -> None:
    arrived = threading.Event()

    def script(asked: Asked) -> ChatReply | str:
        arrived.set()
        return hanging() if len(server.requests) == 1 else "well"

    with running_chat(script) as server, OpenAIChatModel("m", base_url=server.url) as model:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(model.chat, HELLO)
            assert arrived.wait(10)
            model.close()
            with pytest.raises(ModelError, match="closed"):
                waiting.result(10)
        assert model.chat(HELLO).text == "well"


def test_a_model_that_is_closed_for_good_fails_whoever_asks_and_sends_nothing() -> None:
    with running_chat(echo) as server:
        model = OpenAIChatModel("m", base_url=server.url)
        assert model.chat(HELLO).text
        model.close(for_good=True)
        with pytest.raises(ModelError, match="closed"):
            model.chat(HELLO)
        assert len(server.requests) == 1


def test_a_text_that_cannot_be_sent_is_a_failure() -> None:
    with scripted(echo) as (server, model), pytest.raises(ModelError, match="invalid-request"):
        model.chat([Message("user", "half a pair: \ud800")])
    assert server.requests == []


def test_a_model_that_is_forgotten_ends_its_thread() -> None:
    def count() -> int:
        return sum(thread.name == "rag-eval language model" for thread in threading.enumerate())

    before = count()
    with running_chat(echo) as server:
        model: OpenAIChatModel | None = OpenAIChatModel("m", base_url=server.url)
        assert model is not None
        model.chat(HELLO)
        assert count() == before + 1
        model = None
        gc.collect()
        assert count() == before


def test_a_program_that_closes_nothing_ends_by_itself_and_quietly() -> None:
    program = """
import sys
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.models.chat import Message
model = OpenAIChatModel("m", base_url=sys.argv[1])
print(model.chat([Message("user", "hello there")]).text)
"""
    with running_chat(echo) as server:
        done = subprocess.run(
            [sys.executable, "-W", "default", "-c", program, server.url],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "to hello there\n", "")


# A model behind the same protocol as a target: what it is asked, and where its key goes.


def test_no_temperature_is_sent_where_the_model_takes_none(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = OpenAIModel("m", base_url=server.fault("echo-body"), temperature=None)
    assert json.loads(answer_of(model).text or "").keys() == {"model", "messages"}
