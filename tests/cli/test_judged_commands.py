"""``evaluate`` and ``score`` with a judge behind a real server: what is asked, remembered, counted and told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatReply, ChatServer, running_chat
from click.testing import CliRunner, Result
from scripted_judge import Reading, entries, judging

from rag_evaluation_framework.cli.main import program

SAMPLES = [
    {
        "input": "How long may a lamp be returned?",
        "expected": "Within 30 days.",
        "context": ["A lamp may be sent back within 30 days."],
    },
    {
        "input": "Who repairs switches?",
        "expected": "The workshop in Lyon.",
        "context": ["Switches are repaired in Lyon."],
    },
]
ANSWERS = ["A lamp may be sent back within 30 days.", "Switches are repaired in Paris."]


def verdict(reading: Reading) -> ChatReply | str:
    """Find support where the words of a claim stand in the evidence, and nothing wrong otherwise."""
    if reading.prompt.name == "claim_support":
        evidence = reading.several("evidence")
        found = [
            {"label": "supported", "evidence": 1, "quote": claim}
            if claim in evidence[0]
            else {"label": "unsupported", "evidence": 1, "quote": ""}
            for claim in reading.several("claims")
        ]
        return json.dumps({"claims": entries(*found)})
    return json.dumps({"reason": "polite", "label": "clean", "quote": ""})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rag.jsonl").write_text("".join(json.dumps(each) + "\n" for each in SAMPLES))
    answers = [{"input": each["input"], "answer": said} for each, said in zip(SAMPLES, ANSWERS, strict=True)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(each) + "\n" for each in answers))
    return tmp_path


def manifest(project: Path, judge: str = "", *, gate: bool = False) -> None:
    (project / "agent.yaml").write_text(
        "spec:\n  evaluation:\n"
        "    datasets: [{name: rag, path: rag.jsonl, metrics: [faithfulness, bias]}]\n"
        "    thresholds: {faithfulness: 0.4}\n"
        f"    ciGate: {str(gate).lower()}\n{judge}"
    )


def rag_eval(*arguments: str) -> Result:
    return CliRunner().invoke(program, list(arguments), standalone_mode=False)


def evaluated(*options: str) -> dict[str, Any]:
    done = rag_eval("evaluate", "agent.yaml", "--target", "answers.jsonl", "--json", *options)
    assert done.exception is None, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def judge_options(server: ChatServer) -> tuple[str, ...]:
    return ("--judge-model", "scripted", "--judge-url", server.url)


def test_the_judge_scores_what_only_it_can_and_its_name_stands_beside_the_figures(project: Path) -> None:
    manifest(project)
    with running_chat(judging(verdict)) as server:
        document = evaluated(*judge_options(server))
    figures = document["runs"][0]["metrics"]
    assert figures["faithfulness"]["method"] == figures["bias"]["method"] == "judge:scripted"
    assert (figures["faithfulness"]["value"], figures["bias"]["value"]) == (0.5, 1.0)
    # one question for the claims of each answer, and one for its bias
    assert len(server.requests) == 4


def test_what_was_judged_once_is_not_asked_again_by_any_command(project: Path) -> None:
    manifest(project)
    with running_chat(judging(verdict)) as server:
        run = evaluated(*judge_options(server))["runs"][0]["runId"]
        asked = len(server.requests)
        again = rag_eval("score", run, "-m", "hallucination", *judge_options(server), "--json")
    assert json.loads(again.stdout)["metrics"]["hallucination"]["value"] == 0.5
    assert len(server.requests) == asked
    assert "judge:scripted: 0 calls" in again.stderr


def test_the_manifest_may_name_the_judge_and_the_command_may_name_another(project: Path) -> None:
    with running_chat(judging(verdict)) as server:
        manifest(project, f"    judge: {{model: written, url: '{server.url}'}}\n", gate=True)
        assert evaluated()["runs"][0]["metrics"]["bias"]["method"] == "judge:written"
        other = evaluated("--judge-model", "said", "--judge-url", server.url)
    assert other["runs"][0]["metrics"]["bias"]["method"] == "judge:said"


def test_a_judge_that_talks_nonsense_fails_the_score_and_never_makes_one_up(project: Path) -> None:
    manifest(project)
    with running_chat(lambda _: "I would rather not say.") as server:
        document = evaluated(*judge_options(server))
    figures = document["runs"][0]["metrics"]["faithfulness"]
    assert (figures["value"], figures["n_scored"], figures["n_failed"]) == (None, 0, 2)
    assert "no verdict: not-json" in document["samples"][0]["error"]


def test_a_run_goes_on_only_with_the_judge_it_began_with(project: Path) -> None:
    manifest(project)
    with running_chat(judging(verdict)) as server:
        run = evaluated(*judge_options(server))["runs"][0]["runId"]
        resumed = ("evaluate", "agent.yaml", "--target", "answers.jsonl", "--resume", run)
        refused = rag_eval(*resumed)
    assert "expected faithfulness by judge:scripted, got lexical support, screening" in str(refused.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--votes", "3"), "expected --judge-model beside the other options of a judge"),
        (("--judge-model", "cohere(model=x)"), "expected a model's name or openai"),
        (("--judge-model", "openai(model=x, modle=y, base_url='http://localhost:1')"), "modle"),
    ],
)
def test_options_of_a_judge_that_make_no_sense_are_told(
    project: Path, options: tuple[str, ...], message: str
) -> None:
    manifest(project)
    done = rag_eval("evaluate", "agent.yaml", "--target", "answers.jsonl", *options)
    assert message in str(done.exception)


def test_a_panel_votes_and_a_rubric_of_ones_own_is_graded_and_summed_here(project: Path) -> None:
    (project / "rubric.yaml").write_text(
        "name: short\nversion: 1\npass_at: 0.6\nfloor: 0.2\ncriteria:\n"
        "  - {name: truth, weight: 0.75, description: Is it true?}\n"
        "  - {name: style, weight: 0.25, description: Is it well put?}\n"
    )
    manifest(project)

    def graded(asked: dict[str, Any]) -> str:
        grade = 1 if asked["model"] == "kind" else 0.5
        return json.dumps({"criteria": entries(*({"reason": "so", "score": grade} for _ in range(2)))})

    with running_chat(graded) as server:
        models = ("--judge-model", "kind", "--judge-model", "strict", "--judge-model", "stern")
        document = evaluated("-m", "rubric", *models, "--judge-url", server.url, "--rubric", "rubric.yaml")
    figures = document["runs"][0]["metrics"]["rubric"]
    assert figures["method"] == "judge:kind+strict+stern, rubric short"
    assert figures["value"] == 0.5  # the median of 1, 0.5 and 0.5 on both criteria
    assert len(server.requests) == 2 * 3
