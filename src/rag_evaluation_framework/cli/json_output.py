"""JSON on standard output."""

from __future__ import annotations

from typing import Any

import click

from rag_evaluation_framework.files import strict_json


def print_json(document: Any) -> None:
    """Print a document as JSON that people can read too."""
    click.echo(strict_json.encode(document, indent=2))
