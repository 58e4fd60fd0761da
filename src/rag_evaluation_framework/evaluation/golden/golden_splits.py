"""The five golden sets, the splits of a golden run, and where a folder has them.

A folder has ``evaluation/datasets/``, ``datasets/`` or the files themselves. A file that is called
``factual_qa.json`` and the like is the split of that name; any other is told by its content.
"""

from __future__ import annotations

from pathlib import Path

from rag_evaluation_framework.datasets.golden_sets import SPLITS
from rag_evaluation_framework.datasets.recognition import DIALECTS, is_named_for, recognise
from rag_evaluation_framework.errors import RagEvalError, UsageError

_PLACES = ("evaluation/datasets", "datasets", ".")
_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst")


def find_splits(folder: str | Path) -> dict[str, Path]:
    """Return the file of each split that a folder has, in the order of :data:`SPLITS`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(f"expected a folder of golden sets, got {folder}")
    for place in _PLACES:
        found = _splits_in(folder / place)
        if found:
            return {name: found[name] for name in SPLITS if name in found}
    files = ", ".join(split.file for split in SPLITS.values())
    raise UsageError(f"{folder}: expected golden sets ({files}), got none, nor in evaluation/datasets")


def _splits_in(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_file() or not path.name.endswith(_SUFFIXES):
            continue
        name = _split_of(path)
        if name is not None and name in found:
            raise UsageError(f"expected one file of {name}, got {found[name]} and {path}")
        if name is not None:
            found[name] = path
    return found


def _split_of(path: Path) -> str | None:
    for name, split in SPLITS.items():
        if is_named_for(path, DIALECTS.get(split.dialect)):  # if it is broken, planning says what is wrong
            return name
    try:
        dialect = recognise(path).name
    except RagEvalError:
        return None
    return next((name for name, split in SPLITS.items() if split.dialect == dialect), None)
