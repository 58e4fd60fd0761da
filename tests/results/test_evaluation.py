"""The one result: figures, columns, rows, what it renders to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rag_evaluation_framework import Evaluation, Response, Score
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.results.evaluations import Row
from rag_evaluation_framework.results.summaries import ABSENT, Counts, Figure, RunTotals

VALUES = {"a": 1.0, "b": 0.0, "c": 0.5}


def row(index: int, sample_id: str, value: float) -> Row:
    sample = Sample(
        id=sample_id, turns=(Turn(role="user", content=f"{sample_id}?"),), reference="yes", tags=("easy",)
    )
    score = Score.scored("token_f1", value, method="lexical")
    result = SampleResult(sample_id, Response(text="an answer"), (score,))
    return Row(index, result, sample, passes=value >= 0.5)


def evaluation(**changed: object) -> Evaluation:
    rows = [row(index, *each) for index, each in enumerate(VALUES.items())]
    builder = RunTotals()
    for each in rows:
        builder.add(each.result)
    figure = Figure("token_f1", 0.5, None, 3, 0, 0, higher_is_better=True, method="lexical")
    made = Evaluation(
        kind="answers",
        head=RunHead(run_id="run_1", dataset_id="data"),
        metrics={"token_f1": figure},
        counts=Counts(total=3, finished=3),
        outcome=RunOutcome(completed=True, interrupted=False, done=3, failed=0, remaining=0),
        columns=builder.columns(),
        read_rows=lambda: rows,
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def test_columns_keep_the_order_of_the_data_and_know_what_is_absent() -> None:
    builder = RunTotals()
    builder.add(SampleResult("a", Response(text="x"), (Score.scored("m", 1.0, method="t"),)))
    builder.add(SampleResult("b", Response(text="x"), (Score.skipped("n", "no reason", method="t"),)))
    columns = builder.columns()
    assert columns.ids == ("a", "b")
    assert columns.statuses["m"].tolist() == [0, ABSENT]
    assert columns.statuses["n"].tolist() == [ABSENT, 1]
    assert columns.scored("m") == {"a": 1.0}
    with pytest.raises(UnknownNameError, match="unknown metric 'o'"):
        columns.scored("o")


def test_rows_can_be_read_again_and_the_worst_come_first() -> None:
    result = evaluation()
    assert [row.id for row in result.rows] == [row.id for row in result.rows] == ["a", "b", "c"]
    assert [row.id for row in result.worst(2)] == ["b", "c"]
    assert [row.id for row in result.failed()] == ["b"]


def test_slices_have_a_figure_for_every_group() -> None:
    figure = evaluation().slices["tag"]["easy"]["token_f1"]
    assert (figure.value, figure.n_scored) == (0.5, 3)


def test_it_renders_itself_and_is_written_by_its_ending(tmp_path: Path) -> None:
    result = evaluation()
    assert "token_f1" in str(result)
    assert "<table>" in result._repr_html_()
    assert len(repr(result).splitlines()) == 1
    assert result.save(tmp_path / "result.txt").read_text(encoding="utf-8") == str(result)
    with pytest.raises(UnknownNameError, match="unknown renderer"):
        result.render("papyrus")
