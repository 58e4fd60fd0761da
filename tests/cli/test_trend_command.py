"""``rag-eval trend`` from the outside: the course of a metric, what was expected, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_lines import Command
from rag_evaluation_framework.cli.main import main

VALUES = (*(0.5, 0.6) * 4, 0.2)


def document(day: int, value: float, data: str = "d") -> dict[str, Any]:
    return {
        "evaluation_id": f"run_{day}",
        "timestamp": f"2026-11-{1 + day:02}T12:00:00+00:00",
        "dataset_id": data,
        "answer_quality_metrics": {"token_f1": {"value": value, "n_scored": 50, "method": "lexical"}},
    }


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose last of nine runs has fallen; one of its files is no results file."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "evaluation" / "results"
    folder.mkdir(parents=True)
    for each in [
        *(document(day, value) for day, value in enumerate(VALUES, start=1)),
        document(0, 0.9, "another"),
    ]:
        name = f"{each['dataset_id']}_{each['evaluation_id']}"
        written = {**each, "evaluation_id": name, "query_results": [{"query_id": "q"}]}
        (folder / f"{name}.results.json").write_text(json.dumps(written), encoding="utf-8")
    (folder / "broken.results.json").write_text("{", encoding="utf-8")
    return folder


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_screen_shows_course_and_expectation(stored: Path, to_the_end: Command, width: int) -> None:
    ended = to_the_end(main, "trend", "--width", str(width))
    assert ended.out == (
        "Worse: token_f1 is 0.20; expected [0.42, 0.68] after 8 runs.\n\n"
        "  metric    course     latest  expected      result  earlier runs  method\n"
        "  token_f1  ▆█▆█▆█▆█▁    0.20  [0.42, 0.68]  worse              8  word overlap\n"
        "  Expected: 95% prediction interval for the next run of an unchanged system.\n\n"
        "run d_run_9, dataset d\n"
        "Next: rag-eval compare d_run_8 d_run_9      inspect the changed answers\n"
    )


def test_it_exits_with_0_unless_worse_is_to_fail(stored: Path, to_the_end: Command) -> None:
    assert to_the_end(main, "trend").code == 0
    assert to_the_end(main, "trend", "--fail-on", "worse").code == 1
    steady = to_the_end(main, "trend", "--fail-on", "worse", "--dataset", "another")
    assert (steady.code, steady.out.splitlines()[0]) == (
        0,
        "Not enough history: 0 comparable earlier runs, 8 required.",
    )
    found = json.loads(to_the_end(main, "trend", "--json").out)
    assert [(each["metric"], each["verdict"]) for each in found["trends"]] == [("token_f1", "regression")]


def test_a_dataset_or_metric_that_there_is_not_is_told(stored: Path, to_the_end: Command) -> None:
    for arguments, told in (
        (("--dataset", "anothr"), 'unknown dataset "anothr". Did you mean "another"?'),
        (("-m", "token_f2"), 'unknown metric "token_f2". Did you mean "token_f1"?'),
        (
            ("--results-dir", "none"),
            "--results-dir: there is no folder none. Remove it to read the runs only.",
        ),
    ):
        ended = to_the_end(main, "trend", *arguments)
        assert (ended.code, ended.err) == (2, f"rag-eval: {told}\n")
