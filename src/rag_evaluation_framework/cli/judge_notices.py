"""What users are told of a judge: what it costs, what waits for it, and why its verdicts may be doubted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from rag_evaluation_framework.errors import counted

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifests.preflight import Plan
    from rag_evaluation_framework.judging.methods import ScoringMethods
    from rag_evaluation_framework.reports.progress import ProgressLine
    from rag_evaluation_framework.results.run_groups import RunGroup


@contextmanager
def spending_told(methods: ScoringMethods, progress: ProgressLine | None = None) -> Iterator[None]:
    """Report on standard error what the judge has cost, however the work ends, in place of its progress."""
    from rag_evaluation_framework.reports.spending import spending_text

    try:
        yield
    finally:
        if progress is not None:
            progress.finish()
        judge, spending = methods.judge, methods.spending
        if judge is not None and spending is not None:
            click.echo(spending_text(judge.name, spending, failed_votes=judge.failed_votes), err=True)


def waiting_notice(methods: ScoringMethods) -> str:
    """Say how many questions wait because the judge fails or is overloaded; nothing where none does."""
    models = () if methods.judge is None else methods.judge.models
    waiting = sum(getattr(model, "waiting", 0) for model in models)
    questions = counted(waiting, "question waits", "questions wait")
    return f"{questions} to be put to the judge again" if waiting else ""


def with_judge_warnings(
    plan: Plan, methods: ScoringMethods, *, model: str | None, baseline: RunGroup | None
) -> Plan:
    """Return the plan with warnings of a judge that is related to the ``model`` it judges, and of one that
    differs from the baseline's although it has the same name.
    """
    from rag_evaluation_framework.evaluation.resources import other_judge_warnings

    told = kinship_warnings(methods, [model] if model and plan.judge_calls else [])
    told += other_judge_warnings(plan, baseline, methods)
    return replace(plan, warnings=(*plan.warnings, *told))


def kinship_warnings(methods: ScoringMethods, models: Iterable[str]) -> list[str]:
    """Return a warning for each model that the judge is related to."""
    from rag_evaluation_framework.judging.judge import kinship_warning

    judges = [] if methods.judge is None else [judge.name for judge in methods.judge.models]
    return [warning for model in models if (warning := kinship_warning(judges, model))]
