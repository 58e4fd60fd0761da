"""The package's own names: promised, importable, typed, documented, and cheap until touched."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rag_evaluation_framework as front_door

ROOT = Path(__file__).parents[1]
PACKAGE = front_door.__name__


@pytest.mark.parametrize("name", front_door.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(front_door, name) is not None


@pytest.mark.parametrize(
    "name", [n for n in front_door.__all__ if inspect.isfunction(getattr(front_door, n))]
)
def test_docstring_of_public_function_has_every_argument(name: str) -> None:
    function = getattr(front_door, name)
    documented = re.findall(r"^ {4}\**(\w+): ", inspect.getdoc(function) or "", re.MULTILINE)
    assert set(inspect.signature(function).parameters) <= set(documented)


def test_examples_of_public_names_run(tmp_path: Path) -> None:
    program = f"""import doctest, inspect, {PACKAGE} as package
for name in package.__all__:
    doctest.run_docstring_examples(inspect.getdoc(getattr(package, name)) or "", {{}}, name=name)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        front_door.nothing  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    "command",
    [
        "import rag_evaluation_framework",
        "from rag_evaluation_framework.cli.main import program; program(['--help'], standalone_mode=False)",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(command: str) -> None:
    names = "('numpy', 'yaml', 'msgspec', 'rich')"
    program = f"{command}\nimport sys; print(*(name in sys.modules for name in {names}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False False False False"


def imported_by_tests() -> list[str]:
    """Return the module of each name of ours that a test imports, or a program that a test starts."""
    pattern = rf"^ *(from {PACKAGE}[\w.]* import (?:\([^)]*\)|[^\n(]+)|import {PACKAGE}.*)"
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    nodes = ast.parse("\n".join(said for text in texts for said in re.findall(pattern, text, re.M))).body
    plain = [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
    chosen = [node.module for node in nodes if isinstance(node, ast.ImportFrom) for _ in node.names]
    return [name for name in [*plain, *chosen] if name and name.split(".")[0] == PACKAGE]


def doors() -> set[str]:
    """Return the root, the modules beside it, the command line's, and those that the pages name or import."""
    beside = {f"{PACKAGE}.{path.stem}" for path in (ROOT / "src" / PACKAGE).glob("*.py")}
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    imported = {name for page in pages for name in re.findall(rf"from ({PACKAGE}\.[\w.]+) import", page)}
    plan = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    steps = {f"{PACKAGE}.{name}" for name in re.findall(r"`([a-z]+\.[a-z_]+)(?:\.\w+)?`", plan)}
    return {PACKAGE, f"{PACKAGE}.cli.main", *beside, *imported, *steps}


def test_at_least_half_of_what_tests_import_comes_through_doors() -> None:
    modules, known = imported_by_tests(), doors()
    assert sum(module in known for module in modules) >= len(modules) / 2
