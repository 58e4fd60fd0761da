"""Chat models made of what people have: OpenAI's client or one like it, objects that complete, functions."""

from __future__ import annotations

import functools
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from chat_server import failing, fenced, in_turn, last_message, only_with, refused, running_chat, truncated

from rag_evaluation_framework import Usage, UsageError
from rag_evaluation_framework.errors import ModelError, ModelOutageError
from rag_evaluation_framework.models.chat import IN_A_ROW, ChatModel, EndpointWatch, Message
from rag_evaluation_framework.models.clients import MODEL, as_chat_model
from rag_evaluation_framework.models.spending import Prices, total_usage
from rag_evaluation_framework.models.structured import ask

KEY = "sk-verysecret-0123456789"
HELLO = [Message("user", "hello there")]
SCHEMA = {
    "type": "object",
    "properties": {"label": {"enum": ["yes", "no"]}},
    "required": ["label"],
    "additionalProperties": False,
}


class RefusedError(Exception):
    """What a client raises for a status of failure."""

    def __init__(self, status: int, body: str) -> None:
        self.status_code = status
        super().__init__(f"Error code: {status} - {body}")


class SmallClient:
    """A client of OpenAI's shape that posts with the standard library; replies are dictionaries."""

    def __init__(self, base_url: str, api_key: str) -> None:
        self.base_url, self.api_key = base_url, api_key
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))

    def create(self, **body: Any) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.api_key}"}
        request = urllib.request.Request(
            f"{self.base_url}/chat/completions", json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                raise RefusedError(error.code, error.read().decode()) from None


def package_client(base_url: str, api_key: str) -> Any:
    openai = pytest.importorskip("openai", reason="the package openai is not installed")
    return openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0)


@pytest.fixture(params=[SmallClient, package_client], ids=["small", "package"])
def client_at(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    with ExitStack() as opened:

        def made(*arguments: Any) -> Any:
            client = request.param(*arguments)
            opened.callback(getattr(client, "close", int))
            return client

        yield made


def test_an_openai_client_is_asked_for_a_usual_model_or_the_one_named(client_at: Callable[..., Any]) -> None:
    with running_chat(lambda asked: f"to {last_message(asked)}", key=KEY) as server:
        client = client_at(server.url, KEY)
        completion = as_chat_model(client).chat(HELLO)
        named = as_chat_model(client, name="gpt-5")
        named.chat(HELLO)
    assert isinstance(named, ChatModel)
    assert completion.text == "to hello there"
    assert completion.usage == Usage(input_tokens=2, output_tokens=3)
    assert completion.finish_reason == "stop"
    assert [asked["model"] for asked in server.requests] == [MODEL, "gpt-5"]
    assert named.name == "gpt-5"


def test_what_an_endpoint_does_not_take_is_conceded_and_remembered(client_at: Callable[..., Any]) -> None:
    with running_chat(only_with({"json_object"}, lambda _: fenced('{"label": "no"}'))) as server:
        model = as_chat_model(client_at(server.url, KEY))
        for _ in range(2):
            assert ask(model, HELLO, SCHEMA).value == {"label": "no"}
    formats = [asked["response_format"]["type"] for asked in server.requests]
    assert formats == ["json_schema", "json_object", "json_object"]
    assert server.requests[0]["response_format"]["json_schema"]["strict"] is True
    assert '"enum"' in last_message(server.requests[1])


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (failing(401, f"Incorrect API key provided: {KEY}"), "http-401"),
        (failing(400, "the prompt is too long"), "http-400"),
        (failing(500), "http-500"),
        (refused(), "refused"),
        (truncated("hel"), "truncated"),
    ],
)
def test_what_a_client_raises_is_a_failure_without_its_key(
    client_at: Callable[..., Any], reply: Any, kind: str
) -> None:
    with running_chat(in_turn(reply)) as server, pytest.raises(ModelError) as caught:
        as_chat_model(client_at(server.url, KEY)).chat(HELLO)
    assert caught.value.kind == kind
    assert KEY not in str(caught.value)


def test_a_key_is_hidden_before_the_message_of_a_client_is_shortened() -> None:
    def create(**_: Any) -> Any:
        raise ValueError("x" * 480 + KEY + "y" * 1000)

    client = SimpleNamespace(api_key=KEY, chat=SimpleNamespace(completions=SimpleNamespace(create=create)))
    with pytest.raises(ModelError) as caught:
        as_chat_model(client).chat(HELLO)
    assert KEY[:4] not in caught.value.message
    assert caught.value.message.endswith("x***yyyy…")


def test_a_client_that_cannot_connect_is_a_failure(client_at: Callable[..., Any]) -> None:
    with pytest.raises(ModelError, match=r"client-error: gpt-4o-mini: .*Error"):
        as_chat_model(client_at("http://127.0.0.1:9/v1", KEY)).chat(HELLO)


class Echo:
    """Completes a prompt with itself."""

    def complete(self, prompt: str) -> str:
        return prompt


def shouted(prompt: str) -> str:
    return prompt.upper()


@pytest.mark.parametrize(
    ("client", "name", "text"),
    [(Echo(), "Echo", "Be brief.\n\nWhy?"), (shouted, "shouted", "BE BRIEF.\n\nWHY?")],
)
def test_a_prompt_is_the_conversation(client: object, name: str, text: str) -> None:
    model = as_chat_model(client)
    assert isinstance(model, ChatModel)
    assert model.chat([Message("system", "Be brief."), Message("user", "Why?")]).text == text
    assert model.name == name
    assert as_chat_model(client, name="mine").name == "mine"


