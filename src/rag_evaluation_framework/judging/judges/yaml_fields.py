"""Takes the fields of a YAML file one by one, and keeps every problem with its line."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.files.values import ValuePath, written_path
from rag_evaluation_framework.files.yaml_documents import decode_with_lines

_NOTHING = "nothing"


class YamlFields:
    """The fields of one document. A field that is wrong is noted and read as its default."""

    def __init__(self, text: str, *, file: str | None = None) -> None:
        self.value, self.lines = decode_with_lines(text, file=file)
        self.file = file
        self.issues: list[Issue] = []

    def problem(self, path: ValuePath, expected: str, found: str, *, code: str = "invalid-value") -> None:
        """Note what is wrong with the value at a path."""
        line = self._line(path)
        self.issues.append(Issue(code, expected, found, written_path(path), file=self.file, line=line))

    def text(self, *path: str | int) -> str:
        """Return the text at a path, which must not be blank."""
        found = self.at(path)
        if isinstance(found, str) and found.strip():
            return found.strip()
        self.problem(path, "a text", _NOTHING if found is None else shown(found))
        return ""

    def whole_number(self, *path: str | int) -> int:
        """Return the whole number at a path, 1 or more."""
        found = self.at(path)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 1:
            return found
        self.problem(path, "a whole number of at least 1", _NOTHING if found is None else shown(found))
        return 1

    def share(self, *path: str | int, default: float | None = None) -> float:
        """Return the number from 0 to 1 at a path; without a default there must be one."""
        found = self.at(path)
        if found is None and default is not None:
            return default
        if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= 1:
            return float(found)
        self.problem(path, "a number from 0 to 1", _NOTHING if found is None else shown(found))
        return 0.0

    def mapping(self, *path: str | int) -> dict[str, Any]:
        """Return what stands by name at a path."""
        found = self.at(path)
        if isinstance(found, dict) and found:
            return found
        self.problem(path, "values by name", _NOTHING if not found else shown(found))
        return {}

    def items(self, *path: str | int) -> Sequence[Any]:
        """Return the list at a path, which must not be empty."""
        found = self.at(path)
        if isinstance(found, list) and found:
            return found
        self.problem(path, "a list", _NOTHING if not found else shown(found))
        return []

    def only(self, known: Sequence[str], *path: str | int) -> None:
        """Note the keys at a path that are not known."""
        there = self.at(path)
        for key in there if isinstance(there, dict) else ():
            if key not in known:
                near = get_close_matches(key, known, n=1)
                self.problem((*path, key), near[0] if near else f"one of {', '.join(known)}", key)

    def at(self, path: ValuePath) -> Any:
        found = self.value
        for step in path:
            if isinstance(step, str):
                found = found.get(step) if isinstance(found, dict) else None
            else:
                found = found[step] if isinstance(found, list) and step < len(found) else None
        return found

    def raise_all(self) -> None:
        """Raise what was found, in the order of the lines."""
        if self.issues:
            raise InputError(sorted(self.issues, key=lambda issue: issue.line or 0))

    def _line(self, path: ValuePath) -> int | None:
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)
