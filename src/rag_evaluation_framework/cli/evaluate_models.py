"""What ``scripts/evaluate_models.py`` runs: ask models the samples of a split, and show them side by side."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rag_evaluation_framework.cli.evaluate_models_options import (
    DEFAULT_METRICS,
    MODEL_IN_NAME,
    ModelOptions,
    model_options,
)
from rag_evaluation_framework.cli.exit_codes import run_program
from rag_evaluation_framework.errors import RagEvalError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.cli.model_data import ChosenSamples
    from rag_evaluation_framework.evaluation.model_runs import ModelParameters, ModelRuns, SharedData
    from rag_evaluation_framework.evaluation.run_folder import RunFolder
    from rag_evaluation_framework.evaluation.scorers import MetricScorer
    from rag_evaluation_framework.evaluation.secrets import Secrets
    from rag_evaluation_framework.extensions import Target
    from rag_evaluation_framework.reports.model_evaluations import SideBySide
    from rag_evaluation_framework.reports.progress import ProgressLine
    from rag_evaluation_framework.results.model_evaluations import ModelEvaluation

_INCOMPLETE, _INTERRUPTED = 3, 130
_MAX_ATTEMPTS = 5

EXAMPLES = """\b
Examples:
  python scripts/evaluate_models.py --model gpt-4o-mini --model gpt-4o --dataset-type qa
  python scripts/evaluate_models.py --model llama3:8b --base-url http://localhost:11434/v1
  python scripts/evaluate_models.py --model small --dataset-type summaries -m rouge --limit 20
  python scripts/evaluate_models.py --model a --model b --output 'results/{model}.results.json'
  python scripts/evaluate_models.py --resume eval_run_20261115_001"""


@click.command(
    "evaluate-models",
    epilog=EXAMPLES,
    short_help="Ask models the samples of a split, and show them side by side.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@model_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Ask models behind an OpenAI-compatible endpoint the samples of a split, score the answers, and compare
    every model with the first.

    A model is asked the prompt that the sample has recorded (rag_prompt); without one, the recorded contexts
    and the question. Each model is a run that survives a kill and goes on with --resume.

    Exit code 0: all models were measured; 2: wrong usage or data; 3: a run is incomplete, or a model gave no
    answer at all; 130: interrupted.
    """
    # Imported here, not above: numpy and the HTTP client should not slow down --help.
    from rag_evaluation_framework.evaluation.secrets import Secrets

    secrets = Secrets()
    try:
        context.exit(_evaluate(ModelOptions(**given), secrets))
    except RagEvalError as error:
        masked = secrets.mask(str(error))
        if masked != str(error):
            raise UsageError(masked) from None
        raise


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line."""
    run_program(command, arguments, name="evaluate-models")


def _evaluate(options: ModelOptions, secrets: Secrets) -> int:
    """Run the models from the options to the exit code."""
    from rag_evaluation_framework.cli.model_data import chosen_data, chosen_samples, moved
    from rag_evaluation_framework.evaluation.model_runs import ModelRuns, data_of, metrics_of
    from rag_evaluation_framework.evaluation.scorers import scorers_for
    from rag_evaluation_framework.reports.model_evaluations import SideBySide
    from rag_evaluation_framework.results.model_evaluations import compare_models

    if options.resume:
        runs = ModelRuns.resumed(options.resume, options.runs_dir, models=options.models)
    else:
        runs = ModelRuns(options.models)
    leader = runs.leader.head if runs.leader else None
    scorers = scorers_for(metrics_of(leader) if leader else options.metrics or DEFAULT_METRICS)
    data, warnings = (moved(data_of(leader), options.dataset), []) if leader else chosen_data(options)
    samples = chosen_samples(data, scorers)
    prices = options.prices()
    for model in prices.keys() - set(runs.models):
        raise UnknownNameError("model in --price", model, runs.models)
    work = _Work(
        options, runs, data, samples, scorers=scorers, seed=leader.seed if leader else options.seed or 0
    )
    work.check(secrets)
    evaluations = work.done(secrets)
    shown = SideBySide(
        data=data,
        samples=len(samples.selection),
        with_prompt=samples.with_prompt,
        metrics=tuple(scorer.name for scorer in scorers),
        evaluations=tuple(evaluations),
        comparisons=tuple(compare_models(evaluations, seed=work.seed)),
        prices=prices,
        warnings=tuple(warnings),
    )
    _write(options, shown, samples)
    _show(shown, secrets, as_json=options.as_json)
    return _exit_code(evaluations)


class _Work:
    """The models to be asked, one after another."""

    def __init__(
        self,
        options: ModelOptions,
        runs: ModelRuns,
        data: SharedData,
        samples: ChosenSamples,
        *,
        scorers: Sequence[MetricScorer],
        seed: int,
    ) -> None:
        self.options, self.runs, self.data, self.samples = options, runs, data, samples
        self.scorers, self.seed = scorers, seed

    def check(self, secrets: Secrets) -> None:
        """Make sure, before the first request, that every model can be asked and every file written."""
        from rag_evaluation_framework.evaluation.preflight import check_writable

        outputs = _outputs(self.options.output, self.runs.models)
        check_writable([self.options.runs_dir, *(path.parent for path in outputs.values())])
        for model in self.runs.models:
            self._target(model, self.runs.runs.get(model), secrets)

    def done(self, secrets: Secrets) -> list[ModelEvaluation]:
        """Ask every model what is left to ask; only an interrupt ends it before the last."""
        from rag_evaluation_framework.evaluation.run_folder import RunFolder
        from rag_evaluation_framework.evaluation.run_records import Progress, RunSettings
        from rag_evaluation_framework.results.model_evaluations import evaluate_model

        progress = _progress(self.options, secrets)
        settings = RunSettings(
            concurrency=self.options.concurrency,
            attempt_timeout=self.options.timeout,
            # Room for every attempt and the waits between them.
            sample_timeout=max(300.0, self.options.timeout * _MAX_ATTEMPTS),
            max_attempts=_MAX_ATTEMPTS,
            seed=self.seed,
        )
        evaluations: list[ModelEvaluation] = []
        for model in self.runs.models:
            folder = self.runs.runs.get(model)
            target = self._target(model, folder, secrets)
            if folder is None:
                folder = RunFolder.create(self._directory, self._head(model))
                self.runs.runs[model] = folder

            def tell(told: Progress, name: str = model) -> None:
                if progress is not None:
                    progress(name, told)

            evaluations.append(
                evaluate_model(
                    self.samples.selection,
                    target,
                    self.scorers,
                    folder=folder,
                    settings=settings,
                    on_progress=tell,
                )
            )
            if evaluations[-1].outcome.interrupted:
                break
        if progress is not None:
            progress.finish()
        return evaluations

    @property
    def _directory(self) -> Path:
        """Where new runs go: beside those that are resumed."""
        return self.runs.leader.path.parent if self.runs.leader else self.options.runs_dir

    def _head(self, model: str) -> Any:
        from rag_evaluation_framework.evaluation.model_runs import model_head

        return model_head(
            model,
            self.runs,
            self.data,
            parameters=self._parameters,
            dataset_hash=self.samples.content_hash,
            scorers=self.scorers,
            seed=self.seed,
        )

    @property
    def _parameters(self) -> ModelParameters:
        from rag_evaluation_framework.adapters.http_agent import shown_address
        from rag_evaluation_framework.evaluation.model_runs import ModelParameters

        return ModelParameters(
            base_url=shown_address(self.options.address),
            temperature=self.options.chosen_temperature,
            max_tokens=self.options.max_tokens,
        )

    def _target(self, model: str, folder: RunFolder | None, secrets: Secrets) -> Target | None:
        """Return what is asked; nothing where a run is complete. A run goes on only where it began."""
        import os

        from rag_evaluation_framework.adapters.openai_model import KEY_VARIABLE, OpenAIModel
        from rag_evaluation_framework.evaluation.masked_target import MaskedTarget
        from rag_evaluation_framework.evaluation.model_runs import parameters_of

        if folder is not None and folder.state == "complete":
            return None
        parameters = self._parameters
        if folder is not None:
            began = parameters_of(folder.head)
            if began.base_url != parameters.base_url:
                raise UsageError(
                    f"cannot resume {folder.head.run_id} elsewhere: expected --base-url {began.base_url}, "
                    f"got {parameters.base_url}"
                )
            parameters = began
        secrets.add(os.environ.get(self.options.api_key_env or KEY_VARIABLE, ""))
        target = OpenAIModel(
            model,
            base_url=self.options.address,
            key_env=self.options.api_key_env,
            temperature=parameters.temperature,
            max_tokens=parameters.max_tokens,
            mask=secrets.mask,
        )
        return MaskedTarget(target, secrets)


def _progress(options: ModelOptions, secrets: Secrets) -> ProgressLine | None:
    from rag_evaluation_framework.reports.progress import ProgressLine

    if options.as_json:
        return None
    return ProgressLine(sys.stderr, live=sys.stderr.isatty(), mask=secrets.mask)


def _outputs(output: Path | None, models: Sequence[str]) -> dict[str, Path]:
    """Return where each model's results document goes; two models never share a file."""
    if output is None:
        return {}
    pattern = str(output / f"{MODEL_IN_NAME}.results.json") if output.is_dir() else str(output)
    if len(models) > 1 and MODEL_IN_NAME not in pattern:
        raise UsageError(
            f"--output: expected {MODEL_IN_NAME} in the name, or a folder, for {len(models)} models"
        )
    paths = {
        model: Path(pattern.replace(MODEL_IN_NAME, re.sub(r"[^\w.+-]", "_", model).lstrip(".")))
        for model in models
    }
    if len(set(paths.values())) < len(paths):
        raise UsageError("--output: expected names that differ, got models whose file names are the same")
    return paths


def _write(options: ModelOptions, shown: SideBySide, samples: ChosenSamples) -> None:
    paths = _outputs(options.output, [each.model for each in shown.evaluations])
    for each in shown.evaluations:
        if each.model in paths:
            paths[each.model].parent.mkdir(parents=True, exist_ok=True)
            each.write_results(samples.selection, paths[each.model])


def _show(shown: SideBySide, secrets: Secrets, *, as_json: bool) -> None:
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.reports.model_evaluations import side_by_side_document, side_by_side_text

    if as_json:
        click.echo(strict_json.encode(secrets.mask_value(side_by_side_document(shown)), indent=2))
    else:
        click.echo(secrets.mask(side_by_side_text(shown)))


def _exit_code(evaluations: Sequence[ModelEvaluation]) -> int:
    if any(each.outcome.interrupted for each in evaluations):
        return _INTERRUPTED
    return 0 if all(each.is_measured for each in evaluations) else _INCOMPLETE
