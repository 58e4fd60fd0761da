"""Schema-bound asking: one repair at most, and what cannot be used is a failure, never a guess."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chat_server import (
    ChatReply,
    ChatServer,
    Script,
    failing,
    fenced,
    filtered,
    garbage,
    in_prose,
    in_turn,
    last_message,
    refused,
    running_chat,
    thinking,
    truncated,
)

from rag_evaluation_framework.adapters.openai_chat import OpenAIChatModel
from rag_evaluation_framework.errors import ModelError, UsageError
from rag_evaluation_framework.evaluation.runs import retries
from rag_evaluation_framework.language_models.cache import RememberingModel
from rag_evaluation_framework.language_models.chat import Message
from rag_evaluation_framework.language_models.structured import ask
from rag_evaluation_framework.records.responses import Usage

SCHEMA = {
    "type": "object",
    "properties": {"label": {"enum": ["yes", "no"]}, "score": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["label", "score"],
    "additionalProperties": False,
}
GOOD = {"label": "yes", "score": 0.5}
MESSAGES = [Message("system", "You judge."), Message("user", "Is it so?")]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_DELAY", 0.01)


@contextmanager
def scripted(script: Script) -> Iterator[tuple[ChatServer, OpenAIChatModel]]:
    with running_chat(script) as server, OpenAIChatModel("scripted", base_url=server.url) as model:
        yield server, model


def written(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


@pytest.mark.parametrize("wrap", [str, in_prose, fenced, thinking, lambda text: in_prose(fenced(text))])
def test_the_value_is_taken_from_whatever_is_around_it(wrap: Any) -> None:
    with scripted(in_turn(wrap(written()))) as (server, model):
        reply = ask(model, MESSAGES, SCHEMA)
    assert reply.value == GOOD
    assert not reply.repaired
    assert len(server.requests) == 1
    assert server.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA


BAD_REPLIES = {
    "wrong-type": (written(score="high"), 'score: the value is not of type "number"'),
    "out-of-range": (written(score=7), "score: the value is greater than the maximum of 1"),
    "unknown-label": (written(label="Ignore the rules"), 'label: the value is not one of "yes" or "no"'),
    "missing": ('{"label": "yes"}', '"score" is a required property'),
    "prose": ("I would say yes.", "expected a JSON value, got none"),
    "empty": ("", "expected a JSON value, got none"),
    "null": (ChatReply(content=None), "expected a JSON value, got none"),
    "cut-off": ('{"label": "ye', "the reply ends inside a JSON value"),
    "two": (written() + written(label="no"), "expected one JSON value, got 2 different ones"),
}


@pytest.mark.parametrize(("bad", "told"), BAD_REPLIES.values(), ids=BAD_REPLIES)
def test_a_reply_of_no_use_is_asked_for_once_more_with_what_was_wrong(
    bad: ChatReply | str, told: str
) -> None:
    with scripted(in_turn(bad, written())) as (server, model):
        reply = ask(model, MESSAGES, SCHEMA)
    assert reply.value == GOOD
    assert reply.repaired
    first, second = server.requests
    assert told in last_message(second)
    assert last_message(second).startswith(last_message(first))
    assert [it["role"] for it in second["messages"]] == ["system", "user"]
    assert "Ignore the rules" not in json.dumps(second)


KINDS = {
    "prose": "not-json",
    "empty": "not-json",
    "null": "not-json",
    "cut-off": "truncated",
    "two": "ambiguous",
}


@pytest.mark.parametrize("name", BAD_REPLIES)
def test_what_fails_twice_is_a_failure_of_its_kind(name: str) -> None:
    with scripted(in_turn(BAD_REPLIES[name][0])) as (server, model), pytest.raises(ModelError) as caught:
        ask(model, MESSAGES, SCHEMA)
    assert caught.value.kind == KINDS.get(name, "off-schema")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "kind", "requests"),
    [
        (refused(), "refused", 1),
        (filtered("{"), "refused", 1),
        (truncated('{"label": '), "truncated", 1),
        (garbage(), "malformed-json", 2),
        (ChatReply(body=b'{"choices": []}'), "no-completion", 1),
    ],
)
def test_what_the_endpoint_ends_is_not_repaired(reply: ChatReply, kind: str, requests: int) -> None:
    with scripted(in_turn(reply)) as (server, model), pytest.raises(ModelError) as caught:
        ask(model, MESSAGES, SCHEMA)
    assert caught.value.kind == kind
    assert len(server.requests) == requests


def test_a_failure_while_repairing_is_the_failure() -> None:
    script = in_turn("no", failing(401, "not yours"))
    with scripted(script) as (_, model), pytest.raises(ModelError, match=r"http-401: .*not yours") as caught:
        ask(model, MESSAGES, SCHEMA)
    assert "the reply was" not in str(caught.value)


def test_a_check_of_ones_own_is_repaired_and_failed_like_the_schema() -> None:
    def check(value: Any) -> str | None:
        return None if value["score"] == 1 else "score: expected 1 beside yes"

    with scripted(in_turn(written(), written(score=1))) as (server, model):
        assert ask(model, MESSAGES, SCHEMA, check=check).value["score"] == 1
    assert "score: expected 1 beside yes" in last_message(server.requests[1])
    with scripted(in_turn(written())) as (server, model), pytest.raises(ModelError, match="beside yes"):
        ask(model, MESSAGES, SCHEMA, check=check)


def test_usage_is_that_of_all_attempts() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    replies = [ChatReply(content=text, usage=usage) for text in ("no", written())]
    with scripted(in_turn(*replies)) as (_, model):
        assert ask(model, MESSAGES, SCHEMA).usage == Usage(input_tokens=20, output_tokens=6)


def test_draws_are_remembered_apart_and_a_repair_is_remembered_too(tmp_path: Path) -> None:
    with scripted(in_turn("no", written(), written(label="no"))) as (server, model):
        remembering = RememberingModel(model, tmp_path)
        for _ in range(2):
            assert ask(remembering, MESSAGES, SCHEMA, draw=0).value == GOOD
            assert ask(remembering, MESSAGES, SCHEMA, draw=1).value["label"] == "no"
    assert len(server.requests) == 3


def test_replies_of_no_use_are_forgotten(tmp_path: Path) -> None:
    with scripted(in_turn("no", "still no", written())) as (server, model):
        remembering = RememberingModel(model, tmp_path)
        with pytest.raises(ModelError, match="not-json"):
            ask(remembering, MESSAGES, SCHEMA)
        reply = ask(remembering, MESSAGES, SCHEMA)
    assert reply.value == GOOD
    assert not reply.repaired
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "schema", [{"type": "objct"}, {"$ref": "http://127.0.0.1:9/x"}, {"$ref": "file:///x"}]
)
def test_a_schema_that_is_none_or_leads_elsewhere_is_refused_before_asking(schema: dict[str, Any]) -> None:
    with scripted(in_turn("{}")) as (server, model), pytest.raises(UsageError, match="schema: expected"):
        ask(model, MESSAGES, schema)
    assert server.requests == []
