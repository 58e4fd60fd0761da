"""``--dry-run`` says what the judge would cost: held against the bill of the run that follows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, ChatServer, running_chat
from scripted_judge import entries, judge_at, read_question

from command_lines import rag_eval
from rag_evaluation_framework.components import METHODS
from rag_evaluation_framework.evaluation.judge_forecast import FACTOR

INPUT, OUTPUT = 0.15, 0.6
RECORDED = ("evaluate", "agent.yaml", "--target", "rows.jsonl")
METRICS = ("-m", "faithfulness", "-m", "bias")


def tokens(text: str) -> int:
    """Count as tokenisers do: pieces of words, and signs by themselves."""
    return len(re.findall(r"[^\W_]{1,6}|[^\w\s]|_", text))


def reply(asked: dict[str, Any]) -> ChatReply:
    reading = read_question(asked)
    value: dict[str, Any] = {
        "quote": "",
        "reason": "Nothing unfair is said of anybody here.",
        "label": "clean",
    }
    if reading.prompt.name == "claim_support":
        said = reading.several("evidence")[0]
        found = {"evidence": 1, "quote": " ".join(said.split()[:8]), "label": "supported"}
        value = {"claims": entries(*(found for _ in reading.several("claims")))}
    if reading.prompt.name == "answer_class":
        value = {"reason": "It says that it does not know.", "label": "dont_know"}
    text = json.dumps(value)
    sent = sum(tokens(each["content"]) for each in asked["messages"])
    usage = {
        "prompt_tokens": sent + tokens(json.dumps(reading.prompt.schema)),
        "completion_tokens": tokens(text),
    }
    return ChatReply(content=text, usage=usage)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fifth answer has a second claim, which words know nothing of, and every tenth declines."""
    monkeypatch.chdir(tmp_path)
    rows = []
    for n in range(40):
        answer = f"Ferry {n} sails from pier {n % 7} at nine." + " Seals sing there." * (n % 5 == 0)
        rows.append(
            {
                "input": f"Where does ferry {n} sail from?",
                "context": [
                    f"Ferry {n} sails from pier {n % 7} at nine, but on Sundays at ten. " * (1 + n % 3)
                ],
                "expected": f"Pier {n % 7}.",
                "answer": "I do not know." if n % 10 == 9 else answer,
            }
        )
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("agent.yaml").write_text(
        "spec:\n  evaluation:\n    datasets: [{name: rag, path: rows.jsonl, metrics: [faithfulness]}]\n"
        "    ciGate: false\n"
    )


def priced(server: ChatServer) -> tuple[str, ...]:
    return judge_at(server, price_input=INPUT, price_output=OUTPUT)


