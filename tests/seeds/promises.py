"""What the seed documents promise, read from the tables .: one file a seed.

A table has sections, a section entries, an entry what is promised and the code that shows it kept::

    - what: "`ChunkRegistry.get_span(chunk_id)`"
      run: assert registry.get_span("pa_chunk_0123456789ab") is None

An entry is kept *as written* unless it has ``settled``, the section of the specification that settled it
otherwise and why, or ``due``, the title of the open issue that will deliver it; the latter must fail, so that
whoever delivers it is told to turn the entry over. ``given`` names the folder that the code begins in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluation_framework.files import yaml_documents

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing that a seed names, and the code that shows it kept."""

    seed: str
    section: str
    what: str
    run: str
    before: str = ""
    given: str = ""
    settled: str = ""
    due: str = ""


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed's number, title and promises."""

    number: str
    title: str
    promises: tuple[Promise, ...]


def seeds() -> list[Seed]:
    """Read every table."""
    return [_read(path) for path in sorted(FOLDER.glob("seed_*.yaml"))]


def _read(path: Path) -> Seed:
    table = yaml_documents.decode(path.read_text(encoding="utf-8"), file=path.name)
    number = path.stem.removeprefix("seed_")
    return Seed(number, table["title"], tuple(_promises(number, table)))


def _promises(number: str, table: dict[str, Any]) -> Iterator[Promise]:
    for section, listed in table["sections"].items():
        for entry in listed:
            yield Promise(number, section, **{"before": table.get("before", ""), **entry})
