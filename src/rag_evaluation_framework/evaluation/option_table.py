"""The options of an evaluation, each declared once, in ``options.json`` beside this module.

From a declaration follow the option of the command line with its help, the key in ``spec.evaluation`` of a
manifest, the key in a project's settings, the field of the record it travels in, and whether a resume is
given it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple


class DeclaredOption(NamedTuple):
    """An option; its value is the ``field`` of the record ``of`` that name."""

    flag: str
    """As help shows it: ``--min-scored SHARE``."""
    of: Literal["gate", "judge", "scoring", "choice", "options"]
    field: str
    type: Literal["number", "whole", "choice", "text", "names", "flag", "file", "folder", "seed"]
    help: str
    least: float = 0
    most: float | None = None
    is_above: bool = False
    """True if a number has to be above the least."""
    words: Sequence[str] = ()
    """The words to choose from."""
    key: str | None = None
    """In a manifest; settings of a judge stand in its ``judge``."""
    project: str | None = None
    """In the settings of a project."""
    default: Any = None
    otherwise: str | None = None
    """The default that help tells, where another place may say the value too."""
    group: str = "Requests"
    """Under which title help lists it."""
    is_resumed: bool = True
    """True if a resume is given it again; the head of a run has the others."""

    @property
    def name(self) -> str:
        """The name of the command's parameter."""
        name = self.flag.partition(" ")[0].removeprefix("--").replace("-", "_")
        return f"{name}s" if self.field == "models" else name


DECLARED: Mapping[str, DeclaredOption] = {
    each.name: each
    for each in (
        DeclaredOption(**fields)
        for fields in json.loads(Path(__file__).with_name("options.json").read_text(encoding="utf-8"))
    )
}
"""The options by the names of their parameters, in the order in which help shows them."""


def declared(*of: str) -> list[DeclaredOption]:
    """Return the options that are fields of some records."""
    return [each for each in DECLARED.values() if each.of in of]


def fields_of(of: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that are given, by the names of the options."""
    found = {each.field: given.get(each.name) for each in declared(of)}
    return {field: value for field, value in found.items() if value is not None and value != ()}
