"""Notes on one run: what was repaired, what is left to do, what could be neither read nor scored."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.dataset_evaluations import DatasetEvaluation
from rag_evaluation_framework.reports.unread import unread_lines
from rag_evaluation_framework.reports.unscored import unmeasured_lines


def run_notes(evaluation: DatasetEvaluation) -> list[str]:
    """Return the notes on a run, one a line."""
    summary = evaluation.summary
    return [*evaluation.outcome.notes, *unread_lines(summary.unread), *unmeasured_lines(summary)]


def named_run_notes(evaluation: DatasetEvaluation) -> list[str]:
    """Return the notes and, for a run that did not complete, how to resume it; each names its run.

    They are for reports that are read by others than those who ran it.
    """
    shortfall = shortfall_of(evaluation)
    notes = [*run_notes(evaluation), *([] if shortfall is None else [shortfall])]
    return [f"{evaluation.plan.name}, run {evaluation.folder.head.run_id}: {note}" for note in notes]


def shortfall_of(evaluation: DatasetEvaluation) -> str | None:
    """Say why a run did not complete, and how to resume it; ``None`` of one that did."""
    outcome = evaluation.outcome
    if outcome.completed:
        return None
    return f"not completed: {outcome.reason}; go on with --resume {evaluation.folder.head.run_id}"
