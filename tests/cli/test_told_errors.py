"""What is told when something is wrong: what it is, then what to do; the exit code says who can mend it."""

from __future__ import annotations

import errno
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_lines import Command, commands_next, rag_eval
from rag_evaluation_framework.cli.main import main
from rag_evaluation_framework.errors import refused
from rag_evaluation_framework.results.journal import Journal

HERE = Path(__file__).parent
CASES = yaml.safe_load((HERE / "told_errors.yaml").read_text(encoding="utf-8"))
ASKED = ("evaluate", "agent.yaml", "--target", "ferry_agent:answer", "--allow-missing")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The ferry desk with one run, called as on 16 November 2026."""
    folder = tmp_path_factory.mktemp("told") / "ferry"
    shutil.copytree(HERE.parents[1] / "examples" / "ferry", folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        assert rag_eval(*ASKED).return_value == 1
    (run,) = (folder / "runs").iterdir()
    run.rename(run.with_name("eval_run_20261116_001"))
    yield folder
    sys.modules.pop("ferry_agent")  # others ask the same agent in another state


@pytest.fixture
def at_the_desk(desk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(desk)
    monkeypatch.syspath_prepend(str(desk))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return desk


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["command"])
def test_each_error_has_its_words(case: dict[str, Any], at_the_desk: Path, to_the_end: Command) -> None:
    if "edit" in case:
        source, target, old, new = case["edit"]
        text = (at_the_desk / source).read_text(encoding="utf-8")
        (at_the_desk / target).write_text(text.replace(old, new), encoding="utf-8")
    ended = to_the_end(main, *shlex.split(case["command"]))
    progress = re.compile(r"^passengers: .*\n", re.MULTILINE)
    assert progress.sub("", ended.err) == case["says"]
    assert (ended.code, ended.out) == (case.get("code", 2), "")


def test_a_full_disk_leaves_what_is_done_and_says_how_to_go_on(
    at_the_desk: Path, to_the_end: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Journal.append

    def full(journal: Journal, lines: bytes) -> None:
        if journal.path.read_bytes().count(b"\n") >= 8:
            raise refused("write", journal.path, OSError(errno.ENOSPC, "No space left on device"))
        written(journal, lines)

    monkeypatch.setattr(Journal, "append", full)
    stopped = to_the_end(main, *ASKED, "--concurrency", "1", "--runs-dir", "small")
    assert stopped.code == 3
    assert stopped.out.startswith("… INCOMPLETE: 8 of 13 questions were answered; the disk is full.")
    assert "Finished answers are saved and will not be requested again." in stopped.out
    (command,) = commands_next(stopped.out)
    monkeypatch.setattr(Journal, "append", written)
    assert to_the_end(main, *command).code == 1


def test_a_disk_that_is_full_from_the_start_can_be_tried_again(
    at_the_desk: Path, to_the_end: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise refused("write", "runs/head.json", OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr("rag_evaluation_framework.results.run_store._write_head", full)
    stopped = to_the_end(main, *ASKED)
    assert (stopped.code, stopped.out) == (3, "")
    assert stopped.err == (
        "rag-eval: the disk is full: cannot write runs/head.json\n"
        "          Free some space, then run the same command again.\n"
    )
