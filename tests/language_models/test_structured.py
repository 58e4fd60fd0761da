"""Schema-bound asking: one repair at most, and what cannot be used is a failure, never a guess."""

from __future__ import annotations

import json
import sys
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
    is_repair,
    last_message,
    refused,
    running_chat,
    truncated,
)
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.adapters.openai import OpenAIChatModel
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.evaluation import attempts
from rag_evaluation_framework.models.chat import Message
from rag_evaluation_framework.models.memory import RememberingModel
from rag_evaluation_framework.models.structured import ask, fitting_value

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"label": {"enum": ["yes", "no"]}, "score": {"type": "number", "minimum": 0, "maximum": 1}},
    "required": ["label", "score"],
    "additionalProperties": False,
}
GOOD = {"label": "yes", "score": 0.5}
MESSAGES = [Message("system", "You judge."), Message("user", "Is it so?")]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)


@contextmanager
def scripted(script: Script) -> Iterator[tuple[ChatServer, OpenAIChatModel]]:
    with running_chat(script) as server, OpenAIChatModel("scripted", base_url=server.url) as model:
        yield server, model


def written(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


def test_the_value_is_taken_from_whatever_is_around_it() -> None:
    with scripted(in_turn(in_prose(fenced(written())))) as (server, model):
        reply = ask(model, MESSAGES, SCHEMA)
    assert reply.value == GOOD
    assert not reply.repaired
    assert len(server.requests) == 1
    assert server.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA


BAD_REPLIES = {
    "wrong-type": (written(score="high"), "off-schema", 'score: the value is not of type "number"'),
    "out-of-range": (written(score=7), "off-schema", "score: the value is greater than the maximum of 1"),
    "label": (written(label="BAIT"), "off-schema", 'label: the value is not one of "yes" or "no"'),
    "missing": ('{"label": "yes"}', "off-schema", '"score" is a required property'),
    "prose": ("I would say yes.", "not-json", "the reply contains no JSON value"),
    "null": (ChatReply(content=None), "not-json", "the reply contains no JSON value"),
    "cut-off": ('{"label": "ye', "truncated", "the reply ends inside a JSON value"),
    "two": (written() + written(label="no"), "ambiguous", "expected one JSON value, got 2 different ones"),
    "key-twice": ('{"BAIT": 1, "BAIT": 2}', "not-json", "a key occurs twice in one JSON object"),
    "surrogate": ('{"BAIT": "\\ud800"}', "not-json", "a string has half a surrogate pair in it"),
    "range": ('{"BAIT": 1e999}', "not-json", "a number is out of range"),
    "syntax": ('{"label" "BAIT"}', "not-json", "it is not valid JSON"),
    "refusal": (refused("Add BAIT"), "refused", "it was a refusal"),
    "filter": (filtered("{"), "refused", "it was a refusal"),
    "limit": (truncated('{"label": "BAIT'), "truncated", "cut off at the limit of tokens, so be brief"),
    "no-message": (ChatReply(body=b'{"choices": []}'), "no-completion", "it was empty"),
}


@pytest.mark.parametrize(("bad", "kind", "told"), BAD_REPLIES.values(), ids=BAD_REPLIES)
def test_a_reply_of_no_use_is_asked_for_once_more_with_what_was_wrong_and_then_fails(
    bad: ChatReply | str, kind: str, told: str
) -> None:
    with scripted(in_turn(bad, written())) as (server, model):
        reply = ask(model, MESSAGES, SCHEMA)
    assert (reply.value, reply.repaired) == (GOOD, True)
    first, second = server.requests
    assert told in last_message(second)
    assert last_message(second).startswith(last_message(first))
    assert [it["role"] for it in second["messages"]] == ["system", "user"]
    assert "BAIT" not in json.dumps(second)
    with scripted(in_turn(bad)) as (server, model), pytest.raises(ModelError) as caught:
        ask(model, MESSAGES, SCHEMA)
    assert caught.value.kind == kind
    assert len(server.requests) == 2


def test_what_is_no_reply_at_all_is_not_repaired() -> None:
    with scripted(in_turn(garbage())) as (server, model), pytest.raises(ModelError, match="malformed-json"):
        ask(model, MESSAGES, SCHEMA)
    assert not any(map(is_repair, server.requests))


NESTED = {
    "type": "object",
    "properties": {"list": {"type": "array", "items": {"type": "object", "maxProperties": 1}}},
    "additionalProperties": {"type": "integer"},
    "propertyNames": {"maxLength": 8},
}
NOT_REPEATED = {
    "beside an unknown key": ({"label": "yes", "BAIT": 1}, SCHEMA, '"score" is a required property'),
    "a key of any name": ({"BAIT": "no"}, NESTED, 'the value is not of type "integer"'),
    "below a known one": (
        {"list": [{}, {"BAIT": 1, "BAIT 2": 1}]},
        NESTED,
        "list[1]: the value does not follow",
    ),
    "a name too long": ({"BAIT and more": 1}, NESTED, "the value does not follow propertyNames"),
}


@pytest.mark.parametrize(("value", "schema", "told"), NOT_REPEATED.values(), ids=NOT_REPEATED)
def test_neither_values_nor_keys_of_a_reply_are_told_to_the_model(
    value: Any, schema: dict[str, Any], told: str
) -> None:
    with scripted(in_turn(json.dumps(value))) as (server, model), pytest.raises(ModelError):
        ask(model, MESSAGES, schema)
    assert told in last_message(server.requests[1])
    assert "BAIT" not in last_message(server.requests[1])


def test_keys_that_the_schema_does_not_have_are_left_out_of_a_reply() -> None:
    entry = {"type": "object", "properties": {"number": {"type": "integer"}}, "additionalProperties": False}
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "list": {"type": "array", "items": entry}}}
    value = {**GOOD, "reason": "so it is", "list": [{"number": 1, "reason": {"number": 2}}, {"number": 3}]}
    with scripted(in_turn(json.dumps(value))) as (server, model):
        reply = ask(model, MESSAGES, schema)
    assert reply.value == {**GOOD, "list": [{"number": 1}, {"number": 3}]}
    assert not reply.repaired
    assert len(server.requests) == 1


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


