"""``rag-eval generate``: make an evaluation dataset from a folder of documents."""

from __future__ import annotations

from typing import Any

import click

from rag_evaluation_framework.cli.generate_options import EXAMPLES, GenerateOptions, generate_options


@click.command("generate", epilog=EXAMPLES)
@generate_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Make questions about the documents in the folder CORPUS, with the exact passages that answer them.

    With --model a language model writes them, and an interrupted run can be resumed. Without one, rules make
    them from the documents' own sentences, tables and headings (extractive): free, offline and the same each
    time, but plainer than what a person or a model would ask.

    Questions that copy their passage, do not lead back to it, fit many passages or repeat another are
    rejected and counted.

    Exit code 0: the dataset is written; 2: wrong usage or data; 3: the model failed before the end;
    130: interrupted.
    """
    from rag_evaluation_framework.cli.generation_command import generate  # slow to import

    context.exit(generate(GenerateOptions(**given)))
