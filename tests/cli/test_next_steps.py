"""The hints and totals of a screen agree with its result, through the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command_lines import rag_eval, rag_eval_ended

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save_rows(path: Path, days: int, *, count: int = 12) -> str:
    rows = [
        {
            "question": f"How long may I keep item {number}?",
            "answer": f"For {days} days.",
            "checks": [{"contains": "27 days"}],
        }
        for number in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path.name


def test_next_step_names_the_manifest_by_its_path(folder: Path) -> None:
    shutil.copytree(EXAMPLES / "ferry", folder / "island_desk")
    done = rag_eval_ended(
        *(
            "evaluate",
            "island_desk/floor.yaml",
            "--target",
            "island_desk.ferry_agent:answer",
            "--allow-missing",
        ),
        folder=folder,
    )
    assert "Next: " in done.stdout, done.stderr
    assert "rag-eval evaluate island_desk/floor.yaml " in " ".join(done.stdout.replace("\\\n", "").split())


def test_score_hints_at_the_wrong_answers_if_any_is_wrong(folder: Path) -> None:
    right = rag_eval("score", save_rows(folder / "rows.jsonl", 27), "-m", "toxicity").stdout
    wrong = rag_eval("score", save_rows(folder / "rows.jsonl", 28), "-m", "toxicity").stdout
    assert "show all answers with their retrieved passages" in right
    assert "inspect the 12 wrong answers" in wrong
    assert "show all answers" not in wrong


def test_compare_says_that_answers_decided_if_no_metric_differs(folder: Path) -> None:
    for days in (27, 28):
        rag_eval("score", save_rows(folder / "rows.jsonl", days), "-m", "toxicity")
    shown = rag_eval("compare", "001", "002").stdout
    assert shown.startswith("Worse: 12 answers got worse, 0 got better.\n")
    assert "The verdicts of the answers decided this; no metric differs significantly." in shown


def test_failed_requests_of_a_repeated_run_are_not_called_questions(folder: Path) -> None:
    (folder / "silent.py").write_text("def answer(question):\n    raise RuntimeError('down')\n")
    data = save_rows(folder / "rows.jsonl", 27, count=2)
    options = ("--target", "silent:answer", "-m", "toxicity", "--repeats", "3")
    done = rag_eval_ended("evaluate", data, *options, folder=folder)
    assert "6 of 6 requests got no answer" in done.stdout, done.stderr
