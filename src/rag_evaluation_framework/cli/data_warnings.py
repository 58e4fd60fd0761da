"""Warnings about data files, on standard error."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rag_evaluation_framework.errors import Issue, counted

_SHOWN = 5


def print_warnings(warnings: Sequence[Issue]) -> None:
    """Print the first few warnings, and how many more there are."""
    for warning in warnings[:_SHOWN]:
        click.echo(f"rag-eval: warning: {warning}", err=True)
    if len(warnings) > _SHOWN:
        more = counted(len(warnings) - _SHOWN, "more warning")
        click.echo(f"rag-eval: {more}: rag-eval validate shows them all", err=True)
