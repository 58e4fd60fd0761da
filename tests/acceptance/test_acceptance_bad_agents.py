"""What `rag-eval init` requires catches seven bad agents, and calls no answer of the right one wrong."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from acceptance.outside import Commands, Ended

HUTS = Path(__file__).parent / "huts"
BAD = (
    "another_town",
    "wrong_numbers",
    "empty_half",
    "dont_know_half",
    "whole_corpus",
    "whole_passage",
    "never_refuses",
)


@pytest.fixture
def project(folder: Path, rag_eval: Commands, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The handbook's questions, with the thresholds that `rag-eval init` writes."""
    monkeypatch.syspath_prepend(str(HUTS.parent))
    shutil.copytree(HUTS, folder / "huts")
    rag_eval("init", "begun", "--docs", "huts/documents").ok()
    begun = yaml.safe_load(Path("begun/agent.yaml").read_text(encoding="utf-8"))["spec"]["evaluation"]
    assert begun["thresholds"] == {"correct": {"min": "90%"}, "wrong": {"max": 0}, "latency": {"max": 10000}}
    assert begun["ciGate"] is True
    rows = Path("begun/evals/first.jsonl").read_text(encoding="utf-8").splitlines()
    assert "Refusal" in [json.loads(row)["expected"] for row in rows]
    manifest = yaml.safe_load((folder / "huts" / "agent.yaml").read_text(encoding="utf-8"))
    manifest["spec"]["evaluation"] |= {
        "thresholds": begun["thresholds"],
        "ciGate": True,
        "metrics": [*manifest["spec"]["evaluation"]["metrics"], "latency"],
    }
    (folder / "huts" / "agent.yaml").write_text(yaml.safe_dump(manifest), encoding="utf-8")
    return folder


def ask(rag_eval: Commands, agent: str, *options: str) -> Ended:
    return rag_eval("evaluate", "huts/agent.yaml", "--target", f"bad_agents:{agent}", *options)


@pytest.mark.parametrize("agent", BAD)
def test_bad_agent_under_the_thresholds_of_init_does_not_pass(
    agent: str, rag_eval: Commands, project: Path
) -> None:
    ended = ask(rag_eval, agent)
    assert ended.code == 1
    first = ended.out.splitlines()[0]
    assert first.startswith(("✗ FAILED: ", "? UNDECIDED: ", "FAILED: ", "UNDECIDED: "))
    assert len(first) <= 90
    said = ("wrong", "not judged", "should be refused", "partly correct", "none of the expected words")
    assert any(reason in first for reason in said), first
    assert "✓" not in first


def test_right_agent_under_the_thresholds_of_init_never_fails(rag_eval: Commands, project: Path) -> None:
    document = ask(rag_eval, "correct_agent", "--json").json
    assert document["gate"]["word"] in ("passed", "undecided")
    (limit,) = (row for row in document["gate"]["rows"] if row["metric"] == "wrong")
    assert (limit["number"], limit["status"]) == (0, "met")


def test_first_run_with_wrong_answers_shows_what_accepts_them(rag_eval: Commands, project: Path) -> None:
    shown = ask(rag_eval, "empty_half").out
    accepted = re.search(r"^ +(correct: \{min: \d+%\}, wrong: \{max: \d+\})$", shown, re.MULTILINE)
    assert accepted is not None, shown
    assert "{max: " not in ask(rag_eval, "empty_half").out
    manifest = yaml.safe_load((project / "huts" / "agent.yaml").read_text(encoding="utf-8"))
    limits = yaml.safe_load(f"{{{accepted[1]}}}")
    manifest["spec"]["evaluation"]["thresholds"] |= limits
    (project / "huts" / "agent.yaml").write_text(yaml.safe_dump(manifest), encoding="utf-8")
    ended = ask(rag_eval, "empty_half").ok()
    assert re.search(r"PASSED: \d+ of 30 answers are wrong; the gate allows \d+\.", ended.out)
