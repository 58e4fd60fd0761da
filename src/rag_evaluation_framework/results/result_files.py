"""The results files of a folder: their names, and what each says about itself without being read whole.

An id becomes a file name, so it may contain no separator and not begin with a dot; a link that leads out of
the folder is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.errors import InputError, Issue, RagEvalError, invalid, refused, shown
from rag_evaluation_framework.files.access import named_compression, plain_name, read_bytes

SUFFIX = ".results.json"
SUFFIXES = (SUFFIX, ".results.yaml", ".results.yml", ".results.csv", ".results.parquet")

# File systems allow 255 bytes a name; the suffix and a compression's take some.
_LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class ResultsEntry:
    """A results file: what it says about itself, or why it could not be read."""

    path: Path
    evaluation_id: str | None = None
    timestamp: str | None = None
    system_version: str | None = None
    dataset_id: str | None = None
    evaluation_type: str | None = None
    error: str | None = None


def check_id(evaluation_id: object) -> str:
    """Return an id that can be a file name; raise for any other, whatever it contains."""
    if not isinstance(evaluation_id, str) or not evaluation_id:
        raise invalid("evaluation_id", "an id", evaluation_id)
    wrong = any(character in "/\\" or not character.isprintable() for character in evaluation_id)
    if wrong or evaluation_id.startswith(".") or len(evaluation_id.encode(errors="replace")) > _LONGEST_ID:
        expected = f"an id of at most {_LONGEST_ID} bytes, without separators and not starting with a dot"
        raise invalid("evaluation_id", expected, evaluation_id)
    return evaluation_id


def check_inside(path: Path) -> Path:
    """Return a path whose file, links followed, is in the folder that it seems to be in."""
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        raise InputError(
            [Issue("outside-folder", f"a file in {path.parent}", "a link out of it", file=str(path))]
        )
    return path


def results_paths(folder: Path) -> list[Path]:
    """Return the results files of a folder, by name."""
    try:
        return sorted(
            path for path in folder.iterdir() if plain_name(path).endswith(SUFFIXES) and path.is_file()
        )
    except OSError as error:
        raise refused("read", folder, error) from error


def named_id(path: Path) -> str:
    """Return the id in a file's name."""
    name = path.name.rpartition(".")[0] if named_compression(path) else path.name
    ending = next(suffix for suffix in SUFFIXES if name.lower().endswith(suffix))
    return name[: -len(ending)]


def results_entries(folder: Path) -> Iterator[ResultsEntry]:
    """Yield what each results file of a folder says about itself; one that cannot be read has the reason."""
    for path in results_paths(folder):
        try:
            head = _head(check_inside(path))
        except RagEvalError as error:
            yield ResultsEntry(path, error=str(error))
        else:
            yield ResultsEntry(path, **head)


class _Saved(msgspec.Struct):
    evaluation_type: str | None = None


class _Head(msgspec.Struct):
    """The fields that a list needs; the rest of a file is skipped without being decoded."""

    evaluation_id: str | None = None
    timestamp: str | None = None
    system_version: str | None = None
    dataset_id: str | None = None
    saved: _Saved = msgspec.field(name="_metadata", default_factory=_Saved)


def _head(path: Path) -> dict[str, Any]:
    try:
        if plain_name(path).endswith(SUFFIX):
            head = msgspec.json.decode(read_bytes(path), type=_Head)
        else:
            head = msgspec.convert(read_results(path), type=_Head)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError([Issue("not-results", "results", shown(str(error)), file=str(path))]) from None
    return {
        "evaluation_id": head.evaluation_id,
        "timestamp": head.timestamp,
        "system_version": head.system_version,
        "dataset_id": head.dataset_id,
        "evaluation_type": head.saved.evaluation_type,
    }