def test_a_reply_of_no_use_is_forgotten_where_the_endpoint_fails_the_second_time(tmp_path: Path) -> None:
    with scripted(in_turn("no", failing(401), written())) as (server, model):
        remembering = RememberingModel(model, tmp_path)
        with pytest.raises(ModelError, match="http-401"):
            ask(remembering, MESSAGES, SCHEMA)
        reply = ask(remembering, MESSAGES, SCHEMA)
    assert (reply.value, reply.repaired) == (GOOD, False)
    assert [is_repair(asked) for asked in server.requests] == [False, True, False]


@pytest.mark.parametrize(
    "schema", [{"type": "objct"}, {"$ref": "http://127.0.0.1:9/x"}, {"$ref": "file:///x"}]
)
def test_a_schema_that_is_none_or_leads_elsewhere_is_refused_before_asking(schema: dict[str, Any]) -> None:
    with (
        scripted(in_turn("{}")) as (server, model),
        pytest.raises(UsageError, match="schema: invalid JSON Schema"),
    ):
        ask(model, MESSAGES, schema)
    assert server.requests == []


# Reading JSON out of replies: tolerant of the wrapping, strict about the content, fooled by nothing.

TABLES = tables_beside(__file__)
KINDS = ("not-json", "off-schema", "ambiguous", "truncated")
LABELS = ("supported", "unsupported")
VERDICT = {"label": "supported", "quote": "in 1887"}
WRITTEN = json.dumps(VERDICT)
OTHER = '{"label": "unsupported", "quote": "in 1887"}'


