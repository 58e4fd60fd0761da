"""``rag-eval runs`` and ``rag-eval score`` from the outside: what they print, leave alone and refuse."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from command_lines import invoked as invoke
from rag_evaluation_framework import Request, Response, UsageError, load, metric, read_dataset
from rag_evaluation_framework.cli.evaluate import command as evaluate_command
from rag_evaluation_framework.cli.evaluate_models import command as models_command
from rag_evaluation_framework.cli.generate import command as generate_command
from rag_evaluation_framework.cli.golden import command as golden_command
from rag_evaluation_framework.cli.listing import runs_command
from rag_evaluation_framework.cli.score import command as score_command
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.errors import StorageError, TargetError
from rag_evaluation_framework.evaluation import attempts
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.metrics.views import TEXTS
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.results.run_store import RunFolder

GOLDEN = str(Path(__file__).parents[2] / "examples" / "golden")
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


class Doorman(Librarian):
    """Lets nobody in."""

    async def answer(self, request: Request) -> Response:
        raise TargetError("http-401", "no key")


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
    run_samples(samples, Librarian(), scorers_for(["exact_match"]), folder=made)
    return made


def test_runs_shows_the_state_and_how_far_each_run_is(folder: RunFolder) -> None:
    runs = folder.path.parent
    RunFolder.create(runs, RunHead(run_id="books_2", dataset_id="books"))
    (runs / "books_3").mkdir()
    (runs / "books_3" / "head.json").write_bytes(b"{")
    done = invoke(runs_command, "--runs-dir", runs)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[1][:8] == ["books_1", "complete", "books", "librarian", "3", "of", "3", "1"]
    assert lines[2][:8] == ["books_2", "incomplete", "books", "–", "0", "of", "0", "0"]
    assert lines[3][:2] == ["books_3", "broken"]
    assert "broken: books_3:" in done.stdout
    assert done.stdout.count("resume with") == 1
    assert "resume with: the program that started it" in done.stdout


NOBODY = "http://127.0.0.1:1"
MANIFEST = """spec:
  evaluation:
    framework: custom
    datasets: [{name: books, path: $file:books.jsonl}]
    metrics: [string_match]
