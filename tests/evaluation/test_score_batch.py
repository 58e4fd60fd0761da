"""Tables of answers scored one by one, as Dask and Spark hand them out: the scores are those of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from rag_evaluation_framework import evaluate
from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.evaluation.batches import score_batch

METRICS = ["faithfulness", "token_f1"]
SCHEMA = pyarrow.schema(
    [
        *((name, pyarrow.string()) for name in ("id", "question", "answer", "reference")),
        ("contexts", pyarrow.list_(pyarrow.string())),
    ]
)
ANSWERS = ["Mount Logan is 5,959 m high.", "It is 4,000 m high.", None, "I do not know."]
ROWS: list[dict[str, Any]] = [
    {
        "id": f"r{number}",
        "question": "How high is Mount Logan?",
        "answer": ANSWERS[number % 4],
        "reference": "5,959 m",
        "contexts": [f"Mount Logan is 5,959 m high. Note {number}.", "Rain fell in May."],
    }
    for number in range(24)
]
TABLE = pyarrow.Table.from_pylist(ROWS, schema=SCHEMA)


def _in_spark(batches: Iterable[Any]) -> Iterator[Any]:
    """What docs/how-to/scale.md gives to ``mapInArrow``."""
    for batch in batches:
        yield from score_batch(batch, METRICS).to_batches()


@pytest.mark.parametrize("size", [1, 7, 24])
def test_scores_are_those_of_one_run_whatever_the_rows_are_divided_into(size: int, tmp_path: Path) -> None:
    scored = pyarrow.Table.from_batches(list(_in_spark(TABLE.to_batches(max_chunksize=size))))
    assert scored.select(SCHEMA.names) == TABLE
    run = evaluate(ROWS, metrics=METRICS, runs_directory=tmp_path)
    for place, name in enumerate(METRICS):
        expected = [row.scores[place].value for row in run.rows]
        assert scored.column(name).to_pylist() == expected
    # "I do not know" makes no claim, a missing answer has no score at all.
    assert scored.column("not_scored").to_pylist()[:4] == [
        None,
        None,
        "faithfulness: no answer: no-recorded-answer; token_f1: no answer: no-recorded-answer",
        "faithfulness: the answer says that it does not know",
    ]


def test_a_table_without_rows_has_the_same_columns_as_one_with_some() -> None:
    assert score_batch(TABLE.slice(0, 0), METRICS).schema == score_batch(TABLE, METRICS).schema


def test_columns_of_other_names_are_said_by_map_even_where_a_table_has_nothing_in_one() -> None:
    table = TABLE.rename_columns(["id", "column_1", "column_2", "column_3", "column_4"])
    map_ = {"question": "column_1", "answer": "column_2", "reference": "column_3", "contexts": "column_4"}
    assert score_batch(table, METRICS, map=map_).column("token_f1") == score_batch(TABLE, METRICS).column(
        "token_f1"
    )
    unanswered = score_batch(table.slice(2, 1), METRICS, map=map_)
    assert unanswered.column("token_f1").to_pylist() == [None]


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(UsageError, match="table: expected an Arrow table or record batch, got"):
        score_batch(ROWS, METRICS)
    with pytest.raises(UsageError, match="metrics is empty"):
        score_batch(TABLE, [])
    with pytest.raises(UnknownNameError, match="token_f1"):
        score_batch(TABLE, ["token_f2"])
    with pytest.raises(UsageError, match="table: the column 'token_f1' already exists"):
        score_batch(score_batch(TABLE, ["token_f1"]), METRICS)
    with pytest.raises(UsageError, match=r"rows: .*answer"):
        score_batch(TABLE.drop_columns(["answer", "contexts", "reference"]), METRICS)