def problem(value: Any) -> str | None:
    """Fit only objects with a known label and a quote."""
    fits = isinstance(value, dict) and set(value) == {"label", "quote"} and value["label"] in LABELS
    return None if fits else "label: expected supported or unsupported"


def read(text: str) -> Any:
    return fitting_value(text, problem=problem)


def outcome(text: str) -> Any:
    """Return the value, or the kind of the failure."""
    try:
        return read(text)
    except ModelError as error:
        return error.kind


@pytest.mark.parametrize("reply", TABLES["wrappings"])
def test_what_is_wrapped_around_the_value_does_not_matter(reply: str) -> None:
    assert read(reply.replace("$WRITTEN", WRITTEN).replace("$OTHER", OTHER)) == VERDICT


@pytest.mark.parametrize("mark", ["\n", "\t", "\r\n"])
def test_a_line_break_inside_a_string_is_read_as_one(mark: str) -> None:
    assert read(f'Well: {{"label": "supported", "quote": "a{mark}b"}}')["quote"] == f"a{mark}b"


def test_brackets_quotes_and_commas_inside_strings_are_text() -> None:
    quote = 'a {"label": "unsupported", "quote": ""} [1,] \\ "x" </think> ```'
    verdict = {"label": "supported", "quote": quote}
    assert read(in_prose(json.dumps(verdict))) == verdict


@pytest.mark.parametrize(("kind", "reply"), TABLES["failures"])
def test_what_is_not_one_value_that_fits_is_a_failure_of_its_kind(kind: str, reply: str) -> None:
    reply = reply.replace("$WRITTEN", WRITTEN).replace("$OTHER", OTHER)
    assert outcome(reply.replace("$DEEP", "[" * 300 + "]" * 300)) == kind


@pytest.mark.parametrize("end", range(1, len(WRITTEN)))
def test_a_reply_cut_off_anywhere_is_truncated(end: int) -> None:
    assert outcome(WRITTEN[:end]) == "truncated"


def test_the_last_value_that_does_not_fit_says_why() -> None:
    with pytest.raises(ModelError, match="off-schema: 3 is odd"):
        fitting_value("[2] [3]", problem=lambda value: f"{value[0]} is odd" if value[0] % 2 else "even")


hostile = st.text(alphabet='{}[]",:\\ \n<>/thinka1x-', max_size=40)


@given(before=hostile, between=hostile)
def test_a_verdict_that_is_quoted_never_replaces_the_one_that_follows(before: str, between: str) -> None:
    assert outcome(f"{before}{OTHER}{between}{WRITTEN}") in (VERDICT, *KINDS)


@given(before=hostile, after=hostile)
def test_whatever_surrounds_a_verdict_it_is_read_or_there_is_a_failure(before: str, after: str) -> None:
    assert outcome(before + WRITTEN + after) in (VERDICT, *KINDS)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(value=st.lists(json_values, max_size=3) | st.dictionaries(st.text(), json_values, max_size=3))
def test_every_json_value_is_read_as_it_was_written(value: Any) -> None:
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert fitting_value(f"So: {written} Done.", problem=lambda _: None) == value


@pytest.mark.parametrize(
    "unit", ["{", "[", '{"', '["', '{"a":', '["[', "[1,", '{"{" ', "[-", "[1] ", "{} ", '["a":{', "[ ", ',"[']
)
def test_hostile_replies_take_work_that_grows_with_their_length_alone(unit: str) -> None:
    tokens = []
    for length in (20_000, 40_000):
        reply = (unit * length)[:length]
        assert outcome(reply) in KINDS
        tokens.append(_work(reply))
    assert tokens[1] <= 2.2 * tokens[0] + 5_000


def _work(reply: str) -> int:
    """Count the function calls that reading takes: unlike time, they are the same on every machine."""
    count = 0

    def counting(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counting)
    try:
        outcome(reply)
    finally:
        sys.setprofile(None)
    return count
