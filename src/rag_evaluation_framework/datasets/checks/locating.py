"""Finds the line of a value in a JSON text by its path, when there is an error to show.

One linear pass over a text that was read before, so nothing is checked here. ``//`` comments are passed
over. A path is written as in an :class:`~rag_evaluation_framework.errors.Issue`:
``queries[3].citations[0].end_char``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|//[^\n]*|[\[\]{},:]|[^\s\[\]{},:"/]++', re.DOTALL)
_NEXT_BRACKET = re.compile(r'(?:[^"\[\]{}/]++|"(?:[^"\\]++|\\.)*+"|//[^\n]*+|/)*+[\[\]{}]', re.DOTALL)
_PATH_PART = re.compile(r'\[(?P<index>\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<key>[^.\[\]"]+)')


def line_of(text: str, path: str) -> int | None:
    """Return the 1-based line on which a value begins, or the nearest value around it that exists."""
    return lines_of(text, [path])[path]


def lines_of(text: str, paths: Iterable[str]) -> dict[str, int | None]:
    """Return the line of each path, all found in one pass; ``None`` where the text has no value at all."""
    root = _Place()
    wanted = {path: list(_parts(path)) for path in paths}
    for parts in wanted.values():
        place = root
        for part in parts:
            place = place.inside.setdefault(part, _Place())
    _walk(text, root)
    return {path: _deepest_line(root, parts) for path, parts in wanted.items()}


@dataclass(slots=True)
class _Place:
    """A place that a wanted path leads to or through, and its line once it was met."""

    inside: dict[str | int, _Place] = field(default_factory=dict)
    line: int | None = None


@dataclass(slots=True)
class _Container:
    """A list or object that is open; ``part`` is the index or key of the value that comes next."""

    place: _Place | None
    part: str | int | None

    def next_place(self) -> _Place | None:
        return None if self.place is None or self.part is None else self.place.inside.get(self.part)


def _walk(text: str, root: _Place) -> None:
    """Write down the line of every wanted place; lists and objects with no such place inside are skipped."""
    line, counted, position = 1, 0, 0
    open_: list[_Container] = []
    while token := _TOKEN.search(text, position):
        mark, position = token[0], token.end()
        if mark[0] == "/" or mark == ":":
            continue
        container = open_[-1] if open_ else None
        if mark == ",":
            if container is not None:
                container.part = container.part + 1 if isinstance(container.part, int) else None
        elif mark in "]}":
            open_.pop()
        elif container is not None and container.part is None:
            container.part = _key(mark, container.place)
        else:
            place = container.next_place() if container else root
            if place is not None and place.line is None:
                line += text.count("\n", counted, token.start())
                counted = token.start()
                place.line = line
            if mark in "[{":
                if place is not None and place.inside:
                    open_.append(_Container(place, 0 if mark == "[" else None))
                else:
                    position = _container_end(text, position)


def _container_end(text: str, position: int) -> int:
    """Return where the list or object ends that is open at a position."""
    depth = 1
    for bracket in _NEXT_BRACKET.finditer(text, position):
        depth += 1 if text[bracket.end() - 1] in "[{" else -1
        if not depth:
            return bracket.end()
    return len(text)


def _key(mark: str, place: _Place | None) -> str:
    """Return what a key says; where nothing is wanted inside, its spelling does not matter."""
    if place is None or "\\" not in mark:
        return mark[1:-1]
    key: str = json.loads(mark)
    return key


def _parts(path: str) -> Iterator[str | int]:
    """Take a written path apart: ``queries[3].id`` is ``queries``, 3, ``id``."""
    for part in _PATH_PART.finditer(path):
        if part["index"]:
            yield int(part["index"])
        else:
            yield json.loads(part["quoted"]) if part["quoted"] else part["key"]


def _deepest_line(root: _Place, parts: Iterable[str | int]) -> int | None:
    line, place = root.line, root
    for part in parts:
        if part not in place.inside or place.inside[part].line is None:
            break
        place = place.inside[part]
        line = place.line
    return line
