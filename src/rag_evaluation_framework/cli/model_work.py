"""Asks the models of ``scripts/evaluate_models.py``, one after another, and writes what comes of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from rag_evaluation_framework.adapters.http_agent import shown_address
from rag_evaluation_framework.adapters.openai import BASE_URL, KEY_VARIABLE, OpenAIModel
from rag_evaluation_framework.cli.evaluate_models_options import ADDRESS_VARIABLE, MODEL_IN_NAME, ModelOptions
from rag_evaluation_framework.cli.model_data import ChosenSamples
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.manifests.preflight import check_writable
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets, names_a_secret
from rag_evaluation_framework.evaluation.model_evaluations import ModelEvaluation, evaluate_model
from rag_evaluation_framework.evaluation.model_runs import (
    ModelParameters,
    ModelRuns,
    SharedData,
    model_head,
    parameters_of,
)
from rag_evaluation_framework.evaluation.resources import judge_fields
from rag_evaluation_framework.evaluation.runs.masked_target import MaskedTarget
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.records.runs import Progress, RunSettings
from rag_evaluation_framework.results.run_folder import RunFolder

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
            if evaluations[-1].outcome.interrupted:
                break
        return evaluations

    def write(self, evaluations: Sequence[ModelEvaluation]) -> None:
        """Write each model's results document, where that was asked for."""
        paths = output_paths(self._options.output, self.runs.models)
        for each in evaluations if paths else ():
            paths[each.model].parent.mkdir(parents=True, exist_ok=True)
            each.write_results(self._samples.selection, paths[each.model])

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
