"""Notes on one run: what was repaired, what is left to do, what could be neither read nor scored."""

from __future__ import annotations

from rag_evaluation_framework.reports.unread import unread_lines
from rag_evaluation_framework.reports.unscored import unmeasured_lines
from rag_evaluation_framework.results.evaluations import Evaluation


def run_notes(evaluation: Evaluation) -> list[str]:
    """Return the notes on a run, one a line."""
    unread = unread_lines(evaluation.counts.unread)
    return [*evaluation.outcome.notes, *unread, *unmeasured_lines(evaluation)]


def named_run_notes(evaluation: Evaluation) -> list[str]:
    """Return the notes and, for a run that did not complete, how to resume it; each names its run.

    They are for reports that are read by others than those who ran it.
    """
    shortfall = shortfall_of(evaluation)
    notes = [*run_notes(evaluation), *([] if shortfall is None else [shortfall])]
    return [f"{evaluation.name}, run {evaluation.head.run_id}: {note}" for note in notes]


def shortfall_of(evaluation: Evaluation) -> str | None:
    """Say why a run did not complete, and how to resume it; ``None`` of one that did."""
    outcome = evaluation.outcome
    if outcome.completed:
        return None
    return f"not completed: {outcome.reason}; go on with --resume {evaluation.head.run_id}"
