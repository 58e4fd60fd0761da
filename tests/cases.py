"""Tables of cases that lie beside their tests: ``test_claims.py`` reads ``claims.yaml``; a document.

A file maps the name of a table to its cases, one a line, with the reason for a case as a comment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework.files import yaml_documents

FERRIES = """# Ferries

## Fares

A return ticket to the island costs 14 pounds. Dogs pay 2 pounds for each crossing in summer.

## Times

The first ferry leaves the harbour at 06:30 on weekdays. The last ferry returns at 21:15 on Saturdays.
In winter the crossing takes 55 minutes, because the boats keep clear of the sandbank off the point.

## Luggage

Two suitcases travel free with each passenger. A bicycle costs 3 pounds and is stowed on the lower deck.
Surfboards are carried on the roof of the wheelhouse, and the crew lashes them down before departure.

## Lost property

Anything that is found on board is kept in the ticket office for 28 days. After that it goes to the shop of
the lifeboat station, which sells it on the first Saturday of each month.
"""


def tables_beside(test_file: str) -> dict[str, Any]:
    """The tables of a test module, by name."""
    place = Path(test_file)
    place = place.with_name(f"{place.stem.removeprefix('test_')}.yaml")
    return yaml_documents.decode(place.read_text(encoding="utf-8"), file=place.name)


def named(table: dict[str, list[Any]]) -> list[Any]:
    """The cases of a table that gives each a name, as parameters with that name."""
    return [pytest.param(*case, id=name) for name, case in table.items()]
