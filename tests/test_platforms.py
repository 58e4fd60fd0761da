"""Windows and macOS, as far as they can be shown here: with the names hidden that those systems lack."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

from rag_evaluation_framework.files import atomic
from rag_evaluation_framework.files.atomic import atomic_group, recover, write_bytes_atomically
from test_architecture import MODULES, PACKAGE, outline

ONLY_POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"}
HAVE_ANOTHER_WAY = {"files/atomic.py": {"fcntl"}}
"""What locks by it here locks by filelock elsewhere, as is tried below."""

# Taken away before the package is imported, as on Windows; what the standard library and the lock library
# need of them here they have by then.
HIDING = """
    import asyncio, concurrent.futures, ctypes, getpass, multiprocessing.connection, os, platform, signal
    import socket, subprocess, sys, tempfile
    import filelock, numpy

    for name in {modules!r}:
        sys.modules[name] = None
    for name in (
        "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fork forkpty geteuid getgid "
        "getloadavg getpgid getuid killpg mkfifo pread pwrite sched_getaffinity setsid statvfs sysconf uname "
        "wait3 wait4"
    ).split():
        delattr(os, name)
    for name in "SIGALRM SIGHUP SIGKILL SIGUSR1 SIGUSR2 alarm pthread_sigmask setitimer sigwait".split():
        delattr(signal, name)
"""

WORKING = """
    import importlib, pkgutil
    import rag_evaluation_framework as package

    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "__main__" not in module.name:
            importlib.import_module(module.name)

    from rag_evaluation_framework.cli.main import main

    def run(*words):
        try:
            main(list(words))
        except SystemExit as end:
            return end.code or 0

    rows = [{"question": "When?", "answer": "At nine.", "contexts": ["It leaves at nine."]}] * 3
    assert package.evaluate(rows, metrics=["faithfulness"]).metrics["faithfulness"].value == 1.0
    assert run("evaluate", "--target", "ferry_agent:faulty", "--workers", "2") == 1
    assert run("evaluate", "--target", "ferry_agent:fixed", "--baseline", "001") == 0
    assert run("runs") == 0
    assert run("report", "001", "002") == 0
    print("done")
"""


def test_no_module_needs_what_only_posix_has() -> None:
    for module in MODULES:
        read = outline(module)
        for node in (*read.top, *read.inside, *read.elsewhere):
            names = (
                [each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            )
            found = {name.partition(".")[0] for name in names} & ONLY_POSIX
            place = module.relative_to(PACKAGE).as_posix()
            assert found <= HAVE_ANOTHER_WAY.get(place, set()), f"{place}: {found}"


def test_everything_is_imported_and_a_run_is_made_where_those_names_are_missing(tmp_path: Path) -> None:
    ferry = Path(__file__).parents[1] / "examples" / "ferry"
    for name in ("agent.yaml", "ferry_agent.py", "evals/passengers.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ferry / name).read_bytes())
    program = textwrap.dedent(HIDING.format(modules=sorted(ONLY_POSIX))) + textwrap.dedent(WORKING)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.stdout.endswith("done\n"), done.stderr
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_files_are_closed_before_they_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_CLOSED_FIRST", True)
    renamed = Path.replace
    opened: list[str] = []

    def as_on_windows(self: Path, target: Path) -> Path:
        links = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
        opened.extend(link for link in links if link == str(self))
        return renamed(self, target)

    if Path("/proc/self/fd").is_dir():
        monkeypatch.setattr(Path, "replace", as_on_windows)
    write_bytes_atomically(tmp_path / "a.json", b"1")
    with atomic_group((tmp_path / "a.json", tmp_path / "b.json")) as (first, second):
        first.write(b"2")
        second.write(b"3")
    assert not opened
    assert ((tmp_path / "a.json").read_bytes(), (tmp_path / "b.json").read_bytes()) == (b"2", b"3")
    # What somebody may be about to rename is left alone; what is old is nobody's.
    young, old = (tmp_path / f".rag-eval-{digit * 16}.tmp" for digit in "ab")
    for path in (young, old):
        path.write_bytes(b"left")
    os.utime(old, (0, 0))
    recover(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [young.name, "a.json", "b.json"]


def test_the_job_file_names_three_systems_and_what_there_is() -> None:
    root = Path(__file__).parents[1]
    text = (root / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    systems = {name.partition("-")[0] for name in jobs["systems"]["strategy"]["matrix"]["os"]}
    assert systems == {"ubuntu", "macos", "windows"}
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    for word in " ".join(lines).split():
        if word.startswith(("tests/", "examples/", ".ci/")):
            assert (root / word).exists(), word
