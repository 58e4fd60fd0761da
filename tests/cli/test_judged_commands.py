"""``evaluate`` and ``score`` with a judge behind a real server: a question, remembered and told."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, ChatServer, failing, hanging, running_chat
from scripted_judge import Reading, entries, found_supported, judging

from acceptance.projects import change, write_judged
from cases import tables_beside
from command_lines import rag_eval

TABLES = tables_beside(__file__)

# A parent that ignores Ctrl-C (a shell's background job) hands that down; the command must hear it anyway.
_PROGRAM = """
import signal
from rag_evaluation_framework.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
_EVALUATE = ["evaluate", "agent.yaml", "--target", "answers.jsonl"]


def verdict(reading: Reading) -> ChatReply | str:
    """Find support where the words of a claim stand in the evidence, and nothing wrong otherwise."""
    if reading.prompt.name == "claim_support":
        return found_supported(reading, lambda claim: claim in reading.texts["evidence 1"])
    return json.dumps({"reason": "polite", "label": "clean", "quote": ""})


@pytest.fixture
def project(folder: Path) -> Path:
    write_judged(folder, gate=False)
    return folder


def evaluated(*options: str) -> dict[str, Any]:
    done = rag_eval("evaluate", "agent.yaml", "--target", "answers.jsonl", "--json", *options)
    assert done.exception is None, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def judge_options(server: ChatServer) -> tuple[str, ...]:
    return ("--judge-model", "scripted", "--judge-url", server.url)


@pytest.mark.parametrize(("options", "message"), TABLES["options_without_a_judge"])
def test_senseless_options_of_a_judge_are_refused(
    project: Path, options: tuple[str, ...], message: str
) -> None:
    done = rag_eval("evaluate", "agent.yaml", "--target", "answers.jsonl", *options)
    assert message in str(done.exception)


def test_a_panel_votes_and_a_rubric_of_ones_own_is_graded_and_summed_here(project: Path) -> None:
    (project / "rubric.yaml").write_text(
        "name: short\nversion: 1\npass_at: 0.6\nfloor: 0.2\ncriteria:\n"
        "  - {name: truth, weight: 0.75, description: Is it true?}\n"
        "  - {name: style, weight: 0.25, description: Is it well put?}\n"
    )

    def graded(asked: dict[str, Any]) -> str:
        grade = 1 if asked["model"] == "kind" else 0.5
        return json.dumps({"criteria": entries(*({"reason": "so", "score": grade} for _ in range(2)))})

    with running_chat(graded) as server:
        models = ("--judge-model", "kind", "--judge-model", "strict", "--judge-model", "stern")
        document = evaluated("-m", "rubric", *models, "--judge-url", server.url, "--rubric", "rubric.yaml")
    figures = document["runs"][0]["metrics"]["rubric"]
    # Another rubric of that name is another method.
    assert re.fullmatch(r"judge:kind\+strict\+stern, rubric short \([0-9a-f]{6}\)", figures["method"])
    assert figures["value"] == 0.5  # the median of 1, 0.5 and 0.5 on both criteria
    assert len(server.requests) == 2 * 3


@pytest.mark.parametrize("status", [401, 404])
def test_a_judge_that_rejects_all_stops_the_run_and_a_resume_loses_nothing(
    project: Path, status: int
) -> None:
    with running_chat(lambda _: failing(status)) as server:
        done = rag_eval(*_EVALUATE, *judge_options(server))
        assert done.return_value == 3
        assert f"rejected the request (http-{status}" in " ".join(done.stdout.split())
    (run,) = Path("runs").iterdir()
    assert (run / "journal.jsonl").read_text() == ""
    with running_chat(judging(verdict)) as server:
        document = evaluated("--resume", run.name, *judge_options(server))
    assert document["metrics"]["faithfulness"] == 0.5
    assert document["runs"][0]["errors"] == 0


def test_to_interrupt_a_judge_that_hangs_ends_the_command_soon(project: Path) -> None:
    rag_eval(*_EVALUATE)
    (run,) = Path("runs").iterdir()
    with running_chat(lambda _: hanging()) as server:
        for command in (["score", run.name, "-m", "faithfulness", "-m", "bias"], _EVALUATE):
            asked = len(server.requests)
            program_running = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *command, *judge_options(server)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while len(server.requests) < asked + 2:
                time.sleep(0.05)
            program_running.send_signal(signal.SIGINT)
            assert program_running.wait(20) == 130


