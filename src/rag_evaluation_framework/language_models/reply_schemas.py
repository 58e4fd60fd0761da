"""Checks a reply against a JSON Schema, and says what is wrong in words that the model may be shown.

A reply may repeat what a judged text wants the model to read, in its values and in its keys alike. So a
message is made of the schema's own words and of numbers, whatever the reply contains.

A key that the schema does not have is no mistake: it is left out, and nobody reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, cast

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.files.values import written_path

if TYPE_CHECKING:
    import jsonschema_rs

_SHOWN_PROBLEMS = 3
_PROBLEM_CHARACTERS = 300

# The validator's messages on these name the schema and no more, since it is told to leave out the value.
_SAID_BY_THE_SCHEMA = frozenset(
    {
        "const",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "type",
        "uniqueItems",
    }
)
_UNKNOWN_KEYS = frozenset({"additionalProperties", "unevaluatedProperties"})


class ReplySchema:
    """A schema that replies must follow; :class:`UsageError` if it is invalid or refers elsewhere."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._validator = _validator(json.dumps(schema))
        self._names = frozenset(_property_names(schema))

    def problem(self, value: Any) -> str | None:
        """Say what the schema does not allow in a value; ``None`` if that is nothing but unknown keys."""
        errors = (error for error in self._errors(value) if error.kind.name not in _UNKNOWN_KEYS)
        problems = [self._worded(error) for error in islice(errors, _SHOWN_PROBLEMS)]
        return "; ".join(problems)[:_PROBLEM_CHARACTERS] or None

    def known(self, value: Any) -> Any:
        """Return a value in which there is no problem without the keys that the schema does not have."""
        kept = deepcopy(value)
        for error in self._errors(value):
            place, kind = kept, cast("Any", error.kind)
            for part in error.instance_path:
                place = place[part]
            for name in kind.unexpected:
                del place[name]
        return kept

    def _errors(self, value: Any) -> Iterator[jsonschema_rs.ValidationError]:
        return iter(() if self._validator.is_valid(value) else self._validator.iter_errors(value))

    def _worded(self, error: jsonschema_rs.ValidationError) -> str:
        keyword = error.kind.name
        said = error.message if keyword in _SAID_BY_THE_SCHEMA else f"the value does not follow {keyword}"
        place = self._place(error.instance_path)
        return f"{place}: {said}" if place else said

    def _place(self, path: Sequence[str | int]) -> str:
        """Write the path as far as the schema itself names it."""
        return written_path(list(takewhile(lambda part: isinstance(part, int) or part in self._names, path)))


def _property_names(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            yield from properties
    if isinstance(schema, Mapping | list):
        for part in schema.values() if isinstance(schema, Mapping) else schema:
            yield from _property_names(part)


@lru_cache(maxsize=256)
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # costs 27 ms, so only when something is validated

    try:
        return jsonschema_rs.Draft202012Validator(schema, mask="the value", retriever=_refused)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"schema: expected a JSON Schema, got one that is none: {reason}") from None


def _refused(uri: str) -> Any:
    """Fetch nothing: a schema that comes with a prompt contains all that it refers to."""
    raise ValueError(f"{uri} is outside of the schema")
