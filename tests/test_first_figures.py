"""The notebook of first figures runs from top to bottom and shows what it was saved with."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
CELLS = [
    cell
    for cell in json.loads((EXAMPLES / "first_figures.ipynb").read_text(encoding="utf-8"))["cells"]
    if cell["cell_type"] == "code"
]


def shown(source: str, namespace: dict[str, Any]) -> str:
    """Run a cell as a notebook does; return what it prints and what its last line is worth."""
    *before, last = ast.parse(source).body
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(before, []), "cell", "exec"), namespace)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), "cell", "exec"), namespace)
            return printed.getvalue()
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    return printed.getvalue() + ("" if value is None else repr(value))


def saved(cell: dict[str, Any]) -> str:
    texts = (output.get("text") or output["data"]["text/plain"] for output in cell["outputs"])
    return "".join(line for text in texts for line in text)


@pytest.mark.filterwarnings("ignore")
def test_every_cell_shows_what_it_was_saved_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    namespace: dict[str, Any] = {}
    for cell in CELLS:
        source = "".join(cell["source"])
        needed = re.match("# needs (\\w+)", source)
        if needed is None or find_spec(needed[1]) is not None:
            assert shown(source, namespace) == saved(cell), source


def test_a_figure_takes_three_lines() -> None:
    figures = [cell["source"] for cell in CELLS if ".value" in cell["source"][-1]]
    assert len(figures) == 5
    for lines in figures:
        assert len([line for line in lines if line.strip() and not line.startswith("# needs")]) <= 3
