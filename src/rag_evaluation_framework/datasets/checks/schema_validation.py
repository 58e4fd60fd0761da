"""Checks a value against the schema of its kind, and says what is wrong in our own words.

The shipped schema is what is enforced: the validator runs it as it stands, and this module only words what
the validator found. Rules that a schema cannot state are in :mod:`consistency_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.datasets.schemas import LENIENT_KINDS, schema_text
from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.files.values import ValuePath, check_value, written_path

if TYPE_CHECKING:
    import jsonschema_rs

_TYPES: Mapping[str, str] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_FORMATS: Mapping[str, str] = {"date-time": "a date-time such as 2025-08-30T12:00:00Z"}
_PATTERNS: Mapping[str, str] = {"^[0-9a-f]{64}$": "64 hexadecimal digits in lower case"}


def schema_issues(kind: str, value: Any, *, lenient: bool = False) -> list[Issue]:
    """Return everything in a value that its kind's schema does not allow; nothing when it is valid.

    ``path`` leads to the wrong field (to the place where a missing one belongs); file and line are for the
    caller to add.
    """
    validator = _validator(kind, lenient and kind in LENIENT_KINDS)
    try:
        if validator.is_valid(value):
            return []
    except ValueError:
        pass  # a key that is not a string, which the next lines find and name
    try:
        check_value(value)
    except InputError as error:
        return list(error.issues)
    return [issue for error in validator.iter_errors(value) for issue in _worded(error)]


@cache
def _validator(kind: str, lenient: bool) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # costs 27 ms, so only when something is validated

    return jsonschema_rs.Draft202012Validator(schema_text(kind, lenient=lenient), validate_formats=True)


def _worded(error: jsonschema_rs.ValidationError) -> Iterator[Issue]:
    """Word one error of the validator; of alternatives, the errors of the one that fits best."""
    # Which attributes a kind has depends on its name, which types cannot follow.
    kind: Any = error.kind
    path = tuple(error.instance_path)
    if kind.name == "anyOf":
        yield from _best_alternative(kind.context, path)
    elif kind.name == "required":
        yield Issue("missing-field", "a value (required)", "nothing", written_path((*path, kind.property)))
    else:
        code, expected = WORDINGS[kind.name]
        yield Issue(code, expected(kind), _found(error.instance), written_path(path))


def _best_alternative(
    alternatives: Sequence[Sequence[jsonschema_rs.ValidationError]], path: ValuePath
) -> Iterator[Issue]:
    """Yield the errors of the alternative that was followed deepest, then of the one with the fewest.

    Where each alternative lacks one field, the fields are named together.
    """
    missing = [name for errors in alternatives if (name := _only_missing(errors, path))]
    if len(missing) == len(alternatives):
        yield Issue("missing-field", " or ".join(missing), "neither", written_path(path))
        return
    best = min(alternatives, key=lambda errors: (-max(len(e.instance_path) for e in errors), len(errors)))
    for error in best:
        yield from _worded(error)


def _only_missing(errors: Sequence[jsonschema_rs.ValidationError], path: ValuePath) -> str | None:
    """Return the field whose absence is all that is wrong, if that is so."""
    kind: Any = errors[0].kind
    if len(errors) == 1 and kind.name == "required" and tuple(errors[0].instance_path) == path:
        return str(kind.property)
    return None


def _found(value: Any) -> str:
    """Write what was there as JSON has it; containers are only named."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    return shown(value)


def _type(kind: Any) -> str:
    return " or ".join(name for type_, name in _TYPES.items() if type_ in kind.types)


WORDINGS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "type": ("wrong-type", _type),
    "enum": ("unknown-value", lambda kind: "one of " + ", ".join(kind.options)),
    "format": ("wrong-format", lambda kind: _FORMATS[kind.format]),
    "pattern": ("wrong-format", lambda kind: _PATTERNS[kind.pattern]),
    "minimum": ("out-of-range", lambda kind: f"a number of at least {kind.limit}"),
    "maximum": ("out-of-range", lambda kind: f"a number of at most {kind.limit}"),
    "minLength": ("wrong-length", lambda kind: f"at least {counted(kind.limit, 'character')}"),
    "minItems": ("wrong-length", lambda kind: f"at least {counted(kind.limit, 'item')}"),
    "maxItems": ("wrong-length", lambda kind: f"at most {counted(kind.limit, 'item')}"),
}
"""For each keyword of the schemas, the code of its issue and how to write what it expects."""
