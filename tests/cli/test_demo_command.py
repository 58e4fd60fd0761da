"""``rag-eval demo``: one story in 25 lines, with figures of real runs, in a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from command_lines import rag_eval_ended
from kept_screens import check
from rag_evaluation_framework.cli import demo

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCUMENTS = ("fares.md", "refunds.md", "visitor-guide-zh.md")


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in; the example has three documents, and its commands run in this process."""
    shutil.copytree(EXAMPLES / "ferry", tmp_path / "examples" / "ferry")
    (tmp_path / "examples" / "handbook" / "documents").mkdir(parents=True)
    for name in DOCUMENTS:
        place = Path("handbook") / "documents" / name
        shutil.copy(EXAMPLES / place, tmp_path / "examples" / place)
    monkeypatch.setattr(demo, "_examples", lambda: tmp_path / "examples")

    def in_process(words: list[str], *, cwd: Path, **_: Any) -> subprocess.CompletedProcess[str]:
        return rag_eval_ended(*words[3:], folder=cwd)

    monkeypatch.setattr(demo, "subprocess", SimpleNamespace(run=in_process))
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


def test_story_fits_one_screen_and_shows_what_the_runs_say(short: Path) -> None:
    check("demo", 80, rag_eval_ended("demo", "--width", "80", folder=short).stdout)
    told = rag_eval_ended("demo", "--force", "--width", "140", folder=short)
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    check("demo", 140, told.stdout)
    assert max(map(len, lines)) <= 100  # it is no wider
    folder = short / "demo"
    kept = {path.name[2:-4]: path.read_text(encoding="utf-8") for path in folder.glob("[1256]-*.txt")}
    kept |= {path.name[0]: path.read_text(encoding="utf-8") for path in folder.glob("[34]-*.txt")}
    # With all documents the advice of the sweep has two lines; with three of them it has more.
    more = kept["retrieval"].partition("\n\n")[0].count("\n") - 1
    assert len(lines) <= 28 + more
    # The first paragraph of each command, as it stands in the folder.
    for text in (kept["retrieval"], kept["compare"]):
        for line in text.partition("\n\n")[0].splitlines()[:2]:
            assert f"   {line}" in lines
    assert {f"   {kept[number].splitlines()[0]}" for number in "34"} <= {*lines}
    assert "   ✗ FAILED: 1 of 13 answers is wrong: 1 retrieval miss." in lines
    assert "     line 3  A kayak costs 5.00 for each consignment." in lines
    assert "   ✓ PASSED: all 13 answers are correct." in lines
    assert f"   Report: {Path('demo') / 'report.html'} " in told.stdout
    assert "A handling charge" in (folder / "report.html").read_text(encoding="utf-8")
    # The commands on the right repeat the story where it was told.
    again = rag_eval_ended("compare", "002", "003", "--width", "97", folder=folder)
    assert again.stdout == kept["compare"]


def test_an_earlier_demo_is_replaced_when_asked_and_other_files_never(short: Path) -> None:
    (short / "demo").mkdir()
    (short / "demo" / "thesis.md").write_text("mine", encoding="utf-8")
    for words in (["demo"], ["demo", "--force"]):
        refused = rag_eval_ended(*words, folder=short)
        assert refused.returncode == 2
        assert "demo contains other files. Choose another folder" in refused.stderr
    assert (short / "demo" / "thesis.md").read_text(encoding="utf-8") == "mine"
    (short / "demo" / ".gitignore").write_text(demo._MARK, encoding="utf-8")
    refused = rag_eval_ended("demo", folder=short)
    assert (refused.returncode, "Replace it with --force" in refused.stderr) == (2, True)
