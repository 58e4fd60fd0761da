"""``rag-eval schema``: print the JSON Schema of a kind of file."""

from __future__ import annotations

import click

EXAMPLES = """\b
Examples:
  rag-eval schema                                             which kinds there are
  rag-eval schema evaluation-dataset > eval.schema.json       for an editor
  rag-eval schema results --lenient"""


@click.command("schema", epilog=EXAMPLES)
@click.argument("kind", required=False)
@click.option("--lenient", is_flag=True, help="Print the schema that validate --lenient uses.")
def command(kind: str | None, lenient: bool) -> None:
    """Print the JSON Schema (2020-12) of a KIND of file or record; without KIND, list the kinds.

    The schema is the one that validate enforces.
    """
    from rag_evaluation_framework.datasets.schemas import KINDS, schema, schema_text

    if kind is not None:
        click.echo(schema_text(kind, lenient=lenient), nl=False)
        return
    width = max(map(len, KINDS))
    for name in KINDS:
        click.echo(f"{name:<{width}}  {schema(name)['description']}")
