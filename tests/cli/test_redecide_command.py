"""``rag-eval redecide``: saved runs decided again by the present rules."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command_lines import rag_eval_ended
from rag_evaluation_framework import Evaluation, load

OLD = Path(__file__).parents[1] / "fixtures" / "runs_1_0_0"
RUN = "eval_run_20261118_001"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(shutil.copytree(OLD, tmp_path / "old"))
    monkeypatch.chdir(folder)
    return folder


def test_old_run_is_decided_again_and_keeps_its_answers(project: Path) -> None:
    journal = project / "runs" / RUN / "journal.jsonl"
    lines = len(journal.read_bytes().splitlines())
    ended = rag_eval_ended("redecide", RUN, "--json")
    assert ended.returncode == 0, ended
    (told,) = json.loads(ended.stdout)
    assert told["run"] == RUN
    assert sum(told["after"][grade] for grade in ("correct", "partly_correct", "wrong", "not_judged")) == 7
    assert len(journal.read_bytes().splitlines()) == 2 * lines
    assert all(b'"verdict"' in line for line in journal.read_bytes().splitlines()[lines:])
    document = json.loads((project / "runs" / RUN / "results.json").read_text(encoding="utf-8"))
    assert document["summary"]["answers"] == told["after"]
    loaded = load(project / "runs" / RUN)
    assert isinstance(loaded, Evaluation)
    assert loaded.answers.to_dict() == told["after"]


def test_second_redecision_changes_nothing(project: Path) -> None:
    first = json.loads(rag_eval_ended("redecide", RUN, "--json").stdout)[0]
    journal = (project / "runs" / RUN / "journal.jsonl").read_bytes()
    again = json.loads(rag_eval_ended("redecide", RUN, "--json").stdout)[0]
    assert again["before"] == again["after"] == first["after"]
    assert (project / "runs" / RUN / "journal.jsonl").read_bytes() == journal


def test_unknown_run_is_an_error(project: Path) -> None:
    ended = rag_eval_ended("redecide", "no_such_run")
    assert ended.returncode == 2
    assert "no_such_run" in ended.stderr
