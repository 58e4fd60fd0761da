"""``rag-eval init``: start a project."""

from __future__ import annotations

from pathlib import Path

import click

EXAMPLES = """\b
Examples:
  rag-eval init
  rag-eval init my-project
  rag-eval datasets my-project/data/evaluation"""


@click.command(
    "init",
    epilog=EXAMPLES,
    short_help="Start a project: folders, a small dataset, annotations, configurations.",
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def command(folder: Path, as_json: bool) -> None:
    """Create the folders of a project in DIR, with a small valid dataset, annotations and configurations.

    Nothing is ever overwritten: a file that is there already stays as it is, and is named.
    """
    from rag_evaluation_framework.datasets.folders.layout import create_layout
    from rag_evaluation_framework.files import strict_json

    done = create_layout(folder)
    if as_json:
        document = {"folder": str(done.folder), "created": done.created, "kept": done.kept}
        click.echo(strict_json.encode(document, indent=2))
        return
    for name in done.created:
        click.echo(f"created  {done.folder / name}")
    for name in done.kept:
        click.echo(f"kept     {done.folder / name}")
    evaluation = done.folder / "data" / "evaluation"
    sample = evaluation / "datasets" / "sample_eval_v1.0.0.eval.json"
    click.echo(f"\nNext: rag-eval datasets {evaluation}\n      rag-eval stats {sample}")
