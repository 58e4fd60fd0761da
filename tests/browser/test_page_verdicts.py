"""The verdicts on answers as the pages show them: counted, filtered, sorted, explained and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from cases import tables_beside
from rag_evaluation_framework import Evaluation
from rag_evaluation_framework.judging.verdict import GRADES, STATES, AnswerVerdict, name_of_state
from rag_evaluation_framework.records.responses import Failure, Response
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.reports.page import page
from rag_evaluation_framework.results.evaluations import Row, summed_up
from rag_evaluation_framework.results.verdicts import Check, Threshold, Verdict
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)

Opened: TypeAlias = Callable[..., Any]
GRADE_NAMES = [name_of_state(grade) for grade in GRADES]
OF_STATES = {state: AnswerVerdict(state, "person", f"reason of {state}") for state in STATES}
EVERY: dict[str, AnswerVerdict] = {
    **OF_STATES,
    "looks_wrong": AnswerVerdict("not_judged", "words", "says something else", leaning="wrong"),
    "flagged": AnswerVerdict("correct", "local_model", flags=("unsupported_text",)),
    "caused": AnswerVerdict("wrong", "judge", "contradicts the reference", cause="retrieval_missed"),
}
WORST_FIRST = ["wrong", "partly_correct", "looks_wrong", "not_judged", "flagged", "correct"]


def evaluation_of(
    verdicts: Mapping[str, AnswerVerdict], *, run: str = "run", answers: Mapping[str, str] | None = None
) -> Evaluation:
    """Return an evaluation with a row for each verdict; every answer scores 0.12."""
    rows = [
        _row(place, name, each, (answers or {}).get(name))
        for place, (name, each) in enumerate(verdicts.items())
    ]
    head = RunHead(run_id=run, dataset_id="rows", target="agent", started_at="2026-11-16T00:00:00+00:00")
    outcome = RunOutcome(completed=True, interrupted=False, done=len(rows), failed=0, remaining=0)
    return summed_up(head, rows, kind="answers", outcome=outcome, rows=lambda: rows)


def _row(place: int, name: str, verdict: AnswerVerdict, answer: str | None) -> Row:
    turns: tuple[Turn, ...] = (Turn(role="user", content=f"What about {name}?"),)
    if verdict.turns:
        one = (Turn(role="user", content="Who?"), Turn(role="assistant", reference="I."))
        turns = one * len(verdict.turns)
    response = Response(text=answer or f"Answer {name}.")
    if verdict.is_unanswered:
        response = Response(failure=Failure(kind="timeout", message="no answer"))
    score = Score.scored("claim_recall", 0.12, method="exact")
    sample = Sample(id=name, turns=turns, reference=None if verdict.turns else "Expected.")
    return Row(place, SampleResult(name, response, (score,)), sample, verdict=verdict)


def with_gate(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with a gate that requires more of the mean than it is."""
    bound = Threshold("claim_recall", ">=", 0.5)
    check = Check(dataset=None, metric="claim_recall", bound=0.5, value=0.12, status="missed")
    return replace(evaluation, thresholds=(bound,), verdict=Verdict(checks=(check,)))


def texts(tab: Any, query: str) -> list[str]:
    return [" ".join(each.split()) for each in tab.locator(query).all_inner_texts()]


@pytest.fixture
def report(opened: Opened, tmp_path: Path) -> Callable[..., Any]:
    """Open the page of evaluations."""

    def open_report(*evaluations: Evaluation, address: str = "") -> Any:
        path = tmp_path / "page.html"
        path.write_text(page(evaluations, force=True), encoding="utf-8")
        return opened(path, address)

    return open_report


def counts_shown(tab: Any) -> dict[str, int]:
    """Return the numbers above the names of a list of counts."""
    numbers, names = (texts(tab, f".view:not([hidden]) .counts li {each}") for each in ("b", "b + span"))
    return {name: int(number) for name, number in zip(names, numbers, strict=True)}


def test_report_of_every_state_shows_the_counts(report: Callable[..., Any]) -> None:
    talk = AnswerVerdict("wrong", "judge", turns=(OF_STATES["correct"], OF_STATES["wrong"]))
    evaluation = evaluation_of({**EVERY, "talk": talk})
    answers = evaluation.answers
    tab = report(evaluation)
    assert counts_shown(tab) == {name_of_state(grade): answers.count(grade) for grade in GRADES}
    chips = dict(each.rsplit(" ", 1) for each in texts(tab, ".samples .chip"))
    grades = {name: str(answers.count(grade)) for name, grade in zip(GRADE_NAMES, GRADES, strict=True)}
    assert chips == {**grades, "not judged, looks wrong": "1", "flagged": "1"}
    states = " ".join(texts(tab, ".counts small"))
    assert "1 looks wrong" in states
    for state, count in answers.states.items():
        if state not in ("partly_correct", "not_judged"):
            assert f"{count} {name_of_state(state, count)}" in states
    assert texts(tab, ".flagged tbody tr") == [
        "What about flagged? may contain unsupported text ✓ correct".replace("✓ ", "")
    ]


