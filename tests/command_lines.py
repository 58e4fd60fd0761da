"""Runs commands for tests: in this process or in one of their own."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.testing import CliRunner, Result

from rag_evaluation_framework.cli.main import program


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def model(self, name: str) -> Any:
        """What the command printed about one of several models."""
        return next(model for model in self.json["models"] if model["model"] == name)


Command = Callable[..., Ended]


def invoked(command: click.Command, *arguments: str | Path) -> Result:
    """Run a command in this process; an error of ours is the result's exception."""
    return CliRunner().invoke(command, list(map(str, arguments)), standalone_mode=False)


def rag_eval(*arguments: str | Path) -> Result:
    """Run ``rag-eval`` in this process; an error of ours is the result's exception."""
    return invoked(program, *arguments)


def commands_next(screen: str) -> list[list[str]]:
    """Return the commands that stand after ``next:`` at the end of a screen, as a shell would read them."""
    told = screen.rpartition("\nnext:")[2]
    lines = re.sub(r" \\\n *", " ", told).splitlines()
    found = (re.search(r"\brag-eval (.*?)(?: {6}.*)?$", line) for line in lines)
    return [shlex.split(each[1]) for each in found if each is not None]


def rag_eval_process(
    *arguments: str, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``rag-eval`` in a process of its own."""
    started = "from rag_evaluation_framework.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", started, *arguments],
        cwd=folder,
        env={**(os.environ if environment is None else environment), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
