"""``rag-eval runs`` and ``rag-eval score`` from the outside: what they print, leave alone and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_lines import invoked as invoke
from rag_evaluation_framework.cli.runs import command as runs_command
from rag_evaluation_framework.cli.score import command as score_command
from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.datasets.dialects.recognition import read_dataset
from rag_evaluation_framework.datasets.results_files import read_results
from rag_evaluation_framework.errors import StorageError, TargetError, UnknownNameError, UsageError
from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder
from rag_evaluation_framework.evaluation.runs.runner import RunSettings, run_samples
from rag_evaluation_framework.evaluation.scorers.named_scorers import scorers_for
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.runs import RunHead

QUESTIONS = [
    {"id": "s1", "input": "Who wrote Faust?", "expected": "Johann Wolfgang von Goethe"},
    {"id": "s2", "input": "谁写了《红楼梦》?", "expected": "曹雪芹"},
    {"id": "s3", "input": "Who wrote Emma?", "expected": "Jane Austen"},
]
ANSWERS = {"s1": "Goethe", "s2": "曹雪芹"}


class Librarian:
    """Knows two answers; the third question is refused."""

    name = "librarian"

    async def answer(self, request: Request) -> Response:
        if request.sample.id not in ANSWERS:
            raise TargetError("http-400", "not that one")
        return Response(text=ANSWERS[request.sample.id])

    async def close(self) -> None:
        pass


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "books.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path, dataset: Path) -> RunFolder:
    head = RunHead(
        run_id="books_1", dataset_id="books", target="librarian", configuration={"dataset_path": str(dataset)}
    )
    made = RunFolder.create(tmp_path / "runs", head)
    samples = read_dataset(dataset).samples
    run_samples(samples, Librarian(), scorers_for(["exact_match"]), folder=made, settings=RunSettings())
    return made


def test_runs_shows_the_state_and_how_far_each_run_is(folder: RunFolder) -> None:
    runs = folder.path.parent
    RunFolder.create(runs, RunHead(run_id="books_2", dataset_id="books"))
    (runs / "books_3").mkdir()
    (runs / "books_3" / "head.json").write_bytes(b"{")
    done = invoke(runs_command, "--runs-dir", runs)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[2][:8] == ["books_1", "complete", "books", "librarian", "3", "of", "3", "1"]
    assert lines[3][:8] == ["books_2", "incomplete", "books", "–", "0", "of", "0", "0"]
    assert lines[4][:2] == ["books_3", "broken"]
    assert "broken: books_3: " in done.stdout
    assert done.stdout.count("--resume RUN") == 1
    assert "goes on with: rag-eval evaluate … --resume RUN" in done.stdout


def test_runs_names_the_command_that_goes_on_with_golden_sets(tmp_path: Path) -> None:
    head = RunHead(run_id="eval_1", dataset_id="facts", configuration={"golden": "examples/golden"})
    RunFolder.create(tmp_path, head)
    done = invoke(runs_command, "--runs-dir", tmp_path)
    assert done.stdout.count("--resume RUN") == 1
    assert "golden sets goes on with: rag-eval golden DIR … --resume RUN" in done.stdout
    (row,) = json.loads(invoke(runs_command, "--runs-dir", tmp_path, "--json").stdout)
    assert row["golden"] == "examples/golden"


def test_runs_says_who_works_on_a_run(folder: RunFolder) -> None:
    with folder.held():
        done = invoke(runs_command, "--runs-dir", folder.path.parent)
        (row,) = json.loads(invoke(runs_command, "--runs-dir", folder.path.parent, "--json").stdout)
    assert "running: books_1: process" in done.stdout
    assert (row["state"], row["done"], row["failed"], row["total"]) == ("running", 3, 1, 3)
    assert row["owner"].startswith("process")


def test_runs_names_the_damage_in_a_journal(folder: RunFolder) -> None:
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(lines[0] + b"garbage\n" + b"".join(lines[1:]))
    done = invoke(runs_command, "--runs-dir", folder.path.parent)
    assert "broken: books_1: " in done.stdout
    assert "journal.jsonl:2" in done.stdout


def test_no_runs_is_said_in_a_line(tmp_path: Path) -> None:
    assert (
        invoke(runs_command, "--runs-dir", tmp_path / "none").stdout == f"No runs in {tmp_path / 'none'}.\n"
    )
    assert invoke(runs_command, "--runs-dir", tmp_path / "none", "--json").stdout == "[]\n"


def test_score_asks_nobody_and_leaves_the_run_as_it_is(folder: RunFolder) -> None:
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    done = invoke(score_command, "books_1", "-m", "token_f1", "--runs-dir", folder.path.parent)
    assert done.return_value == 0
    # s1: "Goethe" against 4 words: 2 * 1 * 0.25 / 1.25 = 0.4; s2: 1; s3 was not answered. (0.4 + 1) / 2
    assert "token_f1  lexical  0.7000" in done.stdout
    assert "3 of 3 samples, 1 of them without an answer (http-400 1)" in done.stdout
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == before


def test_scoring_again_by_the_same_metric_gives_the_same_scores(folder: RunFolder, tmp_path: Path) -> None:
    out = tmp_path / "again.results.json"
    invoke(score_command, folder.path, "-m", "exact_match", "--out", out)
    document = read_results(out)
    assert schema_issues("results", document) == []
    again = {query["query_id"]: query.get("individual_metrics") for query in document["query_results"]}
    assert again == {
        result.sample_id: {score.metric: score.value for score in result.scores if score.value is not None}
        or None
        for result in folder.results()
    }
    assert document["query_results"][1]["query_text"] == "谁写了《红楼梦》?"
    assert document["metadata"]["metric_versions"] == {"exact_match": 1}


def test_score_makes_the_folder_of_its_results_or_refuses_before_it_scores(
    folder: RunFolder, tmp_path: Path
) -> None:
    out = tmp_path / "not there yet" / "scores.json"
    done = invoke(score_command, folder.path, "-m", "exact_match", "--out", out)
    assert out.exists()
    assert "exact_match" in done.stdout
    refused = invoke(score_command, folder.path, "-m", "exact_match", "--out", out / "below a file.json")
    assert isinstance(refused.exception, StorageError)
    assert refused.stdout == ""


def test_score_prints_json_and_nothing_else(folder: RunFolder) -> None:
    done = invoke(score_command, folder.path, "-m", "token_f1", "-m", "exact_match", "--json")
    figures = json.loads(done.stdout)
    assert (figures["run_id"], figures["total"], figures["failed"]) == ("books_1", 3, 1)
    assert figures["metrics"]["token_f1"]["value"] == pytest.approx(0.7)
    assert figures["metrics"]["exact_match"]["n_failed"] == 1
    assert done.stderr == ""


def test_an_incomplete_run_is_scored_as_far_as_it_is_and_exits_with_3(folder: RunFolder) -> None:
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(b"".join(lines[:1]))
    done = invoke(score_command, folder.path, "-m", "exact_match")
    assert done.return_value == 3
    assert "2 samples were not asked yet" in done.stderr


def test_the_dataset_may_have_grown_but_not_changed(folder: RunFolder, dataset: Path) -> None:
    content = dataset.read_text(encoding="utf-8")
    dataset.write_text('{"id": "s0", "input": "New?", "expected": "Yes"}\n' + content, encoding="utf-8")
    assert invoke(score_command, folder.path, "-m", "exact_match").return_value == 0
    dataset.write_text(content.replace("Jane Austen", "Someone else"), encoding="utf-8")
    failed = invoke(score_command, folder.path, "-m", "exact_match")
    assert isinstance(failed.exception, UsageError)
    assert "3 samples of the run as they were, got 1 edited since" in str(failed.exception)


def test_where_the_dataset_is_must_be_told_if_the_run_does_not(folder: RunFolder, dataset: Path) -> None:
    moved = dataset.rename(dataset.with_name("moved.jsonl"))
    failed = invoke(score_command, folder.path, "-m", "exact_match")
    assert isinstance(failed.exception, UsageError)
    assert "--dataset FILE" in str(failed.exception)
    assert invoke(score_command, folder.path, "-m", "exact_match", "--dataset", moved).return_value == 0


def test_an_unknown_metric_or_run_is_told_with_what_there_is(folder: RunFolder) -> None:
    assert isinstance(invoke(score_command, folder.path, "-m", "tokenf1").exception, UnknownNameError)
    failed = invoke(score_command, "nothing", "-m", "token_f1", "--runs-dir", folder.path.parent)
    assert "the latest there is books_1" in str(failed.exception)
