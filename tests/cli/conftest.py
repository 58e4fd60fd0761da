"""What the tests of commands share: an agent behind a real server, and commands run to their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fault_agent import RunningServer, running_server

from command_lines import Command, Ended
from rag_evaluation_framework.evaluation import attempts


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up soon on an agent that is not there; ``test_retries`` holds how long a run waits for one."""
    monkeypatch.setattr(attempts, "PATIENCE_AT_START", 0.2)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def to_the_end(capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs the ``main`` of a program, as a shell would, with the arguments that follow it."""

    def run(main: Any, *arguments: str | Path) -> Ended:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        return Ended(int(ended.value.code or 0), *capfd.readouterr())

    return run
