"""The shipped schemas: they accept the users' examples, and are exactly what the code enforces."""

from __future__ import annotations

import copy
import re
from datetime import datetime
from typing import Any

import pytest
from format_examples import (
    ANSWER_QUALITY_ANNOTATION,
    CITATION_ANNOTATION,
    EVALUATION_DATASET,
    EXAMPLES,
    GOLDEN_MULTITURN,
    RESULTS,
)
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from single_mistakes import mistakes

from cases import tables_beside
from rag_evaluation_framework.datasets.schemas import KINDS, LENIENT_KINDS, WORDINGS, schema, schema_issues
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.files.json_scanner import written_path

BOTH = [(kind, False) for kind in KINDS] + [(kind, True) for kind in sorted(LENIENT_KINDS)]
EXAMPLE_IDS = [f"{kind}-{index}" for index, (kind, _) in enumerate(EXAMPLES)]
STRUCTURE = {"$schema", "$id", "title", "description", "examples", "$defs", "$ref", "properties", "items"}
APPLICATORS = {"additionalProperties", "if", "then", "else"}

formats = FormatChecker(formats=())


@formats.checks("date-time")
def is_date_time(value: object) -> bool:
    """RFC 3339, by other means than the validator's own."""
    if not isinstance(value, str):
        return True
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", value, re.ASCII):
        return False
    try:
        datetime.fromisoformat(re.sub(r"\.\d+", "", value.upper()))
    except ValueError:
        return False
    return True


def reference_paths(kind: str, value: Any, *, lenient: bool = False) -> set[str]:
    """Where the reference implementation finds something wrong."""
    validator = Draft202012Validator(schema(kind, lenient=lenient), format_checker=formats)
    paths = set()
    for error in validator.iter_errors(value):
        path = tuple(error.absolute_path)
        if error.validator == "required":
            named = re.match(r"'(.*)' is a required property", error.message)
            path = (*path, named[1])
        paths.add(written_path(path))
    return paths


@pytest.mark.parametrize(("kind", "lenient"), BOTH)
def test_a_schema_is_valid_2020_12_and_describes_every_field(kind: str, lenient: bool) -> None:
    document = schema(kind, lenient=lenient)
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"].startswith("urn:rag-evaluation-framework:schema:")
    assert document["title"]
    assert document["description"]

    def fields(part: Any) -> None:
        if isinstance(part, dict):
            for name, field in part.get("properties", {}).items():
                described = field.get("description") or "$ref" in field or "const" in field
                assert described, f"{kind}: {name} has no description"
            for inner in part.values():
                fields(inner)

    fields(document)


@pytest.mark.parametrize(("kind", "lenient"), BOTH)
def test_every_keyword_of_a_schema_has_words_for_its_error(kind: str, lenient: bool) -> None:
    def keywords(part: Any, names_are_fields: bool = False) -> set[str]:
        if not isinstance(part, dict):
            return set()
        found = set() if names_are_fields else set(part)
        for name, inner in part.items():
            if name not in ("examples", "if"):  # what an "if" finds wrong is never reported
                found |= keywords(inner, not names_are_fields and name in ("properties", "$defs"))
        return found

    worded = set(WORDINGS) | {"required", "anyOf"}
    assert keywords(schema(kind, lenient=lenient)) <= STRUCTURE | APPLICATORS | worded


def test_an_unknown_kind_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match='Did you mean "evaluation-dataset'):
        schema("evaluation-datasets")


def test_every_kind_has_an_example() -> None:
    assert {kind for kind, _ in EXAMPLES} == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("evaluation-dataset", EVALUATION_DATASET),
        ("annotation", CITATION_ANNOTATION),
        ("annotations", [ANSWER_QUALITY_ANNOTATION]),
        ("results", RESULTS),
    ],
)
def test_the_users_examples_are_accepted_leniently_too(kind: str, value: Any) -> None:
    assert schema_issues(kind, value, lenient=True) == []


@pytest.mark.parametrize(("kind", "value"), EXAMPLES, ids=EXAMPLE_IDS)
def test_every_mistake_in_one_field_is_reported_at_its_path_and_as_the_reference_does(
    kind: str, value: Any
) -> None:
    made = list(mistakes(schema(kind), value))
    assert made
    for mistake in made:
        issues = schema_issues(kind, mistake.value)
        place = written_path(mistake.path)
        assert (place, mistake.code) in {(issue.path, issue.code) for issue in issues}, mistake.path
        assert {issue.path for issue in issues} == reference_paths(kind, mistake.value), mistake.path


@pytest.mark.parametrize(("kind", "lenient"), [(kind, True) for kind in sorted(LENIENT_KINDS)])
def test_every_mistake_is_reported_leniently_as_the_reference_does(kind: str, lenient: bool) -> None:
    for _, value in (example for example in EXAMPLES if example[0] == kind):
        for mistake in mistakes(schema(kind, lenient=True), value):
            found = {issue.path for issue in schema_issues(kind, mistake.value, lenient=True)}
            assert written_path(mistake.path) in found
            assert found == reference_paths(kind, mistake.value, lenient=True)


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(data=st.data())
def test_any_value_in_any_place_is_accepted_or_refused_as_the_reference_does(data: st.DataObject) -> None:
    kind, example = data.draw(st.sampled_from(EXAMPLES))
    whole = {"root": copy.deepcopy(example)}
    place: Any = whole
    key: Any = "root"
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.integers(0, 5)):
        place = place[key]
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
    place[key] = data.draw(values)
    value = whole["root"]
    assert bool(schema_issues(kind, value)) == bool(reference_paths(kind, value))


@pytest.mark.parametrize(("kind", "change", "message"), tables_beside(__file__)["worded"])
def test_an_issue_says_what_was_expected_and_what_was_there(
    kind: str, change: dict[str, Any], message: str
) -> None:
    example = next(value for name, value in EXAMPLES if name == kind)
    messages = [str(issue) for issue in schema_issues(kind, {**example, **change})]
    assert any(message in text for text in messages), messages


def test_an_annotation_of_nothing_says_which_fields_are_missing() -> None:
    empty = {"annotation_id": "a", "query_id": "q", "annotator_id": "x"}
    assert list(map(str, schema_issues("annotations", [empty]))) == [
        "[0]: expected citations or quality_scores, got neither"
    ]


def test_an_assistants_turn_needs_words_or_a_ground_truth() -> None:
    session = copy.deepcopy(GOLDEN_MULTITURN)
    session[0]["conversation"][1] = {"role": "assistant"}  # type: ignore[index]
    assert list(map(str, schema_issues("golden-multiturn", session))) == [
        "[0].conversation[1]: expected ground_truth or content or checks, got neither"
    ]


def test_what_no_file_can_hold_is_an_issue_not_a_traceback() -> None:
    assert [issue.code for issue in schema_issues("manifest", {1: 2})] == ["key-not-a-string"]
