"""Windows and macOS, as far as they can be shown here: with the names hidden that those systems lack."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cases import tables_beside
from rag_evaluation_framework.files import atomic
from rag_evaluation_framework.files.atomic import atomic_group, recover, write_bytes_atomically
from test_architecture import MODULES, PACKAGE, outline

TABLES = tables_beside(__file__)

ONLY_POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "termios", "tty"}
HAVE_ANOTHER_WAY = {"files/atomic.py": {"fcntl"}}
"""What locks by it here locks by filelock elsewhere, as is tried below."""

# Taken away before the package is imported, as on Windows; what the standard library and the lock library
# need of them here they have by then.
HIDING = TABLES["hiding"]

WORKING = TABLES["working"]


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
    program = HIDING.format(modules=sorted(ONLY_POSIX)) + WORKING
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
