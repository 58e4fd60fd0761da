"""``rag-eval build``: flags, settings, and what it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cases import tables_beside
from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.cli.build import command
from rag_evaluation_framework.datasets.split_build import EvaluationConfig

TABLES = tables_beside(__file__)

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "offline" / "offline_dataset.jsonl"
DEFAULT = Path("evaluation", "datasets")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1762281000")
    DEFAULT.mkdir(parents=True)
    (DEFAULT / "offline_dataset.jsonl").write_bytes(EXAMPLE.read_bytes())


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_without_flags_the_files_are_where_the_specification_has_them() -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout == (
        "evaluation/datasets/offline_dataset.jsonl: 20 records, version v1\n\n"
        "  split      records  file\n"
        "  qa              11  evaluation/datasets/qa_pairs.jsonl\n"
        "  summaries        5  evaluation/datasets/summaries.jsonl\n"
        "  citations        3  evaluation/datasets/citations.jsonl\n"
        "  manifest            evaluation/datasets/manifest.json\n\n"
        "Next: rag-eval stats evaluation/datasets/qa_pairs.jsonl      show counts and lengths\n"
    )
    assert result.stderr == "rag-eval: qa: 1 dropped (missing reference)\n"
    manifest = json.loads((DEFAULT / "manifest.json").read_bytes())
    assert manifest["generated_at_utc"] == "2025-11-04T18:30:00Z"
    assert manifest["source_offline_dataset"] == "evaluation/datasets/offline_dataset.jsonl"
    assert manifest["splits"]["qa"]["path"] == "evaluation/datasets/qa_pairs.jsonl"


@pytest.mark.parametrize("flag", ["--summary-output", "--summaries-output"])
def test_the_summary_split_has_two_flags(flag: str) -> None:
    result = run("--qa-output", "q.jsonl", flag, "s.jsonl", "--manifest-output", "m.json", "--json")
    assert json.loads(result.stdout) == json.loads(Path("m.json").read_bytes())
    assert result.stderr == ""
    assert len(Path("s.jsonl").read_text(encoding="utf-8").splitlines()) == 5


def test_flags_win_over_settings_and_settings_over_defaults() -> None:
    Path("settings.yaml").write_text(
        "evaluation:\n  qa_output: a/qa.jsonl\n  manifest_output: a/m.json\n  version: v7\nother: 1\n",
        encoding="utf-8",
    )
    result = run("--config", "settings.yaml", "--manifest-output", "b/m.json", "--limit", "2", "--json")
    manifest = json.loads(result.stdout)
    assert manifest["version"] == "v7"
    assert manifest["filters"] == {"limit": 2}
    assert manifest["splits"]["qa"]["path"] == "a/qa.jsonl"
    assert manifest["splits"]["summaries"]["path"] == "evaluation/datasets/summaries.jsonl"
    assert Path("b/m.json").exists()
    assert (
        json.loads(run("--config", "settings.yaml", "--version", "v8", "--force", "--json").stdout)["version"]
        == "v8"
    )


def test_an_empty_version_is_refused_and_not_taken_for_the_default() -> None:
    with pytest.raises(UsageError, match="version: expected a name such as v1, got ''"):
        run("--version", "")


def test_malformed_lines_that_were_skipped_are_told() -> None:
    with (DEFAULT / "offline_dataset.jsonl").open("ab") as stream:
        stream.write(b"{\n")
    assert "rag-eval: 1 malformed line skipped" in run("--on-error", "skip").stderr


def test_the_shipped_settings_are_the_defaults() -> None:
    shipped = EvaluationConfig.from_file(ROOT / "configs" / "default.yaml")
    defaults = EvaluationConfig()
    assert shipped.root == ROOT
    assert [path.relative_to(ROOT) for path in shipped.outputs] == list(defaults.outputs)
    assert shipped.offline_dataset == ROOT / defaults.offline_dataset
    assert (shipped.version, shipped.corpus_glob) == (defaults.version, defaults.corpus_glob)
    assert shipped.corpus.is_dir()


@pytest.mark.parametrize(("text", "message"), TABLES["wrong settings are named with their line"])
def test_wrong_settings_are_named_with_their_line(text: str, message: str) -> None:
    Path("s.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        EvaluationConfig.from_file("s.yaml")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "settings", [{}, {"evaluation": None}, {"evaluation": {"judge": "m", "qa_output": None}}]
)
def test_settings_that_are_not_there_are_left_to_the_defaults(settings: dict[str, Any]) -> None:
    Path("s.json").write_text(json.dumps(settings), encoding="utf-8")
    assert EvaluationConfig.from_file("s.json") == EvaluationConfig()


def test_the_script_is_the_command() -> None:
    script = ROOT / "scripts" / "build_evaluation_dataset.py"
    Path("configs").mkdir()
    config = Path("configs", "default.yaml")
    config.write_bytes((ROOT / config).read_bytes())
    run_script = [sys.executable, str(script), "--config", str(config)]
    first = subprocess.run(run_script, capture_output=True, text=True, check=False)
    assert (first.returncode, first.stdout.splitlines()[0]) == (
        0,
        "evaluation/datasets/offline_dataset.jsonl: 20 records, version v1",
    )
    again = subprocess.run(run_script, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "add --force" in again.stderr
    assert "Traceback" not in again.stderr
