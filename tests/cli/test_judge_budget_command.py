"""``--judge-budget`` and ``--precision``: what is asked, shown, gated and refused."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, running_chat
from scripted_judge import found_supported, judge_at, read_question

from command_lines import rag_eval
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.cli.annotate import Drawing, open_desk

TOKENS = {"prompt_tokens": 1000, "completion_tokens": 100}
SCORE = ("score", "rows.jsonl", "-m", "faithfulness")
EVALUATE = ("evaluate", "agent.yaml", "--target", "rows.jsonl")
pytestmark = pytest.mark.usefixtures("folder")


def reply(asked: dict[str, Any]) -> ChatReply:
    """Say that piers above 80 are made up."""
    found = found_supported(
        read_question(asked), lambda claim: int(claim.rstrip(".").rpartition(" ")[2]) <= 80
    )
    return ChatReply(content=found, usage=TOKENS)


def project(count: int, more: str = "", *, wrong: float = 0.3) -> None:
    rng, rows = random.Random(2), []
    for number in range(count):
        pier = rng.randint(1, 40)
        said = pier if rng.random() > wrong else 90 + pier
        rows.append(
            {
                "input": f"Where does ferry {number} sail from?",
                "context": [f"Ferry {number} sails from pier {pier} at nine."],
                "expected": f"Pier {pier}.",
                "answer": f"Ferry {number} sails from pier {said}.",
            }
        )
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("agent.yaml").write_text(
        "spec:\n  evaluation:\n    datasets: [{name: rag, path: rows.jsonl, metrics: [faithfulness]}]\n"
        f"    thresholds: {{faithfulness: 0.62}}\n    ciGate: true\n{more}"
    )


def test_score_shows_how_many_were_judged_of_how_many_and_scores_a_run_in_part_too() -> None:
    project(150)
    with running_chat(reply) as server:
        judge = judge_at(server, max_attempts=1)
        done = rag_eval(*SCORE, *judge, "--judge-budget", "60")
        assert (done.return_value, len(server.requests)) == (0, 60), done.output
        assert "60 of 150" in done.stdout
        (run,) = Path("runs").iterdir()
        again = rag_eval("score", run.name, *SCORE[2:], *judge, "--judge-budget", "60", "--json")
        # The same samples are drawn, and their verdicts are remembered.
        assert (again.return_value, len(server.requests)) == (0, 60)
        figure = json.loads(again.stdout)["metrics"]["faithfulness"]
        first = json.loads((run / "results.json").read_text())["answer_quality_metrics"]["faithfulness"]
        assert (figure["value"], figure["n_scored"]) == (first["value"], 60)
        assert first["n_population"] == 150
        assert rag_eval("report", run.name, "-o", "page.html").exception is None
        merged = rag_eval("merge", run.name, run.name, "--out", "merged.results.json")
        assert "was judged in part, by a draw of its own" in str(merged.exception)


def test_the_gate_holds_the_corrected_mean_and_its_interval_and_too_few_verdicts_evaluate_nothing() -> None:
    project(200, wrong=0.39)
    with running_chat(reply) as server:
        given = (*EVALUATE, *judge_at(server, max_attempts=1), "--json")
        mean = json.loads(rag_eval(*given, "--judge-budget", "60").stdout)
        shown = rag_eval(*given[:-1], "--judge-budget", "60").stdout
        lower = json.loads(rag_eval(*given, "--judge-budget", "60", "--confidence", "lower-bound").stdout)
        few = json.loads(rag_eval(*given, "--judge-budget", "10").stdout)
    found = mean["runs"][0]["metrics"]["faithfulness"]
    assert (mean["ciGateResult"], found["n_scored"], found["n_population"]) == ("PASS", 60, 200)
    assert re.search(r"THRESHOLDS MET: \d+ of 200 answers are wrong; no threshold covers them", shown)
    assert found["confidence_interval"][0] < 0.62 < found["value"]
    assert lower["ciGateResult"] == "FAIL"
    assert few["ciGateResult"] == "FAIL"
    told = "10 verdicts are too few to estimate the mean of 200: 20 required"
    assert told in json.dumps(few["gate"])


def test_a_dry_run_predicts_no_more_than_the_budget_and_a_manifest_may_set_it() -> None:
    with running_chat(reply) as server:
        judge = f"    judge: {{model: scripted, url: '{server.url}', budget: 40, precision: 0.2}}\n"
        project(120, judge)
        plan = json.loads(rag_eval(*EVALUATE, "--dry-run", "--json").stdout)
        assert (plan["judgeCalls"], len(server.requests)) == (40, 0)
        assert plan["datasets"][0]["judgeBudget"] == {"calls": 40, "precision": 0.2}
        told = "Judge calls: at most 40 (the budget); it stops when every 95% CI is within 0.2"
        assert told in " ".join(rag_eval(*EVALUATE, "--dry-run").stdout.split())
        done = rag_eval(*EVALUATE)
        assert len(server.requests) == 40
        assert "40 of 120" in done.stdout
        (run,) = Path("runs").iterdir()
        assert json.loads((run / "head.json").read_text())["configuration"]["judge_budget"] == {
            "calls": 40,
            "precision": 0.2,
        }


def test_replies_that_have_to_be_repaired_never_pass_the_budget() -> None:
    project(100)
    calls = 0

    def stammering(asked: dict[str, Any]) -> ChatReply:
        nonlocal calls
        calls += 1
        return ChatReply(content="Hm.") if calls % 3 == 0 else reply(asked)

    with running_chat(stammering) as server:
        done = rag_eval(*SCORE, *judge_at(server, max_attempts=1), "--judge-budget", "45", "--json")
    assert (len(server.requests), done.return_value) == (45, 0)
    found = json.loads(done.stdout)["runs"][0]["metrics"]["faithfulness"]
    assert 20 <= found["n_scored"] < 40


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--judge-budget", "9"), "the options of a judge need --judge-model"),
        (("--precision", "0"), "0.0 is not in the range"),
    ],
)
def test_what_cannot_be_is_refused(given: tuple[str, ...], told: str) -> None:
    project(3)
    assert told in str(rag_eval(*SCORE, *given).exception)


def test_people_are_shown_what_is_drawn_and_the_rest_once_that_is_labelled() -> None:
    project(60)
    rag_eval(*SCORE)
    (run,) = Path("runs").iterdir()

    def shown() -> list[str]:
        desk = open_desk(run.name, annotator="anna", draw=Drawing(30))
        return [each["key"] for each in desk.head()["items"]]

    first = shown()
    assert (len(first), shown()) == (12, first)
    desk = open_desk(run.name, annotator="anna")
    for place, key in enumerate(first):
        scores = dict.fromkeys(("completeness", "accuracy", "relevance", "clarity", "conciseness"), place % 2)
        desk.save({"key": key, "part": "answer", "scores": scores, "finished": True, "seconds": 1.0})
    both = shown()
    assert (len(both), both[:12]) == (30, first)
    told = rag_eval("calibrate", run.name, "--drawn", "--json")
    assert told.exception is None
    with pytest.raises(UsageError, match="--draw: expected a run"):
        open_desk("rows.jsonl", annotator="anna", draw=Drawing(3))
