"""What acceptance tests share: an empty folder to work in, the commands, and a real agent."""

from __future__ import annotations

import runpy
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from fault_agent import RunningServer, running_server

from acceptance.outside import ROOT, Commands, console_command, in_process
from acceptance.projects import write_finished


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one, without anything of this machine in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "OPENAI_API_KEY", "OPENAI_BASE_URL", "LANGSMITH_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    return tmp_path


@pytest.fixture
def rag_eval(folder: Path, capfd: pytest.CaptureFixture[str]) -> Commands:
    return in_process(console_command("rag-eval").load(), capfd)


@pytest.fixture
def agentspec(folder: Path, capfd: pytest.CaptureFixture[str]) -> Commands:
    return in_process(console_command("agentspec").load(), capfd)


@pytest.fixture
def script(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Runs a file of ``scripts/``: its name, then its arguments."""

    def run(arguments: list[str]) -> None:
        path = str(ROOT / "scripts" / arguments[0])
        monkeypatch.setattr(sys, "argv", [path, *arguments[1:]])
        runpy.run_path(path, run_name="__main__")

    return in_process(run, capfd)


@pytest.fixture(scope="session")
def agent() -> Iterator[RunningServer]:
    """An agent behind a real server: it answers ``q`` with "The answer to q is café 42."."""
    with running_server() as running:
        yield running


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with finished runs, which no test may change.

    001 and 002 are before and after a change, 003 and 004 the halves of 001, 005 is a sweep over two
    chunkers, 006 and 007 are golden sets.
    """
    folder = tmp_path_factory.mktemp("finished")
    main = console_command("rag-eval").load()
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setenv("SOURCE_DATE_EPOCH", "0")
        for arguments in write_finished(folder):
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            assert ended.value.code in (0, 1), arguments
    return folder


@pytest.fixture
def project(finished: Path, folder: Path) -> Path:
    """The finished runs, in the current folder, which may be changed."""
    return Path(shutil.copytree(finished, folder, dirs_exist_ok=True))
