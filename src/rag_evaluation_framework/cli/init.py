"""``rag-eval init``: start a project."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.cli.options import AS_JSON
from rag_evaluation_framework.cli.output import print_json

EXAMPLES = """\b
Examples:
  rag-eval init
  rag-eval init my-project
  rag-eval init --golden
  rag-eval datasets my-project/data/evaluation"""


@click.command("init", epilog=EXAMPLES)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), metavar="[DIR]")
@click.option("--golden", is_flag=True, help="Create golden sets instead, and a function to try them on.")
@AS_JSON
def command(folder: Path, golden: bool, as_json: bool) -> None:
    """Create the folders of a project in DIR, with a small valid dataset, annotations and configurations.

    With --golden: evaluation/datasets with the five files of golden sets, commented, golden_contexts with the
    text that they are about, a README.md, and assistant.py, which answers them until your system does.

    Nothing is ever overwritten: files that exist already are listed as kept.
    """
    from rag_evaluation_framework.datasets.project import create_layout

    done = create_layout(folder, golden=golden)
    if as_json:
        document = {"folder": str(done.folder), "created": done.created, "kept": done.kept}
        print_json(document)
        return
    for name in done.created:
        click.echo(f"created  {done.folder / name}")
    for name in done.kept:
        click.echo(f"kept     {done.folder / name}")
    if golden:
        within = "" if done.folder == Path() else f"cd {done.folder}; "
        click.echo(f"\nNext: {within}rag-eval golden . --target assistant:answer")
        return
    evaluation = done.folder / "data" / "evaluation"
    sample = evaluation / "datasets" / "sample_eval_v1.0.0.eval.json"
    click.echo(f"\nNext: rag-eval datasets {evaluation}\n      rag-eval stats {sample}")
