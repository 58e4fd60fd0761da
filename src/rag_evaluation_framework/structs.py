"""The shared functions of records: copies with other values, names of fields, plain values.

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


def asdict(record: Any) -> dict[str, Any]:
    """Return the fields of a record by name as plain values, the records in them too."""
    return dict(msgspec.to_builtins(record, enc_hook=str))
