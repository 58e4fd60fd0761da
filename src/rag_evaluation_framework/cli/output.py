"""What commands print: JSON, warnings about data, what a judge costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.errors import Issue, counted
from rag_evaluation_framework.files import strict_json

if TYPE_CHECKING:
    from rag_evaluation_framework.judging.methods import ScoringMethods
    from rag_evaluation_framework.reports.progress import ProgressLine

# JSON on standard output.


def print_json(document: Any) -> None:
    """Print a document as JSON that people can read too."""
    click.echo(strict_json.encode(document, indent=2))


# Warnings about data files, on standard error.

_SHOWN = 5


def print_warnings(warnings: Sequence[Issue]) -> None:
    """Print the first few warnings, and how many more there are."""
    for warning in warnings[:_SHOWN]:
        click.echo(f"rag-eval: warning: {warning}", err=True)
    if len(warnings) > _SHOWN:
        more = counted(len(warnings) - _SHOWN, "more warning")
        click.echo(f"rag-eval: {more}: rag-eval validate shows them all", err=True)


# What users are told of a judge: what it costs, what waits for it, and why its verdicts may be
# doubted.


@contextmanager
def spending_told(methods: ScoringMethods, progress: ProgressLine | None = None) -> Iterator[None]:
    """Report on standard error what the judge has cost, however the work ends, in place of its progress."""
    from rag_evaluation_framework.reports.overviews import spending_text

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
