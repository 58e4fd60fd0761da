"""How files are named that cannot be read as they are, and which are none of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_lines import rag_eval_ended

CHINESE = '{"question": "渡轮几点出发？", "answer": "早上九点从北码头出发"}\n'


@pytest.mark.parametrize(
    ("name", "content", "encoding", "called"),
    [
        ("log.jsonl", CHINESE, "gbk", "GBK"),
        ("log.jsonl", CHINESE, "utf-16", "UTF-16"),
        ("log.csv", "question,answer\n渡轮几点出发？,早上九点\n", "gbk", "GBK"),
        ("log.csv", "question,answer\nWhen?,At nine\n", "utf-16", "UTF-16"),
        ("log.eval.json", CHINESE, "utf-16", "UTF-16"),
    ],
)
@pytest.mark.parametrize("command", ["score", "validate", "stats"])
def test_another_encoding_is_named(
    tmp_path: Path, command: str, name: str, content: str, encoding: str, called: str
) -> None:
    (tmp_path / name).write_bytes(content.encode(encoding))
    done = rag_eval_ended(command, name, folder=tmp_path)
    assert done.returncode != 0
    told = done.stderr + done.stdout
    assert f"expected UTF-8 text, got {called}" in told
    assert "save it as UTF-8" in told


def test_a_field_that_is_nearly_ours_is_warned_of(tmp_path: Path) -> None:
    sample = {"input": "A?", "expected": "x", "tgas": ["a"], "mine": 1}
    (tmp_path / "samples.jsonl").write_text(json.dumps(sample) + "\n", encoding="utf-8")
    done = rag_eval_ended("validate", "samples.jsonl", folder=tmp_path)
    assert done.returncode == 0
    warning = 'samples.jsonl:1: warning: tgas: unknown field. Did you mean "tags"?'
    assert f"{warning} [misspelt-field]" in done.stdout
    assert "mine" not in done.stdout


def test_the_folders_of_runs_are_not_data(tmp_path: Path) -> None:
    rows = [{"question": "When?", "answer": "At nine.", "contexts": ["The ferry leaves at nine."]}]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert rag_eval_ended("score", "log.jsonl", folder=tmp_path).returncode == 0
    done = rag_eval_ended("validate", ".", folder=tmp_path)
    assert "runs/" not in done.stdout
    assert "in 1 file" in done.stdout
