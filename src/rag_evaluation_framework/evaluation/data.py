"""Datasets by name: at LangSmith or in a folder, and experiments beside those that a host keeps.

With an API key in the environment a name is read from LangSmith with its SDK (the extra ``langsmith``).
Without one the same names live in a folder, ``langsmith/`` by default, as ``<name>.jsonl`` or
``<name>.json`` in LangSmith's own shape; any other dialect is read as well.

An experiment is what an evaluation found for each query, shown beside the dataset where that is kept.
Results stand on their own: a host that fails costs the experiment, never the results.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from rag_evaluation_framework.datasets.recognition import read_dataset, with_annotated_truth
from rag_evaluation_framework.errors import MissingDatasetError, RagEvalError, UsageError, shown
from rag_evaluation_framework.extensions import Registry
from rag_evaluation_framework.records.runs import Run
from rag_evaluation_framework.records.samples import Dataset

DATASETS_FOLDER = "langsmith"
API_KEYS = ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")

DATASET_SOURCES: Registry[Callable[[str], Dataset]] = Registry("dataset_source")
DATASET_SOURCES.register("langsmith", "rag_evaluation_framework.adapters.langsmith:read_langsmith_dataset")

NO_TRACKING = "LANGSMITH_TEST_TRACKING"
"""LangSmith's own variable for tests that leave nothing behind; ``false`` switches experiments off."""


_FILE_ENDINGS = (".json", ".jsonl", ".yaml", ".yml", ".csv", ".parquet")
_ENDINGS = tuple(f"{kind}{packed}" for kind in (".jsonl", ".json") for packed in ("", ".gz", ".zst"))


def find_dataset(name: str | Path, *, folder: str | Path = DATASETS_FOLDER) -> Dataset:
    """Read the dataset at a path or, where there is nothing, the one of this name.

    With a LangSmith API key in the environment a name means the one at LangSmith, never a file in the local
    folder that happens to be called the same.
    """
    if not str(name):
        raise UsageError("dataset: expected a name or a path, got ''")
    if Path(name).exists():
        return with_annotated_truth(read_dataset(name), name)
    if any(os.environ.get(key) for key in API_KEYS):
        return DATASET_SOURCES.get("langsmith")(str(name))
    file = _local_file(str(name), Path(folder))
    return with_annotated_truth(read_dataset(file), file)


def _local_file(name: str, folder: Path) -> Path:
    candidates = [folder / f"{name}{ending}" for ending in _ENDINGS]
    inside = folder.resolve()
    found = [path for path in candidates if path.is_file() and path.resolve().is_relative_to(inside)]
    if len(found) > 1:
        raise UsageError(f"dataset {shown(name)}: expected one file, got {' and '.join(map(str, found))}")
    if not found and name.endswith(_FILE_ENDINGS):
        raise MissingDatasetError(
            f"there is no file {name}.\n  Generate questions: rag-eval generate FOLDER -o {name}"
        )
    if not found:
        raise MissingDatasetError(
            f"there is no file {name}, and no dataset of this name in {folder}.\n"
            f"  To read it from LangSmith, set {API_KEYS[0]}."
        )
    return found[0]


class HostedDataset(Dataset, frozen=True, kw_only=True):
    """A dataset read from a host, with the ids that the host knows it and its examples by."""

    host: str
    host_id: str
    example_ids: Mapping[str, str]
    """The host's id of each sample, by the sample's own."""


class ExperimentHost(Protocol):
    """Keeps experiments."""

    def __call__(self, run: Run, dataset: HostedDataset, *, seconds: float) -> str:
        """Record a run of a dataset that took so many seconds, and return where it can be seen."""


EXPERIMENT_HOSTS: Registry[ExperimentHost] = Registry("experiment_host")
EXPERIMENT_HOSTS.register("langsmith", "rag_evaluation_framework.adapters.langsmith:upload_experiment")


def is_recorded(dataset: Dataset, wish: bool | None) -> bool:
    """Return True if runs of a dataset become experiments; without a wish, those of hosted datasets do."""
    if wish and not isinstance(dataset, HostedDataset):
        raise UsageError("an experiment needs a dataset in LangSmith. Pass the name of the dataset.")
    if wish is not None:
        return wish
    return isinstance(dataset, HostedDataset) and os.environ.get(NO_TRACKING, "").lower() != "false"


def recorded_experiment(run: Run, dataset: Dataset, *, seconds: float) -> tuple[str | None, tuple[str, ...]]:
    """Record a run with the host of its dataset; return its address and a warning for each failure."""
    if not isinstance(dataset, HostedDataset):
        return None, ()
    try:
        return EXPERIMENT_HOSTS.get(dataset.host)(run, dataset, seconds=seconds), ()
    except RagEvalError as error:
        return None, (f"the experiment was not recorded: {error}",)