def test_report_lists_the_worst_answers_first(report: Callable[..., Any]) -> None:
    tab = report(evaluation_of({name: EVERY[name] for name in reversed(WORST_FIRST)}))
    assert texts(tab, ".samples tbody td.mono") == WORST_FIRST


def test_grade_filter_when_pressed_shows_its_answers(report: Callable[..., Any]) -> None:
    evaluation = evaluation_of(EVERY)
    tab = report(evaluation)
    for place, grade in enumerate(GRADES):
        tab.locator(".counts a").nth(place).click()
        rows = [row.id for row in evaluation.rows if row.verdict is not None and row.verdict.grade == grade]
        assert sorted(texts(tab, ".samples tbody td.mono")) == sorted(rows)
    tab.evaluate("location.hash = ''")
    tab.keyboard.press("f")
    assert len(texts(tab, ".samples tbody tr")) == evaluation.answers.wrong
    tab.evaluate("location.hash = '#k=retrieval_missed'")
    tab.wait_for_function("document.querySelectorAll('.samples tbody tr').length === 1")
    assert texts(tab, ".samples tbody td.mono") == ["caused"]


def test_missed_threshold_marks_no_answer(report: Callable[..., Any]) -> None:
    correct = {name: EVERY[name] for name in ("correct", "correct_refusal")}
    tab = report(with_gate(evaluation_of(correct)))
    assert tab.locator("h1:visible").inner_text().startswith("✗ FAILED")
    assert tab.locator(".samples .verd.no, .samples .alarm, .samples .low").count() == 0
    tab.locator(".samples tbody a").first.click()
    assert "claim_recall 0.12 (the gate requires a mean of 0.50)" in tab.locator(".sample").inner_text()
    assert tab.locator(".sample .alarm").count() == 0


def test_answer_page_names_decider_reason_and_cause(report: Callable[..., Any]) -> None:
    tab = report(evaluation_of(EVERY), address="#s=caused")
    lines = texts(tab, ".sample > p")
    assert lines[0] == "wrong (LLM judge): contradicts the reference."
    assert lines[1].startswith("Cause: ")
    tab.evaluate("location.hash = '#s=flagged'")
    tab.wait_for_function("document.querySelector('.sample .mono').textContent === 'flagged'")
    assert texts(tab, ".sample > p") == ["correct (local model).", "Flagged: may contain unsupported text."]


def test_conversation_page_has_a_verdict_on_each_turn(report: Callable[..., Any]) -> None:
    talk = AnswerVerdict("wrong", "judge", "worst", turns=(OF_STATES["correct"], OF_STATES["wrong"]))
    tab = report(evaluation_of({"talk": talk}), address="#s=talk")
    assert texts(tab, ".sample .blk .verd") == ["correct", "wrong"]


def test_comparison_sorts_answers_by_their_verdicts(report: Callable[..., Any]) -> None:
    moves = TABLES["moves"]
    before, now = ({str(n): OF_STATES[move[side]] for n, move in enumerate(moves)} for side in (0, 1))
    same = {"same": OF_STATES["correct"]}, {"same": OF_STATES["wrong"]}
    texts_now = {name: f"Another answer {name}." for name in now}
    tab = report(evaluation_of(before | same[0]), evaluation_of(now | same[1], run="now", answers=texts_now))
    assert counts_shown(tab) == {
        "became wrong": 1,
        "became partly correct": 1,
        "no longer confirmed": 1,
        "became correct": 2,
        "unchanged": 3,  # with the one whose text is the same
    }
    for key, word in (("w", "became wrong"), ("p", "became partly correct"), ("c", "became correct")):
        tab.keyboard.press(key)
        assert tab.locator(".moves .chip[aria-pressed=true]").inner_text().startswith(word)
        assert tab.locator(".mover").count() == counts_shown(tab)[word]
        assert set(texts(tab, ".mover .ab > div:last-child .verd")) <= {
            name_of_state(now) for _, now, moved in moves if moved == word
        }
