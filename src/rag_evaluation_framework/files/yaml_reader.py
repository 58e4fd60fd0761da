"""Reads the values of a YAML document by their paths, and keeps every problem with its line."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.files.values import ValuePath, written_path
from rag_evaluation_framework.files.yaml_documents import decode_noting

# How alike two keys must be for one to be the other misspelt, and where unknown keys are allowed.
_ALIKE, _SURELY_ALIKE = 0.6, 0.75


class YamlReader:
    """The values of one document, each read by its path: ``reader.text("criteria", 0, "name")``.

    A value that is wrong, or that YAML cannot hold, is noted and read as its default; :meth:`raise_all`
    raises everything noted.
    """

    code = "invalid-value"
    """The code of a problem that has none of its own."""

    def __init__(self, text: str, *, file: str | None = None) -> None:
        self.value, self._lines, self.issues = decode_noting(text, file=file)
        self.file = file
        self._unreadable = {(issue.path, issue.found) for issue in self.issues}

    def problem(self, path: ValuePath, expected: str, found: str, *, code: str | None = None) -> None:
        """Note what is wrong with the value at a path."""
        self.problems(path, InputError([Issue(code or self.code, expected, found)]))

    def problems(self, path: ValuePath, error: InputError) -> None:
        """Note an error that was raised without knowing its place; what YAML cannot hold is noted already."""
        place = (self.file, self.line(path), written_path(path))
        located = (issue.located(*place) for issue in error.issues)
        self.issues += [issue for issue in located if (issue.path, issue.found) not in self._unreadable]

    def raise_all(self) -> None:
        """Raise everything noted, in the order of the lines."""
        if self.issues:
            raise InputError(sorted(self.issues, key=lambda issue: issue.line or 0))

    def at(self, *path: str | int) -> Any:
        """Return whatever is at a path; ``None`` where nothing is."""
        found = self.value
        for step in path:
            if isinstance(step, str):
                found = found.get(step) if isinstance(found, dict) else None
            else:
                found = found[step] if isinstance(found, list) and step < len(found) else None
        return found

    def line(self, path: ValuePath) -> int | None:
        """Return the line of a value; where it is missing, that of the nearest thing around it."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path)

    def text(self, *path: str | int) -> str:
        """Return the text at a path, which must not be blank."""
        found = self.at(*path)
        if isinstance(found, str) and found.strip():
            return found.strip()
        self._wrong(path, "a text")
        return ""

    def optional_text(self, *path: str | int) -> str | None:
        """Return the text at a path, if there is one."""
        return None if self.at(*path) is None else self.text(*path) or None

    def texts(self, *path: str | int, expected: str) -> tuple[str, ...]:
        """Return the texts listed at a path, each once; there must be at least one."""
        listed = self.items(*path, expected=expected)
        if all(isinstance(each, str) and each.strip() for each in listed):
            return tuple(dict.fromkeys(each.strip() for each in listed))
        self._wrong(path, expected)
        return ()

    def items(self, *path: str | int, expected: str) -> list[Any]:
        """Return the list at a path, which must not be empty."""
        found = self.at(*path)
        if isinstance(found, list) and found:
            return found
        self._wrong(path, expected)
        return []

    def mapping(self, *path: str | int, required: bool = False) -> dict[str, Any]:
        """Return the mapping at a path, empty where nothing is; one that is required must not be empty."""
        found = self.at(*path)
        if isinstance(found, dict) and (found or not required):
            return found
        if found is not None or required:
            self._wrong(path, "a mapping")
        return {}

    def whole_number(self, *path: str | int, default: int | None = None) -> int:
        """Return the whole number of at least 1 at a path; it may be missing only if there is a default."""
        found = self.at(*path)
        if found is None and default is not None:
            return default
        if isinstance(found, int) and not isinstance(found, bool) and found >= 1:
            return found
        self._wrong(path, "a whole number of at least 1")
        return 1

    def share(self, *path: str | int, default: float | None = None) -> float:
        """Return the number from 0 to 1 at a path; it may be missing only if there is a default."""
        found = self.at(*path)
        if found is None and default is not None:
            return default
        if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= 1:
            return float(found)
        self._wrong(path, "a number from 0 to 1")
        return 0.0

    def true_or_false(self, *path: str | int) -> bool:
        """Return the boolean at a path; nothing is false."""
        found = self.at(*path)
        if found is not None and not isinstance(found, bool):
            self._wrong(path, "true or false")
        return found is True

    def check_keys(self, known: Sequence[str], *path: str | int, strict: bool = False) -> None:
        """Note the keys at a path that look like a known one misspelt; with ``strict``, all unknown ones."""
        there = self.at(*path)
        for key in there if isinstance(there, dict) else ():
            if key in known:
                continue
            near = get_close_matches(key, known, n=1, cutoff=_ALIKE if strict else _SURELY_ALIKE)
            if near and near[0] not in there:
                self.problem((*path, key), f"the key {near[0]}", key, code="misspelt-key")
            elif strict:
                self.problem((*path, key), f"one of {', '.join(known)}", key, code="unknown-key")

    def _wrong(self, path: ValuePath, expected: str) -> None:
        found = self.at(*path)
        text = "nothing" if found in (None, {}) else "an empty list" if found == [] else shown(found)
        self.problem(path, expected, text)
