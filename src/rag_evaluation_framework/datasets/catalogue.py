"""Datasets of a folder by id and version: EvaluationDatasetLoader."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.dialect import SIGNATURES
from rag_evaluation_framework.datasets.evaluation_sets import read_dataset_document
from rag_evaluation_framework.datasets.recognition import GROUND_TRUTH_SUFFIXES, recognise
from rag_evaluation_framework.datasets.value_files import read_document
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    MissingDatasetError,
    RagEvalError,
    refused,
    shown,
)
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.files.project_root import in_project

# The citations of a dataset as annotations: its ground truth where nobody has annotated it apart.

ANNOTATOR = "dataset"
"""Annotator name for annotations of the dataset itself."""


def truth_of_dataset(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """Return one annotation for each query that has citations, marked as the dataset's own.

    >>> truth_of_dataset({"dataset_id": "d", "queries": [{"query_id": "q1"}]})
    {'dataset_id': 'd', 'source': 'dataset', 'annotations': []}
    """
    made = {"timestamp": dataset["created_at"]} if dataset.get("created_at") else {}
    return {
        "dataset_id": dataset["dataset_id"],
        "source": ANNOTATOR,
        "annotations": [
            {
                "annotation_id": f"{ANNOTATOR}_{query['query_id']}",
                "query_id": query["query_id"],
                "annotator_id": ANNOTATOR,
                **made,
                "citations": [_annotated(citation) for citation in query["citations"]],
            }
            for query in dataset["queries"]
            if query.get("citations")
        ],
    }


def _annotated(citation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a citation with its confidence under the name that annotations have for it."""
    names = {"confidence_score": "annotation_confidence"}
    return {names.get(name, name): value for name, value in citation.items()}


# Versions of datasets: which of two is the later one, by the precedence of Semantic Versioning 2.0.0.
#
# Read more generously than the standard writes them: a leading ``v`` is passed over, missing parts are 0
# (``v3`` is 3.0.0), leading zeros do not matter (``2025.08.30``). A text that is no version at all comes
# before every version.

_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(
    r"[vV]?(?P<major>[0-9]{1,100})(?:\.(?P<minor>[0-9]{1,100}))?(?:\.(?P<patch>[0-9]{1,100}))?"
    rf"(?:-(?P<prerelease>{_IDENTIFIERS}))?(?:\+(?P<build>{_IDENTIFIERS}))?"
)
# `_1.0.0`, `_v1.0.0-rc.1`; a shorter one only behind a `v`, since `news_2024` is a name.
_VERSION_SUFFIX = re.compile(
    rf"_(?:[vV][0-9]+(?:\.[0-9]+){{0,2}}|[0-9]+\.[0-9]+\.[0-9]+)(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?\Z"
)


