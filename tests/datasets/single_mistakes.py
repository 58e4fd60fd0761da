"""Makes every mistake that one field of a valid value can have, from the schema of its kind."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator

Path = tuple[str | int, ...]
_OF_EACH_TYPE: tuple[Any, ...] = ("text", 5, 0.25, True, None, [7], {"other": 7})


class Mistake(NamedTuple):
    """A value with one wrong field, the path to it, and the code it must be reported under."""

    value: Any
    path: Path
    code: str


def mistakes(schema: dict[str, Any], value: Any) -> Iterator[Mistake]:
    """Yield the value once with each mistake."""
    for path, code, wrong in _wrong_parts(schema, schema, value, ()):
        yield Mistake(_replaced(value, path, wrong), path, code)


_ABSENT = object()


def _wrong_parts(
    root: dict[str, Any], schema: dict[str, Any], value: Any, path: Path
) -> Iterator[tuple[Path, str, Any]]:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from _wrong_parts(root, root["$defs"][name], value, path)
    if "if" in schema:
        holds = Draft202012Validator({**schema["if"], "$defs": root.get("$defs", {})}).is_valid(value)
        for part in _wrong_parts(root, schema.get("then" if holds else "else", {}), value, path):
            # Of what depends on the value's own type, another type is no mistake here.
            if part[0] != path or part[1] != "wrong-type":
                yield part
    yield from ((path, code, wrong) for code, wrong in _wrong_values(schema, value))
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            yield (*path, name), "missing-field", _ABSENT
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            yield from _wrong_parts(root, inner, item, (*path, name))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _wrong_parts(root, schema.get("items", {}), item, (*path, index))


def _wrong_values(schema: dict[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    if "type" in schema:
        allowed = Draft202012Validator({"type": schema["type"]})
        for other in _OF_EACH_TYPE:
            if not allowed.is_valid(other):
                yield "wrong-type", other
    if "enum" in schema:
        yield "unknown-value", "no such value"
    if "format" in schema:
        yield from (("wrong-format", wrong) for wrong in ("30.08.2025", "2025-08-30", "2025-02-30T12:00:00Z"))
    if "pattern" in schema:
        yield "wrong-format", "zz"
    if "minimum" in schema and not isinstance(value, dict):
        yield "out-of-range", schema["minimum"] - 1
    if "maximum" in schema:
        yield "out-of-range", schema["maximum"] + 1
    if "minLength" in schema:
        yield "wrong-length", ""
    if "minItems" in schema:
        yield "wrong-length", []
    if "maxItems" in schema:
        yield "wrong-length", value * 2


def _replaced(value: Any, path: Path, wrong: Any) -> Any:
    """Return a copy with the value at a path replaced, or left out."""
    if not path:
        return copy.deepcopy(wrong)
    whole = copy.deepcopy(value)
    inner = whole
    for part in path[:-1]:
        inner = inner[part]
    if wrong is _ABSENT:
        del inner[path[-1]]
    else:
        inner[path[-1]] = copy.deepcopy(wrong)
    return whole
