"""What golden sets must hold: something asked, something expected, and refusals in what is to be declined."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from format_examples import (
    GOLDEN_BOUNDARY,
    GOLDEN_FACTUAL,
    GOLDEN_MULTITURN,
    GOLDEN_RELATIONSHIP,
    GOLDEN_TRACKING,
    rule_issues,
)

from cases import tables_beside
from rag_evaluation_framework import InputError, Refusal, Sample, Turn, validate_file
from rag_evaluation_framework.datasets.golden_sets import BOUNDARY, FACTUAL
from rag_evaluation_framework.files import strict_json

TABLES = tables_beside(__file__)

SETS: dict[str, list[dict[str, Any]]] = {
    "golden-factual": GOLDEN_FACTUAL,
    "golden-relationship": GOLDEN_RELATIONSHIP,
    "golden-tracking": GOLDEN_TRACKING,
    "golden-multiturn": GOLDEN_MULTITURN,
    "golden-boundary": GOLDEN_BOUNDARY,
}


def changed(kind: str, path: tuple[str | int, ...], value: Any) -> list[dict[str, Any]]:
    records = copy.deepcopy(SETS[kind])
    place: Any = records[0]
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return records


@pytest.mark.parametrize("text", ["", "  ", "...", " … "])
@pytest.mark.parametrize(("kind", "path", "code"), TABLES["what_is_asked_or_expected_in_no_words"])
def test_what_is_asked_or_expected_in_no_words_is_an_error(
    kind: str, path: tuple[str | int, ...], code: str, text: str
) -> None:
    (issue,) = rule_issues(kind, changed(kind, path, text))
    written = "[0]" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    assert (issue.code, issue.severity, issue.path, issue.found) == (code, "error", written, repr(text))


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("golden-factual", ("ground_truth",)),
        ("golden-tracking", ("ground_truth",)),
        ("golden-multiturn", ("conversation", 1, "ground_truth")),
    ],
)
def test_a_ground_truth_that_says_nothing_is_a_warning(kind: str, path: tuple[str | int, ...]) -> None:
    (issue,) = rule_issues(kind, changed(kind, path, "..."))
    assert (issue.code, issue.severity) == ("empty-reference", "warning")


def test_a_conversation_asks_and_expects_something() -> None:
    asked = [{"id": "s", "conversation": [{"role": "user", "content": "x"}]}]
    (issue,) = rule_issues("golden-multiturn", asked)
    assert (issue.code, issue.severity, issue.path) == ("nothing-expected", "warning", "[0].conversation")
    answered = [{"id": "s", "conversation": [{"role": "assistant", "ground_truth": "x"}]}]
    (issue,) = rule_issues("golden-multiturn", answered)
    assert (issue.code, issue.severity) == ("nothing-asked", "error")


REFUSALS = ["Refusal", "refusal", " REFUSAL\n", "Ｒｅｆｕｓａｌ", "refuse", "Refused", "拒绝", "拒絕", "拒答"]


@pytest.mark.parametrize(
    ("truth", "reason"), [*((truth, None) for truth in REFUSALS), ("I must not say.", "unsafe")]
)
def test_a_question_to_decline_may_say_so_in_several_words_or_by_a_reason(
    truth: str, reason: str | None
) -> None:
    record = {"id": "b", "question": "q", "ground_truth": truth}
    record |= {} if reason is None else {"refusal_reason": reason}
    assert rule_issues("golden-boundary", record) == []
    sample = BOUNDARY.sample(record)
    assert (sample.expectation, sample.reference) == (Refusal(reason=reason), None)
    assert BOUNDARY.record(sample) == record


def test_elsewhere_only_the_word_refusal_is_one() -> None:
    truths = {
        truth: FACTUAL.sample({"id": "f", "question": "q", "ground_truth": truth}) for truth in REFUSALS
    }
    declined = [truth for truth, sample in truths.items() if sample.expectation == Refusal()]
    assert declined == REFUSALS[:4]
    assert truths["拒绝"].reference == "拒绝"


def test_a_question_to_answer_is_none_of_those_to_decline(tmp_path: Path) -> None:
    path = tmp_path / "boundary_qa.json"
    wrong = [*GOLDEN_BOUNDARY, {"id": "a", "question": " ", "ground_truth": "At noon."}]
    path.write_bytes(strict_json.encode(wrong, indent=2))
    with pytest.raises(InputError) as error:
        BOUNDARY.read(path)
    assert [(issue.line, issue.path, issue.code) for issue in error.value.issues] == [
        (19, "[2].question", "empty-question"),
        (20, "[2].ground_truth", "not-a-refusal"),
    ]
    expected = "expected Refusal, or also a refusal_reason, got 'At noon.'"
    assert str(error.value.issues[1]) == f"{path}:20: [2].ground_truth: {expected}"
    assert list(validate_file(path)) == list(error.value.issues)
    answerable = Sample(id="a", turns=(Turn(role="user", content="When?"),), reference="At noon.")
    with pytest.raises(InputError, match="expected Refusal"):
        BOUNDARY.write_samples([answerable], tmp_path / "other.json")


def test_a_warning_hides_no_error_and_is_none_when_read(tmp_path: Path) -> None:
    path = tmp_path / "factual_qa.json"
    path.write_text('[{"id": "a", "question": "q", "ground_truth": ""}]')
    assert [issue.code for issue in validate_file(path)] == ["empty-reference"]
    assert len(FACTUAL.read(path)) == 1
