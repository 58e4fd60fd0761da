"""Answers scored table by table, for engines that have their own way to hand out work: Dask, Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from rag_evaluation_framework.datasets.rows import rows_in
from rag_evaluation_framework.errors import TargetError, UsageError, shown
from rag_evaluation_framework.evaluation.scored_answers import check_scorers, scored_result, writable_result
from rag_evaluation_framework.evaluation.scoring import MetricScorer, scorers_for
from rag_evaluation_framework.evaluation.targets import RecordedRows
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.records.responses import Failure, Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score

NOT_SCORED = "not_scored"
"""The column that says, metric by metric, why a row has no score; null where it has them all."""


def score_batch(
    table: Any,
    metrics: Iterable[str],
    *,
    map: Mapping[str, str | None] | None = None,  # noqa: A002  # as the door calls it
) -> Any:
    """Return an Arrow table, or record batch, with a column for each metric and one of what is not scored.

    Each row is a question with its answer and all other fields the metrics need, as for ``evaluate``. Scores
    are those of ``evaluate``, however the rows are divided; a missing one is null. ``map`` says which
    column is what, for columns whose names and values in this one table do not tell. A table without rows
    gives one without rows, of the same columns.
    """
    arrow = extra_module("pyarrow", feature="score_batch", extra="parquet")
    if isinstance(table, arrow.RecordBatch):
        table = arrow.Table.from_batches([table])
    if not isinstance(table, arrow.Table):
        raise UsageError(f"table: expected an Arrow table or record batch, got {shown(table)}")
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    if not names:
        raise UsageError("metrics is empty")
    scorers = _scorers(names)
    check_scorers(scorers)
    added = [*(scorer.name for scorer in scorers), NOT_SCORED]
    if taken := [name for name in added if name in table.column_names]:
        raise UsageError(
            f"table: the column {taken[0]!r} already exists. Rename it; score_batch adds this column"
        )
    rows = [_scored(sample, scorers) for sample in _samples(table, map)]
    for place, scorer in enumerate(scorers):
        values = arrow.array([row[place].value for row in rows], arrow.float64())
        table = table.append_column(scorer.name, values)
    reasons = [_reasons(row) for row in rows]
    return table.append_column(NOT_SCORED, arrow.array(reasons, arrow.string()))


def _samples(table: Any, given: Mapping[str, str | None] | None) -> Sequence[Sample]:
    """Return the rows as samples; a column in which this one table has nothing is no column of it."""
    if not table.num_rows:
        return ()
    empty = {name for name in table.column_names if table.column(name).null_count == table.num_rows}
    asked = {part: None if place in empty else place for part, place in (given or {}).items()}
    try:
        return rows_in(table, map=asked)[0].samples
    except UsageError:
        if not empty:
            raise
        return rows_in(table, map=asked, needs_answer=False)[0].samples


@lru_cache(maxsize=8)
def _scorers(names: tuple[str, ...]) -> list[MetricScorer]:
    """Return the scorers, made once for all the tables that a worker is given."""
    return scorers_for(names)


def _scored(sample: Sample, scorers: Sequence[MetricScorer]) -> tuple[Score, ...]:
    try:
        response = RecordedRows().held_by(sample)
    except TargetError as error:
        response = Response(failure=Failure(kind=error.kind, message=error.message))
    return writable_result(sample, scored_result(sample, response, scorers), scorers).scores


def _reasons(scores: Iterable[Score]) -> str | None:
    said = [f"{score.metric}: {score.reason}" for score in scores if score.reason is not None]
    return "; ".join(said) or None
