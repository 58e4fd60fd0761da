"""The check of wording: counts of rejected words may only fall, and commits have imperative subjects."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "check_voice.py"
CLEAN = '"""Return the mean."""\n\nMESSAGE = "The mean is missing."\n'
REJECTED = (
    '"""Whether it was told."""\n\nMESSAGE = "expected a number, got none"\n\n\ndef told() -> None: ...\n'
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project that has the check and one clean module."""
    for folder in ("scripts", "docs", "src/rag_evaluation_framework"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / "scripts")
    for page in ("README.md", "CONTRIBUTING.md"):
        (tmp_path / page).write_text("Run it.\n", encoding="utf-8")
    module(tmp_path).write_text(CLEAN, encoding="utf-8")
    check(tmp_path, "--write")
    return tmp_path


def module(project: Path) -> Path:
    return project / "src" / "rag_evaluation_framework" / "mean.py"


def check(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the check of a project."""
    command = [sys.executable, str(project / "scripts" / SCRIPT.name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_fails_when_a_count_rises(project: Path) -> None:
    assert check(project).returncode == 0
    module(project).write_text(REJECTED, encoding="utf-8")
    ended = check(project)
    assert ended.returncode == 1
    for expected in (
        "messages: 1 found, 0 allowed",
        "docstrings: 2 found, 0 allowed",
        "names: 1 found, 0 allowed",
    ):
        assert expected in ended.stdout
    check(project, "--write")
    assert check(project).returncode == 1, "a count that rose was written"


def test_check_shows_the_place_of_a_rejected_word(project: Path) -> None:
    module(project).write_text(REJECTED, encoding="utf-8")
    (project / "docs" / "page.md").write_text("Fine.\n`told` is code.\nIt was told.\n", encoding="utf-8")
    assert "src/rag_evaluation_framework/mean.py:3: got none" in check(project, "--show", "messages").stdout
    assert check(project, "--show", "docs").stdout.splitlines()[0] == "docs/page.md:3: told"


def test_check_lowers_a_count_that_fell(project: Path) -> None:
    counts = project / "scripts" / "voice_counts.json"
    counts.write_text(json.dumps({**json.loads(counts.read_text("utf-8")), "docs": 2}), encoding="utf-8")
    assert check(project, "--write").returncode == 0
    assert json.loads(counts.read_text("utf-8"))["docs"] == 0


@pytest.mark.parametrize(
    ("subject", "is_right"),
    [
        ("retrieval: Name the embedder in the sweep table", True),
        ("Labels and agreement in fewer steps", False),
        ("gate: Failed when an answer became wrong", False),
        ("gate: Fail when an answer became wrong.", False),
        (f"gate: Fail {'x' * 62}", False),
        (f"gate: Fail {'x' * 61}", True),
    ],
)
def test_check_rejects_subjects_of_commits(project: Path, subject: str, *, is_right: bool) -> None:
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
    ended = check(project, "--commits", "5")
    assert (ended.returncode == 0) is is_right
    assert (repr(subject) in ended.stdout) is not is_right
