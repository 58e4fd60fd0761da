"""What ``scripts/evaluate_models.py`` does: from the options to the comparison and the exit code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import click

from rag_evaluation_framework.adapters.http_agent import shown_address
from rag_evaluation_framework.adapters.openai import BASE_URL, KEY_VARIABLE, OpenAIModel
from rag_evaluation_framework.cli.evaluate_models_options import (
    ADDRESS_VARIABLE,
    DEFAULT_CONFIG,
    DEFAULT_METRICS,
    MODEL_IN_NAME,
    DatasetType,
    ModelOptions,
)
from rag_evaluation_framework.cli.output import print_json, spending_told, waiting_notice
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.datasets.split_build import BuildPaths, read_build_settings, split_version
from rag_evaluation_framework.errors import InputError, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.evaluate import kinship_warnings, opened_methods
from rag_evaluation_framework.evaluation.model_runs import (
    ModelEvaluation,
    ModelParameters,
    ModelRuns,
    SharedData,
    compare_models,
    data_of,
    evaluate_model,
    metrics_of,
    model_head,
    parameters_of,
)
from rag_evaluation_framework.evaluation.preflight import (
    MissingFields,
    Prices,
    Selection,
    check_writable,
    select_samples,
)
from rag_evaluation_framework.evaluation.rescoring import check_scored_alike, scored_as_wanted
from rag_evaluation_framework.evaluation.resources import judge_fields
from rag_evaluation_framework.evaluation.scoring import MetricScorer, scorers_for
from rag_evaluation_framework.evaluation.secrets import MaskedTarget, Secrets, names_a_secret
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.records.runs import Progress, RunSettings
from rag_evaluation_framework.reports.model_evaluations import (
    SideBySide,
    side_by_side_document,
    side_by_side_text,
)
from rag_evaluation_framework.reports.progress import ProgressLine
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.sample_list import content_hash

# The samples that ``scripts/evaluate_models.py`` asks, checked before the first request.

_DIALECTS: dict[DatasetType, str] = {"qa": "qa-pairs", "summaries": "summaries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenSamples:
    """Samples that can be asked and scored; ``with_prompt`` counts those that have a prompt recorded."""

    selection: Selection
    with_prompt: int
    content_hash: str


def chosen_data(options: ModelOptions) -> tuple[SharedData, tuple[str, ...]]:
    """Return which file the models are asked, and what there is to warn about."""
    if options.dataset is not None:
        return SharedData(dataset_path=str(_existing(options.dataset)), limit=options.limit), ()
    split: DatasetType = options.dataset_type or "qa"
    paths = _configured_paths(options.config)
    path = paths.qa_output if split == "qa" else paths.summaries_output
    if not path.is_file():
        raise UsageError(
            f"no {split} split at {path}: make it with `rag-eval build`, or give a file with --dataset"
        )
    version = split_version(path, paths.manifest_output)
    warnings: tuple[str, ...] = ()
    if version is None and paths.manifest_output.is_file():
        warnings = (f"{path} is not the file that {paths.manifest_output} was written for: no version",)
    data = SharedData(
        dataset_path=path.as_posix(),
        dataset_format=_DIALECTS[split],
        dataset_version=version,
        limit=options.limit,
    )
    return data, warnings


def moved(data: SharedData, dataset: Path | None) -> SharedData:
    """Return the data of a run to be resumed, at the place where the file is now."""
    if dataset is not None:
        return replace(data, dataset_path=str(_existing(dataset)))
    if not Path(data.dataset_path).is_file():
        raise UsageError(
            f"no dataset at {data.dataset_path}, where the run had it: give it with --dataset FILE"
        )
    return data


def chosen_samples(data: SharedData, scorers: Sequence[MetricScorer]) -> ChosenSamples:
    """Read the whole file, so that everything wrong with it is known before the first request."""
    path = Path(data.dataset_path)
    dialect = recognise(path, format=data.dataset_format)
    try:
        selection = select_samples(lambda: dialect.stream(path))
    except InputError as error:
        raise error.located(str(path)) from None
    if data.limit is not None:
        selection = replace(selection, drawn=frozenset(range(min(data.limit, len(selection)))))
    missing = MissingFields(scorers, file=str(path))
    with_prompt = 0
    for sample in selection():
        missing.look_at(sample)
        with_prompt += bool(sample.recorded and sample.recorded.prompt)
    if issues := missing.issues():
        raise InputError(issues)
    return ChosenSamples(selection=selection, with_prompt=with_prompt, content_hash=content_hash(selection))


def _configured_paths(config: Path | None) -> BuildPaths:
    if config is None and not DEFAULT_CONFIG.is_file():
        return BuildPaths()
    settings = read_build_settings(config or DEFAULT_CONFIG)
    return BuildPaths(**{name: Path(path) for name, path in settings.items() if name != "version"})


def _existing(dataset: Path) -> Path:
    if not dataset.exists():
        raise UsageError(f"--dataset: expected a file, got {dataset}, which does not exist")
    return dataset


# Asks the models of ``scripts/evaluate_models.py``, one after another, and writes what comes of it.

_MAX_ATTEMPTS = 5


class ModelWork:
    """Models, what they are asked, and how."""

    def __init__(
        self,
        options: ModelOptions,
        runs: ModelRuns,
        data: SharedData,
        *,
        samples: ChosenSamples,
        scorers: Sequence[MetricScorer],
        seed: int,
        secrets: Secrets,
        methods: ScoringMethods,
    ) -> None:
        self._methods = methods
        self.runs, self.seed = runs, seed
        self._options, self._data, self._samples, self._scorers = options, data, samples, scorers
        self._secrets = secrets
        self._directory = runs.leader.path.parent if runs.leader else options.runs_dir
        self._parameters = ModelParameters(
            base_url=shown_address(_address(options)),
            temperature=options.chosen_temperature,
            max_tokens=options.max_tokens,
        )

    def check(self) -> None:
        """Make sure, before the first request, that every model can be asked and every file written."""
        outputs = output_paths(self._options.output, self.runs.models)
        check_writable([self._directory, *(path.parent for path in outputs.values())])
        for model in self.runs.models:
            self._target(model)

    def evaluate(self, on_progress: Callable[[str, Progress], None] | None) -> list[ModelEvaluation]:
        """Ask every model what is left to ask; only an interrupt ends it before the last."""
        evaluations: list[ModelEvaluation] = []
        for model in self.runs.models:
            evaluations.append(self._evaluated(model, on_progress))
            if evaluations[-1].evaluation.outcome.interrupted:
                break
        return evaluations

    def write(self, evaluations: Sequence[ModelEvaluation]) -> None:
        """Write each model's results document, where that was asked for."""
        paths = output_paths(self._options.output, self.runs.models)
        for each in evaluations if paths else ():
            paths[each.model].parent.mkdir(parents=True, exist_ok=True)
            each.write_results(paths[each.model])

    def _evaluated(self, model: str, on_progress: Callable[[str, Progress], None] | None) -> ModelEvaluation:
        target, folder = self._target(model), self._run_of(model)
        if on_progress is not None:
            on_progress(model, folder.counts.before_resuming(len(self._samples.selection)))
        return evaluate_model(
            self._samples.selection,
            target,
            self._scorers,
            folder=folder,
            settings=RunSettings(
                concurrency=self._options.concurrency,
                attempt_timeout=self._options.timeout,
                # Room for every attempt and the waits between them.
                sample_timeout=max(300.0, self._options.timeout * _MAX_ATTEMPTS),
                max_attempts=_MAX_ATTEMPTS,
                seed=self.seed,
                scoring_threads=self._methods.threads,
            ),
            methods=self._methods,
            on_progress=None if on_progress is None else lambda progress: on_progress(model, progress),
        )

    def _run_of(self, model: str) -> RunFolder:
        """Return the run of a model; one that has none gets one."""
        if model not in self.runs.runs:
            head = model_head(
                model,
                self.runs,
                self._data,
                parameters=self._parameters,
                dataset_hash=self._samples.content_hash,
                scorers=self._scorers,
                judge=judge_fields(self._methods),
                seed=self.seed,
            )
            self.runs.runs[model] = RunFolder.create(self._directory, head)
        return self.runs.runs[model]

    def _target(self, model: str) -> Target | None:
        """Return what is asked: nothing where a run is complete and a resume has nothing left to do.

        Samples that failed for want of the endpoint are left to do only where that endpoint is asked.
        """
        folder = self.runs.runs.get(model)
        parameters = self._parameters
        if folder is not None:
            parameters, counts = parameters_of(folder.head), folder.counts
            is_elsewhere = parameters.base_url != self._parameters.base_url
            has_answers = is_elsewhere or not counts.reaskable
            if folder.state == "complete" and not counts.rescorable and has_answers:
                return None
            # Where to ask is never taken from a file alone: the key goes only where the user says.
            if is_elsewhere:
                raise UsageError(
                    f"cannot resume {folder.head.run_id} elsewhere: expected --base-url "
                    f"{parameters.base_url}, got {self._parameters.base_url}"
                )
        self._secrets.add(os.environ.get(self._options.api_key_env or KEY_VARIABLE, ""))
        target = OpenAIModel(
            model,
            base_url=_address(self._options),
            key_env=self._options.api_key_env,
            temperature=parameters.temperature,
            max_tokens=parameters.max_tokens,
            mask=self._secrets.mask,
        )
        return MaskedTarget(target, self._secrets)