def planned(*given: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(rag_eval(*RECORDED, "--dry-run", "--json", *given).stdout)
    return plan


def bill(*given: str) -> dict[str, Any]:
    done = rag_eval(*RECORDED, "--json", *given)
    assert done.return_value == 0, done.output
    run = sorted(Path("runs").iterdir())[-1]
    usage: dict[str, Any] = json.loads((run / "judge_usage.json").read_text())
    return usage


def test_the_bill_is_what_was_said_before_within_the_factor_and_nearer_once_replies_are_known() -> None:
    with running_chat(reply) as server:
        given = (*METRICS, *priced(server))
        plan = planned(*given)
        told = " ".join(rag_eval(*RECORDED, "--dry-run", *given).stdout.split())
        assert server.requests == []
        paid = bill(*given)
        assert plan["judgeCalls"] == len(server.requests) == paid["calls"]
        assert 1 / FACTOR < plan["judgeCostUsd"] / paid["cost_usd"] < FACTOR
        assert "Judge cost: about $" in told
        assert "assumed 80 characters per quote or reason" in told
        # The same again is remembered; with votes more, the replies so far say how long one is.
        again = planned(*given)["datasets"][0]["judge"]
        assert (again["calls"], again["costUsd"][1], again["remembered"]) == ([0, 0, 0], 0.0, paid["calls"])
        more = planned(*given, "--votes", "2")["datasets"][0]["judge"]
        assert (more["calls"][1], more["repliesSeen"]) == (paid["calls"], paid["calls"])
        assert more["outputTokens"] == pytest.approx(paid["output_tokens"], rel=0.05)


def test_the_factor_holds_too_where_every_word_is_a_token() -> None:
    with running_chat(lambda asked: ChatReply(content=reply(asked).content)) as server:
        plan = planned("-m", "faithfulness", *priced(server))
        paid = bill("-m", "faithfulness", *priced(server))
    assert 1 / FACTOR < plan["judgeCostUsd"] / paid["cost_usd"] < FACTOR


def test_without_a_price_it_says_so_and_what_to_write() -> None:
    with running_chat(reply) as server:
        given = (*METRICS, *judge_at(server))
        told = " ".join(rag_eval(*RECORDED, "--dry-run", *given).stdout.split())
        assert planned(*given)["judgeCostUsd"] is None
    assert "Judge cost: unknown, because scripted has no price; about" in told
    assert "--judge-model 'openai(model=scripted, price_input=…, price_output=…)'" in told


def test_a_file_of_answers_is_forecast_too_and_nothing_is_kept() -> None:
    with running_chat(reply) as server:
        given = ("score", "rows.jsonl", "-m", "faithfulness", *priced(server), "--dry-run")
        told = " ".join(rag_eval(*given).stdout.split())
        plan = json.loads(rag_eval(*given, "--json").stdout)
        assert plan["judgeCostUsd"] == pytest.approx(
            planned("-m", "faithfulness", *priced(server))["judgeCostUsd"]
        )
        assert (server.requests, Path("runs").exists()) == ([], False)
        assert [plan[name] for name in ("calls", "estimatedInputTokens", "estimatedOutputTokens")] == [0] * 3
        assert "expected a file of answers, got a run" in str(rag_eval("score", "001", *given[2:]).exception)
    assert "Dry run: would score 40 answers" in told
    assert "Judge cost: about $" in told


def test_a_budget_caps_the_calls_and_the_money() -> None:
    with running_chat(reply) as server:
        whole = planned("-m", "faithfulness", *priced(server))
        part = planned("-m", "faithfulness", *priced(server), "--judge-budget", "12")
    assert part["judgeCalls"] == 12
    assert part["judgeCostUsd"] == pytest.approx(whole["judgeCostUsd"] * 12 / whole["judgeCalls"], rel=0.01)


def test_a_cascade_tells_calls_and_money_of_each_stage_and_bounds_where_there_are_no_answers_yet() -> None:
    cascade = ("--support", "cascade(lexical, judge)", "-m", "faithfulness")
    with running_chat(reply) as server:
        given = (*cascade, *priced(server))
        told = " ".join(rag_eval(*RECORDED, "--dry-run", *given).stdout.split())
        found = planned(*given)["datasets"][0]["judge"]
        live = ("evaluate", "agent.yaml", "--url", "http://localhost:1", "--dry-run")
        open_ = json.loads(rag_eval(*live, "--json", *given).stdout)["datasets"][0]["judge"]
        shown = " ".join(rag_eval(*live, *given).stdout.split())
        paid = bill(*given)
    assert found["calls"] == [paid["calls"]] * 3
    assert 0 < paid["calls"] < 40
    assert found["claimsDecided"] == paid["decided"]
    assert 1 / FACTOR < found["costUsd"][1] / paid["cost_usd"] < FACTOR
    lexical, judged = paid["decided"].values()
    assert f"cascade: lexical {lexical} of {lexical + judged} claims, free; judge:scripted" in told
    # Before there are answers, words may decide everything or nothing.
    low, likely, high = open_["calls"]
    assert (low, high) == (0, 40)
    assert low < likely < high
    assert open_["costUsd"][0] == 0.0 < open_["costUsd"][1] < open_["costUsd"][2]
    assert "is known after the run, so 0–40 calls" in shown


class Coin:
    """Stands for a local model: dear to load, and it would decide half of what it is shown."""

    name, version = "coin", 1

    def decide(self, claims: Any, evidence: Any, *, question: str = "") -> Any:
        raise AssertionError("a dry run loads no model")


def test_a_local_model_is_not_tried_and_its_share_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS._entries, "coin", (lambda: Coin, None))
    with running_chat(reply) as server:
        cascade = "cascade(lexical(low=0.4, high=0.6), coin(low=0.1, high=0.9), judge)"
        given = ("-m", "faithfulness", "--support", cascade, *priced(server))
        words = planned(
            "-m", "faithfulness", "--support", "cascade(lexical(low=0.4, high=0.6), judge)", *given[4:]
        )
        found = planned(*given)["datasets"][0]["judge"]
        told = " ".join(rag_eval(*RECORDED, "--dry-run", *given).stdout.split())
    # What words leave open is the most that the judge is asked about.
    assert found["calls"][::2] == [0, words["judgeCalls"]]
    assert found["stagesNotTried"] == ["coin"]
    assert "cascade: coin was not run for this estimate; its decisions are free" in told
