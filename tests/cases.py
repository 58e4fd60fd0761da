"""Tables of cases that lie beside their tests: ``test_claims.py`` reads ``claims.yaml``; a document.

A file maps the name of a table to its cases, one a line, with the reason for a case as a comment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework.files import yaml_documents

FERRIES = Path(__file__).with_name("ferries.md").read_text(encoding="utf-8")


def tables_beside(test_file: str) -> dict[str, Any]:
    """The tables of a test module, by name."""
    place = Path(test_file)
    place = place.with_name(f"{place.stem.removeprefix('test_')}.yaml")
    return yaml_documents.decode(place.read_text(encoding="utf-8"), file=place.name)


def named(table: dict[str, list[Any]]) -> list[Any]:
    """The cases of a table that gives each a name, as parameters with that name."""
    return [pytest.param(*case, id=name) for name, case in table.items()]
