"""What a file is: a dialect of samples, annotations, results, benchmark data, a configuration, a manifest.

The content decides. A file whose content is too broken to tell is taken for what its name says, else for what
its fields come nearest to, so that it is reported what is wrong with it, not only that something is. A
configuration may hold anything, so only its name (or the user) can say that it is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.nearest_format import nearest_format
from rag_evaluation_framework.datasets.dialects.recognition import DIALECTS, previews, recognise
from rag_evaluation_framework.errors import InputError, UnknownNameError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.compression import open_reading, plain_name
from rag_evaluation_framework.files.json_comments import without_comments
from rag_evaluation_framework.files.text import decode_text
from rag_evaluation_framework.records.datasets import Preview

DOCUMENT_FORMATS = ("annotations", "results", "benchmark", "configuration", "manifest")
"""What is validated and is no dialect of samples."""

_CHECKED_BYTES = 4 << 20
_NAMED: Mapping[str, str] = {
    **{f".eval.{ending}": "evaluation-dataset" for ending in ("json", "yaml", "yml", "csv")},
    **{f".gt.{ending}": "annotations" for ending in ("json", "yaml", "yml", "jsonl")},
    **{f".results.{ending}": "results" for ending in ("json", "yaml", "yml", "csv", "parquet")},
    **{f".benchmark.{ending}": "benchmark" for ending in ("json", "parquet", "h5")},
    **{f".config.{ending}": "configuration" for ending in ("yaml", "yml", "json")},
    "manifest.json": "manifest",
}


def formats() -> list[str]:
    """Return every name that ``--format`` takes, sorted."""
    return sorted({*DIALECTS.names(), *DOCUMENT_FORMATS})


def check_format(name: str) -> None:
    """Raise unless there is a format of this name."""
    if name not in formats():
        raise UnknownNameError("format", name, formats())


def told_format(path: Path, format: str | None = None) -> str:  # noqa: A002
    """Return what a file or folder is: told by the user, by its content, or at last by its name."""
    if format is not None:
        check_format(format)
        return format
    named = _named_format(path)
    # A configuration may have the fields of any other kind, and columns say too little.
    if named == "configuration" or (named in DOCUMENT_FORMATS and not _is_text_document(path)):
        return named
    preview = next(previews(path), None)
    if preview is not None and preview.layout not in ("table", "folder"):
        document = _document_format(preview)
        if document is not None:
            return document
    try:
        return recognise(path).name
    except InputError as error:
        if all(issue.code != "unknown-dialect" for issue in error.issues):
            raise
        nearest = named or _nearest(preview)
        if nearest is None:
            _check_syntax(path)
            expected = f"a file in one of the formats {', '.join(formats())}"
            raise InputError(replace(issue, expected=expected) for issue in error.issues) from None
        return nearest


def _nearest(preview: Preview | None) -> str | None:
    if preview is None or preview.layout in ("table", "folder"):
        return None
    return nearest_format(preview.record)


def _document_format(preview: Preview) -> str | None:
    """Return which of the documents that hold no samples a file is, if any."""
    record: Mapping[str, Any] = preview.record
    if "annotation_id" in record or ("annotations" in record and "queries" not in record):
        return "annotations"
    if preview.layout == "array":
        return None
    if "evaluation_id" in record:
        return "results"
    if "benchmark_id" in record:
        return "benchmark"
    if "splits" in record and ("source_offline_dataset" in record or "generated_at_utc" in record):
        return "manifest"
    return None


def _check_syntax(path: Path) -> None:
    """Raise what is wrong with the JSON of a file that could not be recognised, if anything is."""
    if path.is_dir():
        return
    with open_reading(path) as stream:
        data = stream.read(_CHECKED_BYTES + 1)
    if len(data) > _CHECKED_BYTES or not data.lstrip().startswith((b"{", b"[")):
        return
    text = without_comments(decode_text(data, file=str(path)))
    try:
        strict_json.decode(text.lstrip().partition("\n")[0])  # lines of an unknown kind are not at fault
    except InputError:
        strict_json.decode(text, file=str(path))


def _named_format(path: Path) -> str | None:
    name = plain_name(path)
    return next((format_ for ending, format_ in _NAMED.items() if name.endswith(ending)), None)


def _is_text_document(path: Path) -> bool:
    return plain_name(path).endswith((".json", ".yaml", ".yml", ".jsonl"))
