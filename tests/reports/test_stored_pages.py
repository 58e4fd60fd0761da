"""The pages over all that is stored: a list, reports, comparisons, and how far running runs have come."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from rag_evaluation_framework import evaluate, load
from rag_evaluation_framework.cli.serve import answers
from rag_evaluation_framework.errors import InputError, UsageError
from rag_evaluation_framework.judging.verdict import GRADES
from rag_evaluation_framework.reports.stored_pages import StoredPages

ROWS = [{"input": f"What is {n}?", "expected": str(n)} for n in range(4)]


def evaluated(rows: list[dict[str, str]], answer: Any, **given: Any) -> str:
    result = evaluate(rows, target=answer, metrics=["exact_match"], runs_directory="runs", **given)
    return str(result.head.run_id)


def right(question: str) -> str:
    return question.removeprefix("What is ").removesuffix("?")


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredPages:
    monkeypatch.chdir(tmp_path)
    evaluated(ROWS, lambda question: "3", gate={"exact_match": 0.5})
    evaluated(ROWS, right, gate={"exact_match": 0.5})
    return StoredPages(Path("runs"), title="project")


def test_the_list_has_every_result_with_its_figures_and_verdict(pages: StoredPages) -> None:
    newer, older = pages.listed()["results"]
    assert [newer["verdict"], older["verdict"]] == ["passed", "failed"]
    assert [newer["metrics"]["exact_match"], older["metrics"]["exact_match"]] == [1.0, 0.25]
    assert pages.listed()["running"] == []
    grades = list(pages.listed()["grades"])
    assert [newer["answers"][grade] for grade in grades] == [4, 0, 0, 0]
    older_answers = load(Path("runs", older["id"])).answers
    assert [older["answers"][grade] for grade in grades] == [older_answers.count(grade) for grade in GRADES]
    assert older_answers.correct == 1
    index = pages.index()
    assert newer["id"] in index.text
    assert "connect-src 'self'" in index.policy
    assert "unsafe" not in index.policy


def test_a_report_is_made_once_and_again_when_its_run_changes(pages: StoredPages) -> None:
    newer, older = (each["key"] for each in pages.listed()["results"])
    first = pages.report(newer)
    assert pages.report(newer) is first
    assert newer in first.text
    assert pages.report(older, newer) is pages.report(older, newer)
    results = Path("runs", newer, "results.json")
    results.write_text(results.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert pages.report(newer) is not first


def test_runs_over_other_questions_are_two_samples(pages: StoredPages) -> None:
    other = evaluated([{"input": "Why?", "expected": "So."}], right)
    base = pages.listed()["results"][-1]["key"]
    reply = answers(pages)("compare", {"base": base, "candidate": other})
    assert reply.status == 200
    assert "different questions: 1 answer now, 4 before" in reply.body.decode()


def test_other_methods_are_refused_with_the_way_on(pages: StoredPages) -> None:
    other = evaluated(ROWS, right)
    head = Path("runs", other, "head.json")
    head.write_text(
        head.read_text(encoding="utf-8").replace('"exact_match": 1', '"exact_match": 2'), encoding="utf-8"
    )
    base = pages.listed()["results"][-1]["key"]
    with pytest.raises(UsageError):
        pages.report(base, other)
    reply = answers(pages)("compare", {"base": base, "candidate": other})
    assert "Not comparable" in reply.body.decode()
    assert "force=yes" in reply.body.decode()
    assert answers(pages)("compare", {"base": base, "candidate": other, "force": "yes"}).status == 200


@pytest.mark.parametrize("key", ["", "none", "..", "../runs", "/etc/passwd", "runs", "\x00"])
def test_only_what_is_listed_can_be_opened(pages: StoredPages, key: str) -> None:
    with pytest.raises(InputError):
        pages.report(key)
    with pytest.raises(InputError):
        answers(pages)("run", {"key": key})
    assert answers(pages)(key or "nothing", {}) is None


def test_a_result_that_cannot_be_read_is_listed_with_the_reason(pages: StoredPages) -> None:
    key = pages.listed()["results"][0]["key"]
    Path("runs", key, "results.json").write_text("{", encoding="utf-8")
    found = {each["key"]: each["error"] for each in pages.listed()["results"]}
    assert "results.json" in found[key]
    assert sum(error is not None for error in found.values()) == 1


def test_how_far_a_run_has_come_is_told_while_it_runs(pages: StoredPages) -> None:
    reached, goes_on = Event(), Event()

    def slow(question: str) -> str:
        if question == "What is 2?":
            reached.set()
            goes_on.wait(20)
        return right(question)

    before = pages.state()["stamp"]
    thread = Thread(target=lambda: evaluated(ROWS, slow))
    thread.start()
    try:
        assert reached.wait(20)
        (running,) = pages.state()["running"]
        assert (running["dataset"], running["total"], running["failed"]) == ("rows", 4, 0)
        assert running["done"] < 4
    finally:
        goes_on.set()
        thread.join(20)
    assert pages.state()["running"] == []
    assert pages.state()["stamp"] != before
    assert len(pages.listed()["results"]) == 3
    json.dumps(pages.listed())
