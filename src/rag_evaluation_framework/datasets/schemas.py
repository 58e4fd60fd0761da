"""The shipped JSON Schemas, checked, in our words.

A kind names one file (``evaluation-dataset``, ``manifest``) or, where a file holds a record a line, one
record (``agent-sample``, ``qa-pair``). A few kinds have a lenient schema too: the least that makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rag_evaluation_framework.datasets.consistency import GOLDEN_RULES, RULES
from rag_evaluation_framework.errors import InputError, Issue, UnknownNameError, counted, quoted, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.json_scanner import ValuePath, check_value, written_path

if TYPE_CHECKING:
    import jsonschema_rs

KINDS: tuple[str, ...] = (
    *("evaluation-dataset", "annotation", "annotations", "results", "benchmark", "configuration"),
    *("agent-sample", "golden-factual", "golden-relationship", "golden-tracking", "golden-multiturn"),
    *("golden-boundary", "offline-record", "qa-pair", "retrieval-case", "summary", "manifest"),
    *("langsmith-example", "squad", "ragas-record", "beir-document", "beir-query"),
)

LENIENT_KINDS = frozenset({"evaluation-dataset", "annotation", "annotations", "results"})


def schema(kind: str, *, lenient: bool = False) -> dict[str, Any]:
    """Return the schema of a kind, as a dictionary of the caller's own.

    A kind without a lenient schema has the one schema for both.
    """
    document: dict[str, Any] = strict_json.decode(schema_text(kind, lenient=lenient))
    return document


@cache
def schema_text(kind: str, *, lenient: bool = False) -> str:
    """Return the schema of a kind as it is shipped: indented JSON that ends with a line feed."""
    if kind not in KINDS:
        raise UnknownNameError("kind of file", kind, KINDS)
    folder = files(__package__) / "schemas"
    if lenient and kind in LENIENT_KINDS:
        folder = folder / "lenient"
    return (folder / f"{kind}.schema.json").read_text(encoding="utf-8")


# Checks a value against the schema of its kind, and says what is wrong in our own words.
#
# The shipped schema is what is enforced: the validator runs it as it stands, and this module only words
# what the validator found. Rules that a schema cannot state are in :mod:`.consistency`.

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
    """Return everything in a value that its kind's schema does not allow, nor its checks; nothing when valid.

    ``path`` leads to the wrong field (to the place where a missing one belongs); file and line are for the
    caller to add.
    """
    text = schema_text(kind, lenient=lenient and kind in LENIENT_KINDS)
    checks = _check_issues(value) if kind in _CHECKED else ()
    return [*_issues(_compiled(text), value, text=text), *checks]


def _issues(
    validator: jsonschema_rs.Draft202012Validator, value: Any, *, text: str | None = None
) -> list[Issue]:
    try:
        if validator.is_valid(value):
            return []
    except ValueError:
        pass  # a key that is not a string, which the next lines find and name
    try:
        check_value(value)
    except InputError as error:
        return list(error.issues)
    fields = frozenset() if text is None else _fields(text)
    return [issue for error in validator.iter_errors(value) for issue in _worded(error, fields)]


@cache
def _compiled(text: str) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # costs 27 ms, so only when something is validated

    return jsonschema_rs.Draft202012Validator(text, validate_formats=True)


@cache
def _fields(text: str) -> frozenset[str]:
    """Return the names of all the fields that a schema mentions, at any depth."""
    found: set[str] = set()
    rest = [strict_json.decode(text)]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            named = part.get("properties")
            found |= set(named) if isinstance(named, dict) else set()
        rest += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return frozenset(found)


_ALSO_CALLED: Mapping[str, tuple[str, ...]] = {
    "input": ("question", "query", "prompt", "user_input", "q"),
    "expected": ("answer", "reference", "ground_truth", "expected_output", "gold", "output"),
    "question": ("query", "input", "prompt", "user_input", "q"),
    "answer": ("expected", "reference", "ground_truth", "expected_output", "gold", "output"),
}


def _written_as(missing: str, found: Any, fields: frozenset[str]) -> str:
    """Offer the field of a record that may be the one that is missing, under another name."""
    stray = [key for key in found if key not in fields] if fields and isinstance(found, dict) else []
    near = get_close_matches(missing, stray, n=1, cutoff=0.7)
    near += [name for name in _ALSO_CALLED.get(missing, ()) if name in stray]
    return f"; did you write it as {quoted(near[0])}?" if near else ""


def _worded(error: jsonschema_rs.ValidationError, fields: frozenset[str]) -> Iterator[Issue]:
    """Word one error of the validator; of alternatives, the errors of the one that fits best."""
    # Which attributes a kind has depends on its name, which types cannot follow.
    kind: Any = error.kind
    path = tuple(error.instance_path)
    if kind.name == "anyOf":
        yield from _best_alternative(kind.context, path, fields)
    elif kind.name == "required":
        found = "nothing" + _written_as(kind.property, error.instance, fields)
        yield Issue("missing-field", "a value (required)", found, written_path((*path, kind.property)))
    elif kind.name in WORDINGS:
        code, expected = WORDINGS[kind.name]
        found = _found(error.instance)
        is_bare = kind.name == "type" and list(kind.types) == ["string"] and found.isprintable()
        if is_bare and isinstance(error.instance, int | float):
            found += f'; write "{found}"'
        yield Issue(code, expected(kind), found, written_path(path))
    else:  # a keyword of somebody else's schema
        found = f"{_found(error.instance)} ({error.message})"
        yield Issue("schema", "a value that the schema allows", found, written_path(path))


# Fields that a schema allows because it does not know them, and that are ours but for a letter or two.

_LIKE_OURS = 0.75
_SHORTEST_NAME = 4


def misspelt_fields(kind: str, value: Any) -> Iterator[Issue]:
    """Yield a warning for each field that is nearly one of the schema's which the record does not have.

    Fields that have to be there are left out: that they are missing is an error, which says the same.
    """
    yield from _misspelt(value, _decoded(schema_text(kind)), _decoded(schema_text(kind)), ())


@cache
def _decoded(text: str) -> Any:
    return strict_json.decode(text)


def _misspelt(value: Any, part: Any, whole: Any, path: ValuePath) -> Iterator[Issue]:
    while isinstance(part, dict) and "$ref" in part:
        part = _referred(whole, part["$ref"])
    if not isinstance(part, dict):
        return
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _misspelt(each, part.get("items"), whole, (*path, index))
    known = part.get("properties")
    if not isinstance(value, dict) or not isinstance(known, dict):
        return
    absent = tuple(name for name in known if name not in value and name not in part.get("required", ()))
    for name, each in value.items():
        if name in known:
            yield from _misspelt(each, known[name], whole, (*path, name))
        elif near := _like_ours(name, absent):
            found, place = quoted(name), written_path((*path, name))
            yield Issue("misspelt-field", quoted(near), found, place, severity="warning")


@cache
def _like_ours(name: str, absent: tuple[str, ...]) -> str | None:
    near = get_close_matches(name, absent, n=1, cutoff=_LIKE_OURS) if len(name) >= _SHORTEST_NAME else ()
    return near[0] if near else None


def _referred(whole: Any, reference: str) -> Any:
    found = whole
    for name in reference.removeprefix("#/").split("/"):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _best_alternative(
    alternatives: Sequence[Sequence[jsonschema_rs.ValidationError]], path: ValuePath, fields: frozenset[str]
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
        yield from _worded(error, fields)


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
    "enum": ("unknown-value", lambda kind: "one of " + ", ".join(map(str, kind.options))),
    "format": ("wrong-format", lambda kind: _FORMATS.get(kind.format, f"the format {kind.format}")),
    "pattern": ("wrong-format", lambda kind: _PATTERNS.get(kind.pattern, f"text that fits {kind.pattern}")),
    "minimum": ("out-of-range", lambda kind: f"a number of at least {kind.limit}"),
    "maximum": ("out-of-range", lambda kind: f"a number of at most {kind.limit}"),
    "minLength": ("wrong-length", lambda kind: f"at least {counted(kind.limit, 'character')}"),
    "minItems": ("wrong-length", lambda kind: f"at least {counted(kind.limit, 'item')}"),
    "maxItems": ("wrong-length", lambda kind: f"at most {counted(kind.limit, 'item')}"),
}
"""For each keyword of the schemas, the code of its issue and how to write what it expects."""


# Validates evaluation data held in memory: the shipped schema first, then what no schema can say.


def value_issues(kind: str, value: Any) -> list[Issue]:
    """Return everything that is wrong with a value of a kind: against its schema, then against its rules."""
    try:
        check_value(value)
    except InputError as error:
        return list(error.issues)
    return decoded_issues(kind, value)


def decoded_issues(kind: str, value: Any, *, lenient: bool = False) -> list[Issue]:
    """Return the same of a value that was decoded from a file: that JSON can hold it need not be checked."""
    broken = [issue for rule in RULES.get(kind, ()) for issue in rule(value)]
    return [*schema_issues(kind, value, lenient=lenient), *broken]


_CHECKED = frozenset({"agent-sample", "evaluation-dataset", *GOLDEN_RULES})


def _check_issues(value: Any, within: str = "") -> Iterator[Issue]:
    """Yield what is wrong with the checks of records, of queries and of the turns of conversations."""
    for number, each in enumerate(value if isinstance(value, list) else ()):
        yield from _check_issues(each, f"{within}[{number}]")
    for name in ("checks", "queries", "conversation") if isinstance(value, dict) else ():
        if name == "checks" and name in value:
            from rag_evaluation_framework.records.checks import check_issues  # few records have any

            yield from (issue.located(within=within) for issue in check_issues(value[name]))
        elif name in value:
            yield from _check_issues(value[name], f"{within}.{name}" if within else name)


class DataFormatValidator:
    """A validator of evaluation data against schemas.

    Every method returns all errors as texts, each with its path, the expected and the found value; an empty
    list means valid. ``schemas`` has the enforced schemas. A subclass may have its own schemas and rules:
    override ``_load_schemas`` and ``_custom_validations``, and extend ``_validate_data``.

    Args:
        lenient: True to require only the minimum of a dataset, an annotation or results.

    Example:
        >>> from rag_evaluation_framework import DataFormatValidator
        >>> len(DataFormatValidator().validate_evaluation_dataset({})) > 0
        True
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self.lenient = lenient
        self.schemas = self._load_schemas()

    def validate_evaluation_dataset(self, data: dict[str, Any]) -> list[str]:
        """Validate an evaluation dataset."""
        return self._validate_data(data, self.schemas["evaluation_dataset"])

    def validate_ground_truth(self, data: dict[str, Any]) -> list[str]:
        """Validate ground truth: one annotation, or ``{"dataset_id": …, "annotations": […]}``."""
        return self._validate_data(data, self.schemas["ground_truth"])

    def validate_evaluation_results(self, data: dict[str, Any]) -> list[str]:
        """Validate evaluation results."""
        return self._validate_data(data, self.schemas["evaluation_results"])

    def _validate_data(self, data: dict[str, Any], schema: dict[str, Any]) -> list[str]:
        """Return what a schema, then the rules beyond it, find wrong; a schema that is none is an error."""
        try:
            check_value(data)
            issues = _issues(_compiled(strict_json.encode(schema).decode()), data)
        except InputError as error:
            return [str(issue) for issue in error.issues]
        except ValueError as error:
            issues = [Issue("schema", "a JSON Schema", str(error).splitlines()[0])]
        return [*map(str, issues), *self._custom_validations(data)]

    def _custom_validations(self, data: dict[str, Any]) -> list[str]:
        """Return what is wrong beyond the schema: repeated ids, spans that end before they start."""
        if isinstance(data, dict) and "queries" in data:
            kind = "evaluation-dataset"
        elif not isinstance(data, dict) or "annotations" in data or "annotation_id" in data:
            kind = "annotations"  # which may also be a list
        else:
            kind = "results"
        broken = [issue for rule in RULES.get(kind, ()) for issue in rule(data)]
        broken += _check_issues(data) if kind in _CHECKED else ()
        return [str(issue) for issue in broken if issue.severity == "error"]

    def _load_schemas(self) -> dict[str, dict[str, Any]]:
        """Return the schemas by name, as the package ships them."""
        return {
            "evaluation_dataset": schema("evaluation-dataset", lenient=self.lenient),
            "ground_truth": schema("annotations", lenient=self.lenient),
            "evaluation_results": schema("results", lenient=self.lenient),
        }
