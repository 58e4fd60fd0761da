"""The cap in money: no call is made that could pass it, and what was not judged is never passed."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, hanging, running_chat
from scripted_judge import found_supported, judge_at, read_question

from acceptance.projects import write_ferries
from command_lines import rag_eval
from rag_evaluation_framework import Judge, Request, Response, Usage, UsageError, evaluate
from rag_evaluation_framework.adapters.openai import CAPPED_TOKENS, OpenAIChatModel
from rag_evaluation_framework.errors import ModelError, ModelOutageError
from rag_evaluation_framework.models.chat import Message
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.models.spending import Prices, Spending, TargetSpending

# Of each reply: 1000 tokens at 1 and 100 at 10 dollars a million are 0.002 dollars.
TOKENS = {"prompt_tokens": 1000, "completion_tokens": 100}
PRICE = 0.002
PRICES: dict[str, Any] = {"price_input": 1.0, "price_output": 10.0}
# The worst case of a call: 4096 tokens out are 0.041 dollars; of some 3,500 bytes in, as many tokens, 0.0035.
WORST = (0.042, 0.048)
EVALUATE = ("evaluate", "agent.yaml", "--target", "rag.jsonl")
pytestmark = pytest.mark.usefixtures("folder")


def supported(asked: dict[str, Any]) -> ChatReply:
    return ChatReply(content=found_supported(read_question(asked)), usage=TOKENS, delay=0.02)


def test_no_call_is_made_that_could_pass_the_cap_and_a_resume_with_a_higher_one_goes_on(folder: Path) -> None:
    write_ferries(folder, 40)
    # 0.002 a call and at worst 0.042 to 0.048: under 0.06 six to nine calls are paid for, and the next could
    # pass it.
    with running_chat(supported) as server:
        done = rag_eval(*EVALUATE, *judge_at(server, **PRICES), "--max-cost", "0.06")
        made = len(server.requests)
        assert all(request["max_tokens"] == CAPPED_TOKENS for request in server.requests)
        assert done.return_value == 3
        assert "INCOMPLETE" in done.stdout
        assert (0.06 - WORST[1]) / PRICE <= made <= (0.06 - WORST[0]) / PRICE + 1
        assert f"{made} of 40 questions" in done.stdout
        spent = f"Spent ${made * PRICE:.3g} of --max-cost $0.06; the next call could cost $0.04"
        assert spent in " ".join(done.stdout.split())
        assert f"{made} calls" in done.stderr
        assert "of a $0.06 cap" in done.stderr
        (run,) = Path("runs").iterdir()
        assert json.loads((run / "judge_usage.json").read_bytes())["cost_usd"] == pytest.approx(made * PRICE)
        # The same cap lets nothing more through: what the first part cost counts.
        again = rag_eval(*EVALUATE, *judge_at(server, **PRICES), "--max-cost", "0.06", "--resume", run.name)
        assert again.exception is None, again.exception
        assert (again.return_value, len(server.requests)) == (3, made)
        higher = rag_eval(
            *EVALUATE, *judge_at(server, **PRICES), "--max-cost", "1", "--resume", run.name, "--json"
        )
        assert higher.return_value == 0
        assert len(server.requests) == 40
        document = json.loads(higher.stdout)
    assert document["runs"][0]["judgeUsage"]["cost_usd"] == pytest.approx(40 * PRICE)
    assert document["runs"][0]["metrics"]["faithfulness"]["n_scored"] == 40


def test_many_calls_at_once_wait_for_one_another_where_together_they_could_pass_the_cap() -> None:
    # The worst case of one call is above half of the cap, so they are made one by one: ten at 0.002 are 0.02.
    spending = Spending(0.068)
    with running_chat(lambda _: ChatReply(content="yes", usage=TOKENS, delay=0.02)) as server:
        model = OpenAIChatModel("scripted", base_url=server.url, **PRICES, spending=spending)
        from concurrent.futures import ThreadPoolExecutor

        with model, ThreadPoolExecutor(10) as pool:
            list(pool.map(lambda n: model.chat([Message("user", f"Ferry {n}?")]), range(10)))
        assert (server.most_at_once, len(server.requests)) == (1, 10)
    assert spending.charged == pytest.approx(10 * PRICE)


def test_a_call_that_nobody_answers_or_whose_tokens_are_not_told_counts_as_its_worst_case() -> None:
    # Bytes of the body and 200 at 1, and 100 tokens at 10 dollars a million: at least 0.0012.
    for reply, calls in ((hanging(), 0), (ChatReply(content="yes", usage={}), 1)):
        spending = Spending(1.0)
        with running_chat(lambda _, reply=reply: reply) as server:
            settings: dict[str, Any] = {"max_tokens": 100, "max_attempts": 1, "timeout": 0.2}
            model = OpenAIChatModel("m", base_url=server.url, **PRICES, **settings, spending=spending)
            with model, suppress(ModelError):  # the first has no reply
                model.chat([Message("user", "Is it so?")])
        assert 0.0012 < spending.charged < 0.0016
        assert spending.calls == calls


def test_what_is_refused_or_never_reached_costs_nothing() -> None:
    spending = Spending(1.0)
    with (
        OpenAIChatModel(
            "m", base_url="http://127.0.0.1:9", **PRICES, max_attempts=1, spending=spending
        ) as model,
        pytest.raises(ModelError),
    ):
        model.chat([Message("user", "Is it so?")])
    assert spending.charged == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--judge-model", "gpt-4o-mini"), "gpt-4o-mini has no price. Set its price"),
        ((), "no price given. Pass --price-input and"),
    ],
)
def test_a_cap_without_prices_is_refused_in_one_line_that_says_what_to_add(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], told: str
) -> None:
    write_ferries(folder, 2)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    done = rag_eval(*EVALUATE, *options, "--max-cost", "1")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith(f"--max-cost: {told}")
    assert "\n" not in str(done.exception)
    (folder / "ferry.md").write_text("# Ferry\n\nIt sails at nine.\n")
    generated = rag_eval("generate", ".", "--model", "m", "--max-cost", "1", "-o", "q.jsonl")
    assert "--price-input and --price-output" in str(generated.exception)


def test_a_manifest_caps_too_and_python_caps_a_judge_that_is_given(folder: Path) -> None:
    write_ferries(folder, 40, "    maxCost: 0.06\n")
    with running_chat(supported) as server:
        done = rag_eval(*EVALUATE, *judge_at(server, **PRICES))
        assert done.return_value == 3
        assert "of --max-cost $0.06; the next call" in " ".join(done.stdout.split())
        made = len(server.requests)
        with OpenAIChatModel("scripted", base_url=server.url, **PRICES) as model:
            rows = [json.loads(line) for line in Path("rag.jsonl").read_text().splitlines()]
            found = evaluate(rows, metrics=["faithfulness"], judge=Judge(model), max_cost=0.06)
            assert not found.outcome.completed
            assert found.outcome.remaining == 40 - found.counts.finished > 0
            assert len(server.requests) == made + found.counts.finished
            assert model.spending.calls == 0  # of the caller's own total nothing is taken
    with pytest.raises(UsageError, match="max_cost: optimist has no price"):
        evaluate(
            rows, metrics=["faithfulness"], judge=as_chat_model(lambda _: "", name="optimist"), max_cost=1
        )


def test_answers_of_a_target_with_prices_count_and_the_first_is_asked_alone(folder: Path) -> None:
    write_ferries(folder, 40)

    class Agent:
        name, prices = "agent", Prices(1, 10)

        async def answer(self, request: Request) -> Response:
            return Response(text="At nine.", usage=Usage(input_tokens=1000, output_tokens=100))

        async def close(self) -> None: ...

    # 0.002 an answer: 10 fit under 0.0205, and an eleventh would be 0.022.
    found = evaluate("rag.jsonl", target=Agent(), metrics=["string_match"], max_cost=0.0205)
    assert (found.counts.finished, found.outcome.completed) == (10, False)
    spending = Spending(0.0205)
    target = TargetSpending(spending, Prices(1, 10))
    held = target.hold()
    assert (held, target.hold()) == (0.0, None)
    target.settle(0.0, Usage(input_tokens=1000, output_tokens=100), is_answered=True)
    assert target.hold() == pytest.approx(PRICE)
    with pytest.raises(ModelOutageError, match="does not report its tokens"):
        target.settle(PRICE, None, is_answered=True)


def test_questions_are_generated_under_the_cap_too(folder: Path) -> None:
    for n in range(8):
        (folder / "docs").mkdir(exist_ok=True)
        (folder / "docs" / f"{n}.md").write_text(
            f"# Ferry {n}\n\nFerry {n} sails at nine from pier {n}, daily.\n"
        )
    usage = {"prompt_tokens": 1000, "completion_tokens": 4000}  # 0.041 dollars
    with running_chat(lambda _: ChatReply(content='{"questions": []}', usage=usage)) as server:
        options = (
            "--base-url",
            server.url,
            "--price-input",
            "1",
            "--price-output",
            "10",
            "--max-cost",
            "0.1",
        )
        done = rag_eval("generate", "docs", "--model", "m", *options, "-o", "q.jsonl")
        # Two at 0.041 are 0.082; a third could cost 0.041 and more.
        assert (done.return_value, len(server.requests)) == (3, 2)
    assert "spent $0.082 of --max-cost $0.1" in done.stderr
    assert "--resume" in done.stderr
