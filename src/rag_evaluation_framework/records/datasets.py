"""Samples that belong together, with what is known about them as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.unique_ids import require_unique


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A dataset as read from one file or folder. Sample ids are unique; order is kept.

    What a dialect does not say is ``None`` or empty. ``extra`` keeps the fields that have no place here, so
    that writing back in the same dialect loses nothing.
    """

    samples: tuple[Sample, ...]
    dialect: str
    dataset_id: str | None = None
    name: str | None = None
    version: str | None = None
    description: str | None = None
    created_at: str | None = None
    documents: tuple[Document, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        require_unique((sample.id for sample in self.samples), what="sample id", path="samples")

    def __len__(self) -> int:
        return len(self.samples)


Layout = Literal["object", "array", "lines", "table", "folder"]
"""How a file lays out its records: one object, an array, a record a line, rows and columns, several files."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The beginning of a file, as far as needed to tell its dialect.

    ``record`` is the object itself, the first record of an array or of lines, a table's columns (with
    ``None`` for values), or the names in a folder.
    """

    path: Path
    layout: Layout
    record: Mapping[str, Any] = field(hash=False)
