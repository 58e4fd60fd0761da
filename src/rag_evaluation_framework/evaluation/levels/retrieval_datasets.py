"""Finds the dataset of a retrieval evaluation: by its path, or by its name at LangSmith.

With an API key in the environment a name is read from LangSmith with its SDK (the extra ``langsmith``).
Without one the same names live in a folder, ``langsmith/`` by default, as ``<name>.jsonl`` or ``<name>.json``
in LangSmith's own shape; any other dialect is read as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.errors import MissingDatasetError, UsageError, shown
from rag_evaluation_framework.extensions import Registry
from rag_evaluation_framework.records.samples import Dataset

DATASETS_FOLDER = "langsmith"
API_KEYS = ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")

DATASET_SOURCES: Registry[Callable[[str], Dataset]] = Registry("dataset_source")
DATASET_SOURCES.register("langsmith", "rag_evaluation_framework.adapters.langsmith:read_langsmith_dataset")

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
