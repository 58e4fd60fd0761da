"""``rag-eval list``: show what can be used."""

from __future__ import annotations

import click

from rag_evaluation_framework.cli.options import AS_JSON
from rag_evaluation_framework.cli.output import print_json

EXAMPLES = """\b
Examples:
  rag-eval list metrics
  rag-eval list metrics --json
  rag-eval list methods"""


@click.group("list", epilog=EXAMPLES)
def command() -> None:
    """Show what can be used."""


@command.command("metrics", epilog=EXAMPLES)
@AS_JSON
def metrics(as_json: bool) -> None:
    """Show every metric: how it is written, which way is better, what it needs, and its formula."""
    from rag_evaluation_framework.metrics.declaration import all_metrics
    from rag_evaluation_framework.reports.lists import metric_list_text, metric_rows

    declared = all_metrics()
    if as_json:
        print_json(metric_rows(declared))
    else:
        click.echo(metric_list_text(declared))


@command.command("methods", epilog=EXAMPLES)
@AS_JSON
def methods(as_json: bool) -> None:
    """Show the card of every offline method: what it sees and misses, and how well it agrees with people."""
    from rag_evaluation_framework.judging.cards import method_cards
    from rag_evaluation_framework.reports.lists import method_card_rows, method_cards_text

    cards = method_cards()
    if as_json:
        print_json(method_card_rows(cards))
    else:
        click.echo(method_cards_text(cards))
