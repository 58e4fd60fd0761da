"""What ``scripts/evaluate_models.py`` runs: ask models the samples of a split, and show them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import click

from rag_evaluation_framework.cli.evaluate_models_options import ModelOptions, model_options
from rag_evaluation_framework.cli.main import run_program
from rag_evaluation_framework.cli.options import CONTEXT, scoring_of, scoring_options

EXAMPLES = """\b
Examples:
  python scripts/evaluate_models.py --model gpt-4o-mini --model gpt-4o --dataset-type qa
  python scripts/evaluate_models.py --model llama3:8b --base-url http://localhost:11434/v1
  python scripts/evaluate_models.py --model small --dataset-type summaries -m rouge --limit 20
  python scripts/evaluate_models.py --model a --model b --output 'results/{model}.results.json'
  python scripts/evaluate_models.py --resume eval_run_20261115_001"""


@click.command("evaluate-models", epilog=EXAMPLES, context_settings=CONTEXT)
@model_options
@scoring_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Ask models behind an OpenAI-compatible endpoint the samples of a split, score the answers, and compare
    every model with the first.

    A model is asked the prompt that the sample has recorded (rag_prompt); without one, the recorded contexts
    and the question. Each model is a run of its own that can be resumed.

    Exit code 0: all models were measured; 2: wrong usage or data; 3: a run is incomplete, or a model gave no
    answer at all; 130: interrupted.
    """
    from rag_evaluation_framework.cli.model_runs import evaluate_models  # slow to import

    scoring = scoring_of(given)
    context.exit(evaluate_models(ModelOptions(**given), scoring))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line."""
    run_program(command, arguments, name="evaluate-models")
