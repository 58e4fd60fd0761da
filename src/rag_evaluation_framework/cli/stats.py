"""``rag-eval stats``: what is in a dataset, in figures."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.cli.options import AS_JSON, DIALECT
from rag_evaluation_framework.cli.output import print_json

EXAMPLES = """\b
Examples:
  rag-eval stats questions.eval.json
  rag-eval stats evals/rag.jsonl.gz --json
  rag-eval stats documents/"""


@click.command("stats", epilog=EXAMPLES)
@click.argument("path", type=click.Path(exists=True, path_type=Path), metavar="FILE|FOLDER")
@DIALECT
@AS_JSON
def command(path: Path, format_: str | None, as_json: bool) -> None:
    """Show what is in a dataset of any dialect, or in a folder of documents.

    Counts by type, difficulty, category and tag; lengths of questions, references, contexts, spans and
    documents in characters; how many of the documents are relevant to at least one query.
    """
    from rag_evaluation_framework.datasets.overview import overview
    from rag_evaluation_framework.reports.overviews import overview_text

    figures = overview(path, format=format_)
    if as_json:
        print_json(figures.to_dict())
    else:
        click.echo(overview_text(figures))
