"""``compare --judge-model``: pairs of answers are drawn and judged, and tell how far apart two runs are."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, ChatServer, running_chat
from scripted_judge import found_supported, judge_at, read_question

from cases import tables_beside
from command_lines import rag_eval
from rag_evaluation_framework import UsageError, compare, load

TABLES = tables_beside(__file__)

METRIC = ("-m", "faithfulness")
pytestmark = pytest.mark.usefixtures("folder")


def is_made_up(claim: str) -> bool:
    return int(claim.rstrip(".").rpartition(" ")[2]) > 80


def reply(asked: dict[str, Any]) -> ChatReply:
    return ChatReply(content=found_supported(read_question(asked), lambda claim: not is_made_up(claim)))


def rows(*wrong: float, count: int, alike: float = 0.0) -> list[list[dict[str, Any]]]:
    """Write the answers of two systems, which err so often; a part of the second's are the first's."""
    rng, written = random.Random(4), []
    for number in range(count):
        pier = rng.randint(1, 40)
        said = [pier if rng.random() > each else 90 + pier for each in wrong]
        if rng.random() < alike:
            said[1] = said[0]
        begins = ("Ferry", "Ferry" if said[0] == said[1] else "Today ferry")
        written.append(
            [
                {
                    "id": f"q{number}",
                    "input": f"Where does ferry {number} sail from?",
                    "context": [f"Ferry {number} sails from pier {pier} at nine."],
                    "answer": f"{begins[run]} {number} sails from pier {each}.",
                }
                for run, each in enumerate(said)
            ]
        )
    return [list(each) for each in zip(*written, strict=True)]


def scored(*wrong: float, count: int, alike: float = 0.0) -> float:
    """Keep the runs of both systems, scored by words; return how far a judge would see them apart."""
    both = rows(*wrong, count=count, alike=alike)
    for number, each in enumerate(both):
        path = Path(f"answers{number}.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in each))
        assert rag_eval("score", str(path), *METRIC).return_value == 0
    right = [sum(not is_made_up(row["answer"]) for row in each) / count for each in both]
    return right[1] - right[0]


def compared(server: ChatServer, *given: str) -> dict[str, Any]:
    judge = judge_at(server, max_attempts=1)
    done = rag_eval("compare", "001", "002", *METRIC, *judge, "--json", *given)
    assert done.return_value == 0, done.output
    (metric,) = json.loads(done.stdout)["metrics"]
    found: dict[str, Any] = metric
    return found


def test_pairs_are_drawn_within_the_budget_and_the_interval_holds_the_difference_of_all() -> None:
    truth = scored(0.15, 0.45, count=200)
    with running_chat(reply) as server:
        found = compared(server, "--judge-budget", "120")
        asked = len(server.requests)
        judged = found["wins"] + found["ties"] + found["losses"]
        again = compared(server, "--judge-budget", "120")  # the same pairs, whose verdicts are remembered
        shown = rag_eval("compare", "001", "002", *METRIC, "--judge-model", "x", "--judge-url", server.url)
        first, second = (load(run) for run in sorted(Path("runs").glob("eval_run_*")))
        judge = judge_at(server, max_attempts=1)[1]
        in_python = compare(first, second, metrics="faithfulness", judge=judge, judge_budget=120)
    assert (asked <= 120, 40 <= judged <= 70) == (True, True)
    assert again == found
    assert in_python.metrics[0].difference == found["difference"]
    with pytest.raises(UsageError, match="compare: metrics is missing"):
        compare(first, second, judge=judge)
    with pytest.raises(UsageError, match="max_cost needs a judge"):
        compare(first, second, max_cost=1.0)
    assert (found["n"], found["test"]) == (200, f"t, {judged} of 200 pairs judged")
    assert found["interval"]["low"] < truth < found["interval"]["high"] < 0
    assert found["contender_mean"] - found["baseline_mean"] == pytest.approx(found["difference"])
    assert found["verdict"] == "worse"
    assert shown.exception is None


def test_answers_that_are_alike_take_half_the_calls_and_narrow_the_interval() -> None:
    truth = scored(0.2, 0.6, count=200, alike=0.7)
    with running_chat(reply) as server:
        found = compared(server, "--judge-budget", "90")
        assert len(server.requests) <= 90
    interval = found["interval"]
    assert interval["low"] < truth < interval["high"]
    # 90 calls of a plain sample are 45 pairs; it would be twice as wide.
    assert interval["high"] - interval["low"] < 0.1
    assert found["ties"] > 10


def test_it_stops_where_the_difference_is_told_narrowly_enough_and_without_a_budget_all_are_judged() -> None:
    truth = scored(0.1, 0.3, count=150)
    with running_chat(reply) as server:
        narrow = compared(server, "--precision", "0.1")
        some = len(server.requests)
        whole = compared(server)
    assert some < 300
    assert narrow["interval"]["high"] - narrow["interval"]["low"] <= 0.2
    assert whole["difference"] == pytest.approx(truth)
    assert whole["test"] != narrow["test"]
    assert whole["wins"] + whole["ties"] + whole["losses"] == 150


def test_pairs_whose_judging_fails_are_told_and_count_as_not_drawn() -> None:
    truth = scored(0.1, 0.5, count=120)

    def failing(asked: dict[str, Any]) -> ChatReply:
        claim = read_question(asked).several("claims")[0]
        return ChatReply(content="Hm.") if " 7 sails" in claim or " 8 sails" in claim else reply(asked)

    with running_chat(failing) as server:
        judge = ("--judge-model", "x", "--judge-url", server.url)
        done = rag_eval("compare", "001", "002", *METRIC, *judge, "--json")
    found = json.loads(done.stdout)
    assert 1 <= int(found["warnings"][0].split()[-2]) <= 2
    assert found["warnings"][0].startswith("judging failed for ")
    interval = found["metrics"][0]["interval"]
    assert interval["low"] <= truth <= interval["high"]


@pytest.mark.parametrize(("given", "told"), TABLES["options_that_do_not_fit"])
def test_what_cannot_be_is_refused(given: tuple[str, ...], told: str) -> None:
    scored(0.2, 0.3, count=6)
    assert told in str(rag_eval("compare", "001", "002", *METRIC, *given).exception)
