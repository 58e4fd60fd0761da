"""JSON and YAML documents that hold one value of a kind, read with every problem in its line.

A document is read as what it is; the name is asked only where the content leaves it open, and when writing.
Some kinds may also be written a record a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.locating import lines_of
from rag_evaluation_framework.datasets.problems import FileProblems
from rag_evaluation_framework.datasets.validation import value_issues
from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.files import strict_json, yaml_documents
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.compression import compressing, named_compression
from rag_evaluation_framework.files.json_lines import read_lines
from rag_evaluation_framework.files.text import read_text
from rag_evaluation_framework.files.values import written_path

_YAML_SUFFIXES = (".yaml", ".yml")
_ITEM = re.compile(r"\[(\d+)\]\.?")
_INNERMOST = re.compile(r"(?:\.[^.\[\]]+|\[[^\]]*\]|^[^.\[\]]+)\Z")


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A value as read from a file, and the way to find the line of a problem in it."""

    file: str
    value: Any
    place: Callable[[Iterable[Issue]], list[Issue]]

    def checked(
        self, kind: str, *, lenient: bool = False, on_warning: Callable[[Issue], None] | None = None
    ) -> Any:
        """Return the value if it is one of the kind; else raise every error there is, with its line."""
        issues = value_issues(kind, self.value, lenient=lenient)
        problems = FileProblems(self.file)
        for issue in self.place(issues) if issues else ():
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
    return DocumentFile(file, value, lambda issues: _in_json(list(issues), text))


def write_document(value: Any, path: str | Path) -> None:
    """Write a value atomically: YAML if the name says so, else JSON; compressed if the name says so."""
    if is_named_yaml(path):
        data = yaml_documents.encode(value).encode()
    else:
        data = strict_json.encode(value, indent=2) + b"\n"
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        stream.write(data)


def plain_name(path: str | Path) -> str:
    """Return a file's name in lower case, without the suffix of a compression."""
    name = Path(path).name.lower()
    return name.rpartition(".")[0] if named_compression(path) else name


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
    return DocumentFile(
        file, value, lambda issues: [replace(issue, line=_nearest(issue.path, written)) for issue in issues]
    )


def _json_lines(text: str, file: str) -> DocumentFile:
    problems = FileProblems(file)
    numbered = list(read_lines(text.encode(), file=file, on_error=problems.take))
    problems.raise_if_any()
    numbers = [number for number, _ in numbered]
    return DocumentFile(
        file, [value for _, value in numbered], lambda issues: [_in_line(issue, numbers) for issue in issues]
    )


def _in_json(issues: list[Issue], text: str) -> list[Issue]:
    lines = lines_of(text, (issue.path for issue in issues))
    return [replace(issue, line=lines[issue.path]) for issue in issues]


def _in_line(issue: Issue, numbers: list[int]) -> Issue:
    """Turn ``[3].query_id`` into ``query_id`` in the line of the fourth record."""
    item = _ITEM.match(issue.path)
    if item is None:
        return issue
    return replace(issue, path=issue.path[item.end() :], line=numbers[int(item[1])])


def _nearest(path: str, written: dict[str, int]) -> int | None:
    """Return the line of the value at a path, or of the nearest one around it."""
    while path not in written and path:
        path = _INNERMOST.sub("", path)
    return written.get(path)
