"""What all records share: copies with other values, the names of fields, plain values.

Records are of msgspec, which makes them ten times as fast as the standard library makes a dataclass. Classes
that users build by hand stay dataclasses; the functions here take both.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")


def replace(record: T, /, **changes: Any) -> T:
    """Return a copy of a record with other values in some of its fields."""
    if isinstance(record, msgspec.Struct):
        return cast("T", msgspec.structs.replace(record, **changes))
    return cast("T", dataclasses.replace(cast("Any", record), **changes))


def field_names(record: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record or of its class."""
    found: tuple[str, ...] | None = getattr(record, "__struct_fields__", None)
    return found if found is not None else tuple(each.name for each in dataclasses.fields(record))


def default_values(kind: Any) -> dict[str, Any]:
    """Return the fields of a class of records that may be left out, each with its value then."""
    if issubclass(kind, msgspec.Struct):  # not by its types, some of which are imported for checkers alone
        pairs = zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False)
        known = {name: value for name, value in pairs if value is not msgspec.NODEFAULT}
        return {name: getattr(value, "factory", lambda value=value: value)() for name, value in known.items()}
    made = {each.name: each.default_factory for each in dataclasses.fields(kind)}
    given = {each.name: each.default for each in dataclasses.fields(kind)}
    found = {name: value for name, value in given.items() if value is not dataclasses.MISSING}
    return found | {name: make() for name, make in made.items() if make is not dataclasses.MISSING}


def asdict(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name, the records in them too."""
    return {name: _plain(getattr(record, name)) for name in field_names(record)}


def _plain(value: Any) -> Any:
    is_kept = dataclasses.is_dataclass(value) and not isinstance(value, type)
    if isinstance(value, msgspec.Struct) or is_kept:
        return asdict(value)
    if isinstance(value, list | tuple):
        values = [_plain(each) for each in value]
        return type(value)(*values) if hasattr(value, "_fields") else type(value)(values)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value
