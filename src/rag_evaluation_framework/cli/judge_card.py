"""``rag-eval judge-card``: how far to trust a judge, measured before it judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from rag_evaluation_framework.cli.options import AS_JSON, FOLDER, option, settings, with_all
from rag_evaluation_framework.cli.output import tell
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.option_table import fields_of
from rag_evaluation_framework.judging.judge_card import FOLDER as CARDS
from rag_evaluation_framework.judging.judge_card import calls_of_a_card, keep_card, make_card
from rag_evaluation_framework.judging.methods import Scoring, opened_methods
from rag_evaluation_framework.models.chat import HOW_TO_JUDGE
from rag_evaluation_framework.reports.dataset_blocks import describe_judge_card
from rag_evaluation_framework.reports.messages.dataset_sentences import spending_text

# Those that name a judge, without the rubric and without remembered verdicts: a card is measured anew.
_JUDGE = with_all(
    settings(
        *("judge_models", "judge_url", "judge_key_env", "votes", "judge_concurrency", "judge_timeout"),
        "max_cost",
    )
)

EXAMPLES = """\b
Examples:
  rag-eval judge-card --judge-model gpt-4o-mini
  rag-eval judge-card --judge-model llama3:8b \\
    --judge-url http://localhost:11434/v1
  rag-eval judge-card --judge-model gpt-4o-mini --max-cost 0.50 --json"""


@click.command("judge-card", epilog=EXAMPLES)
@_JUDGE
@option(
    "--cards", "Folder for the cards; runs read them from the default folder.", type=FOLDER, default=CARDS
)
@AS_JSON
@click.pass_context
def command(context: click.Context, /, cards: Path, as_json: bool, **given: Any) -> None:
    """Measure a judge on labeled texts in English and Chinese, and save its report card.

    The card has the judge's agreement with the labels on claims and on pairs of answers, its leniency, its
    bias by position and length, its consistency, its obedience to instructions in the texts, its failed
    replies, and the time and cost per reply. Exit code 1: the judge has a significant fault. Runs show the
    card beside the figures of the judge; a gate rejects a card that is older than the prompts.
    """
    judge = {**fields_of("judge", given), "models": tuple(dict.fromkeys(given["judge_models"]))}
    if not judge["models"]:
        raise UsageError(f"judge-card needs a judge: {HOW_TO_JUDGE}")
    with opened_methods(Scoring(judge=judge, max_cost=given["max_cost"])) as methods:
        spending = methods.spending
        if methods.judge is None or spending is None:
            raise UsageError(f"judge-card needs a judge: {HOW_TO_JUDGE}")
        if not as_json:
            click.echo(f"{methods.judge.name}: {calls_of_a_card()}", err=True)
        card = make_card(methods.judge, concurrency=methods.threads, spending=spending)
        click.echo(spending_text(methods.judge.name, spending), err=True)
    path = keep_card(card, cards)
    document = {**msgspec.to_builtins(card), "faults": card.faults, "path": str(path)}
    tell(document, describe_judge_card(card, str(path)), as_json=as_json)
    context.exit(1 if card.faults else 0)
