"""The samples that ``scripts/evaluate_models.py`` asks, checked before the first request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_evaluation_framework.cli.evaluate_models_options import DEFAULT_CONFIG, DatasetType, ModelOptions
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.datasets.split_build import BuildPaths, read_build_settings, split_version
from rag_evaluation_framework.errors import InputError, UsageError
from rag_evaluation_framework.evaluation.manifests.needs import MissingFields
from rag_evaluation_framework.evaluation.manifests.sampling import Selection, select_samples
from rag_evaluation_framework.evaluation.model_runs import SharedData
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.results.sample_list import content_hash

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
