"""Scores a saved run anew from the answers in its journal: nobody is asked, nothing in it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_evaluation_framework.evaluation.run_folder import RunFolder
from rag_evaluation_framework.evaluation.sample_list import Samples
from rag_evaluation_framework.evaluation.scorers import MetricScorer
from rag_evaluation_framework.evaluation.scoring import check_scorers, scored_result, writable_result
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.results.run_rows import RunRow, rows_of_folder


def rescored_rows(folder: RunFolder, samples: Samples, scorers: Sequence[MetricScorer]) -> Iterator[RunRow]:
    """Yield the rows of a run with the scores of these scorers in place of those it had.

    ``samples`` must hold every sample of the run as it was; it may hold others too.
    """
    check_scorers(scorers)
    for row in rows_of_folder(folder, samples):
        if row.sample is not None:
            result = scored_result(row.sample, row.result.response, scorers)
            yield replace(row, result=writable_result(row.sample, result, scorers))


def rescored_head(folder: RunFolder, scorers: Sequence[MetricScorer]) -> RunHead:
    """Return the head of a run with the metrics it is scored by now, their methods and versions."""
    methods = {scorer.name: scorer.method for scorer in scorers}
    return replace(
        folder.head,
        configuration={**folder.head.configuration, "metrics": methods},
        metric_versions={scorer.name: scorer.version for scorer in scorers},
    )
