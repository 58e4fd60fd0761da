"""Finds evaluation datasets and their ground truth in a folder, by id and version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.folders.catalogue_files import (
    CatalogueEntry,
    dataset_entries,
    ground_truth_entries,
    read_evaluation_dataset,
    read_ground_truth,
    reason,
)
from rag_evaluation_framework.datasets.folders.own_truth import truth_of_dataset
from rag_evaluation_framework.datasets.folders.versions import (
    parse_version,
    precedence,
    same_version,
    split_version,
)
from rag_evaluation_framework.errors import InputError, Issue, MissingDatasetError, RagEvalError, shown


class EvaluationDatasetLoader:
    """Loads evaluation datasets and ground truth from ``datasets`` and ``ground_truth`` in a folder.

    A dataset is found by what is in the files, whatever they are called: by its exact id; by an id that ends
    in a version (``sample_eval_v1.0.0``); by its id without that ending. Without a version the latest is
    taken. Nothing that an id contains leads out of the folder.
    """

    def __init__(self, data_directory: str | Path = "data/evaluation") -> None:
        self.data_directory = Path(data_directory)

    def load_dataset(self, dataset_id: str, version: str | None = None) -> dict[str, Any]:
        """Load an evaluation dataset, strictly validated.

        A ``FileNotFoundError`` when there is none, a ``ValueError`` with every error of the file when it is
        not valid, or when two files have this id and version.
        """
        folder = self.data_directory / "datasets"
        entry = _found(dataset_entries(folder), dataset_id, version=version, what="dataset", folder=folder)
        return read_evaluation_dataset(entry.path)

    def load_ground_truth(self, dataset_id: str, version: str | None = None) -> dict[str, Any]:
        """Load the ground truth annotations of a dataset, found and validated in the same way.

        A file that is a plain list comes back as ``{"dataset_id": …, "annotations": […]}``. Where there is
        no file, the dataset's own citations are its ground truth, in the same form.
        """
        folder = self.data_directory / "ground_truth"
        entries = ground_truth_entries(folder)
        try:
            entry = _found(entries, dataset_id, version=version, what="ground truth", folder=folder)
        except MissingDatasetError:
            own = self._own_truth(dataset_id, version)
            if own is None:
                raise
            return own
        value = read_ground_truth(entry.path)
        return value if isinstance(value, dict) else {"dataset_id": entry.dataset_id, "annotations": value}

    def _own_truth(self, dataset_id: str, version: str | None) -> dict[str, Any] | None:
        """Return the citations of a dataset as annotations; ``None`` without a dataset that has any."""
        try:
            truth = truth_of_dataset(self.load_dataset(dataset_id, version))
        except MissingDatasetError:
            return None
        return truth if truth["annotations"] else None

    def get_available_datasets(self) -> list[dict[str, Any]]:
        """List the evaluation datasets by id and version.

        What cannot be loaded is in the list too, with the reason as ``error``, which is otherwise ``None``.
        """
        return [entry.to_dict() for entry in checked_entries(self.data_directory / "datasets")]


def checked_entries(folder: Path) -> list[CatalogueEntry]:
    """Return every dataset of a folder in order, with what keeps it from being loaded, if anything does."""
    entries = []
    for entry in dataset_entries(folder):
        try:
            if entry.error is None:
                read_evaluation_dataset(entry.path)
        except RagEvalError as error:
            entry = replace(entry, error=reason(error))
        entries.append(entry)
    return list(_with_conflicts(sorted(entries, key=lambda entry: entry.order)))


def _with_conflicts(entries: Sequence[CatalogueEntry]) -> Iterator[CatalogueEntry]:
    """Mark the files that have one id and version between them."""
    files: dict[Any, list[str]] = {}
    for entry in entries:
        files.setdefault(_identity(entry), []).append(str(entry.path))
    for entry in entries:
        others = [file for file in files[_identity(entry)] if file != str(entry.path)]
        if others and entry.dataset_id and entry.error is None:
            entry = replace(entry, error=f"the same id and version as {', '.join(others)}")
        yield entry


def _identity(entry: CatalogueEntry) -> tuple[Any, ...]:
    return (entry.dataset_id, parse_version(entry.known_version) or entry.known_version)


def _found(
    entries: Sequence[CatalogueEntry], dataset_id: str, *, version: str | None, what: str, folder: Path
) -> CatalogueEntry:
    """Return the entry that an id and version mean: the latest of the first way that finds any."""
    for way in _ways(entries, dataset_id):
        matching = [entry for entry in way if version is None or same_version(entry.known_version, version)]
        if matching:
            return _latest(matching)
    message = _nothing_found(entries, dataset_id, version=version, what=what, folder=folder)
    raise MissingDatasetError(message)


def _ways(entries: Sequence[CatalogueEntry], dataset_id: str) -> Iterator[list[CatalogueEntry]]:
    """Yield the entries that an id may mean, from the surest way of reading it to the least sure."""
    readable = [entry for entry in entries if entry.dataset_id is not None]
    yield [entry for entry in readable if entry.dataset_id == dataset_id]
    stem, version = split_version(dataset_id)
    of_version = [
        entry for entry in readable if version is None or same_version(entry.known_version, version)
    ]
    yield [entry for entry in of_version if entry.dataset_id == stem]
    yield [entry for entry in of_version if split_version(entry.dataset_id or "")[0] == stem]


def _latest(entries: Sequence[CatalogueEntry]) -> CatalogueEntry:
    latest = max(precedence(entry.known_version) for entry in entries)
    found = [entry for entry in entries if precedence(entry.known_version) == latest]
    if len(found) > 1:
        version = f"the version {found[0].known_version}" if found[0].known_version else "no version"
        expected = f"one file with the id {found[0].dataset_id!r} and {version}"
        both = " and ".join(str(entry.path) for entry in found)
        raise InputError([Issue("duplicate-dataset", expected, both)])
    return found[0]


def _nothing_found(
    entries: Sequence[CatalogueEntry], dataset_id: str, *, version: str | None, what: str, folder: Path
) -> str:
    """Say what was looked for and what is there instead."""
    message = f"no {what} {shown(dataset_id)}{f' of version {version}' if version else ''} in {folder}"
    if not folder.is_dir():
        return f"{message}: there is no such folder"
    known = sorted((entry for entry in entries if entry.dataset_id), key=lambda entry: entry.order)
    names = list(
        dict.fromkeys(f"{entry.dataset_id} ({entry.known_version or 'no version'})" for entry in known)
    )
    nearest = [name for name in names if name.startswith(split_version(dataset_id)[0])]
    shown_names = nearest or get_close_matches(dataset_id, names, n=5, cutoff=0.4) or names[:10]
    message += f"; it has {', '.join(shown_names)}" if shown_names else "; it has none"
    broken = [entry.error for entry in entries if entry.error and entry.dataset_id is None]
    return "".join([message, *(f"\nnot readable: {error}" for error in broken)])
