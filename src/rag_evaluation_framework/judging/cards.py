"""The cards of the offline methods: what each sees, what it does not, and how far it agrees with people.

A card is a file, ``judging/cards/<name>.json``; :func:`method_cards` reads them all.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec


class Agreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure measured against people's labels, its 95 % interval, and what to read it by."""

    figure: str
    data: str
    n: int
    value: float
    low: float
    high: float
    note: str = ""


class MethodCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a user should know of an offline method before trusting its figures."""

    name: str
    """The method's label, as it stands beside every figure."""
    version: int
    metrics: tuple[str, ...]
    """The metrics that it is used by."""
    summary: str
    sees: tuple[str, ...]
    does_not_see: tuple[str, ...]
    agreement: tuple[Agreement, ...]
    fitted_on: str
    licence: str
    date: str


@cache
def method_cards() -> tuple[MethodCard, ...]:
    """Return the cards of all offline methods, by name."""
    folder = files(__package__) / "cards"
    found = [
        msgspec.json.decode(entry.read_bytes(), type=MethodCard)
        for entry in folder.iterdir()
        if entry.name.endswith(".json")
    ]
    return tuple(sorted(found, key=lambda card: card.name))
