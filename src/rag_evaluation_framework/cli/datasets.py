"""``rag-eval datasets``: list the datasets of a folder."""

from __future__ import annotations

from pathlib import Path

import click

DEFAULT_FOLDER = Path("data/evaluation")

EXAMPLES = """\b
Examples:
  rag-eval datasets
  rag-eval datasets my-project/data/evaluation
  rag-eval datasets evaluation/datasets --json"""


@click.command(
    "datasets",
    epilog=EXAMPLES,
    short_help="List the datasets of a folder: id, version, size, what is broken.",
)
@click.argument(
    "folder", type=click.Path(file_okay=False, path_type=Path), default=DEFAULT_FOLDER, metavar="[DIR]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def command(folder: Path, as_json: bool) -> None:
    """List the datasets of DIR: id, version, number of samples, and what keeps one from being loaded.

    Looks into DIR/datasets where there is one, else into DIR itself.  [default: data/evaluation]
    """
    from rag_evaluation_framework.datasets.folders.dataset_folder import datasets_folder, datasets_in
    from rag_evaluation_framework.errors import UsageError
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.reports.dataset_list import dataset_list_text, dataset_rows

    if not folder.is_dir():
        raise UsageError(f"expected a folder, got {folder}, which does not exist; rag-eval init creates one")
    inner = datasets_folder(folder)
    entries = datasets_in(inner)
    if as_json:
        click.echo(strict_json.encode({"folder": str(inner), "datasets": dataset_rows(entries)}, indent=2))
    else:
        click.echo(dataset_list_text(inner, entries))