def test_a_prompt_names_the_roles_once_an_assistant_has_spoken() -> None:
    talk = [Message("user", "Hi"), Message("assistant", "Hello"), Message("user", "Why?")]
    assert as_chat_model(Echo()).chat(talk).text == "User: Hi\n\nAssistant: Hello\n\nUser: Why?"


def test_a_function_is_told_the_schema() -> None:
    prompts = []

    def reply(prompt: str) -> str:
        prompts.append(prompt)
        return 'Sure: {"label": "yes"}'

    assert ask(as_chat_model(reply), HELLO, SCHEMA).value == {"label": "yes"}
    assert prompts[0].startswith("hello there\n\n")
    assert json.dumps(SCHEMA) in prompts[0]


def test_what_a_function_raises_or_returns_in_place_of_text_is_a_failure() -> None:
    def raising(prompt: str) -> str:
        raise ConnectionError("gone\n  away")

    with pytest.raises(ModelError, match=r"client-error: .*raising: ConnectionError: gone away\Z"):
        as_chat_model(raising).chat(HELLO)
    with pytest.raises(ModelError, match=r"client-error: quitter: SystemExit: not today\Z"):
        as_chat_model(sys.exit, name="quitter").chat([Message("user", "not today")])
    with pytest.raises(ModelError, match="no-completion: number: expected text, got 5"):
        as_chat_model(len, name="number").chat([Message("user", "12345")])


async def later(prompt: str) -> str:
    return prompt


class LaterObject:
    async def __call__(self, prompt: str) -> str:
        return prompt


LATER = (
    *(later, functools.partial(later), LaterObject(), SimpleNamespace(complete=later)),
    SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=later))),
)


@pytest.mark.parametrize(
    ("client", "said"),
    [
        *((client, "expected a synchronous") for client in LATER),
        *((client, "model: expected a c") for client in (None, 3, "gpt-4o-mini", Echo, object())),
    ],
)
def test_what_is_asynchronous_or_cannot_be_asked_is_refused(client: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        as_chat_model(client)


def test_only_a_model_with_a_name_of_its_own_can_be_told_from_others() -> None:
    nameless = (
        as_chat_model(Echo()),
        as_chat_model(lambda prompt: prompt),
        as_chat_model(functools.partial(shouted)),
    )
    assert [getattr(model, "cache_key", "") for model in nameless] == [None] * 3
    named = (as_chat_model(Echo(), name="echo"), as_chat_model(shouted))
    assert [getattr(model, "cache_key", "") for model in named] == ["echo", "shouted"]


def test_a_chat_model_stays_what_it_is() -> None:
    model = as_chat_model(shouted)
    assert as_chat_model(model) is model
    assert as_chat_model(model, name="shouted") is model
    with pytest.raises(UsageError, match="the chat model already has the name"):
        as_chat_model(model, name="other")


# When a model's endpoint counts as down, and when only one question has failed.


def is_outage(watch: EndpointWatch, kind: str) -> bool:
    return isinstance(watch.failed(ModelError(kind, "as told")), ModelOutageError)


@pytest.mark.parametrize("kind", ["connection-failed", "http-401", "http-403", "http-404"])
def test_an_endpoint_that_never_answered_and_turns_the_first_away_is_an_outage(kind: str) -> None:
    assert is_outage(EndpointWatch(), kind)


@pytest.mark.parametrize("kind", ["timeout", "http-429", "http-500", "http-503", "connection-failed"])
def test_one_that_has_answered_must_fail_ten_in_a_row(kind: str) -> None:
    watch = EndpointWatch()
    watch.answered()
    assert [is_outage(watch, kind) for _ in range(IN_A_ROW)] == [False] * (IN_A_ROW - 1) + [True]


def test_an_answer_in_between_begins_the_count_anew() -> None:
    watch = EndpointWatch()
    for _ in range(3):
        assert not any(is_outage(watch, "http-500") for _ in range(IN_A_ROW - 1))
        watch.answered()


def test_what_is_wrong_with_one_question_is_no_outage_however_often() -> None:
    watch = EndpointWatch()
    assert not any(is_outage(watch, "http-400") for _ in range(3 * IN_A_ROW))


# What models cost: sums of what is known, and nothing made up for what is not.


def test_a_cost_is_the_tokens_times_the_price_of_a_million() -> None:
    # 1,200,000 / 1e6 * 2.50 + 40,000 / 1e6 * 10 = 3.00 + 0.40
    assert Prices(2.5, 10).cost(Usage(input_tokens=1_200_000, output_tokens=40_000)) == pytest.approx(3.4)
    assert Prices(2.5, 10).cost(Usage(input_tokens=5)) is None
    assert Prices(0, 0).cost(Usage(input_tokens=5, output_tokens=5)) == 0


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(UsageError, match="price: expected US dollars"):
        Prices(1.0, price)


def test_what_is_not_known_is_left_out_of_a_total() -> None:
    assert total_usage([]) is None
    assert total_usage([None, None]) is None
    usages = [None, Usage(input_tokens=3), Usage(input_tokens=4, cost_usd=0.5), Usage(output_tokens=1)]
    assert total_usage(usages) == Usage(input_tokens=7, output_tokens=1, cost_usd=0.5)
