"""JUnit: the gate is one case, and an answer fails only where the gate fails because of it."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from cases import tables_beside
from every_state import evaluate_every_state
from rag_evaluation_framework import Evaluation, Verdict
from rag_evaluation_framework.results.verdicts import Check, Regressions
from rag_evaluation_framework.structs import replace

TABLES = tables_beside(__file__)

WRONG = set(TABLES["wrong"])
UNJUDGED = {"not_judged", "looks_wrong"}


@pytest.fixture(scope="module")
def whole() -> Evaluation:
    return evaluate_every_state()


def check(metric: str, status: Any, dataset: str | None = None) -> Check:
    operator: Any = ">=" if metric == "correct" else "<="
    return Check(dataset=dataset, metric=metric, operator=operator, bound=1, value=6, status=status)


def cases(whole: Evaluation, verdict: Verdict) -> tuple[str, set[str], dict[str, str]]:
    """Return how the gate's case ends, the names of the answers that fail, and why the others are skipped."""
    suites = ElementTree.fromstring(replace(whole, verdict=verdict).render("junit")).findall("testsuite")
    (gate,) = suites[0].findall("testcase")
    ends = [each.tag for each in gate if each.tag != "system-out"]
    assert gate.get("name") == "gate"
    named = {(each.get("name") or "").partition(":")[0]: each for each in suites[1].findall("testcase")}
    failed = {name for name, each in named.items() if each.find("failure") is not None}
    skips = {name: each.find("skipped") for name, each in named.items()}
    told = {name: skip.get("message") or "" for name, skip in skips.items() if skip is not None}
    assert failed | told.keys() | {"correct", "correct_refusal", "flagged"} == named.keys()
    return (ends or ["passed"])[0], failed, told


@pytest.mark.parametrize(
    ("checks", "gate", "failed", "wrong", "partly"), TABLES["an_answer_fails_if_the_gate_fails_on_its_grade"]
)
def test_an_answer_fails_if_the_gate_fails_on_its_grade(
    whole: Evaluation, checks: Any, gate: str, failed: list[str], wrong: str, partly: str
) -> None:
    verdict = Verdict(checks=tuple(check(*each) for each in checks), max_errors=1)
    ended, found, told = cases(whole, verdict)
    assert (ended == "failure") == (verdict.exit_code == 1)
    assert (ended, found) == (gate, set(failed))
    assert {told[name] for name in WRONG - found} <= {wrong}
    assert told.get("partly_correct", "") == partly
    assert all(told[name].startswith("not judged") for name in UNJUDGED)


def test_a_gate_that_is_off_skips_its_case_and_no_answer_fails(whole: Evaluation) -> None:
    ended, failed, told = cases(whole, Verdict(enabled=False, checks=(check("wrong", "missed"),)))
    assert (ended, failed, told["wrong"]) == ("skipped", set(), "wrong, no threshold covers it")


def test_a_threshold_of_another_dataset_covers_no_answer(whole: Evaluation) -> None:
    _, failed, told = cases(whole, Verdict(checks=(check("wrong", "missed", "others"),), max_errors=1))
    assert (failed, told["wrong"]) == (set(), "wrong, no threshold covers it")


def test_an_answer_that_got_worse_fails_with_the_gate(whole: Evaluation) -> None:
    moved = Regressions(baseline="main", word="worse", worse=(("rows", "wrong"),), paired=12)
    verdict = Verdict(checks=(check("baseline", "worse"),), regressions=moved, max_errors=1)
    ended, failed, told = cases(replace(whole, regressions=moved), verdict)
    assert (ended, failed) == ("failure", {"wrong"})
    assert told["unsupported"] == "wrong, no threshold covers it"


def test_an_unanswered_question_fails_if_errors_exceed_limit(whole: Evaluation) -> None:
    _, failed, _ = cases(whole, Verdict(checks=(check("wrong", "met"),), broken_rules=("1 error",)))
    assert failed == {"no_answer"}
