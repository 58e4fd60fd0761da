"""Runs commands for tests: in this process or in one of their own."""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
from click.testing import CliRunner, Result

from rag_evaluation_framework.cli.main import main, program


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
    told = screen.rpartition("\nNext:")[2]
    lines = re.sub(r" \\\n *", " ", told).splitlines()
    found = (re.search(r"\brag-eval (.*?)(?: {6}.*)?$", line) for line in lines)
    return [shlex.split(each[1]) for each in found if each is not None]


def rag_eval_ended(
    *arguments: str, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``rag-eval`` to its end as :func:`rag_eval_process` does, in this process: a second or two less."""
    return _ended(lambda: main(list(arguments)), ["rag-eval", *arguments], folder, environment)


def ok(folder: Path, *arguments: str) -> str:
    """Run ``rag-eval`` in a folder, where it has to end well, and return what it prints."""
    done = rag_eval_ended(*arguments, folder=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def script_ended(name: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of the project to its end, in this process."""
    return file_ended(Path(__file__).parents[1] / "scripts" / f"{name}.py", *arguments, folder=folder)


def file_ended(
    path: Path, *arguments: str, folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a file of Python to its end, in this process."""
    run, argv = partial(runpy.run_path, str(path), run_name="__main__"), [str(path), *arguments]
    return _ended(run, argv, folder, environment)


def _ended(
    run: Callable[[], object], argv: list[str], folder: Path | None, environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    code, place, paths, modules = 0, folder or Path.cwd(), list(sys.path), set(sys.modules)
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch, chdir(place), redirect_stdout(out), redirect_stderr(err):
        wanted = dict(before if environment is None else environment)
        os.environ.clear()
        os.environ.update(wanted)
        patch.setattr(sys, "argv", argv)
        try:
            run()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:  # also without what was set meanwhile
            os.environ.clear()
            os.environ.update(before)
    # What was imported from the folder is another project's when the next command runs.
    sys.path[:] = paths
    for name in sys.modules.keys() - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(place)):
            del sys.modules[name]
    said = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(argv, code, *said)


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
