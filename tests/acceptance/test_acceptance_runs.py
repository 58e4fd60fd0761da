"""What is done with finished runs: results, show, compare, trend, report, merge, export, sample, redecide."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from acceptance.outside import ROOT, Commands, kept, read_json, read_lines, read_tables
from acceptance.projects import write_answers

TABLES = read_tables("acceptance_runs")

FOR_PEOPLE = frozenset({"why", "reason", "reasons", "sentence", "told"})


def without_words(value: Any) -> Any:
    """Return a value without the fields that hold a sentence for people."""
    if isinstance(value, dict):
        return {name: without_words(each) for name, each in value.items() if name not in FOR_PEOPLE}
    return [without_words(each) for each in value] if isinstance(value, list) else value


def run_folder(number: int) -> Path:
    (found,) = Path("runs").glob(f"eval_run_*_{number:03}")
    return found


def test_all_that_is_stored_is_listed(rag_eval: Commands, project: Path) -> None:
    rag_eval("results").ok()
    assert rag_eval("results", "--runs-dir", "nowhere", "--json").ok().json[-1:] == []
    listed = rag_eval("results", "--json").ok().json
    by_id = sorted((each | {"when": None} for each in listed), key=lambda each: str(each["id"]))
    kept("results", without_words(by_id), project)
    verdicts = {each["verdict"] for each in listed if each["dataset"] == "rag-quality"}
    assert verdicts == {"failed", "thresholds met"}
    runs = rag_eval("runs", "--json").ok().json
    assert [(run["state"], run["done"]) for run in runs] == [
        ("complete", done) for done in (24, 24, 12, 12, 4, 1, 2)
    ]


@pytest.mark.parametrize(("options", "expected"), TABLES["choices"])
def test_the_answers_that_are_asked_for_are_shown(
    options: tuple[str, ...], expected: list[str], rag_eval: Commands, project: Path
) -> None:
    rag_eval("show", "001", *options).ok()
    shown = rag_eval("show", "001", *options, "--json").ok().json
    assert sorted(each["input"] for each in shown) == sorted(expected)


@pytest.mark.parametrize("wrong", [("--slice", "length=3"), ("--sample", "99"), ("--metric", "bleu")])
def test_answers_that_are_not_there_are_refused(
    wrong: tuple[str, str], rag_eval: Commands, project: Path
) -> None:
    rag_eval("show", "001", *wrong).refused(wrong[1].partition("=")[0])


def test_an_answer_is_shown_with_what_is_known_of_it(rag_eval: Commands, project: Path) -> None:
    kept("show", without_words(rag_eval("show", "001", "--sample", "2", "--json").ok().json), project)
    assert rag_eval("show", "005", "--missed", "--json").ok().json == []
    shutil.copytree(run_folder(2), Path("only") / run_folder(2).name)
    latest = rag_eval("show", "--runs-dir", "only", "--json").ok().json
    assert latest == rag_eval("show", run_folder(2), "--json").ok().json


def test_two_runs_are_compared_answer_by_answer(rag_eval: Commands, project: Path) -> None:
    document = rag_eval("compare", "001", "002", "--json").ok().json
    (pair,) = document["answers"]
    assert [each["question"] for each in pair["better"]] == ["q1", "q2", "q3", "q23"]
    assert [each["question"] for each in pair["worse"]] == ["q4"]
    kept("compare", without_words(document), project)
    for options in (("--all",), ("--details",), ("--slice", "tag"), ("--markdown",), ("-m", "token_f1")):
        rag_eval("compare", "001", "002", *options).ok()
    only = rag_eval("compare", "001", "002", "-m", "token_f1", "--json").ok().json
    assert [metric["metric"] for metric in only["metrics"]] == ["token_f1"]


def test_several_runs_and_the_cells_of_a_sweep_are_compared(rag_eval: Commands, project: Path) -> None:
    shutil.copytree(run_folder(2), "third")
    three = rag_eval("compare", "001", "002", "third", "--json").ok().json
    assert len(three["answers"]) == len(three["contenders"]) == 2
    sweep = rag_eval("compare", "005", "--json").ok().json
    kept("compare-sweep", without_words(sweep), project)
    shown = rag_eval("compare", "005").ok().out
    assert shown.startswith("before  ")
    assert "Next:" not in shown  # no command would find the combinations by such names


def test_runs_of_other_questions_are_compared_as_samples(rag_eval: Commands, project: Path) -> None:
    rag_eval("compare", "001", "006").ok()
    rag_eval("compare", "001", "003", "--force", "--json").ok()


def test_the_trend_tells_a_fall_from_noise(rag_eval: Commands, project: Path) -> None:
    options = ("--dataset", "rag-quality", "-m", "string_match", "-m", "token_f1", "--runs-dir", "nightly")
    for number in range(9):
        wrong = {f"q{n}": "no" for n in range(number % 3, 3)}
        answers = {f"q{n}": f"The answer to q{n}" for n in range(24)} | wrong
        write_answers(project / "night.jsonl", answers if number < 8 else dict.fromkeys(answers, "no"))
        rag_eval("evaluate", "agent.yaml", "--target", "night.jsonl", *options)
        if number == 7:
            steady = rag_eval("trend", "--runs-dir", "nightly", "--json").ok().json
    rag_eval("trend", "--runs-dir", "nightly", "--fail-on", "worse", "--dataset", "none").refused("none")
    document = rag_eval("trend", "--runs-dir", "nightly", "--json").ok().json
    kept("trend", without_words({"steady": steady, "fallen": document}), project)
    only = ("trend", "--runs-dir", "nightly", "-m", "string_match", "--fail-on", "worse")
    assert rag_eval(*only).code == 1
    rag_eval("trend").ok()


def test_pages_are_written_which_load_nothing(rag_eval: Commands, project: Path) -> None:
    rag_eval("report", "001").ok()
    rag_eval("report", "001", "002", "-o", "change.html", "--badge", "badge.svg").ok()
    rag_eval("report", "005", "-o", "sweep.html").ok()
    rag_eval("report", run_folder(1) / "results.json", "-o", "file.html").ok()
    for name in ("report.html", "change.html", "sweep.html", "file.html"):
        page = (project / name).read_text(encoding="utf-8")
        assert page.lstrip().lower().startswith("<!doctype html>")
        assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page), name
    assert "The answer to q5" in (project / "report.html").read_text(encoding="utf-8")
    assert ElementTree.parse("badge.svg").getroot().tag.endswith("svg")
    rag_eval("report", "001", "006", "-o", "other.html").ok()


def test_the_shards_of_a_run_become_the_whole(rag_eval: Commands, project: Path) -> None:
    ended = rag_eval("merge", "003", "004", "--out", "whole.results.json", "--json")
    assert ended.code == 1  # the gate of the shards decides on the whole
    kept("merge", without_words(ended.json | {"query_results": len(ended.json["query_results"])}), project)
    whole, straight = read_json(project / "whole.results.json"), read_json(run_folder(1) / "results.json")
    assert whole["answer_quality_metrics"] == straight["answer_quality_metrics"]
    assert len(whole["query_results"]) == 24
    rag_eval("validate", "whole.results.json").ok()
    rag_eval("merge", "001", "003", "--out", "no.results.json").refused("003")
    rag_eval("merge", "003", "006", "--out", "no.results.json").refused("006")
    assert not (project / "no.results.json").exists()


def test_a_run_is_written_for_others(rag_eval: Commands, project: Path) -> None:
    name = run_folder(1).name
    for to in ("csv", "junit"):
        rag_eval("export", "001", "--to", to).ok()
    with (project / f"{name}.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    kept("export-csv", [rows[1], rows[23]], project)
    cases = ElementTree.parse(f"{name}.xml").findall(".//testcase[@classname='rag-quality']")
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    assert (len(cases), len(failed)) == (24, 1)  # the others are allowed by a gate that has no grades
    for part in ("003", "004"):
        rag_eval("export", part, "--to", "shards", "-o", f"{part}.shards").ok()
    rag_eval("merge", "003.shards", "004.shards", "--out", "joined.results.json").ok()
    assert len(read_json(project / "joined.results.json")["query_results"]) == 24
    rag_eval("export", "001", "--to", "docx").refused("docx", "xlsx")
    rag_eval("export", "--to", "csv", "-o", "latest.csv").ok()
    assert (project / "latest.csv").exists()


def test_records_are_drawn_by_a_seed(rag_eval: Commands, project: Path) -> None:
    drawn = rag_eval("sample", "evals/rag.jsonl", "-n", "3", "--seed", "1", "--json").ok().json
    kept("sample", drawn, project)
    assert rag_eval("sample", "evals/rag.jsonl", "-n", "3", "--seed", "1", "--json").json == drawn
    asked = [each["input"] for each in read_lines(project / "evals" / "rag.jsonl")]
    assert {each["question"] for each in drawn["samples"]} <= set(asked)
    assert json.loads(rag_eval("sample", "tiny.eval.json", "--full", "--json").out)["total"] == 2


@pytest.fixture
def old(folder: Path) -> Path:
    """The runs of a project of version 1.0.0, whose journals have no verdicts."""
    project = shutil.copytree(ROOT / "tests" / "fixtures" / "runs_1_0_0", folder, dirs_exist_ok=True)
    return Path(project) / "runs"


def files_below(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_stored_answers_are_decided_again_by_the_present_rules(rag_eval: Commands, old: Path) -> None:
    before = files_below(old)
    told = rag_eval("redecide", "001", "002", "003", "005", "--json").ok().json
    kept("redecide", told)
    after = files_below(old)
    changed = {path for path in after if after[path] != before.get(path)}
    runs = [f"eval_run_20261118_{number}" for number in ("001", "002", "003", "004", "005")]
    names = ("journal.jsonl", "results.json", "figures.json", "verdict.json")
    assert changed == {f"{run}/{name}" for run in runs for name in names} - {f"{runs[3]}/verdict.json"}
    for run in runs:
        journal = f"{run}/journal.jsonl"
        assert after[journal].startswith(before[journal])
        results = [json.loads(files[f"{run}/results.json"]) for files in (before, after)]
        # What a run of 1.0.0 tells of retries is told once it is decided again.
        results[1]["performance_metrics"].pop("reliability", None)
        for part in ("answer_quality_metrics", "performance_metrics", "configuration"):
            assert results[0][part] == results[1][part]
        assert "query_results" not in results[1]
        rag_eval("validate", old / run / "results.json").ok()
    stored = (each for each in rag_eval("results", "--json").ok().json if "baseline" not in each["path"])
    listed = {each["id"]: each for each in stored}
    for each in told[:2]:
        assert each["after"] == listed[each["run"]]["answers"]
        assert each["gate"] == listed[each["run"]]["verdict"]
    assert rag_eval("redecide", "001", "002", "003", "005").ok().out.count(" → ") == 4 * 4
    again = files_below(old)
    assert {path for path in again if again[path] != after[path]} <= {f"{run}/figures.json" for run in runs}


def test_unfinished_run_is_decided_again_and_can_be_resumed(rag_eval: Commands, old: Path) -> None:
    before = files_below(old)
    (told,) = rag_eval("redecide", "006", "--json").ok().json
    assert (told["after"]["total"], told["gate"]) == (3, None)
    after = files_below(old)
    assert {path for path in after if after[path] != before.get(path)} == {
        "eval_run_20261118_006/journal.jsonl"
    }
    asked = ("agent.yaml", "--target", "assistant:answer", "--resume", "006")
    assert rag_eval("evaluate", *asked, "--json").json["answers"]["total"] == 7


@pytest.mark.parametrize("wrong", ["008", "007"])
def test_runs_that_cannot_be_decided_again_are_unchanged(wrong: str, rag_eval: Commands, old: Path) -> None:
    before = files_below(old)
    rag_eval("redecide", wrong).refused(wrong)
    rag_eval("redecide", wrong, "001").refused(wrong)
    assert files_below(old) == before
