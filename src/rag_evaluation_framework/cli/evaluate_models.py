"""What ``scripts/evaluate_models.py`` runs: ask models the samples of a split, and show them side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rag_evaluation_framework.cli.evaluate_models_options import DEFAULT_METRICS, ModelOptions, model_options
from rag_evaluation_framework.cli.exit_codes import run_program
from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.cli.judge_notices import kinship_warnings, spending_told, waiting_notice
from rag_evaluation_framework.cli.scoring_options import ScoringOptions, scoring_options
from rag_evaluation_framework.cli.shared_options import CONTEXT
from rag_evaluation_framework.errors import UnknownNameError

if TYPE_CHECKING:
    from rag_evaluation_framework.cli.model_work import ModelWork
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
    from rag_evaluation_framework.reports.model_evaluations import SideBySide
    from rag_evaluation_framework.results.model_evaluations import ModelEvaluation

_INCOMPLETE, _INTERRUPTED = 3, 130

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
    # Imported here, not above: numpy and the HTTP client should not slow down --help.
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets

    scoring = ScoringOptions.taken_from(given)
    secrets = Secrets()
    with secrets.masked_errors():
        code = _evaluate(ModelOptions(**given), scoring, secrets)
    context.exit(code)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line."""
    run_program(command, arguments, name="evaluate-models")


def _evaluate(options: ModelOptions, scoring: ScoringOptions, secrets: Secrets) -> int:
    """Run the models from the options to the exit code."""
    from rag_evaluation_framework.cli.model_data import chosen_data, chosen_samples, moved
    from rag_evaluation_framework.cli.model_work import ModelWork
    from rag_evaluation_framework.evaluation.model_runs import ModelRuns, data_of, metrics_of
    from rag_evaluation_framework.evaluation.scorers.named_scorers import scorers_for
    from rag_evaluation_framework.reports.model_evaluations import SideBySide
    from rag_evaluation_framework.results.model_evaluations import compare_models
    from rag_evaluation_framework.results.resumed_scoring import check_scored_alike, scored_as_wanted

    runs = ModelRuns(options.models)
    if options.resume:
        runs = ModelRuns.resumed(options.resume, options.runs_dir, models=options.models)
    began = runs.leader.head if runs.leader else None
    methods = scoring.methods()
    scorers = scorers_for(metrics_of(began) if began else options.metrics or DEFAULT_METRICS, methods)
    for folder in runs.runs.values():
        check_scored_alike(folder, scorers, methods)
    runs.runs = {model: scored_as_wanted(folder, scorers, methods) for model, folder in runs.runs.items()}
    data, warnings = (moved(data_of(began), options.dataset), ()) if began else chosen_data(options)
    samples = chosen_samples(data, scorers)
    prices = options.prices()
    for model in prices.keys() - set(runs.models):
        raise UnknownNameError("model in --price", model, runs.models)
    seed = began.seed if began else options.seed or 0
    work = ModelWork(
        options,
        runs,
        data,
        samples=samples,
        scorers=scorers,
        methods=methods,
        seed=seed,
        secrets=secrets,
    )
    work.check()
    with spending_told(methods):
        evaluations = _evaluated(
            work, secrets, silent=options.as_json, notice=lambda: waiting_notice(methods)
        )
    work.write(evaluations)
    shown = SideBySide(
        data=data,
        samples=len(samples.selection),
        with_prompt=samples.with_prompt,
        metrics=tuple(scorer.name for scorer in scorers),
        evaluations=tuple(evaluations),
        comparisons=tuple(compare_models(evaluations, seed=seed)),
        not_begun=tuple(runs.models[len(evaluations) :]),
        prices=prices,
        warnings=(*warnings, *kinship_warnings(methods, runs.models)),
    )
    _show(shown, secrets, as_json=options.as_json)
    return _exit_code(evaluations)


def _evaluated(
    work: ModelWork, secrets: Secrets, *, silent: bool, notice: Callable[[], str]
) -> list[ModelEvaluation]:
    from rag_evaluation_framework.reports.progress import ProgressLine

    if silent:
        return work.evaluate(None)
    progress = ProgressLine(sys.stderr, live=sys.stderr.isatty(), mask=secrets.mask, notice=notice)
    try:
        return work.evaluate(progress)
    finally:
        progress.finish()


def _show(shown: SideBySide, secrets: Secrets, *, as_json: bool) -> None:
    from rag_evaluation_framework.reports.model_evaluations import side_by_side_document, side_by_side_text

    if as_json:
        print_json(secrets.mask_value(side_by_side_document(shown)))
    else:
        click.echo(secrets.mask(side_by_side_text(shown)))


def _exit_code(evaluations: Sequence[ModelEvaluation]) -> int:
    if any(each.outcome.interrupted for each in evaluations):
        return _INTERRUPTED
    return 0 if all(each.is_measured for each in evaluations) else _INCOMPLETE