def output_paths(output: Path | None, models: Sequence[str]) -> dict[str, Path]:
    """Return where each model's results document goes; two models never share a file."""
    if output is None:
        return {}
    pattern = str(output / f"{MODEL_IN_NAME}.results.json") if output.is_dir() else str(output)
    if len(models) > 1 and MODEL_IN_NAME not in pattern:
        raise UsageError(
            f"--output: expected {MODEL_IN_NAME} in the name, or a folder that exists, "
            f"for {len(models)} models; got {output}"
        )
    paths = {model: Path(pattern.replace(MODEL_IN_NAME, _file_name(model))) for model in models}
    if len(set(paths.values())) < len(paths):
        raise UsageError("--output: expected names that differ, got models whose file names are the same")
    return paths


def _file_name(model: str) -> str:
    """Return a model's name as part of a file's name that cannot leave its folder: ``org_model-7b``."""
    return re.sub(r"[^\w.+-]", "_", model).lstrip(".") or "_"


def _address(options: ModelOptions) -> str:
    """Return where the models are; the address must hold no secret, since it is written down and shown."""
    address = options.base_url or os.environ.get(ADDRESS_VARIABLE) or BASE_URL
    try:
        parts = urlsplit(address)
    except ValueError:
        raise UsageError("--base-url: expected an address such as http://localhost:8000/v1") from None
    if parts.username or parts.password or any(names_a_secret(name) for name, _ in parse_qsl(parts.query)):
        raise UsageError(
            "--base-url: expected an address without a secret, got one with a user or a key in it; "
            "put the key into an environment variable and name that with --api-key-env"
        )
    return address


# What ``scripts/evaluate_models.py`` does: from the options to the comparison and the exit code.

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
    if any(each.evaluation.outcome.interrupted for each in evaluations):
        return _INTERRUPTED
    return 0 if all(each.is_measured for each in evaluations) else _INCOMPLETE
