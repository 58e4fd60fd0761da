"""Labels of answers: kept in one file, and applied wherever a run is read."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_lines import ok
from rag_evaluation_framework import Evaluation, InputError, evaluate, load
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.results.answer_labels import (
    AnswerLabel,
    AnswerLabels,
    append_labels,
    fold_text,
    read_labels,
)
from scored_rows import ROWS, label, press, score, states


def given(state: Any = "correct", who: str = "anna", **more: Any) -> AnswerLabel:
    known = {"question": "How many?", "answer": "27.", "time": "now", "reference": "27 days", **more}
    return AnswerLabel(annotator=who, state=state, **known)


def sample(reference: str | None = "27 days", question: str = "How many?") -> Sample:
    return Sample(id="s", turns=(Turn(role="user", content=question),), reference=reference)


def test_label_is_found_in_any_case_spacing_and_punctuation() -> None:
    labels = AnswerLabels([given(answer="It  costs “1.5” crowns!")])
    assert labels.find(("HOW many",), sample(), "it costs 1.5 crowns").label == "correct"
    assert labels.find(("How many?",), sample(), "It costs 15 crowns").label is None
    assert fold_text("１．５") == fold_text("1.5") != fold_text("15")


def test_later_label_of_an_annotator_replaces_the_earlier() -> None:
    labels = AnswerLabels([given("correct"), given("wrong")])
    assert labels.find(("How many?",), sample(), "27").label == "wrong"
    labels = AnswerLabels([given("correct"), given(None)])
    assert labels.find(("How many?",), sample(), "27").label is None


def test_annotators_who_disagree_leave_it_undecided() -> None:
    found = AnswerLabels([given("correct"), given("wrong", "ben")]).find(("How many?",), sample(), "27")
    assert found.label == "disputed"
    assert found.why == "annotators disagree: anna correct, ben wrong"


def test_label_beside_another_reference_is_to_confirm() -> None:
    labels = AnswerLabels([given("correct")])
    found = labels.find(("How many?",), sample("28 days"), "27")
    assert (found.label, found.is_to_confirm) == (None, True)
    assert not labels.find(("How many?",), sample("28 days"), "27 of them").references


def test_only_correct_answers_are_further_references() -> None:
    labels = AnswerLabels([given("correct", answer="A"), given("wrong", answer="B")])
    assert labels.find(("How many?",), sample(), "C").references == ("A",)
    assert labels.find(("Before?", "How many?"), sample(), "C").references == ()


def test_torn_last_line_is_skipped_and_then_replaced(tmp_path: Path) -> None:
    path = tmp_path / "answers" / "labels.jsonl"
    append_labels(path, [given("correct")])
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole + whole[:cut])
        assert len(read_labels(path)) == 1 + (cut == len(whole) - 1)
        append_labels(path, [given("wrong", "ben")])
        assert [each.annotator for each in read_labels(path)][-1] == "ben"
        assert len(path.read_bytes().splitlines()) == 2 + (cut == len(whole) - 1)


def test_damaged_lines_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    append_labels(path, [given()])
    bad = b'<<<<<<< HEAD\n{"question":"a"}\n' + path.read_bytes().replace(b'"correct"', b'"right"')
    path.write_bytes(path.read_bytes() + bad + path.read_bytes())
    with pytest.raises(InputError) as raised:
        read_labels(path)
    assert [issue.line for issue in raised.value.issues] == [2, 3, 4]


def test_processes_append_at_once_without_loss(tmp_path: Path) -> None:
    path = tmp_path / "answers" / "labels.jsonl"
    program = (
        "import sys; from pathlib import Path; from rag_evaluation_framework.results.answer_labels import *\n"
        "for n in range(150): append_labels(Path(sys.argv[1]), "
        "[AnswerLabel(f'q{n}', 'x' * n, sys.argv[2], 'now', 'correct')])"
    )
    people = [f"p{n}" for n in range(4)]
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), who]) for who in people]
    assert [each.wait() for each in running] == [0] * 4
    found = [(each.annotator, each.question) for each in read_labels(path)]
    assert len(found) == len(set(found)) == 600


def test_label_changes_every_report_and_nothing_else(tmp_path: Path) -> None:
    runs = [score(tmp_path), score(tmp_path)]
    before = [states(tmp_path, run) for run in runs]
    assert before[0]["q5"] == before[1]["q5"] == "not_judged"
    counts = json.loads(ok(tmp_path, "results", "--json"))
    said = label(tmp_path, runs[0], {"q5": "wrong"})
    assert "wrong → wrong" in said
    for run, then in zip(runs, before, strict=True):
        assert states(tmp_path, run) == {**then, "q5": "wrong"}
        assert "labeled by anna" in ok(tmp_path, "show", run, "--failed")
        (document,) = (row for row in json.loads(ok(tmp_path, "results", "--json")) if row["id"] == run)
        (earlier,) = (row for row in counts if row["id"] == run)
        assert document["answers"]["wrong"] == earlier["answers"]["wrong"] + 1
        assert document["answers"]["total"] == earlier["answers"]["total"]
        assert document["metrics"] == earlier["metrics"]
        ok(tmp_path, "export", run, "--to", "csv", "-o", f"{run}.csv")
        rows = list(csv.DictReader((tmp_path / f"{run}.csv").read_text(encoding="utf-8").splitlines()))
        assert {row["id"]: row["why"] for row in rows}["q5"] == "labeled by anna"
        page = tmp_path / f"{run}.html"
        ok(tmp_path, "report", run, "-o", str(page))
        assert "labeled by anna" in page.read_text(encoding="utf-8")
        results = load(tmp_path / "runs" / run / "results.json")
        assert isinstance(results, Evaluation)
        assert results.answers.wrong == document["answers"]["wrong"]
    assert "2 unchanged" not in (compared := ok(tmp_path, "compare", *runs))
    assert "worse" not in compared.splitlines()[0].lower() or "No worse" in compared
    (told,) = json.loads(ok(tmp_path, "redecide", runs[1], "--json"))
    assert told["before"] == told["after"]
    label(tmp_path, runs[0], {"q5": "correct"}, who="ben")
    assert states(tmp_path, runs[1]) == before[1]
    assert "annotators disagree: anna wrong, ben correct" in ok(tmp_path, "show", runs[1], "--not-judged")


def test_labels_of_wrong_answers_fail_an_old_gate(tmp_path: Path) -> None:
    run = score(tmp_path, ROWS[:3], "--threshold", "wrong<=0", "--threshold", "not_judged<=100%")
    assert load(tmp_path / "runs" / run).verdict.word == "passed"  # type: ignore[union-attr]
    label(tmp_path, run, {"q2": "wrong"})
    assert load(tmp_path / "runs" / run).verdict.word == "failed"  # type: ignore[union-attr]
    assert json.loads(ok(tmp_path, "results", "--json"))[0]["verdict"] == "failed"
    label(tmp_path, run, {"q2": "correct"})
    assert load(tmp_path / "runs" / run).verdict.word == "passed"  # type: ignore[union-attr]
    assert json.loads(ok(tmp_path, "results", "--json"))[0]["verdict"] == "passed"


def test_reworded_answer_needs_no_new_label(tmp_path: Path) -> None:
    first = score(tmp_path)
    label(tmp_path, first, {"q5": "correct", "q2": "wrong"})
    again = [*ROWS[:1], (*ROWS[1][:3], "It departs early; 9 o'clock."), *ROWS[2:4]]
    reworded = score(tmp_path, [*again, (*ROWS[4][:3], "It was a woman named Berg.")])
    found = states(tmp_path, reworded)
    assert found["q5"] == "correct"
    assert found["q2"] == states(tmp_path, first)["q1"] == "not_judged"
    shown = ok(tmp_path, "show", reworded, "--sample", "q5")
    assert "word overlap" in shown


def test_changed_reference_puts_labels_on_a_list(tmp_path: Path) -> None:
    label(tmp_path, score(tmp_path), {"q5": "correct"})
    changed = score(tmp_path, [*ROWS[:4], (*ROWS[4][:2], "Eva Lund founded it.", ROWS[4][3])])
    assert states(tmp_path, changed)["q5"] == "not_judged"
    assert "1 label to confirm" in ok(tmp_path, "show", changed) + ok(tmp_path, "results")
    assert "confirm it" in ok(tmp_path, "show", changed, "--sample", "q5")
    said = press(tmp_path, "wq", changed)
    assert next(line for line in said.splitlines() if " left" in line).startswith("q5:")
    assert "anna labeled it correct. Reference then: Ada Berg founded the company." in said
    assert states(tmp_path, changed)["q5"] == "wrong"
    assert "to confirm" not in ok(tmp_path, "results")


def test_figures_are_kept_until_a_label_changes(tmp_path: Path) -> None:
    run = score(tmp_path)
    figures = tmp_path / "runs" / run / "figures.json"
    label(tmp_path, run, {"q5": "wrong"})
    states(tmp_path, run)
    written = figures.stat().st_mtime_ns
    load(tmp_path / "runs" / run)
    assert figures.stat().st_mtime_ns == written
    append_labels(tmp_path / "answers" / "labels.jsonl", [given(question="Another question?")])
    load(tmp_path / "runs" / run)
    assert figures.stat().st_mtime_ns == written
    label(tmp_path, run, {"q5": "correct"})
    load(tmp_path / "runs" / run)
    assert figures.stat().st_mtime_ns > written


def test_part_of_a_labeled_answer_tells_nothing(tmp_path: Path) -> None:
    question, reference = "When was the bridge built?", "1894"
    whole = "It opened in 1894. Horace Jones drew the towers."
    label(tmp_path, score(tmp_path, [("b", question, reference, whole)]), {"b": "correct"})
    part = score(tmp_path, [("b", question, reference, "Horace Jones drew the towers.")])
    assert states(tmp_path, part)["b"] == "not_judged"


def test_label_of_a_turn_decides_that_turn_alone(tmp_path: Path) -> None:
    questions = ("When does the ferry sail?", "And back?")
    turns = [
        turn
        for question, reference in zip(questions, ("at nine", "at noon"), strict=True)
        for turn in (Turn(role="user", content=question), Turn(role="assistant", reference=reference))
    ]
    talk = Sample(id="talk", turns=tuple(turns))
    wish: dict[str, Any] = {"metrics": ["turn_correctness"], "runs_directory": tmp_path / "runs"}
    evaluate([talk], target=lambda _: "Ask at the harbor.", **wish)
    (run,) = (path.parent.name for path in tmp_path.glob("runs/*/head.json"))
    before = turn_states(tmp_path, run)
    said = label(tmp_path, run, {"talk#2": "wrong"})
    assert "labeled 1 of 2 answers" in said
    assert turn_states(tmp_path, run) == [before[0], "wrong"]
    assert read_labels(tmp_path / "answers" / "labels.jsonl")[0].before == questions[:1]


def turn_states(folder: Path, run: str) -> list[str]:
    evaluation = load(folder / "runs" / run)
    assert isinstance(evaluation, Evaluation)
    return [each.state for row in evaluation.rows for each in row.verdicts]


def test_project_keeps_labels_with_its_data(tmp_path: Path) -> None:
    ok(tmp_path, "init", "project")
    project = tmp_path / "project"
    run = score(project)
    assert "data/answers/labels.jsonl" in label(project, run, {"q5": "wrong"})
    assert "labeled by anna" in ok(project, "show", run, "--failed")
    ok(project, "doctor")
    assert "q5" in ok(project / "data", "show", run, "--failed")
