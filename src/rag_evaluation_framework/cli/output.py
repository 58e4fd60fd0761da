"""What commands print: screens, JSON, and warnings about data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from rag_evaluation_framework.cli.options import new_screen, show
from rag_evaluation_framework.errors import Issue, counted

__all__ = ["new_screen", "print_json", "print_warnings", "show"]


def print_json(document: Any) -> None:
    """Print a document as JSON that people can read too."""
    from rag_evaluation_framework.files import strict_json

    click.echo(strict_json.encode(document, indent=2))


_SHOWN = 5


def print_warnings(warnings: Sequence[Issue]) -> None:
    """Print the first few warnings, and how many more there are."""
    for warning in warnings[:_SHOWN]:
        click.echo(f"rag-eval: warning: {warning}", err=True)
    if len(warnings) > _SHOWN:
        more = counted(len(warnings) - _SHOWN, "more warning")
        click.echo(f"rag-eval: {more}: rag-eval validate shows them all", err=True)
