"""``rag-eval init``, ``datasets`` and ``stats`` from the outside."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click import Command
from click.testing import CliRunner, Result

from command_lines import rag_eval_ended
from rag_evaluation_framework import EvaluationDatasetLoader, UsageError
from rag_evaluation_framework.cli import init, listing
from rag_evaluation_framework.cli.main import program
from rag_evaluation_framework.datasets.annotations import read_annotations
from rag_evaluation_framework.datasets.project import create_layout
from rag_evaluation_framework.datasets.value_files import read_configuration
from rag_evaluation_framework.errors import StorageError


def run(command: Command, *arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_the_starters_annotations_and_configurations_are_read_without_a_warning(tmp_path: Path) -> None:
    create_layout(tmp_path)
    warnings: list[object] = []
    read = [
        read_annotations(path, on_warning=warnings.append) for path in sorted(tmp_path.rglob("*.gt.json"))
    ]
    assert [len(each.annotations) for each in read] == [2, 3, 5]
    assert warnings == []
    configurations = sorted(path.name for path in tmp_path.rglob("*.config.yaml") if read_configuration(path))
    assert configurations == [
        "ab_testing_config.config.yaml",
        "evaluation_defaults.config.yaml",
        "performance_benchmark_config.config.yaml",
    ]


def test_the_starters_annotated_texts_stand_where_they_say(tmp_path: Path) -> None:
    create_layout(tmp_path)
    loader = EvaluationDatasetLoader(tmp_path / "data" / "evaluation")
    contents = {
        Path(document["file_path"]).name: document["content"]
        for document in loader.load_dataset("sample_eval")["documents"]
    }
    for annotation in loader.load_ground_truth("sample_eval")["annotations"]:
        for span in annotation.get("citations", []):
            assert contents[span["file_name"]][span["start_char"] : span["end_char"]] == span["text"]


def test_init_of_golden_sets_makes_five_files_with_located_contexts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(init.command, "--golden")
    assert done.exit_code == 0, done.output
    files = sorted((tmp_path / "evaluation" / "datasets").iterdir())
    assert [path.name.partition("_")[0] for path in files] == [
        "boundary",
        "factual",
        "multiturn",
        "relationship",
        "tracking",
    ]
    checked = json.loads(run(program, "validate", "evaluation/datasets", "--json").stdout)
    # Nothing is doubtful but the comments: every context is located, every key passes its own test.
    assert {issue["code"] for file in checked["files"] for issue in file["issues"]} == {"json-comment"}
    suggested = done.stdout.rpartition("Next:")[2].split()
    assert suggested == ["rag-eval", "golden", ".", "--target", "assistant:answer"]
    monkeypatch.setattr("sys.path", [*sys.path])
    told = run(program, *suggested[1:])
    assert told.exit_code == 0, told.output
    assert " of 8 answers are correct" in told.stdout
    assert "located" not in told.output  # a warning that some contexts are not
    assert run(init.command, "--golden").stdout.count("kept") == 8


@pytest.mark.parametrize(
    ("example", "files"),
    [
        ("first-evaluation", ["agent.yaml", "evals/desk.jsonl", "ferries.py"]),
        ("choose-a-chunker", [f"documents/{name}.md" for name in ("fares", "island", "timetable")]),
    ],
)
def test_init_writes_an_example_whose_next_command_runs(
    example: str, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / files[0]).parent.mkdir(exist_ok=True)
    (tmp_path / files[0]).write_text("mine", encoding="utf-8")
    created = json.loads(run(init.command, "--example", example, "--json").stdout)
    assert (created["created"], created["kept"]) == (files[1:], files[:1])
    assert (tmp_path / files[0]).read_text(encoding="utf-8") == "mine"
    (tmp_path / files[0]).unlink()
    suggested = run(init.command, "--example", example).stdout.rpartition("Next:")[2].split()
    ended = run(program, *suggested[1:])
    # The assistant of the first evaluation fails its gate.
    assert ended.exit_code == (example == "first-evaluation"), ended.output


def test_init_suggests_the_example_that_was_meant(tmp_path: Path) -> None:
    ended = rag_eval_ended("init", "--example", "golden-sets", folder=tmp_path)
    assert ended.returncode == 2
    assert 'unknown example "golden-sets". Did you mean "golden-set"?' in ended.stderr
    ended = rag_eval_ended("init", "--example", "golden-set", "--docs", ".", folder=tmp_path)
    assert ended.returncode == 2
    assert "--example cannot be combined with --docs" in ended.stderr
    assert not list(tmp_path.iterdir())


def test_init_says_when_a_folder_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StorageError, match="cannot create"):
        create_layout(tmp_path)


def test_datasets_of_a_folder_without_any_says_so(tmp_path: Path) -> None:
    told = " ".join(run(listing.datasets_command, tmp_path).stdout.split())
    assert "No datasets in " in told
    failed = run(listing.datasets_command, tmp_path / "absent")
    assert isinstance(failed.exception, UsageError)
    assert "Create a project: rag-eval init" in str(failed.exception)
