"""Counts the code lines of a Python file: those that are neither blank, comment nor docstring."""

from __future__ import annotations

import ast
from pathlib import Path

_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(file: Path) -> int:
    """Return the number of code lines of a file."""
    text = file.read_text(encoding="utf-8")
    starts = (line.lstrip()[:1] for line in text.split("\n"))
    lines = {number for number, start in enumerate(starts, start=1) if start not in ("", "#")}
    nodes = list(ast.walk(ast.parse(text)))
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr):  # a text may have blank lines, and "#" in it
            lines.update(_lines_of(node))
    for node in nodes:
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            lines.difference_update(_lines_of(node.body[0]))
    return len(lines)


def _lines_of(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