"""


@pytest.mark.parametrize(
    ("begun", "resumed"),
    [
        ([evaluate_command, "agent.yaml", "--url", NOBODY], f"rag-eval evaluate agent.yaml --url {NOBODY}"),
        (
            [evaluate_command, "books.jsonl", "--url", NOBODY, "-m", "string_match", "--no-blame"],
            f"rag-eval evaluate books.jsonl --url {NOBODY} --no-blame",
        ),
        (
            [golden_command, GOLDEN, "--url", NOBODY, "--split", "facts", "--markdown", "my keys.md"],
            f"rag-eval golden {GOLDEN} --url {NOBODY} --markdown 'my keys.md'",
        ),
        (
            [generate_command, "documents", "-o", "q.jsonl", "--model", "m", "--base-url", f"{NOBODY}/v1"],
            f"rag-eval generate documents -o q.jsonl --model m --base-url {NOBODY}/v1",
        ),
        (
            [models_command, "--model", "m", "--base-url", f"{NOBODY}/v1", "--dataset", "books.jsonl"],
            f"python scripts/evaluate_models.py --base-url {NOBODY}/v1",
        ),
    ],
    ids=["evaluate", "data", "golden", "generate", "evaluate-models"],
)
def test_runs_names_the_command_that_began_a_run(
    begun: list[Any], resumed: str, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    monkeypatch.chdir(dataset.parent)
    Path("agent.yaml").write_text(MANIFEST, encoding="utf-8")
    Path("documents").mkdir()
    Path("documents", "boats.md").write_text("# Boats\n\nThe last boat leaves at nine.\n", encoding="utf-8")
    ended = invoke(*begun)
    assert ended.exception is None, ended.exception
    done = invoke(runs_command)
    (row,) = json.loads(invoke(runs_command, "--json").stdout)
    assert (row["state"], row["resume"]) == ("incomplete", f"{resumed} --resume {row['run_id']}")
    assert f"resume with: {row['resume']}" in " ".join(done.stdout.replace("\\\n", "").split())
    Path("runs").rename("nightly")
    (row,) = json.loads(invoke(runs_command, "--runs-dir", "nightly", "--json").stdout)
    assert row["resume"] == f"{resumed} --resume nightly/{row['run_id']}"


def test_the_command_that_goes_on_with_a_generation_has_just_what_a_resume_needs_and_no_secret(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "FIRST_DELAY", 0.01)
    monkeypatch.chdir(dataset.parent)
    Path("my documents").mkdir()
    Path("my documents", "boats.txt").write_text("The last boat leaves at nine.\n", encoding="utf-8")
    needed = shlex.split("--model m --base-url … --keep-all --glob *.txt --dataset-name boats")
    given = [f"{NOBODY}?api-key=open-sesame" if word == "…" else word for word in needed]
    invoke(generate_command, "my documents", *given, "--queries-per-doc", "2", "--concurrency", "3")
    (row,) = json.loads(invoke(runs_command, "--json").stdout)
    assert shlex.split(row["resume"]) == (
        ["rag-eval", "generate", "my documents", *needed, "--resume", row["run_id"]]
    )


def test_runs_names_the_judge_and_the_history_that_a_run_goes_on_with(tmp_path: Path) -> None:
    configuration = {"golden": "my sets", "history": "reference", "judge": [{"model": "a"}, {"model": "b:7"}]}
    RunFolder.create(tmp_path, RunHead(run_id="e", dataset_id="facts", configuration=configuration))
    (row,) = json.loads(invoke(runs_command, "--runs-dir", tmp_path, "--json").stdout)
    assert row["resume"] == (
        "rag-eval golden 'my sets' --target TARGET --history reference "
        f"--judge-model a --judge-model b:7 --resume {tmp_path / 'e'}"
    )
    assert row["golden"] == "my sets"


def test_runs_counts_the_samples_that_a_resume_asks_again(tmp_path: Path, dataset: Path) -> None:
    folder = RunFolder.create(tmp_path / "runs", RunHead(run_id="books_1", dataset_id="books"))
    samples = read_dataset(dataset).samples
    run_samples(samples, Doorman(), scorers_for(["exact_match"]), folder=folder)
    done = invoke(runs_command, "--runs-dir", folder.path.parent)
    assert "to retry" in done.stdout.splitlines()[0]
    assert "resume with: " in done.stdout
    (row,) = json.loads(invoke(runs_command, "--runs-dir", folder.path.parent, "--json").stdout)
    assert (row["state"], row["failed"], row["to_ask_again"]) == ("complete", 3, 3)


def test_runs_says_who_works_on_a_run(folder: RunFolder) -> None:
    with folder.lock():
        done = invoke(runs_command, "--runs-dir", folder.path.parent)
        (row,) = json.loads(invoke(runs_command, "--runs-dir", folder.path.parent, "--json").stdout)
    assert "running: books_1: process" in done.stdout
    assert (row["state"], row["done"], row["failed"], row["total"]) == ("running", 3, 1, 3)
    assert row["owner"].startswith("process")


def test_runs_names_the_damage_in_a_journal(folder: RunFolder) -> None:
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(lines[0] + b"garbage\n" + b"".join(lines[1:]))
    done = invoke(runs_command, "--runs-dir", folder.path.parent)
    assert "broken: books_1:" in done.stdout
    assert "journal.jsonl:2" in "".join(done.stdout.split())


def test_no_runs_is_said_in_a_line(tmp_path: Path) -> None:
    shown = invoke(runs_command, "--runs-dir", tmp_path / "none").stdout
    assert " ".join(shown.split()) == f"No runs in {tmp_path / 'none'}. Start one: rag-eval evaluate"
    assert invoke(runs_command, "--runs-dir", tmp_path / "none", "--json").stdout == "[]\n"


def test_score_asks_nobody_and_leaves_the_run_as_it_is(folder: RunFolder) -> None:
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    done = invoke(score_command, "books_1", "-m", "token_f1", "--runs-dir", folder.path.parent)
    assert done.return_value == 0
    # s1: "Goethe" against 4 words: 2 * 1 * 0.25 / 1.25 = 0.4; s2: 1; s3 was not answered. (0.4 + 1) / 2
    assert "token_f1   0.70  [0.17, 0.96]        2  word overlap" in done.stdout
    assert "1 of 3 questions got no answer (1 rejected request)." in done.stdout
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == before


def test_scoring_again_by_the_same_metric_gives_the_same_scores(folder: RunFolder, tmp_path: Path) -> None:
    out = tmp_path / "again.results.json"
    invoke(score_command, folder.path, "-m", "exact_match", "--out", out)
    document = read_results(out)
    assert schema_issues("results", document) == []
    again = {query["query_id"]: query["individual_metrics"] for query in document["query_results"]}
    assert again == {
        result.sample_id: {score.metric: score.value for score in result.scores if score.value is not None}
        for result in folder.results()
    }
    assert document["query_results"][1]["query_text"] == "谁写了《红楼梦》?"
    assert document["metadata"]["metric_versions"] == {"exact_match": 1}


def test_score_makes_the_results_folder_or_refuses_before_scoring(folder: RunFolder, tmp_path: Path) -> None:
    out = tmp_path / "not there yet" / "scores.json"
    done = invoke(score_command, folder.path, "-m", "exact_match", "--out", out)
    assert out.exists()
    assert "exact_match" in done.stdout
    refused = invoke(score_command, folder.path, "-m", "exact_match", "--out", out / "below a file.json")
    assert isinstance(refused.exception, StorageError)
    assert refused.stdout == ""


@pytest.mark.parametrize(
    ("kept", "told"), [(1, "2 samples were not asked yet"), (2, "1 sample was not asked yet")]
)
def test_an_incomplete_run_is_scored_and_exits_with_3(folder: RunFolder, kept: int, told: str) -> None:
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(b"".join(lines[:kept]))
    done = invoke(score_command, folder.path, "-m", "exact_match")
    assert done.return_value == 3
    assert told in done.stderr


@pytest.mark.usefixtures("own_metrics")
def test_a_metric_that_failed_on_every_answer_is_warned_about_and_exits_with_3(folder: RunFolder) -> None:
    @metric("broken", reads=TEXTS)
    def broken(answer: str) -> float:
        """Never. Formula: none. Empty: never. Source: nobody."""
        raise ValueError("no verdict in it")

    done = invoke(score_command, folder.path, "-m", "exact_match", "-m", "broken")
    assert done.return_value == 3
    assert done.stderr == "warning: No answer was scored (0 skipped, 3 failed): broken\n"
    assert invoke(score_command, folder.path, "-m", "exact_match").return_value == 0  # one of three failed


def test_the_dataset_may_have_grown_but_not_changed(folder: RunFolder, dataset: Path) -> None:
    content = dataset.read_text(encoding="utf-8")
    dataset.write_text('{"id": "s0", "input": "New?", "expected": "Yes"}\n' + content, encoding="utf-8")
    assert invoke(score_command, folder.path, "-m", "exact_match").return_value == 0
    dataset.write_text(content.replace("Jane Austen", "Someone else"), encoding="utf-8")
    failed = invoke(score_command, folder.path, "-m", "exact_match")
    assert isinstance(failed.exception, UsageError)
    assert "3 samples of the run as before, got 1 edited since" in str(failed.exception)


def test_where_the_dataset_is_must_be_told_if_the_run_does_not(folder: RunFolder, dataset: Path) -> None:
    moved = dataset.rename(dataset.with_name("moved.jsonl"))
    failed = invoke(score_command, folder.path, "-m", "exact_match")
    assert isinstance(failed.exception, UsageError)
    assert "--dataset FILE" in str(failed.exception)
    assert invoke(score_command, folder.path, "-m", "exact_match", "--dataset", moved).return_value == 0


@pytest.mark.parametrize("kind", ["of the run", "named so", "by content"])
def test_a_results_file_cannot_be_scored(folder: RunFolder, tmp_path: Path, kind: str) -> None:
    path = {"named so": tmp_path / "a.results.json", "by content": tmp_path / "a.json"}.get(kind)
    if path is None:
        path = folder.path / "head.json"
    else:
        load(folder.path).save(path, format="results")  # type: ignore[union-attr]
    refused = invoke(score_command, path, "-m", "exact_match")
    assert isinstance(refused.exception, UsageError)
    assert str(refused.exception) == (
        f"expected a run by its id or the path of its folder, got the file {path}: "
        "a results file has the figures of a run, not its journal"
    )
