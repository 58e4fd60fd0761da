"""What ``scripts/evaluate_models.py`` does: from the options to the comparison and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import click

from rag_evaluation_framework.cli.evaluate_models_options import DEFAULT_METRICS, ModelOptions
from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.cli.judge_notices import spending_told, waiting_notice
from rag_evaluation_framework.cli.model_data import chosen_data, chosen_samples, moved
from rag_evaluation_framework.cli.model_work import ModelWork
from rag_evaluation_framework.errors import UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.evaluate import kinship_warnings, opened_methods
from rag_evaluation_framework.evaluation.manifests.preflight import Prices
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
from rag_evaluation_framework.evaluation.model_evaluations import ModelEvaluation, compare_models
from rag_evaluation_framework.evaluation.model_runs import ModelRuns, data_of, metrics_of
from rag_evaluation_framework.evaluation.rescoring import check_scored_alike, scored_as_wanted
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.reports.model_evaluations import (
    SideBySide,
    side_by_side_document,
    side_by_side_text,
)
from rag_evaluation_framework.reports.progress import ProgressLine

_INCOMPLETE, _INTERRUPTED = 3, 130


def evaluate_models(options: ModelOptions, scoring: Mapping[str, Any]) -> int:
    """Run the models and return the exit code; no error tells a secret."""
    secrets = Secrets()
    with secrets.masked_errors(), opened_methods(**scoring) as methods:
        return _evaluate(options, methods, secrets)


def _evaluate(options: ModelOptions, methods: ScoringMethods, secrets: Secrets) -> int:
    runs = ModelRuns(options.models)
    if options.resume:
        runs = ModelRuns.resumed(options.resume, options.runs_dir, models=options.models)
    began = runs.leader.head if runs.leader else None
    scorers = scorers_for(metrics_of(began) if began else options.metrics or DEFAULT_METRICS, methods)
    for folder in runs.runs.values():
        check_scored_alike(folder, scorers, methods)
    runs.runs = {model: scored_as_wanted(folder, scorers, methods) for model, folder in runs.runs.items()}
    data, warnings = (moved(data_of(began), options.dataset), ()) if began else chosen_data(options)
    samples = chosen_samples(data, scorers)
    prices = _prices(options.price)
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
    side_by_side = SideBySide(
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
    _show(side_by_side, secrets, as_json=options.as_json)
    return _exit_code(evaluations)


def _evaluated(
    work: ModelWork, secrets: Secrets, *, silent: bool, notice: Callable[[], str]
) -> list[ModelEvaluation]:
    if silent:
        return work.evaluate(None)
    progress = ProgressLine(sys.stderr, live=sys.stderr.isatty(), mask=secrets.mask, notice=notice)
    try:
        return work.evaluate(progress)
    finally:
        progress.finish()


def _show(side_by_side: SideBySide, secrets: Secrets, *, as_json: bool) -> None:
    if as_json:
        print_json(secrets.mask_value(side_by_side_document(side_by_side)))
    else:
        click.echo(secrets.mask(side_by_side_text(side_by_side)))


def _prices(texts: Sequence[str]) -> dict[str, Prices]:
    """Return the prices by model."""
    found: dict[str, Prices] = {}
    for text in texts:
        model, _, numbers = text.rpartition("=")
        try:
            read, written = (float(number) for number in numbers.split(","))
        except ValueError:
            read = written = -1.0
        if not model or not (isfinite(read + written) and read >= 0 and written >= 0):
            raise UsageError(
                f"--price: expected MODEL=INPUT,OUTPUT, such as small=0.15,0.6, got {shown(text)}"
            )
        found[model] = Prices(read, written)
    return found


def _exit_code(evaluations: Sequence[ModelEvaluation]) -> int:
    if any(each.outcome.interrupted for each in evaluations):
        return _INTERRUPTED
    return 0 if all(each.is_measured for each in evaluations) else _INCOMPLETE
