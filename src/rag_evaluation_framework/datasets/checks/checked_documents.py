"""JSON and YAML documents that hold one value of a kind, read with every problem in its line.

A document is read as what it is; the name is asked only where the content leaves it open, and when writing.
Some kinds may also be written a record a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from rag_evaluation_framework.datasets.checks.locating import lines_of
from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.checks.validation import decoded_issues
from rag_evaluation_framework.errors import InputError, Issue, Location
from rag_evaluation_framework.files import strict_json, yaml_documents
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.compression import compressing, named_compression, plain_name
from rag_evaluation_framework.files.json_lines import read_lines
from rag_evaluation_framework.files.text import read_text
from rag_evaluation_framework.files.values import written_path

_YAML_SUFFIXES = (".yaml", ".yml")
_ITEM = re.compile(r"\A\[(\d+)\]\.?")
_INNERMOST = re.compile(r"(?:\.[^.\[\]]+|\[[^\]]*\]|^[^.\[\]]+)\Z")

LinesOf: TypeAlias = Callable[[Iterable[str]], Mapping[str, int | None]]
"""Finds the line of each path in a file: of the value there, or of the nearest one around it."""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A value as read from a file, and the way to find the line of a problem in it."""

    file: str
    value: Any
    lines_of: LinesOf
    record_a_line: bool = False
    """The value is a list and stands as its items, one a line, which need no index to be found."""

    def place(self, issues: Iterable[Issue]) -> list[Issue]:
        """Return the issues with their lines, in reading order."""
        found = list(issues)
        places = self.places([issue.path for issue in found])
        placed = [
            replace(issue, line=place.line, path=place.field)
            for issue, place in zip(found, places, strict=True)
        ]
        return sorted(placed, key=lambda issue: issue.line or 0)

    def places(self, paths: Sequence[str]) -> list[Location]:
        """Return where the values of these paths are."""
        lines = self.lines_of(paths) if paths else {}
        fields = [_ITEM.sub("", path, count=1) if self.record_a_line else path for path in paths]
        return [Location(self.file, lines[path], field) for path, field in zip(paths, fields, strict=True)]

    def checked(
        self, kind: str, *, lenient: bool = False, on_warning: Callable[[Issue], None] | None = None
    ) -> Any:
        """Return the value if it is one of the kind; else raise every error there is, with its line."""
        problems = FileProblems(self.file)
        for issue in self.place(decoded_issues(kind, self.value, lenient=lenient)):
            if issue.severity == "error":
                problems.add(issue)
            elif on_warning is not None:
                on_warning(issue.located(self.file))
        problems.raise_if_any()
        return self.value


def read_document(path: str | Path, *, lines: bool = False) -> DocumentFile:
    """Read a JSON or YAML document; with ``lines``, records on lines of their own are read as a list."""
    file, text = str(path), read_text(path)
    if not text.strip():
        raise InputError([Issue("empty-file", "a JSON or YAML document", "an empty file", file=file)])
    named_yaml = is_named_yaml(path)
    if not text.lstrip().startswith(("{", "[")) and (named_yaml or not _is_named_json(path)):
        return _yaml(text, file)
    try:
        value = strict_json.decode(text, file=file)
    except InputError:
        if lines and _first_line_is_whole(text):
            return _json_lines(text, file)
        if named_yaml:
            return _yaml(text, file)
        raise
    return DocumentFile(file, value, partial(lines_of, text))


def write_document(value: Any, path: str | Path) -> None:
    """Write a value atomically: YAML if the name says so, else JSON; compressed if the name says so."""
    if is_named_yaml(path):
        data = yaml_documents.encode(value).encode()
    else:
        data = strict_json.encode(value, indent=2) + b"\n"
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        stream.write(data)


def is_named_yaml(path: str | Path) -> bool:
    """Tell whether a name, compressed or not, is that of a YAML file."""
    return plain_name(path).endswith(_YAML_SUFFIXES)


def _is_named_json(path: str | Path) -> bool:
    return plain_name(path).endswith((".json", ".jsonl"))


def _first_line_is_whole(text: str) -> bool:
    try:
        strict_json.decode(text.lstrip().partition("\n")[0])
    except InputError:
        return False
    return True


def _yaml(text: str, file: str) -> DocumentFile:
    value, lines = yaml_documents.decode_with_lines(text, file=file)
    written = {written_path(path): line for path, line in lines.items()}
    return DocumentFile(file, value, lambda paths: {path: _nearest(path, written) for path in paths})


def _json_lines(text: str, file: str) -> DocumentFile:
    problems = FileProblems(file)
    numbered = list(read_lines(text.encode(), file=file, on_error=problems.take))
    problems.raise_if_any()
    numbers = [number for number, _ in numbered]
    values = [value for _, value in numbered]
    return DocumentFile(
        file, values, lambda paths: {path: _line_of_item(path, numbers) for path in paths}, record_a_line=True
    )


def _line_of_item(path: str, numbers: list[int]) -> int | None:
    item = _ITEM.match(path)
    return None if item is None else numbers[int(item[1])]


def _nearest(path: str, written: dict[str, int]) -> int | None:
    """Return the line of the value at a path, or of the nearest one around it."""
    while path not in written and path:
        path = _INNERMOST.sub("", path)
    return written.get(path)
