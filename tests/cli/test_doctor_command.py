"""``rag-eval doctor``, ``rag-eval completion`` and ``python -m``: what helps people who are stuck."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fault_agent import RunningServer

from acceptance.projects import change
from cases import tables_beside
from command_lines import rag_eval_ended
from rag_evaluation_framework.evaluation.diagnosis import EXTRAS, extras_installed
from rag_evaluation_framework.reports.blocks import cells
from rag_evaluation_framework.version import __version__

TABLES = tables_beside(__file__)

CONFIG = Path("data", "config")
MANIFEST = "api: {}  # url: http://localhost:4000"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("begun")
    assert rag_eval_ended("init", folder=folder).returncode == 0
    return folder


@pytest.fixture
def project(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    return tmp_path


def doctor(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    done = rag_eval_ended("doctor", "--width", "140", *arguments, folder=folder)
    return done.returncode, done.stdout.splitlines()


def test_a_new_project_is_sound(project: Path) -> None:
    code, lines = doctor(project / "data")
    assert code == 0
    assert lines[0].startswith(f"  ✓ rag-eval {__version__}, Python 3.")
    assert "  ✓ ../agent.yaml is valid. It has no agent: pass --url or --target." in lines
    assert lines[2].startswith("  ✓ ../runs/ is writable, ")
    assert "  – judge      OPENAI_API_KEY is not set: metrics that need a judge are skipped" in lines
    assert "  ✓ ../data/evaluation/datasets: 1 valid dataset" in lines
    assert lines[-1] == "No problems."
    assert not (project / "runs").exists()


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_longer_than_the_screen(project: Path, width: int) -> None:
    done = rag_eval_ended("doctor", "--details", "--width", str(width), folder=project)
    assert max(map(cells, done.stdout.splitlines())) <= width


@pytest.mark.parametrize(("file", "old", "new", "told"), TABLES["a_wrong_setting_is_named_with_its_line"])
def test_a_wrong_setting_is_named_by_line(project: Path, file: str, old: str, new: str, told: str) -> None:
    path = CONFIG / f"{file}.config.yaml"
    change(project / path, old, new)
    code, lines = doctor(project)
    assert code == 2
    assert any(line.startswith(f"  ✗ {path}{told}") for line in lines), lines
    assert lines[-1] == "1 problem"


def test_everything_that_is_wrong_is_said_at_once(project: Path) -> None:
    change(project / "agent.yaml", "ciGate", "CIGate")
    datasets = project / "data" / "evaluation" / "datasets"
    (datasets / "broken.eval.json").write_text('{"dataset_id": ', encoding="utf-8")
    shutil.copy(next(datasets.glob("sample*")), datasets / "again.eval.json")
    (project / CONFIG / "evaluation_default.config.yaml").write_text("seed: 1\n", encoding="utf-8")
    shutil.rmtree(project / "data" / "benchmarks")
    (project / "data" / "benchmarks").write_text("in the way", encoding="utf-8")
    code, lines = doctor(project)
    told = "\n".join(lines)
    assert code == 2
    assert re.search(r"agent\.yaml:\d+: unknown key \"CIGate\" in spec\.evaluation", told)
    assert "broken.eval.json" in told
    assert "again.eval.json" in told
    assert "data/benchmarks" in told
    assert "Did you mean evaluation_defaults.config.yaml?" in " ".join(told.split())
    assert lines[-1] == f"{told.count('  ✗ ')} problems"


def test_an_agent_is_asked_and_one_gone_is_named(
    project: Path, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-of-mine")
    manifest = project / "agent.yaml"
    change(manifest, MANIFEST, f"api: {{url: '{server.url}'}}")
    before = server.log()["received"]
    code, lines = doctor(project)
    assert (code, server.log()["received"] - before) == (0, 1)
    assert f"agent.yaml is valid. The agent at {server.url} replied in 0." in lines[1]
    assert "  ✓ OPENAI_API_KEY is set" in lines
    assert "sk-a-secret" not in "\n".join(lines)
    change(manifest, server.url, "http://127.0.0.1:9")
    code, lines = doctor(project)
    assert code == 3
    assert lines[2].startswith("  ✗ No answer from http://127.0.0.1:9: ")
    assert lines[2].endswith("rag-eval probe http://127.0.0.1:9")
    code, lines = doctor(project, "--offline")
    assert (code, lines[-1]) == (0, "No problems.")
    change(manifest, "http://127.0.0.1:9", "$env:NO_SUCH_VARIABLE")
    code, lines = doctor(project)
    assert code == 2
    assert "NO_SUCH_VARIABLE" in lines[1]


def test_extras_that_files_of_the_project_need_come_with_the_pip_line(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_version = importlib.metadata.version

    def version(name: str) -> str:
        if name == "pypdf":
            raise importlib.metadata.PackageNotFoundError(name)
        return true_version(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    (project / "data" / "guide.pdf").write_bytes(b"%PDF-1.4")
    code, lines = doctor(project)
    assert code == 0
    pip = "pip install 'rag-evaluation-framework[pdf]'"
    assert f"  – pdf        not installed: PDF documents cannot be read     {pip}" in lines


def test_every_extra_is_explained() -> None:
    assert set(extras_installed()) == set(EXTRAS)


COMPLETED = """
source "$1"
COMP_WORDS=({words}); COMP_CWORD={place}
_rag_eval_completion rag-eval
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("rag-eval ev", {"evaluate"}),
        ("rag-eval co", {"convert", "compare", "completion"}),
        ("rag-eval benchmark --conc", {"--concurrency"}),
        ("rag-eval completion f", {"fish"}),
    ],
)
def test_bash_completes_commands_options_and_values(tmp_path: Path, words: str, expected: set[str]) -> None:
    script = tmp_path / "rag-eval.bash"
    script.write_text(rag_eval_ended("completion", "bash").stdout, encoding="utf-8")
    asked = COMPLETED.format(words=words, place=len(words.split()) - 1)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", asked, "bash", str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == expected


def test_a_file_of_answers_is_completed_by_the_shell_itself() -> None:
    asked = {"COMP_WORDS": "rag-eval score lo", "COMP_CWORD": "2", "_RAG_EVAL_COMPLETE": "bash_complete"}
    done = rag_eval_ended(environment={**os.environ, **asked})
    assert (done.returncode, done.stdout) == (0, "file,lo\n")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_have_their_scripts(shell: str) -> None:
    done = rag_eval_ended("completion", shell)
    assert done.returncode == 0
    assert f"_RAG_EVAL_COMPLETE={shell}_complete" in done.stdout
    assert rag_eval_ended("completion", "tcsh").returncode == 2


def test_the_package_is_a_program_too() -> None:
    command = [sys.executable, "-m", "rag_evaluation_framework"]
    done = subprocess.run([*command, "lst"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == 'rag-eval: unknown command "lst". Did you mean "list"? List all: rag-eval --help\n'
