"""What version 1.0.0 wrote is read: runs, a golden set, a sweep, a baseline, and a run to be resumed.

The folder is made by ``tests/fixtures/make_old_runs.py`` and stays as it is. Held here is what no later
version may change: which answers were given, which figures were measured then, and what a gate decided.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from command_lines import rag_eval_ended
from rag_evaluation_framework import Evaluation, evaluate, load

TABLES = tables_beside(__file__)

OLD = Path(__file__).parents[1] / "fixtures" / "runs_1_0_0"
ANSWERS = TABLES["answers"]
LATER = {
    "What does a kayak cost?": "A kayak costs 8.00 one way.",
    "When do online tickets close?": "Thirty minutes before.",
}
RIGHT = {"What does a single ticket cost?", "登塔多少钱？"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The old project, in a folder that may be changed."""
    folder = Path(shutil.copytree(OLD, tmp_path / "old"))
    monkeypatch.chdir(folder)
    return folder


def said(folder: Path, *arguments: str, code: int = 0) -> Any:
    """Return the JSON of a command, which ends with this code."""
    ended = rag_eval_ended(*arguments, "--json", folder=folder)
    assert ended.returncode == code, (arguments, ended.stdout, ended.stderr)
    return json.loads(ended.stdout)


def run(number: int) -> Evaluation:
    (folder,) = Path("runs").glob(f"eval_run_*_{number:03}")
    return load(folder)


def values(evaluation: Evaluation, *names: str) -> list[float | None]:
    return [evaluation.metrics[name].value for name in names]


def answers(evaluation: Evaluation) -> dict[str, str | None]:
    """Return what was answered to each question; None where asking failed."""
    asked = {sample.id: sample.question for sample in evaluation.samples}
    return {
        asked[row.result.sample_id]: None if row.result.response.failure else row.result.response.text
        for row in evaluation.rows
    }


def test_runs_of_an_agent_have_their_answers_and_figures(project: Path) -> None:
    first, later = run(1), run(2)
    assert answers(first) == ANSWERS
    assert answers(later) == ANSWERS | LATER
    names = ("string_match", "faithfulness", "refusal_recall")
    assert values(first, *names) == [0.4, 0.6, 1.0]
    assert values(later, *names) == [0.8, 1.0, 1.0]
    assert (first.outcome.done, first.outcome.failed, first.outcome.completed) == (7, 1, True)
    assert first.verdict is not None
    assert later.verdict is not None
    assert (first.verdict.passed, later.verdict.passed) == (False, True)


def test_a_golden_set_and_its_conversation_are_read(project: Path) -> None:
    suite = run(3)
    assert set(suite.parts) == {"facts", "multiturn"}
    assert values(suite.parts["facts"], "entity_coverage", "token_f1") == [1.0, 0.875]
    assert values(suite.parts["multiturn"], "turn_correctness") == [1.0]
    (conversation,) = said(project, "show", "004", "--sample", "session_001")
    assert [turn["answer"] for turn in conversation["turns"]] == [
        "A single ticket costs 14.00.",
        "A kayak costs 8.00 one way.",
    ]


def test_rows_and_a_sweep_have_their_figures(project: Path) -> None:
    rows, sweep = run(5), run(7)
    assert [row.result.scores[0].value for row in rows.rows] == [1.0, 1.0, 0.5, 0.0]
    assert values(rows, "faithfulness") == [0.625]
    precision = {name.partition("(")[0]: values(part, "span_precision") for name, part in sweep.parts.items()}
    assert precision == {"sentence": [1.0], "recursive": [pytest.approx(25 / 51)]}


def test_the_lists_have_every_run_with_its_state(project: Path) -> None:
    runs = {int(each["run_id"][-3:]): each for each in said(project, "runs")}
    assert [(each["done"], each["failed"], each["total"]) for each in runs.values()] == [
        *((7, 1, 7), (7, 1, 7), (2, 0, 2), (1, 0, 1), (4, 0, 4), (3, 0, 7), (2, 0, 2))
    ]
    assert {number for number, each in runs.items() if each["state"] != "complete"} == {6}
    results = said(project, "results")
    assert sorted(Path(each["path"]).parts[-2:] for each in results) == sorted(
        [("results", "baseline_main.results.json")]
        + [(f"{runs[number]['run_id']}", "results.json") for number in (1, 2, 3, 4, 5, 7)]
    )
    verdicts = {each["id"][-3:]: each["verdict"] for each in results if "runs" in each["path"]}
    assert (verdicts["001"], verdicts["002"]) == ("failed", "passed")
    assert not any(each["error"] for each in results)


def test_the_answers_that_are_not_correct_are_shown(project: Path) -> None:
    found = [*said(project, "show", "001"), *said(project, "show", "001", "--not-judged")]
    assert {each["input"] for each in found} == set(ANSWERS) - RIGHT - {"Who will win the election?"}
    worst = said(project, "show", "005", "--worst", "1")
    assert [each["actual"] for each in worst] == ["Tea is sold on board."]


@pytest.mark.parametrize("base", ["001", "runs/eval_run_20261118_001/results.json"])
def test_two_runs_are_compared(base: str, project: Path) -> None:
    (pair,) = said(project, "compare", base, "002")["answers"]
    kayak, tickets = LATER.items()
    # Of the tickets it was not known then that the answer is wrong.
    assert [(each["question"], each["now"]) for each in pair["better"]] == [kayak]
    assert tickets in [(each["question"], each["now"]) for each in pair["unpaired"]]
    assert pair["worse"] == []
    worse = said(project, "compare", "002", "001")["answers"][0]["worse"]
    assert [(each["question"], each["before"]) for each in worse] == [kayak]