def parse_version(text: str) -> tuple[Any, ...] | None:
    """Take a version apart: what to sort by, the latest last, and its build; ``None`` when the text is none.

    Builds of one release are equal in precedence, as the standard (section 10) has it.

    >>> parse_version("1.10.0") > parse_version("1.9.0")
    True
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    release = (int(found["major"]), int(found["minor"] or 0), int(found["patch"] or 0))
    prerelease = found["prerelease"].split(".") if found["prerelease"] else ()
    identifiers = tuple(map(_identifier_key, prerelease))
    return (release, not identifiers, identifiers), found["build"] or ""


def precedence(text: str) -> tuple[Any, ...]:
    """Return what to sort version texts by, the latest last; what is no version comes first, by its text."""
    version = parse_version(text)
    return (0, text) if version is None else (1, version[0])


def same_version(one: str, other: str) -> bool:
    """Return True if two texts are one version: ``v1.0.0``, ``1.0`` and ``1.0.0`` are."""
    version = parse_version(one)
    return one == other if version is None else version == parse_version(other)


def split_version(identifier: str) -> tuple[str, str | None]:
    """Part an id from the version at its end.

    >>> split_version("sample_eval_v1.0.0")
    ('sample_eval', '1.0.0')
    >>> split_version("sample_eval")
    ('sample_eval', None)
    """
    found = _VERSION_SUFFIX.search(identifier)
    if found is None or found.start() == 0:
        return identifier, None
    return identifier[: found.start()], found[0].lstrip("_vV")


def _identifier_key(identifier: str) -> tuple[bool, int, str]:
    """Numbers by value and before words; words by their characters (section 11.4)."""
    if not identifier.isdigit():
        return (True, 0, identifier)
    # By length and then digit by digit, since a number of any length may stand here.
    digits = identifier.lstrip("0")
    return (False, len(digits), digits)


# The files of a folder of datasets or of ground truths, and what each says of itself.
#
# A file's name only says that it is one of them (``.eval.json``, ``.gt.yaml`` …, compressed or not); its
# id and version are read from its content. A link that leads out of the folder is not followed.

DATASET_SUFFIXES = SIGNATURES["evaluation-dataset"].suffixes


class CatalogueEntry(msgspec.Struct, frozen=True):
    """A file of the folder: what it says of itself, or why it could not be read."""

    path: Path
    dataset_id: str | None = None
    version: str | None = None
    name: str | None = None
    description: str | None = None
    size: int | None = None
    error: str | None = None
    dialect: str = "evaluation-dataset"

    @property
    def known_version(self) -> str:
        """The version it states, else the one at the end of its id, else nothing."""
        return self.version or split_version(self.dataset_id or "")[1] or ""

    @property
    def order(self) -> tuple[Any, ...]:
        """Return the sort key: id, version by precedence, file."""
        return (self.dataset_id or "", precedence(self.known_version), str(self.path))

    def to_dict(self) -> dict[str, Any]:
        """Return what a dataset says of itself as a plain value."""
        names = ("dataset_id", "name", "version", "description", "size")
        told = {name: getattr(self, name) for name in names}
        return {**told, "file_path": str(self.path), "error": self.error}


def reason(error: RagEvalError) -> str:
    """Return the reason why a file cannot be used: its first problem and the number of others."""
    first, *more = str(error).splitlines() or [type(error).__name__]
    return f"{first} (and {len(more):,} more)" if more else first


def files_inside(folder: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, str | None]]:
    """Yield the files of a folder whose names end so, sorted, each with the reason not to open it, if any.

    A file to which several links of the folder lead is yielded once.
    """
    try:
        inside = folder.resolve()
        paths = sorted(path for path in folder.iterdir() if plain_name(path).endswith(suffixes))
    except FileNotFoundError:
        return
    except OSError as error:
        raise refused("read", folder, error) from error
    seen: set[Path] = set()
    for path in paths:
        try:
            target = path.resolve(strict=True)
        except (OSError, RuntimeError):  # what a circle of links raises depends on Python's version
            yield path, f"{path}: expected a file, got a broken link"
            continue
        if not target.is_relative_to(inside):
            yield path, f"{path}: expected a file inside the folder, got a link to a file outside it"
        elif target.is_file() and target not in seen:
            seen.add(target)
            yield path, None


def _entries(folder: Path, suffixes: tuple[str, ...]) -> list[CatalogueEntry]:
    """Return what each file of a folder says of itself, in the order of their names."""
    return [
        _entry(path) if refusal is None else CatalogueEntry(path, error=refusal)
        for path, refusal in files_inside(folder, suffixes)
    ]


def _entry(path: Path) -> CatalogueEntry:
    """Take from a file what has the right type; a ground truth that names no dataset is of its own name."""
    is_truth = plain_name(path).endswith(GROUND_TRUTH_SUFFIXES)
    try:
        value = (read_document(path, lines=True) if is_truth else read_dataset_document(path)).value
    except RagEvalError as error:
        return CatalogueEntry(path, error=reason(error))
    head = value if isinstance(value, dict) else {}
    texts = {
        field: head[field]
        for field in ("dataset_id", "version", "name", "description")
        if isinstance(head.get(field), str)
    }
    if is_truth and not texts.get("dataset_id"):
        texts["dataset_id"] = path.name[: path.name.lower().index(".gt.")]
    queries = head.get("queries")
    return CatalogueEntry(path, **texts, size=len(queries) if isinstance(queries, list) else None)


# Finds evaluation datasets and their ground truth in a folder, by id and version.


class EvaluationDatasetLoader:
    """A loader of evaluation datasets and ground truth from ``datasets`` and ``ground_truth`` in a folder.

    A dataset is found by the content of the files, not their names: by its exact id; by an id that ends in a
    version (``sample_eval_v1.0.0``); by its id without that ending. Without a version the latest is taken. No
    id leads out of the folder.

    Args:
        data_directory: The folder.
    """

    def __init__(self, data_directory: str | Path = "data/evaluation") -> None:
        self.data_directory = Path(data_directory)

    def load_dataset(self, dataset_id: str, version: str | None = None) -> dict[str, Any]:
        """Load an evaluation dataset, strictly validated.

        A ``FileNotFoundError`` when there is none, a ``ValueError`` with every error of the file when it is
        not valid, or when two files have this id and version.
        """
        path = self.find_dataset(dataset_id, version)
        dataset: dict[str, Any] = read_dataset_document(path).checked("evaluation-dataset")
        return dataset

    def load_ground_truth(self, dataset_id: str, version: str | None = None) -> dict[str, Any]:
        """Load the ground truth annotations of a dataset, found and validated in the same way.

        A file that is a plain list comes back as ``{"dataset_id": …, "annotations": […]}``. Where there is
        no file, and the dataset carries citations of its own, these come back in the same form, marked by
        ``"source": "dataset"``, with a warning; where it carries none, that is a ``FileNotFoundError``.
        """
        folder = self.data_directory / "ground_truth"
        entries = _entries(folder, GROUND_TRUTH_SUFFIXES)
        try:
            entry = _found(entries, dataset_id, version=version, what="ground truth", folder=folder)
        except MissingDatasetError as error:
            try:
                own = truth_of_dataset(self.load_dataset(dataset_id, version))
            except MissingDatasetError:
                raise error from None
            if not own["annotations"]:
                raise
            told = f"no ground truth {shown(dataset_id)} in {folder}; using the citations in the dataset"
            warnings.warn(told, stacklevel=2)
            return own
        value = read_document(entry.path, lines=True).checked("annotations")
        return value if isinstance(value, dict) else {"dataset_id": entry.dataset_id, "annotations": value}

    def find_dataset(self, dataset_id: str, version: str | None = None) -> Path:
        """Return the file of a dataset, found as :meth:`load_dataset` finds it."""
        folder = self.data_directory / "datasets"
        entries = _entries(folder, DATASET_SUFFIXES)
        return _found(entries, dataset_id, version=version, what="dataset", folder=folder).path

    def get_available_datasets(self) -> list[dict[str, Any]]:
        """List the evaluation datasets by id and version.

        What cannot be loaded is in the list too, with the reason as ``error``, which is otherwise ``None``.
        """
        return [entry.to_dict() for entry in checked_entries(self.data_directory / "datasets")]


def catalogue_path(dataset_id: str) -> Path:
    """Return the file of a dataset that the project around the current folder knows by this id."""
    folder = in_project("data", "evaluation")
    unknown = f"there is no file {dataset_id} and no dataset with this id"
    if not (folder / "datasets").is_dir():
        raise MissingDatasetError(f"{unknown}.")
    try:
        return EvaluationDatasetLoader(folder).find_dataset(dataset_id)
    except MissingDatasetError as error:
        there = str(error).partition("; it has ")[2] or "none"
        raise MissingDatasetError(f"{unknown} in {folder / 'datasets'}, which has {there}.") from None


def checked_entries(folder: Path) -> list[CatalogueEntry]:
    """Return every dataset of a folder in order, with what keeps it from being loaded, if anything does."""
    entries = []
    for entry in _entries(folder, DATASET_SUFFIXES):
        try:
            if entry.error is None:
                read_dataset_document(entry.path).checked("evaluation-dataset")
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
    """Return the message for an unknown dataset: the search and the existing ids."""
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
    return "".join([message, *(f"\ncannot read: {error}" for error in broken)])


# Every dataset of a folder, in whichever dialect: what the command ``rag-eval datasets`` lists.

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".parquet")
_OTHER_KINDS = (
    *(".gt.json", ".results.json", ".results.csv", ".results.parquet"),
    *(".benchmark.json", ".benchmark.parquet", ".config.json"),
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
