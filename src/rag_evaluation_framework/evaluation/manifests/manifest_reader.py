"""Takes values out of a YAML document by their paths, and keeps every problem with its line."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from rag_evaluation_framework.errors import InputError, Issue, RagEvalError, shown
from rag_evaluation_framework.files.values import Lines, ValuePath, written_path


class ManifestReader:
    """Takes values out of a manifest, and keeps every problem with the line it stands on."""

    def __init__(self, value: Any, lines: Lines, *, file: str | None = None) -> None:
        self.value, self.lines, self.file = value, lines, file
        self.issues: list[Issue] = []

    def problem(self, path: ValuePath, expected: str, found: str, *, code: str = "invalid-manifest") -> None:
        self.issues.append(
            Issue(code, expected, found, written_path(path), file=self.file, line=self.line(path))
        )

    def problems(self, path: ValuePath, error: RagEvalError) -> None:
        """Keep an error that does not know its place."""
        if isinstance(error, InputError):
            within = written_path(path)
            self.issues += [issue.located(self.file, self.line(path), within) for issue in error.issues]
        else:
            self.problem(path, "something else", str(error))

    def line(self, path: ValuePath) -> int | None:
        """Return the line of a value, or of the nearest thing around it that is there."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def mapping(self, path: ValuePath, *, required: bool = False) -> Mapping[str, Any]:
        """Return the mapping at a path; nothing there is an empty one."""
        found = self.at(path)
        if found is None:
            if required:
                self.problem(path, "a mapping", "nothing")
            return {}
        if not isinstance(found, dict):
            self.problem(path, "a mapping", shown(found))
            return {}
        return found

    def text(self, path: ValuePath, *, required: bool = False) -> str | None:
        """Return the text at a path."""
        found = self.at(path)
        if isinstance(found, str) and found.strip():
            return found.strip()
        if found is not None or required:
            self.problem(path, "a text", "nothing" if found is None else shown(found))
        return None

    def at(self, path: ValuePath) -> Any:
        found = self.value
        for step in path:
            if isinstance(step, str):
                found = found.get(step) if isinstance(found, dict) else None
            else:
                found = found[step] if isinstance(found, list) and step < len(found) else None
        return found

    def check_keys(self, path: ValuePath, known: tuple[str, ...]) -> None:
        """Report keys that are almost, but not quite, one that is known."""
        for key in self.mapping(path):
            near = [] if key in known else get_close_matches(key, known, n=1, cutoff=0.75)
            if near and near[0] not in self.mapping(path):
                self.problem((*path, key), f"the key {near[0]}", key, code="misspelt-key")

    def raise_all(self) -> None:
        """Raise what was found, in the order of the lines."""
        if self.issues:
            raise InputError(sorted(self.issues, key=lambda issue: issue.line or 0))