def test_a_new_run_is_held_against_the_baseline(project: Path) -> None:
    (project / "answers.jsonl").write_text(
        "".join(
            json.dumps({"input": asked, "answer": answer or "Lost."}) + "\n"
            for asked, answer in (ANSWERS | LATER).items()
        ),
        encoding="utf-8",
    )
    options = ("-m", "string_match", "--baseline", "main", "--max-regressions", "0")
    evaluate = ("evaluate", "agent.yaml", "--target", "answers.jsonl")
    gate = said(project, *evaluate, *options, "--threshold", "string_match=0.5")["gate"]
    assert gate["result"] == "PASS"
    path = project / "answers.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("costs 14.00", "is free"), encoding="utf-8")
    gate = said(project, *evaluate, *options, "--threshold", "string_match=0.5", code=1)["gate"]
    assert gate["result"] == "FAIL"


def test_an_edited_reference_is_named_beside_the_baseline(project: Path) -> None:
    data = project / "evals" / "ferry.jsonl"
    data.write_text(data.read_text("utf-8").replace("Thirty minutes", "Half an hour"), encoding="utf-8")
    rows = [{"input": asked, "answer": answer or "Lost."} for asked, answer in (ANSWERS | LATER).items()]
    (project / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    evaluation = evaluate("agent.yaml", target="answers.jsonl", metrics=["string_match"], baseline="main")
    moved = evaluation.regressions
    assert moved is not None
    assert (moved.new, moved.gone, moved.edited) == (0, 0, (("ferry", "line 3"),))


def test_an_interrupted_run_is_resumed_with_what_it_has(project: Path) -> None:
    (journal,) = project.glob("runs/*_006/journal.jsonl")
    before = journal.read_text(encoding="utf-8")
    document = said(
        project, "evaluate", "agent.yaml", "--target", "assistant:answer", "--resume", "006", code=1
    )
    assert len(before.splitlines()) == 3
    assert journal.read_text(encoding="utf-8").startswith(before)
    assert [each["actual"] for each in document["samples"]] == [
        f"{asked} That is told in the office." for asked in ANSWERS
    ]
    assert document["metrics"]["string_match"] == 0.0
    assert {each["state"] for each in said(project, "runs")} == {"complete"}


def test_a_run_that_measures_noise_is_resumed_as_the_latest(project: Path) -> None:
    ended = rag_eval_ended(
        "aa", "agent.yaml", "--target", "assistant:answer", "--resume", "--json", folder=project
    )
    assert "expected questions that were asked at least twice, got one answer each" in ended.stderr
    assert {each["state"] for each in said(project, "runs")} == {"complete"}


def test_a_run_of_which_the_end_is_torn_loses_only_that(project: Path) -> None:
    (journal,) = project.glob("runs/*_001/journal.jsonl")
    journal.write_bytes(journal.read_bytes()[:-20])
    (state,) = (each for each in said(project, "runs") if each["run_id"].endswith("001"))
    assert (state["state"], state["done"], state["total"]) == ("incomplete", 6, 7)


NEW = "runs/eval_run_20261118_002"


@pytest.mark.parametrize(
    "command",
    [
        ("show", "002"),
        ("report", "002"),
        ("compare", "001", "002"),
        ("redecide", "002"),
        ("score", "002", "-m", "rouge"),
        ("evaluate", "agent.yaml", "--target", "assistant:answer", "--resume", "002"),
        ("evaluate", "agent.yaml", "--target", "assistant:answer", "--baseline", "002"),
    ],
)
def test_a_folder_of_a_newer_format_is_refused(project: Path, command: tuple[str, ...]) -> None:
    head = project / NEW / "head.json"
    fields = {"format_version": 3, **json.loads(head.read_text(encoding="utf-8"))}
    head.write_text(json.dumps(fields), encoding="utf-8")
    told = f"{NEW} was written by a newer rag-eval (format 3; this version reads formats up to 2). Update it"
    ended = rag_eval_ended(*command, folder=project)
    assert (ended.returncode, ended.stderr.count(told)) == (2, 1), ended.stderr
    (listed,) = (each for each in said(project, "runs") if each["state"] == "broken")
    assert told in listed["error"]


def test_files_of_a_newer_format_are_refused(project: Path) -> None:
    results = run(2).save(project / "new.results.json")
    text = results.read_text(encoding="utf-8")
    assert json.loads(text)["metadata"]["format_version"] == 2
    results.write_text(text.replace('"format_version": 2', '"format_version": 3'), encoding="utf-8")
    for command in ("show", "report", "export --to csv"):
        ended = rag_eval_ended(*command.split(), "new.results.json", folder=project)
        assert "new.results.json was written by a newer rag-eval" in ended.stderr
    labels = project / "answers" / "labels.jsonl"
    labels.parent.mkdir()
    labels.write_text('{"format_version":3,"state":"unheard of"}\n', encoding="utf-8")
    ended = rag_eval_ended("show", "001", folder=project)
    assert "labels.jsonl was written by a newer rag-eval" in ended.stderr


def test_a_page_and_a_table_are_made_of_old_runs(project: Path) -> None:
    for arguments in (
        ("report", "001", "002", "--out", "a.html"),
        ("export", "001", "--to", "csv", "--out", "a.csv"),
    ):
        ended = rag_eval_ended(*arguments, folder=project)
        assert ended.returncode == 0, ended.stderr
    assert "12 bicycles can travel." in (project / "a.html").read_text(encoding="utf-8")
    assert len((project / "a.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(ANSWERS)
