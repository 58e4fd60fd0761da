"""What a record says beyond what a sample holds, kept so that writing it back loses nothing.

A dialect's ``encode`` writes a sample's fields; what the record had besides is its *residue*: unknown
fields at any depth of its objects, fields that are present but empty, and values that were read into
something coarser. The residue travels in ``extra`` and is laid over the encoded record again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def residue(record: Mapping[str, Any], encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``record`` has and ``encoded`` has not, or has otherwise.

    >>> residue({"input": "a", "tags": [], "by": "me"}, {"input": "a"})
    {'tags': [], 'by': 'me'}
    >>> residue({"metrics": {"difficulty": "easy", "hops": 2}}, {"metrics": {"difficulty": "easy"}})
    {'metrics': {'hops': 2}}
    """
    rest: dict[str, Any] = {}
    for key, value in record.items():
        if key not in encoded:
            rest[key] = value
            continue
        other = encoded[key]
        if isinstance(value, dict) and isinstance(other, dict):
            if inner := residue(value, other):
                rest[key] = inner
        elif not _same(value, other):
            rest[key] = value
    return rest


def overlaid(encoded: Mapping[str, Any], rest: Mapping[str, Any], *, replace: bool) -> dict[str, Any]:
    """Lay a residue over a record; with ``replace`` it also wins over values that are there already."""
    whole = dict(encoded)
    for key, value in rest.items():
        if key not in whole:
            whole[key] = value
        elif isinstance(value, dict) and isinstance(whole[key], dict):
            whole[key] = overlaid(whole[key], value, replace=replace)
        elif replace:
            whole[key] = value
    return whole


def replaces(encoded: Mapping[str, Any], rest: Mapping[str, Any]) -> bool:
    """Tell whether a residue has a value for a field that the record has too."""
    for key, value in rest.items():
        if key in encoded:
            if not (isinstance(value, dict) and isinstance(encoded[key], dict)):
                return True
            if replaces(encoded[key], value):
                return True
    return False


def _same(value: Any, other: Any) -> bool:
    """Compare as JSON does: ``1``, ``1.0`` and ``true`` are written differently, so they differ."""
    if type(value) is not type(other):
        return False
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(_same(value[key], other[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(value == other)
