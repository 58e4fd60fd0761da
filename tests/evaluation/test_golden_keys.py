"""A key that its own test fails tests nobody: it is reported when it is validated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_lines import rag_eval
from rag_evaluation_framework.datasets.golden_sets import FACTUAL, RELATIONSHIP
from rag_evaluation_framework.evaluation.golden_keys import key_issues


def fact(question: str, truth: str, *names: str) -> dict[str, Any]:
    metrics = {"metrics": {"expected_entities": list(names)}} if names else {}
    return {"id": question, "question": question, "ground_truth": truth, **metrics}


def relation(
    truth: str, subject: str, object_: str, question: str = "How are they related?"
) -> dict[str, Any]:
    triple = {"subject": subject, "relation": "student_of", "object": object_}
    return {"id": subject, "question": question, "ground_truth": truth, "relationship_triple": triple}


def written(path: Path, *records: dict[str, Any]) -> Path:
    numbered = [{**record, "id": f"{number}"} for number, record in enumerate(records)]
    path.write_text(json.dumps(numbered, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


def test_an_expected_entity_that_the_reference_lacks_is_named_with_its_place(tmp_path: Path) -> None:
    path = written(
        tmp_path / "factual_qa.json",
        fact("Where is it?", "In Rome, by the river.", "Rome", "river"),
        fact("Who is it?", "Anna Bell, the mayor.", "Anna", "baker"),
        fact("Who was it?", " ", "Anna", "baker"),
    )
    issue, blank = key_issues(FACTUAL.read(path))
    assert blank.expected == "a ground_truth that has 'Anna', 'baker'"
    assert (issue.code, issue.severity) == ("key-fails-own-test", "warning")
    assert issue.path == "[1].metrics.expected_entities"
    assert path.read_text(encoding="utf-8").splitlines()[issue.line - 1].strip().startswith('"expected')  # type: ignore[operator]
    assert "'baker'" in issue.expected
    assert "'Anna'" not in issue.expected
    assert "with entity_coverage 0.5" in issue.found


@pytest.mark.parametrize(
    ("subject", "object_", "field", "near"),
    [
        ("Tobin Read", "Mara Quill", "subject", "tobin reed"),
        ("Tobin Reed", "Marra Quil", "object", "mara quill"),
        ("Tobin Reed", "Zed", "object", None),
    ],
)
def test_a_misspelt_end_of_a_triple_is_told_from_its_nearest_spelling(
    tmp_path: Path, subject: str, object_: str, field: str, near: str | None
) -> None:
    record = relation("Mara Quill is the teacher of Tobin Reed.", subject, object_)
    (issue,) = key_issues(RELATIONSHIP.read(written(tmp_path / "relationship_qa.json", record)))
    assert (issue.code, issue.path) == ("triple-end-unknown", f"[0].relationship_triple.{field}")
    assert (f"did you mean {near}?" in issue.found) if near else ("did you mean" not in issue.found)


def test_a_chinese_name_with_one_wrong_character_is_found(tmp_path: Path) -> None:
    record = relation("恰斯卡是卡齐娜的老师。", "卡齐那", "恰斯卡", "恰斯卡和卡齐娜是什么关系？")
    (issue,) = key_issues(RELATIONSHIP.read(written(tmp_path / "relationship_qa.json", record)))
    assert "did you mean 卡齐娜?" in issue.found


def test_a_reference_that_does_not_say_the_relation_fails_its_own_test(tmp_path: Path) -> None:
    path = written(
        tmp_path / "relationship_qa.json",
        relation("Tobin Reed is a student of Mara Quill.", "Tobin Reed", "Mara Quill"),
        relation("Tobin Reed is the father of Mara Quill.", "Tobin Reed", "Mara Quill", "And so?"),
    )
    (issue,) = key_issues(RELATIONSHIP.read(path))
    assert (issue.code, issue.path) == ("key-fails-own-test", "[1].relationship_triple")


def test_one_question_with_two_answers_is_reported_once_and_the_same_answer_is_not(tmp_path: Path) -> None:
    path = written(
        tmp_path / "factual_qa.json",
        fact("What is the capital?", "Rome"),
        fact("what is the capital", "Milan."),
        fact("What is the capital?", "rome."),
        fact("Another?", "Milan."),
    )
    (issue,) = key_issues(FACTUAL.read(path))
    assert (issue.code, issue.path) == ("question-with-two-answers", "[1].ground_truth")
    assert issue.found == "'Milan.' here and 'Rome' for 0"


def test_validate_reports_keys_and_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "factual_qa.json", fact("Who is it?", "Anna Bell.", "Carl"))
    ended = rag_eval("validate", str(path))
    assert ended.exit_code == 0
    assert "[key-fails-own-test]" in ended.output
    assert "valid: 0 errors and 1 warning in 1 file" in ended.output
