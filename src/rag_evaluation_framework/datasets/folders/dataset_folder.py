"""Every dataset of a folder, in whichever dialect: what the command ``rag-eval datasets`` lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rag_evaluation_framework.datasets.dialects.recognition import recognise
from rag_evaluation_framework.datasets.folders.catalogue import checked_entries
from rag_evaluation_framework.datasets.folders.catalogue_files import (
    DATASET_SUFFIXES,
    CatalogueEntry,
    files_inside,
    reason,
)
from rag_evaluation_framework.errors import InputError, RagEvalError
from rag_evaluation_framework.files.compression import plain_name

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_OTHER_KINDS = (
    ".gt.json",
    ".results.json",
    ".results.csv",
    ".results.parquet",
    ".benchmark.json",
    ".benchmark.parquet",
    ".config.json",
)


def datasets_folder(folder: Path) -> Path:
    """Return the folder that holds the datasets: ``datasets`` in the given one, or the given one itself."""
    return folder / "datasets" if (folder / "datasets").is_dir() else folder


def datasets_in(folder: Path) -> list[CatalogueEntry]:
    """List evaluation datasets by id and version, then files of other dialects by name.

    The size of the latter is the number of their samples, so that they are read to the end; a file that is
    no dataset is left out.
    """
    return [*checked_entries(folder), *_others(folder)]


def _others(folder: Path) -> Iterator[CatalogueEntry]:
    for path, refusal in files_inside(folder, _SUFFIXES):
        if plain_name(path).endswith((*DATASET_SUFFIXES, *_OTHER_KINDS)):
            continue
        if refusal is not None:
            yield CatalogueEntry(path, error=refusal, dialect="")
            continue
        try:
            dialect = recognise(path)
        except InputError:
            continue  # a manifest, say, or notes
        size, error = 0, None
        try:
            for _ in dialect.stream(path):
                size += 1
        except RagEvalError as problem:
            error = reason(problem)
        yield CatalogueEntry(path, size=size, error=error, dialect=dialect.name)
