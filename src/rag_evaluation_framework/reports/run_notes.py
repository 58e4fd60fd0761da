"""Notes on one run, for reports that are read by others than those who ran it."""

from __future__ import annotations

from rag_evaluation_framework.results.evaluations import DatasetEvaluation


def run_notes(evaluation: DatasetEvaluation) -> list[str]:
    """Return the notes and, for a run that did not complete, how to resume it; each names its run."""
    outcome, run_id = evaluation.outcome, evaluation.folder.head.run_id
    notes = list(outcome.notes)
    if not outcome.completed:
        notes.append(f"not completed: {outcome.reason}; go on with --resume {run_id}")
    return [f"{evaluation.plan.name}, run {run_id}: {note}" for note in notes]
