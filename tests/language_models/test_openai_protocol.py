"""Requests and replies of the chat protocol: what is sent, what is conceded, what a reply may look like."""

from __future__ import annotations

from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import Usage
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.models.chat import Message
from rag_evaluation_framework.models.clients import ChatSettings, completion_of, concession, usage_of
from rag_evaluation_framework.models.spending import Prices

TABLES = tables_beside(__file__)
SETTINGS = ChatSettings(model="m", temperature=0, max_tokens=50, seed=7)
MESSAGES = [Message("system", "s"), Message("user", "u")]
CLOSED: dict[str, Any] = TABLES["schemas"][0][0]


def test_a_body_has_what_was_set_and_nothing_else() -> None:
    said = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert ChatSettings(model="m").body(MESSAGES) == {"model": "m", "messages": said}
    full = {"model": "m", "messages": said, "temperature": 0, "max_tokens": 50, "seed": 7}
    assert SETTINGS.body(MESSAGES) == full


@pytest.mark.parametrize(
    ("temperature", "asked"), [(0, [0, 0.7, 0.7]), (0.3, [0.3, 0.3, 0.3]), (None, [None, None, None])]
)
def test_further_draws_are_not_the_first_one_again(
    temperature: float | None, asked: list[float | None]
) -> None:
    settings = ChatSettings(model="m", temperature=temperature, seed=7)
    bodies = [settings.body(MESSAGES, draw=draw) for draw in range(3)]
    assert [body.get("temperature") for body in bodies] == asked
    assert [body["seed"] for body in bodies] == [7, 8, 9]


@pytest.mark.parametrize(("schema", "strict"), TABLES["schemas"])
def test_a_model_is_held_to_a_schema_strictly_where_openai_can(schema: dict[str, Any], strict: bool) -> None:
    asked = SETTINGS.body(MESSAGES, schema=schema)["response_format"]["json_schema"]
    assert asked["strict"] is strict
    assert asked["schema"] == schema


@pytest.mark.parametrize(("complaint", "granted"), TABLES["complaints"])
def test_what_an_endpoint_complains_of_is_conceded(complaint: str, granted: str | None) -> None:
    assert concession(SETTINGS.body(MESSAGES, schema=CLOSED), complaint) == granted


def test_what_was_conceded_is_not_in_the_next_body_and_cannot_be_conceded_again() -> None:
    invalid = "Invalid schema for response_format"
    complaints = [invalid, "temperature", "max_completion_tokens", "seed", invalid, invalid]
    conceded: frozenset[Any] = frozenset()
    for complaint in complaints:
        granted = concession(SETTINGS.body(MESSAGES, schema=CLOSED, conceded=conceded), complaint)
        assert granted is not None
        assert granted not in conceded
        conceded |= {granted}
    body = SETTINGS.body(MESSAGES, schema=CLOSED, conceded=conceded)
    assert set(body) == {"model", "messages", "max_completion_tokens"}
    assert '"additionalProperties": false' in body["messages"][-1]["content"]
    assert all(concession(body, complaint) is None for complaint in complaints)


def reply(message: Any, reason: Any = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": reason}], **more}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hello", "hello"),
        (None, ""),
        ([{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}], "hello"),
    ],
)
def test_a_text_may_come_whole_in_parts_or_not_at_all(content: Any, text: str) -> None:
    assert completion_of(reply({"content": content})).text == text


@pytest.mark.parametrize(("value", "kind"), TABLES["useless_replies"])
def test_a_reply_without_a_usable_text_is_a_failure_of_its_kind(value: Any, kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        completion_of(value)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("told", "prices", "usage"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, None, Usage(input_tokens=3, output_tokens=4)),
        ({"prompt_tokens": 3}, Prices(1, 1), Usage(input_tokens=3)),
        # 2,000 / 1e6 * 0.5 + 1,000 / 1e6 * 2 = 0.001 + 0.002
        (
            {"prompt_tokens": 2000, "completion_tokens": 1000, "cost": 9},
            Prices(0.5, 2),
            Usage(input_tokens=2000, output_tokens=1000, cost_usd=0.003),
        ),
        ({"cost": 0.25}, None, Usage(cost_usd=0.25)),
        ({"prompt_tokens": True, "completion_tokens": -1, "cost": "much"}, None, Usage()),
        (None, None, None),
        ([], None, None),
    ],
)
def test_usage_is_what_the_reply_tells_and_the_prices_make_of_it(
    told: Any, prices: Prices | None, usage: Usage | None
) -> None:
    found = usage_of({"usage": told}, prices)
    assert found == usage
