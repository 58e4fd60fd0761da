"""The datasets of a folder, as a table for people and as rows for machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.catalogue import CatalogueEntry
from rag_evaluation_framework.reports.tables import text_table


def dataset_rows(entries: Sequence[CatalogueEntry]) -> list[dict[str, Any]]:
    """Return one object a dataset."""
    return [{**entry.to_dict(), "dialect": entry.dialect or None} for entry in entries]


def dataset_list_text(folder: Path, entries: Sequence[CatalogueEntry]) -> str:
    """Return the table, and below it what is broken."""
    if not entries:
        return f"No datasets in {folder}."
    rows = [
        (
            entry.dataset_id or "–",
            entry.version or "–",
            "–" if entry.size is None else f"{entry.size:,}",
            entry.dialect or "–",
            "broken" if entry.error else "",
            entry.path.name,
        )
        for entry in entries
    ]
    table = text_table(("id", "version", "samples", "dialect", "", "file"), rows, align="<<><<<")
    broken = [f"broken: {_named(entry)}" for entry in entries if entry.error]
    return "\n".join([table, *(["", *broken] if broken else [])])


def _named(entry: CatalogueEntry) -> str:
    """Say what is wrong, with the file in front if the reason does not begin with it."""
    file, error = str(entry.path), entry.error or ""
    return error if error.startswith(file) else f"{file}: {error}"
