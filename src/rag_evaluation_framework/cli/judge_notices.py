"""What users are told of a judge: what it costs, what waits for it, and why its verdicts may be doubted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from rag_evaluation_framework.errors import counted

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.methods import ScoringMethods
    from rag_evaluation_framework.reports.progress import ProgressLine


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
