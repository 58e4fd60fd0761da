"""``rag-eval datasets``: list the datasets of a folder."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.cli.options import AS_JSON
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import UsageError

DEFAULT_FOLDER = Path("data/evaluation")

EXAMPLES = """\b
Examples:
  rag-eval datasets
  rag-eval datasets my-project/data/evaluation
  rag-eval datasets evaluation/datasets --json"""


@click.command("datasets", epilog=EXAMPLES)
@click.argument(
    "folder", type=click.Path(file_okay=False, path_type=Path), default=DEFAULT_FOLDER, metavar="[DIR]"
)
@AS_JSON
def command(folder: Path, as_json: bool) -> None:
    """List the datasets of DIR: id, version, number of samples, and what keeps one from being loaded.

    Looks into DIR/datasets where there is one, else into DIR itself.  [default: data/evaluation]
    """
    from rag_evaluation_framework.datasets.catalogue import datasets_folder, datasets_in
    from rag_evaluation_framework.reports.lists import dataset_list_text, dataset_rows

    if not folder.is_dir():
        raise UsageError(f"expected a folder, got {folder}, which does not exist; rag-eval init creates one")
    inner = datasets_folder(folder)
    entries = datasets_in(inner)
    if as_json:
        print_json({"folder": str(inner), "datasets": dataset_rows(entries)})
    else:
        click.echo(dataset_list_text(inner, entries))