def test_a_plan_tells_the_methods_and_about_how_often_the_judge_is_asked(project: Path) -> None:
    panel = TABLES["panel"]
    document = evaluated("--dry-run", "-m", "faithfulness", "-m", "hallucination", "-m", "bias", *panel)
    # Two samples, two questions (faithfulness and hallucination ask the same), two models, three votes.
    assert document["judgeCalls"] == 2 * 2 * 2 * 3
    assert document["datasets"][0]["metrics"]["bias"] == "judge:a+b, 3 votes"
    assert evaluated("--dry-run", "-m", "faithfulness")["judgeCalls"] == 0
    shown = rag_eval(*_EVALUATE, "--dry-run", *panel).stdout
    assert "Judge calls: about 24," in shown
    assert "faithfulness (judge:a+b, 3 votes)" in " ".join(shown.split())


def test_a_judge_of_the_agents_own_family_is_warned_of(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    asked = ("evaluate", "agent.yaml", "--dry-run", "--target", "openai(model=gpt-4o)", "--judge-model")
    assert "judge gpt-4o-mini is of the same family as gpt-4o" in rag_eval(*asked, "gpt-4o-mini").stdout
    assert "same family" not in rag_eval(*asked, "claude-sonnet-4").stdout


def test_why_samples_have_no_score_stands_below_the_figures_and_in_the_documents(project: Path) -> None:
    shown = rag_eval(*_EVALUATE, "--markdown", "summary.md").stdout
    assert "  2 not scored: needs a judge (bias)\n" in shown
    assert "2 not scored: needs a judge (bias)" in (project / "summary.md").read_text().replace("\\", "")
    document = evaluated()
    assert document["runs"][0]["notScored"] == {
        "bias": [{"status": "skipped", "reason": "needs a judge", "count": 2}]
    }
    assert document["samples"][0]["notScored"]["bias"] == {"status": "skipped", "reason": "needs a judge"}
    rescored = rag_eval("score", document["runs"][0]["runId"], "-m", "bias", "-m", "refusal_recall").stdout
    assert "2 not scored: the sample expects an answer (refusal_recall)" in rescored


def test_the_method_stands_beside_each_check_of_the_gate(project: Path) -> None:
    change(project / "agent.yaml", "faithfulness, bias", "faithfulness")
    change(project / "agent.yaml", "ciGate: false", "ciGate: true")
    shown = rag_eval(*_EVALUATE, "--markdown", "summary.md", "--junit", "junit.xml", "--details").stdout
    assert re.search(r"faithfulness +\S+ +\[.*\] +>= \S+ +met +\d+  word overlap\n", shown)
    assert "  faithfulness  lexical support, screening" in shown
    assert re.search(r"\| faithfulness \|.*\| word overlap \|", (project / "summary.md").read_text())
    assert "(mean, lexical support, screening)" in (project / "junit.xml").read_text()


@pytest.mark.parametrize(("end", "kind"), [(43, None), (430, "wrong_citation")])
def test_causes_and_metrics_open_citations_in_the_dataset(project: Path, end: int, kind: str | None) -> None:
    dataset = TABLES["dataset"]
    (project / "boats.eval.json").write_text(json.dumps(dataset))
    answer = {
        "id": "q1",
        "answer": f"It returns at six [t.md:?:25-{end}].",
        "contexts": ["It returns at six."],
    }
    (project / "answers.jsonl").write_text(json.dumps(answer))
    (project / "agent.yaml").write_text(
        "spec:\n  evaluation:\n"
        "    datasets: [{name: boats, path: boats.eval.json}]\n"
        "    metrics: [citation_validity, citation_recall, faithfulness]\n"
    )
    document = evaluated("--allow-missing")
    is_open = float(kind is None)
    assert (document["metrics"]["citation_validity"], document["metrics"]["citation_recall"]) == (
        is_open,
        is_open,
    )
    scored = rag_eval("score", document["runs"][0]["runId"], "-m", "citation_validity", "--json")
    assert json.loads(scored.stdout)["metrics"]["citation_validity"]["value"] == is_open
    assert (document["samples"][0]["blame"] or {}).get("kind") == kind


def test_a_run_is_scored_once_though_its_figures_and_its_file_both_need_the_scores(project: Path) -> None:
    run = evaluated()["runs"][0]["runId"]
    with running_chat(lambda _: ChatReply(status=400)) as server:
        options = (*judge_options(server), "--out", "bias.results.json")
        done = rag_eval("score", run, "-m", "bias", *options)
    assert done.exception is None, done.output
    assert len(server.requests) == 2  # one for each answer: a failed question is not put again for the file
    assert (project / "bias.results.json").read_text().count("no verdict: http-400") == 2
