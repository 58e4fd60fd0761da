"""Which dialect a file or folder is in: told from its content, or by name when the user says so.

A preview is taken from the beginning of the file: the keys of the object, the first record of an array or of
lines, the columns of a table, the names in a folder. Where the first kilobytes do not tell, more are read.
Each dialect says whether it recognises the preview. If two do, the file's name may decide between them; if it
does not, that is an error naming both. Golden sets differ by one field, which may be the one that is wrong,
and so do the splits of a build: within such a family a name like ``boundary_qa.json`` decides, whatever the
content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.dialects import trec
from rag_evaluation_framework.datasets.dialects.record_files import layout_of
from rag_evaluation_framework.datasets.tables import csv_tables, parquet_tables
from rag_evaluation_framework.errors import InputError, Issue, StorageError, shown
from rag_evaluation_framework.extensions import Dialect, Registry
from rag_evaluation_framework.files.compression import open_reading, plain_name
from rag_evaluation_framework.files.json_comments import without_comments
from rag_evaluation_framework.records.datasets import Dataset, Preview

DIALECTS: Registry[Dialect] = Registry("dialect")
"""Every dialect by name; installed packages add theirs as ``rag_evaluation_framework.dialects``."""

_ROOM = "rag_evaluation_framework.datasets.dialects"
_OURS = {
    "agent-samples": "agent_samples:AGENT_SAMPLES",
    "beir": "beir:BEIR",
    "evaluation-dataset": "evaluation_sets:EVALUATION_SETS",
    "golden-boundary": "golden_sets:BOUNDARY",
    "golden-factual": "golden_sets:FACTUAL",
    "golden-multiturn": "golden_sets:MULTITURN",
    "golden-relationship": "golden_sets:RELATIONSHIP",
    "golden-tracking": "golden_sets:TRACKING",
    "langsmith": "langsmith:LANGSMITH",
    "offline-records": "split_records:OFFLINE_RECORDS",
    "qa-pairs": "split_records:QA_PAIRS",
    "ragas": "ragas:RAGAS",
    "squad": "squad:SQUAD",
    "summaries": "split_records:SUMMARIES",
    "trec": "trec:TREC",
}
for _name, _place in _OURS.items():
    DIALECTS.register(_name, f"{_ROOM}.{_place}")

_FAMILIES = (
    tuple(name for name in _OURS if name.startswith("golden-")),
    ("offline-records", "qa-pairs", "summaries"),
)

# Enough for the keys of most files; the last is as much as anybody's first record may need.
_PREVIEW_BYTES = (1 << 16, 1 << 20, 1 << 25)
_SEEN_DEPTH = 3
_SHOWN_START = 100
_YAML_KEY = re.compile(r"^([A-Za-z_][\w-]*):(?=\s|$)", re.MULTILINE)
_SPACE = re.compile(r"[ \t\r\n]*")
_scanner = json.JSONDecoder()


def recognise(path: str | Path, *, format: str | None = None) -> Dialect:  # noqa: A002
    """Return the dialect of a file or folder; ``format`` names it and overrides the content."""
    if format is not None:
        return DIALECTS.get(format)
    path = Path(path)
    named = _named_relative(path)
    for preview in previews(path):
        found = [dialect for name in DIALECTS.names() if (dialect := DIALECTS.get(name)).recognises(preview)]
        if len(found) > 1:
            found = [dialect for dialect in found if is_named_for(path, dialect)] or found
        if len(found) == 1:
            return named if named is not None and _are_related(named, found[0]) else found[0]
        if found:
            names = " and ".join(dialect.name for dialect in found)
            expected = "a file of one dialect (say which with --format)"
            raise InputError(
                [Issue("ambiguous-dialect", expected, f"one that reads as {names}", file=str(path))]
            )
    if named is not None:
        return named
    expected = f"a dataset in one of the dialects {', '.join(DIALECTS.names())}"
    raise InputError([Issue("unknown-dialect", expected, _described(path), file=str(path))])


def read_dataset(path: str | Path, *, format: str | None = None) -> Dataset:  # noqa: A002
    """Read a whole file or folder of any dialect; all of its problems are in one ``InputError``."""
    return recognise(path, format=format).read(Path(path))


def previews(path: str | Path) -> Iterator[Preview]:
    """Yield previews of a file that see more and more of it; one of a folder or table."""
    path = Path(path)
    if path.is_dir():
        names = sorted(str(entry.relative_to(path).as_posix()) for entry in path.iterdir())
        yield Preview(path, "folder", dict.fromkeys(names))
        return
    layout = layout_of(path)
    if layout == "parquet":
        yield Preview(path, "table", dict.fromkeys(parquet_tables.column_names(path)))
    elif layout == "csv":
        yield from _text_previews(path)
    else:
        for text in _beginnings(path):
            for record in _json_records(text, is_array=layout == "array"):
                yield Preview(path, layout, record)


def _text_previews(path: Path) -> Iterator[Preview]:
    """Yield what a text that is not JSON may be: TREC judgements, YAML, or a table with a header."""
    text = next(_beginnings(path))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return
    columns = lines[0].split()
    if len(columns) == len(trec.COLUMNS) and re.fullmatch(r"[+-]?[0-9]+", columns[-1]):
        yield Preview(path, "table", dict.fromkeys(trec.COLUMNS))
    elif _YAML_KEY.match(lines[0]) or lines[0].startswith("---"):
        for text in _beginnings(path):
            yield Preview(path, "object", dict.fromkeys(_YAML_KEY.findall(text)))
    else:
        with open_reading(path) as stream:
            header = csv_tables.header_of(stream)
        yield Preview(path, "table", dict.fromkeys(header or ()))


def _beginnings(path: Path) -> Iterator[str]:
    """Yield the beginning of a file, then longer ones as long as there is more of it."""
    for size in _PREVIEW_BYTES:
        with open_reading(path) as stream:
            data = stream.read(size)
        yield data.decode(errors="replace").removeprefix("\ufeff")
        if len(data) < size:
            return


def _json_records(text: str, *, is_array: bool) -> Iterator[dict[str, Any]]:
    """Yield the first record of a JSON text that may be cut off, as far as it can be read."""
    value = _seen(without_comments(text), 0, depth=0)
    if is_array and isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        yield value


def _seen(text: str, position: int, *, depth: int) -> Any:
    """Return what a cut-off text says of a value: the keys so far of an object, the first item of a list."""
    position = _after_space(text, position)
    if depth > _SEEN_DEPTH:
        return None
    if text.startswith("[", position):
        inner = _after_space(text, position + 1)
        return [] if text.startswith("]", inner) else [_seen(text, inner, depth=depth + 1)]
    if not text.startswith("{", position):
        return None
    record: dict[str, Any] = {}
    try:
        while text[position] in "{,":
            key, position = _scanner.raw_decode(text, _after_space(text, position + 1))
            begins = _after_space(text, _after_space(text, position) + 1)
            record[str(key)] = None
            try:
                record[str(key)], position = _scanner.raw_decode(text, begins)
            except (ValueError, RecursionError):
                record[str(key)] = _seen(text, begins, depth=depth + 1)
                break
            position = _after_space(text, position)
    except (ValueError, IndexError):
        pass  # cut off within a key
    return record


def _after_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def is_named_for(path: Path, dialect: Dialect) -> bool:
    """Tell whether a file has a name that is usual for a dialect."""
    return plain_name(path).endswith(dialect.suffixes)


def _named_relative(path: Path) -> Dialect | None:
    """Return the dialect of a family that a file is named for."""
    relatives = (DIALECTS.get(name) for family in _FAMILIES for name in family)
    return next((dialect for dialect in relatives if is_named_for(path, dialect)), None)


def _are_related(first: Dialect, second: Dialect) -> bool:
    return any(first.name in family and second.name in family for family in _FAMILIES)


def _described(path: Path) -> str:
    """Say what was seen instead."""
    try:
        preview = next(iter(previews(path)), None)
        start = "" if path.is_dir() else next(_beginnings(path)).strip()[:_SHOWN_START]
    except (InputError, StorageError):
        return "something else"
    # A table of one column is mostly no table at all, but some text.
    if preview is None or len(preview.record) < (2 if preview.layout == "table" else 1):
        nothing = "an empty folder" if path.is_dir() else "an empty file"
        return f"a file that begins with {shown(start)}" if start else nothing
    what = {"folder": "a folder of", "table": "columns"}.get(preview.layout, "fields")
    return f"{what} {', '.join(list(preview.record)[:6])}"
