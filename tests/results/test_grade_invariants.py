"""What must not change a grade: order, other metrics, columns, thresholds, and fewer contexts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import Gate, Threshold, evaluate

HALLS = "The hall opens at nine. It seats forty people. Dogs stay outside."
ROWS = [
    {"question": question, "answer": answer, "reference": reference, "contexts": [HALLS], "tag": tag}
    for question, answer, reference, tag in (
        ("When does the hall open?", "At nine.", "at nine", "time"),
        ("How many people does it seat?", "It seats fifty people.", "forty people", "size"),
        ("Who runs the hall?", "I don't know.", "the town", "people"),
        ("May dogs come in?", "Trumpets sound better in spring.", "no, dogs stay outside", "people"),
        ("Is it heated?", "It is heated in winter.", "", "size"),
    )
]
METRICS = ["answer_correctness", "faithfulness", "string_match"]


def states_of(rows: list[dict[str, Any]], **given: Any) -> dict[str, str]:
    found = evaluate(rows, **{"metrics": METRICS, **given})
    return {row.question: "" if row.verdict is None else row.verdict.state for row in found.rows}


STATES = states_of(ROWS)


def test_rows_have_four_different_states() -> None:
    assert len(set(STATES.values())) >= 4


@given(
    st.permutations(ROWS),
    st.permutations(METRICS),
    st.permutations(["question", "answer", "reference", "contexts", "tag"]),
    st.integers(1, len(METRICS)),
)
def test_order_of_rows_metrics_and_columns_changes_no_grade(
    rows: list[dict[str, Any]], metrics: list[str], columns: list[str], n_metrics: int
) -> None:
    ordered = [{name: row[name] for name in columns} for row in rows]
    assert states_of(ordered, metrics=metrics[:n_metrics]) == STATES


@pytest.mark.parametrize(
    "threshold",
    [
        Threshold("faithfulness", ">=", 0.0),
        Threshold("answer_correctness", ">=", 1.0),
        Threshold("correct", ">=", 1.0),
        Threshold("wrong", "<=", 1.0),
    ],
    ids=str,
)
def test_thresholds_change_no_grade(threshold: Threshold) -> None:
    assert states_of(ROWS, gate=Gate(thresholds=(threshold,))) == STATES


def test_fewer_contexts_make_no_answer_correct() -> None:
    without = states_of([{**row, "contexts": []} for row in ROWS])
    assert without == STATES


def test_copied_passage_is_correct_only_where_its_source_cannot_be_seen() -> None:
    passage = " ".join([HALLS, *(f"Row {number} has red seats and a lamp." for number in range(20))])
    row = {"question": "When does the hall open?", "reference": "The hall opens at nine.", "answer": passage}
    seen = states_of([{**row, "contexts": [passage]}])
    assert seen == {row["question"]: "not_judged"}
