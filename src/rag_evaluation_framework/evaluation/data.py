"""Whatever people have, as one Dataset: path, id, rows, LangSmith name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeAlias

from rag_evaluation_framework.datasets.catalogue import checked_entries
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.errors import (
    InputError,
    MissingDatasetError,
    RagEvalError,
    UsageError,
    shown,
)
from rag_evaluation_framework.evaluation.golden_runs import find_splits, golden_manifest
from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest, read_manifest
from rag_evaluation_framework.evaluation.preflight import source_of
from rag_evaluation_framework.extensions import Registry
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.files.strict_json import write_lines
from rag_evaluation_framework.records.responses import History
from rag_evaluation_framework.records.runs import Run
from rag_evaluation_framework.records.samples import Dataset, Refusal, Sample

Data: TypeAlias = str | Path | Manifest | Dataset | Iterable[Sample] | Iterable[Mapping[str, Any]]

_IN_MEMORY = "rows"
_SHOWN_AT_ONCE = 1000


def manifest_of(
    data: Data,
    *,
    metrics: Sequence[str] | None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # as the command line calls it
    history: History = "own",
    uses_metrics: bool = True,
) -> Manifest:
    """Return the manifest that the data stand for; ``metrics`` fill in where it lists none.

    ``columns`` says which column of a row holds what our dialects call by another name.
    """
    if isinstance(data, Manifest):
        return data
    if isinstance(data, str | Path):
        return _at(Path(data), metrics, format=format, history=history, uses_metrics=uses_metrics)
    dataset = data if isinstance(data, Dataset) else _dataset_of(list(data), columns or {})
    name = dataset.name or _IN_MEMORY
    entry = DatasetEntry(name=name, path=None, metrics=tuple(metrics or ()), dataset=dataset)
    return Manifest(
        file=Path(name), datasets=(_with_metrics(entry, metrics),), configuration={"call": "evaluate"}
    )


def _at(
    path: Path,
    metrics: Sequence[str] | None,
    *,
    format: str | None,  # noqa: A002
    history: History,
    uses_metrics: bool,
) -> Manifest:
    if path.is_dir() and format is None and _has_splits(path):
        return golden_manifest(path, history=history)
    if path.suffix in (".yaml", ".yml") and path.is_file() and format is None and _is_manifest(path):
        return read_manifest(path, uses_metrics=uses_metrics)
    if not path.exists():
        path = _of_catalogue(str(path))
    name = plain_name(path).partition(".")[0] or plain_name(path)
    entry = DatasetEntry(name=name, path=path, metrics=(), format=format)
    return Manifest(file=path, datasets=(_with_metrics(entry, metrics),), configuration={"call": "evaluate"})


def _with_metrics(entry: DatasetEntry, metrics: Sequence[str] | None) -> DatasetEntry:
    """Return a dataset with the metrics asked for or, without any, with those that it can bear."""
    if metrics is not None:
        return replace(entry, metrics=tuple(metrics))
    found: dict[str, None] = {}
    for place, sample in enumerate(source_of(entry).stream()):
        found |= dict.fromkeys(_borne(sample))
        if place >= _SHOWN_AT_ONCE:
            break
    if not found:
        raise UsageError(
            f"dataset {entry.name}: expected metrics, got none, and its samples bear none by themselves"
        )
    return replace(entry, metrics=tuple(found))


def _borne(sample: Sample) -> Iterable[str]:
    if sample.recorded is not None and sample.recorded.contexts:
        yield "faithfulness"
    if isinstance(sample.expectation, Refusal):
        yield "refusal_recall"
    elif sample.reference:
        yield "answer_correctness"
    if sample.relevant_documents:
        yield "hit@1"


def _has_splits(folder: Path) -> bool:
    try:
        return bool(find_splits(folder))
    except RagEvalError:
        return False


def _is_manifest(path: Path) -> bool:
    """Tell a manifest from a dataset that is written as YAML: only the former has a spec."""
    text = path.read_text(encoding="utf-8")
    # JSON is YAML too, and may stand on one line.
    if text.lstrip().startswith("{"):
        return '"spec"' in text
    return any(line.startswith("spec:") for line in text.splitlines())


def _of_catalogue(name: str) -> Path:
    """Return the file of a dataset that the catalogue of the project knows by this id."""
    folder = Path("data", "evaluation")
    entries = checked_entries(folder) if folder.is_dir() else []
    found = [entry.path for entry in entries if entry.dataset_id == name]
    if not found:
        raise MissingDatasetError(f"no dataset {shown(name)}: neither a path nor an id of the catalogue")
    return found[-1]


def _dataset_of(rows: list[Any], columns: Mapping[str, str]) -> Dataset:
    if not rows:
        raise UsageError("data: expected at least one row, got none")
    if all(isinstance(row, Sample) for row in rows):
        return Dataset(samples=tuple(rows), dialect="")
    if not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"data: expected samples or dictionaries, got {shown(rows[0])}")
    names = {theirs: ours for ours, theirs in columns.items()}
    records = [{names.get(name, name): value for name, value in row.items()} for row in rows]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        write_lines(path, records)
        try:
            read = read_dataset(path)
        except InputError as error:
            raise InputError([replace(issue, file=_IN_MEMORY) for issue in error.issues]) from None
    return replace(read, samples=tuple(replace(sample, origin=None) for sample in read.samples))


# Datasets by name: at LangSmith or in a folder, and experiments beside those that a host keeps.
#
# With an API key in the environment a name is read from LangSmith with its SDK (the extra ``langsmith``).
# Without one the same names live in a folder, ``langsmith/`` by default, as ``<name>.jsonl`` or
# ``<name>.json`` in LangSmith's own shape; any other dialect is read as well.
#
# An experiment is what an evaluation found for each query, shown beside the dataset where that is kept.
# Results stand on their own: a host that fails costs the experiment, never the results.

DATASETS_FOLDER = "langsmith"
API_KEYS = ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")

DATASET_SOURCES: Registry[Callable[[str], Dataset]] = Registry("dataset_source")
DATASET_SOURCES.register("langsmith", "rag_evaluation_framework.adapters.langsmith:read_langsmith_dataset")

NO_TRACKING = "LANGSMITH_TEST_TRACKING"
"""LangSmith's own variable for tests that leave nothing behind; ``false`` switches experiments off."""


