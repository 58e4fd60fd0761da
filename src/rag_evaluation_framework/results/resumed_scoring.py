"""How a resumed run is scored: as it began or, while it has no answers, as is wanted now."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.results.rescoring import rescored_head
from rag_evaluation_framework.results.run_judges import judge_change


def check_scored_alike(folder: RunFolder, scorers: Sequence[MetricScorer], methods: ScoringMethods) -> None:
    """Raise :class:`UsageError` if a run that has answers would go on with scores made in another way."""
    if not folder.counts.done:
        return
    began = folder.head.configuration.get("metrics", {})
    for scorer in scorers:
        if began.get(scorer.name, scorer.method) != scorer.method:
            raise UsageError(
                f"cannot resume with another method: expected {scorer.name} by {began[scorer.name]}, "
                f"got {scorer.method}"
            )
    if changed := judge_change(folder.head, methods):
        raise UsageError(f"cannot resume with another judge: expected {changed[0]}, got {changed[1]}")


def scored_as_wanted(
    folder: RunFolder, scorers: Sequence[MetricScorer], methods: ScoringMethods
) -> RunFolder:
    """Return a run to go on with. One that has no answers yet, because the judge's address was wrong for
    example, takes today's methods and judge.
    """
    if folder.counts.done:
        return folder
    has_judge = any(scorer.questions for scorer in scorers)
    head = rescored_head(folder, scorers, methods if has_judge else None)
    return folder if head == folder.head else folder.amended(head)
