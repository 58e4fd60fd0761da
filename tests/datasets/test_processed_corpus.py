"""Checking what a build left behind, and the texts behind it."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.datasets.split_build import (
    EvaluationConfig,
    build_splits,
    corpus_issues,
    split_issues,
)

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "check_processed_corpus.py"


def built(folder: Path) -> Path:
    paths = EvaluationConfig(
        root=folder,
        offline_dataset=ROOT / "examples" / "offline" / "offline_dataset.jsonl",
        qa_output=folder / "qa_pairs.jsonl",
        summaries_output=folder / "summaries.jsonl",
        manifest_output=folder / "manifest.json",
    )
    build_splits(paths, now=datetime(2025, 11, 4, tzinfo=UTC))
    return paths.manifest_output


def test_records_counts_and_digests_are_checked(tmp_path: Path) -> None:
    manifest = built(tmp_path)
    lines = (tmp_path / "qa_pairs.jsonl").read_text(encoding="utf-8").splitlines()
    changed = json.loads(lines[1])
    del changed["sources"]
    blank = json.loads(lines[2]) | {"reference_answer": " "}
    lines = [lines[0], json.dumps(changed), json.dumps(blank), "{"]
    (tmp_path / "qa_pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "summaries.jsonl").unlink()
    found = [(issue.code, issue.line, issue.path) for issue in split_issues(manifest)]
    assert found == [
        ("missing-field", 2, "sources"),
        ("empty-reference", 3, "reference_answer"),
        ("json-syntax", 4, ""),
        ("wrong-count", None, "splits.qa.count"),
        ("wrong-digest", None, "splits.qa.sha256"),
        ("missing-file", None, "splits.summaries.path"),
    ]


def test_texts_must_be_utf8_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "good.txt").write_text("渡轮", encoding="utf-8")
    (tmp_path / "deep" / "latin.txt").write_bytes("é".encode("latin-1"))
    (tmp_path / "empty.md").write_text(" \n", encoding="utf-8")
    (tmp_path / ".hidden").write_bytes(b"\xff")
    assert [(issue.code, Path(issue.file or "").name) for issue in corpus_issues(tmp_path)] == [
        ("invalid-utf8", "latin.txt"),
        ("empty-text", "empty.md"),
    ]
    assert [issue.code for issue in corpus_issues(tmp_path, pattern="*.pdf")] == ["empty-corpus"]


@pytest.mark.parametrize("pattern", ["/absolute/*.txt", ""])
def test_a_pattern_that_makes_no_sense_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(UsageError, match="expected a pattern such as"):
        list(corpus_issues(tmp_path, pattern=pattern))


def test_the_script_says_what_is_wrong_and_exits_with_2(tmp_path: Path) -> None:
    manifest = built(tmp_path)
    documents = ROOT / "examples" / "handbook" / "documents"
    command = [sys.executable, str(SCRIPT), "--manifest", str(manifest)]
    good = subprocess.run([*command, str(documents)], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stdout) == (0, "no problems\n")
    (tmp_path / "qa_pairs.jsonl").write_text("", encoding="utf-8")
    bad = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert [issue["code"] for issue in json.loads(bad.stdout)["issues"]] == ["wrong-count", "wrong-digest"]
    gone = subprocess.run(
        [*command[:-1], str(tmp_path / "gone.json")], capture_output=True, text=True, check=False
    )
    assert gone.returncode == 2
    assert "there is no file" in gone.stderr
    assert "gone.json" in gone.stderr
