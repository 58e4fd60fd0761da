"""What ``scripts/generate_offline_dataset.py`` runs: write the raw records behind the splits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from rag_evaluation_framework.cli.main import run_program
from rag_evaluation_framework.cli.options import (
    AS_JSON,
    BASE_URL,
    CONTEXT,
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    GLOB,
    KEY_ENV,
    SEED,
    concurrency,
)

_TASKS = ("qa", "summaries", "citations")
_FOLDER = click.Path(file_okay=False, path_type=Path)

EXAMPLES = """\b
Examples:
  python scripts/generate_offline_dataset.py documents
  python scripts/generate_offline_dataset.py documents --config configs/default.yaml --force
  python scripts/generate_offline_dataset.py documents --task-type qa --model gpt-4o-mini
  python scripts/generate_offline_dataset.py data/processed --glob '**/*.txt' -k 8 --output raw.jsonl.zst"""


@click.command("generate-offline-dataset", epilog=EXAMPLES, context_settings=CONTEXT)
@click.argument("corpus", type=EXISTING_FOLDER)
@click.option(
    "--config",
    type=EXISTING_FILE,
    help="Configuration file of the project; --output takes precedence over it.",
)
@click.option(
    "--output",
    type=FILE,
    help="File for the raw records.  [default: evaluation/datasets/offline_dataset.jsonl]",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option(
    "--task-type",
    "task_types",
    multiple=True,
    type=click.Choice(_TASKS),
    help="Kind of task to make records for; may be repeated.  [default: all]",
)
@click.option(
    "--queries-per-doc",
    type=click.IntRange(1),
    default=5,
    metavar="N",
    help="Number of questions for each document.",
)
@click.option(
    "-k", "k", type=click.IntRange(1), default=5, metavar="N", help="Number of contexts for each question."
)
@click.option(
    "--chunker", default="recursive(chunk_size=500)", metavar="SPEC", help="Chunker of the documents."
)
@click.option(
    "--retriever",
    default="bm25",
    metavar="SPEC",
    help="Retriever of the contexts: bm25, dense(…) or fused(…).",
)
@click.option(
    "--model", metavar="NAME", help="Model that answers the questions.  [default: the passages themselves]"
)
@BASE_URL
@KEY_ENV
@concurrency(default=8, type=click.IntRange(1, 256))
@click.option(
    "--completions",
    type=_FOLDER,
    default=Path(".rag-eval") / "completions",
    help="Folder in which the model's replies are remembered, so that nothing is asked twice.",
)
@GLOB
@click.option(
    "--run-id",
    metavar="NAME",
    help="Name of the run, recorded in every record.  [default: offline_<UTC date>]",
)
@SEED
@AS_JSON
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Write raw records about the documents in the folder CORPUS: questions, summaries and citations.

    Contexts are retrieved from the documents and numbered; every answer cites them as [n]. A model's reply
    that cites nothing, or wrongly, is asked for once more and then rejected. `rag-eval build` makes the
    question answering and summary splits from the records.

    Exit code 0: written; 2: wrong usage or data; 3: not one record could be made.
    """
    from rag_evaluation_framework.cli.offline_generation import generate_offline  # slow to import

    context.exit(generate_offline(**given))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line."""
    run_program(command, arguments, name="generate-offline-dataset")
