"""The files of a folder of datasets or of ground truths, and what each says of itself.

A file's name only says that it is one of them (``.eval.json``, ``.gt.yaml`` …, compressed or not); its id and
version are read from its content. A link that leads out of the folder is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.checks.checked_documents import read_document
from rag_evaluation_framework.datasets.dialects.evaluation_rows import read_dataset_document
from rag_evaluation_framework.datasets.folders.versions import precedence, split_version
from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.files.compression import plain_name, read_bytes
from rag_evaluation_framework.files.refusals import refused

DATASET_SUFFIXES = (".eval.json", ".eval.yaml", ".eval.yml", ".eval.csv")
GROUND_TRUTH_SUFFIXES = (".gt.json", ".gt.yaml", ".gt.yml", ".gt.jsonl")


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
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
        """What to sort by: id, version by precedence, file."""
        return (self.dataset_id or "", precedence(self.known_version), str(self.path))

    def to_dict(self) -> dict[str, Any]:
        """Return what a dataset says of itself as a plain value."""
        return {
            "dataset_id": self.dataset_id,
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "size": self.size,
            "file_path": str(self.path),
            "error": self.error,
        }


class _Head(msgspec.Struct):
    """The fields of a file that the catalogue needs; the rest is passed over without being built."""

    dataset_id: str | None = None
    version: str | None = None
    name: str | None = None
    description: str | None = None
    queries: list[msgspec.Raw] | None = None


def dataset_entries(folder: Path) -> list[CatalogueEntry]:
    """Return what each evaluation dataset of a folder says of itself, in the order of the files' names."""
    return _entries(folder, DATASET_SUFFIXES)


def ground_truth_entries(folder: Path) -> list[CatalogueEntry]:
    """Return the ground truths of a folder; one that names no dataset belongs to the one of its own name."""
    return [
        entry if entry.dataset_id or entry.error else replace(entry, dataset_id=_stem(entry.path))
        for entry in _entries(folder, GROUND_TRUTH_SUFFIXES)
    ]


def read_evaluation_dataset(path: Path) -> dict[str, Any]:
    """Read an evaluation dataset as the plain value it is; every error of the file is raised at once."""
    value: dict[str, Any] = read_dataset_document(path).checked("evaluation-dataset")
    return value


def read_ground_truth(path: Path) -> Any:
    """Read annotations as the plain value they are: an object, or a list; all errors are raised at once."""
    return read_document(path, lines=True).checked("annotations")


def reason(error: RagEvalError) -> str:
    """Say in one line why a file cannot be used: its first problem, and how many more there are."""
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
            yield path, f"{path}: expected a file, got a link to nothing"
            continue
        if not target.is_relative_to(inside):
            yield path, f"{path}: expected a file of the folder, got a link that leads out of it"
        elif target.is_file() and target not in seen:
            seen.add(target)
            yield path, None


def _entries(folder: Path, suffixes: tuple[str, ...]) -> list[CatalogueEntry]:
    return [
        _entry(path) if refusal is None else CatalogueEntry(path, error=refusal)
        for path, refusal in files_inside(folder, suffixes)
    ]


def _entry(path: Path) -> CatalogueEntry:
    try:
        head = _json_head(path)
        if head is not None:
            size = None if head.queries is None else len(head.queries)
            return CatalogueEntry(path, head.dataset_id, head.version, head.name, head.description, size)
        is_dataset = plain_name(path).endswith(DATASET_SUFFIXES)
        document = read_dataset_document(path) if is_dataset else read_document(path, lines=True)
        return _entry_of(path, document.value)
    except RagEvalError as error:
        return CatalogueEntry(path, error=reason(error))


def _json_head(path: Path) -> _Head | None:
    """Read the head of a JSON object fast; ``None`` for anything else, and for a head of the wrong types."""
    try:
        return msgspec.json.decode(read_bytes(path).removeprefix(b"\xef\xbb\xbf"), type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _entry_of(path: Path, value: Any) -> CatalogueEntry:
    """Take from a value what has the right type."""
    head = value if isinstance(value, dict) else {}
    texts = {
        field: head[field]
        for field in ("dataset_id", "version", "name", "description")
        if isinstance(head.get(field), str)
    }
    queries = head.get("queries")
    return CatalogueEntry(path, **texts, size=len(queries) if isinstance(queries, list) else None)


def _stem(path: Path) -> str:
    """Return a file's name without what says that it is a ground truth."""
    name = path.name
    return name[: name.lower().index(".gt.")]
