"""``rag-eval list``: show what can be used."""

from __future__ import annotations

import click

EXAMPLES = """\b
Examples:
  rag-eval list metrics
  rag-eval list metrics --json
  rag-eval list methods"""


@click.group("list", epilog=EXAMPLES, short_help="Show what can be used: metrics, offline methods.")
def command() -> None:
    """Show what can be used."""


@command.command("metrics", epilog=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def metrics(as_json: bool) -> None:
    """Show every metric: how it is written, which way is better, what it needs, and its formula."""
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.metrics.declaration import all_metrics
    from rag_evaluation_framework.reports.metric_list import metric_list_text, metric_rows

    declared = all_metrics()
    if as_json:
        click.echo(strict_json.encode(metric_rows(declared), indent=2))
    else:
        click.echo(metric_list_text(declared))


@command.command("methods", epilog=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def methods(as_json: bool) -> None:
    """Show the card of every offline method: what it sees, what not, and how far it agrees with people."""
    from rag_evaluation_framework.judging.cards import method_cards
    from rag_evaluation_framework.reports.method_cards import method_card_rows, method_cards_text

    cards = method_cards()
    if as_json:
        from rag_evaluation_framework.files import strict_json

        click.echo(strict_json.encode(method_card_rows(cards), indent=2))
    else:
        click.echo(method_cards_text(cards))
