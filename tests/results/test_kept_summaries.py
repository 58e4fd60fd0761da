"""Lists of many runs tell what each folder keeps, also of a copy, and believe no figures against a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_lines import ok
from rag_evaluation_framework import evaluate


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A directory of four runs over three questions, three of them copied."""
    rows = [{"id": f"q{at}", "input": f"{at}?", "expected": "yes"} for at in range(3)]
    gate, runs = {"string_match": 0.5}, tmp_path / "runs"
    evaluate(rows, target=lambda _: "yes", metrics=["string_match"], gate=gate, runs_directory=runs)
    (first,) = runs.iterdir()
    for number in range(2, 5):
        shutil.copytree(first, runs / f"{first.name[:-3]}{number:03}")
    return runs


def listed(runs: Path, what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ok(runs.parent, what, "--json"))
    return found


def test_copied_runs_are_listed_like_the_first(runs: Path) -> None:
    states = [(each["state"], each["done"], each["total"]) for each in listed(runs, "runs")]
    assert states == [("complete", 3, 3)] * 4
    results = listed(runs, "results")
    assert [(each["answers"]["correct"], each["verdict"]) for each in results] == [(3, "passed")] * 4


def test_a_run_that_lost_a_line_is_incomplete_in_the_next_list(runs: Path) -> None:
    torn = sorted(runs.iterdir())[2]
    lines = (torn / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (torn / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    states = {each["run_id"]: each["state"] for each in listed(runs, "runs")}
    assert list(states.values()).count("complete") + 1 == len(listed(runs, "runs"))


@pytest.mark.parametrize("written", ["", "{", "[]", '{"version": "0"}\n'])
def test_figures_that_cannot_be_used_are_made_again(runs: Path, written: str) -> None:
    before = listed(runs, "runs"), listed(runs, "results")
    for path in runs.glob("*/figures.json"):
        path.write_text(written, encoding="utf-8")
    assert (listed(runs, "runs"), listed(runs, "results")) == before