_ENDINGS = tuple(f"{kind}{packed}" for kind in (".jsonl", ".json") for packed in ("", ".gz", ".zst"))


def find_dataset(name: str | Path, *, folder: str | Path = DATASETS_FOLDER) -> Dataset:
    """Read the dataset at a path or, where there is nothing, the one of this name.

    With a LangSmith API key in the environment a name means the one at LangSmith, never a file in the local
    folder that happens to be called the same.
    """
    if not str(name):
        raise UsageError("dataset: expected a name or a path, got ''")
    if Path(name).exists():
        return read_dataset(name)
    if any(os.environ.get(key) for key in API_KEYS):
        return DATASET_SOURCES.get("langsmith")(str(name))
    return read_dataset(_local_file(str(name), Path(folder)))


def _local_file(name: str, folder: Path) -> Path:
    candidates = [folder / f"{name}{ending}" for ending in _ENDINGS]
    found = [path for path in candidates if path.is_file() and _is_inside(path, folder)]
    if len(found) > 1:
        raise UsageError(f"dataset {shown(name)}: expected one file, got {' and '.join(map(str, found))}")
    if not found:
        raise MissingDatasetError(
            f"no dataset {shown(name)}: there is no such path, no {candidates[0]} and no "
            f"LangSmith API key ({API_KEYS[0]}) to look for it there"
        )
    return found[0]


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedDataset(Dataset):
    """A dataset read from a host, with the ids that the host knows it and its examples by."""

    host: str
    host_id: str
    example_ids: Mapping[str, str] = field(hash=False)
    """The host's id of each sample, by the sample's own."""


class ExperimentHost(Protocol):
    """Keeps experiments."""

    def __call__(self, run: Run, dataset: HostedDataset, *, seconds: float) -> str:
        """Record a run of a dataset that took so many seconds, and return where it can be seen."""


EXPERIMENT_HOSTS: Registry[ExperimentHost] = Registry("experiment_host")
EXPERIMENT_HOSTS.register("langsmith", "rag_evaluation_framework.adapters.langsmith:upload_experiment")


@dataclass(frozen=True, slots=True)
class RecordedExperiment:
    """Where an experiment can be seen, or why there is none although there should be."""

    url: str | None = None
    warning: str | None = None


def is_recorded(dataset: Dataset, wish: bool | None) -> bool:
    """Tell whether runs of a dataset become experiments; without a wish, those of hosted datasets do."""
    if wish and not isinstance(dataset, HostedDataset):
        raise UsageError("experiments are shown beside a dataset at LangSmith: expected the name of one")
    if wish is not None:
        return wish
    return isinstance(dataset, HostedDataset) and os.environ.get(NO_TRACKING, "").lower() != "false"


def recorded_experiment(run: Run, dataset: Dataset, *, seconds: float) -> RecordedExperiment:
    """Record a run with the host of its dataset; whatever fails is a warning."""
    if not isinstance(dataset, HostedDataset):
        return RecordedExperiment()
    try:
        return RecordedExperiment(EXPERIMENT_HOSTS.get(dataset.host)(run, dataset, seconds=seconds))
    except RagEvalError as error:
        return RecordedExperiment(warning=f"the experiment was not recorded: {error}")
