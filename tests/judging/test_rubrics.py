"""Rubrics: the arithmetic by hand, files with all their problems, and a judge whose word is not taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chat_server import in_turn
from hypothesis import given
from hypothesis import strategies as st
from scripted_judge import Reading, entries, judged_by, judging

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.judging.rubrics import (
    Criterion,
    Rubric,
    default_rubric,
    judge_rubric,
    read_rubric,
)

TABLES = tables_beside(__file__)

NAMES = ("factuality", "grounding", "completeness", "communication")


def test_the_default_weighs_facts_most() -> None:
    assert [(each.name, each.weight) for each in default_rubric().criteria] == [
        ("factuality", 0.40),
        ("grounding", 0.30),
        ("completeness", 0.20),
        ("communication", 0.10),
    ]
    assert (default_rubric().pass_at, default_rubric().floor) == (0.65, 0.4)


@pytest.mark.parametrize(
    ("scores", "overall", "passed"), TABLES["overall_is_the_weighted_mean_and_passing_needs_every_score"]
)
def test_overall_is_the_weighted_mean_and_passing_needs_every_score(
    scores: tuple[float, ...], overall: float, passed: bool
) -> None:
    given_scores = dict(zip(NAMES, scores, strict=True))
    assert default_rubric().overall(given_scores) == overall
    assert default_rubric().passes(given_scores) is passed


@given(st.lists(st.sampled_from([0, 0.25, 0.5, 0.75, 1]), min_size=4, max_size=4), st.integers(0, 3))
def test_a_better_score_never_makes_the_overall_worse(scores: list[float], index: int) -> None:
    better = [*scores]
    better[index] = min(1, better[index] + 0.25)
    before, after = (dict(zip(NAMES, each, strict=True)) for each in (scores, better))
    assert 0 <= default_rubric().overall(before) <= default_rubric().overall(after) <= 1
    assert default_rubric().passes(after) >= default_rubric().passes(before)


@pytest.mark.parametrize(
    "scores",
    [
        {},
        {"factuality": 1},
        dict.fromkeys((*NAMES, "charm"), 1.0),
        dict.fromkeys(NAMES, 1.5),
        dict.fromkeys(NAMES, float("nan")),
    ],
)
def test_scores_that_are_not_the_rubrics_are_refused(scores: dict[str, float]) -> None:
    with pytest.raises(InputError):
        default_rubric().overall(scores)


@pytest.mark.parametrize(
    ("criteria", "bounds"),
    [
        ([], {}),
        ([("a", 0.5), ("b", 0.4)], {}),
        ([("a", 0.5), ("a", 0.5)], {}),
        ([("a", 1.5), ("b", -0.5)], {}),
        ([("a", 1.0)], {"pass_at": 2.0}),
        ([("a", 1.0)], {"floor": float("nan")}),
    ],
)
def test_a_rubric_that_makes_no_sense_is_refused(
    criteria: list[tuple[str, float]], bounds: dict[str, float]
) -> None:
    with pytest.raises(InputError):
        Rubric(name="r", version=1, criteria=tuple(Criterion(*each, "d") for each in criteria), **bounds)


def test_a_rubric_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rubric.yaml"
    path.write_text(
        "name: tone\nversion: 2\npass_at: 0.7\ncriteria:\n"
        "  - {name: right, weight: 0.6, description: It is right.}\n"
        "  - {name: kind, weight: 0.4, description: It is kind.}\n",
        encoding="utf-8",
    )
    assert read_rubric(path) == Rubric(
        name="tone",
        version=2,
        criteria=(Criterion("right", 0.6, "It is right."), Criterion("kind", 0.4, "It is kind.")),
        pass_at=0.7,
        floor=0.4,
    )


def test_the_example_is_the_default() -> None:
    assert read_rubric(Path(__file__).parents[2] / "examples" / "judging" / "rubric.yaml") == default_rubric()


def issues(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "rubric.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_rubric(path)
    return [str(issue).removeprefix(f"{path}:") for issue in caught.value.issues]


def test_everything_that_is_wrong_with_a_rubric_is_told_with_its_line(tmp_path: Path) -> None:
    text = (
        "name: ''\n"
        "version: 1.5\n"
        "pass-at: 0.7\n"
        "floor: 40\n"
        "criteria:\n"
        "  - name: right\n"
        "    weight: heavy\n"
        "    description: It is right.\n"
        "  - name: right\n"
        "    wait: 0.5\n"
    )
    assert issues(tmp_path, text) == [
        "1: name: expected text, got ''",
        "2: version: expected a whole number of at least 1, got 1.5",
        '3: unknown key "pass-at" in the file. Did you mean "pass_at"?',
        "4: floor: expected a number from 0 to 1, got 40",
        "7: criteria[0].weight: expected a number from 0 to 1, got 'heavy'",
        '9: "criteria[1].weight" is missing; expected a number from 0 to 1',
        '9: "criteria[1].description" is missing; expected text',
        "9: criteria[1].name: expected a name of its own, got right",
        '10: unknown key "wait" in criteria[1]. Did you mean "weight"?',
    ]


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ((0.6, 0.3), "4: criteria: expected weights that sum to 1, got 0.9"),
        ((0.6, 0.6), "4: criteria: expected weights that sum to 1, got 1.2"),
        ((1, 0), "5: criteria[1].weight: expected a weight above 0, got 0"),
    ],
)
def test_weights_sum_to_one(tmp_path: Path, weights: tuple[float, float], problem: str) -> None:
    lines = [f"  - {{name: c{n}, weight: {weight}, description: d}}\n" for n, weight in enumerate(weights)]
    assert issues(tmp_path, "name: r\nversion: 1\ncriteria:\n" + "".join(lines)) == [problem]


@pytest.mark.parametrize(("text", "problem"), TABLES["a_file_that_is_no_rubric_is_told_so_in_one_sentence"])
def test_a_file_that_is_no_rubric_is_told_so_in_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    (issue,) = issues(tmp_path, text)
    assert issue.endswith(problem)


def test_a_judge_scores_each_criterion_and_the_rest_is_computed() -> None:
    def reply(reading: Reading) -> str:
        assert reading.texts == {
            "question": "When does it sail?",
            "answer": "At nine.",
            "reference": "At nine o'clock.",
            "contexts 1": "The Razorbill sails at nine.",
        }
        scores = (1, 0.75, 0.5, 0.5)
        return json.dumps({"criteria": entries(*({"reason": f"r{s}", "score": s} for s in scores))})

    with judged_by(judging(reply)) as (judge, server):
        verdict = judge_rubric(
            judge,
            default_rubric(),
            question="When does it sail?",
            answer="At nine.",
            reference="At nine o'clock.",
            contexts=["The Razorbill sails at nine."],
        )
        prompt = server.requests[0]["messages"][1]["content"]
    assert "1. factuality: Every statement is true." in prompt
    # 0.4·1 + 0.3·0.75 + 0.2·0.5 + 0.1·0.5 = 0.4 + 0.225 + 0.1 + 0.05
    assert (verdict.overall, verdict.passed) == (0.775, True)
    assert verdict.scores == dict(zip(NAMES, (1, 0.75, 0.5, 0.5), strict=True))
    assert verdict.reasons["factuality"] == "r1"


@pytest.mark.parametrize(
    "reply",
    [
        {"criteria": entries(*([{"reason": "", "score": 0.9}] * 4))},
        {"criteria": entries(*([{"reason": "", "score": 2}] * 4))},
        {"criteria": entries(*([{"reason": "", "score": "1"}] * 4))},
        {"criteria": entries(*([{"reason": "", "score": 1}] * 3))},
    ],
    ids=["between the steps", "out of range", "a text", "one missing"],
)
def test_scores_off_the_scale_are_refused(reply: object) -> None:
    script = in_turn(json.dumps(reply))
    with judged_by(script) as (judge, _), pytest.raises(ModelError) as caught:
        judge_rubric(judge, default_rubric(), question="?", answer="!")
    assert caught.value.kind == "off-schema"


def test_sums_of_the_judges_own_are_not_read() -> None:
    reply = {"criteria": entries(*([{"reason": "", "score": 0.25}] * 4)), "overall": 1.0, "passed": True}
    with judged_by(in_turn(json.dumps(reply))) as (judge, _):
        verdict = judge_rubric(judge, default_rubric(), question="?", answer="!")
    assert (verdict.overall, verdict.passed) == (0.25, False)
