"""What must hold between fields, and the validator of data in memory that stands on it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from format_examples import (
    ANSWER_QUALITY_ANNOTATION,
    CITATION_ANNOTATION,
    EXAMPLES,
    RESULTS,
    SAMPLE_DATASET,
    rule_issues,
)
from hypothesis import given
from hypothesis import strategies as st

from cases import named, tables_beside
from rag_evaluation_framework import DataFormatValidator, Issue
from rag_evaluation_framework.datasets.consistency import RULES
from rag_evaluation_framework.datasets.schemas import schema, value_issues


def example(kind: str, number: int = 0) -> Any:
    return copy.deepcopy([value for name, value in EXAMPLES if name == kind][number])


@pytest.mark.parametrize(("kind", "value"), EXAMPLES)
def test_the_users_examples_keep_every_rule(kind: str, value: Any) -> None:
    assert value_issues(kind, value) == []


@pytest.mark.parametrize(("kind", "path", "value", "messages"), named(tables_beside(__file__)["broken"]))
def test_what_no_schema_can_say_is_said_by_the_rules(
    kind: str, path: str, value: Any, messages: list[str]
) -> None:
    whole = example(kind)
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = whole
    for part in way:
        place = place[part]
    place[last] = value
    assert list(map(str, rule_issues(kind, whole))) == messages


def test_annotations_of_every_shape_have_their_spans_checked() -> None:
    wrong = copy.deepcopy(CITATION_ANNOTATION)
    wrong["citations"][0]["end_char"] = 0
    for shape, within in ((wrong, ""), ([wrong], "[0]."), ({"annotations": [wrong]}, "annotations[0].")):
        (issue,) = rule_issues("annotations", shape)
        assert issue.path == f"{within}citations[0].end_char"


def test_an_overall_score_that_is_not_the_mean_is_a_warning() -> None:
    # (0.9 + 0.95 + 0.9 + 0.85 + 0.8) / 5 = 0.88
    off = {**ANSWER_QUALITY_ANNOTATION, "overall_score": 0.95}
    (issue,) = rule_issues("annotations", [off])
    assert (issue.severity, str(issue)) == (
        "warning",
        "[0].overall_score: expected the mean of the quality scores (0.88), got 0.95",
    )
    assert DataFormatValidator().validate_ground_truth(off) == []
    rounded = {**ANSWER_QUALITY_ANNOTATION, "overall_score": 0.885}
    assert rule_issues("annotations", rounded) == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_rules_look_only_at_what_has_the_right_shape(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(RULES)))
    whole = {"root": example(kind)}
    place: Any = whole
    key: Any = "root"
    while isinstance(place[key], dict | list) and place[key] and data.draw(st.integers(0, 6)):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = data.draw(values)
    # Whatever stands in the wrong place, the rules neither break nor say anything but issues.
    assert all(isinstance(issue, Issue) for issue in rule_issues(kind, whole["root"]))


def test_the_validator_returns_all_errors_of_a_dataset_as_text() -> None:
    query = {"query_id": "q", "query_text": "?", "relevant_documents": [], "query_type": "odd"}
    inverted = {"file_name": "f", "start_char": 9, "end_char": 3}
    dataset = {"dataset_id": "d", "version": "1", "queries": [query, {**query, "citations": [inverted]}]}
    assert DataFormatValidator().validate_evaluation_dataset(dataset) == [
        '"name" is missing',
        "queries[0].query_type: expected one of factual, analytical, comparative, temporal, got 'odd'",
        "queries[1].query_type: expected one of factual, analytical, comparative, temporal, got 'odd'",
        "queries[1].query_id: expected unique query_ids, got duplicate 'q'",
        "queries[1].citations[0].end_char: expected a position above 9, got 3",
    ]


def test_the_validator_accepts_the_users_examples() -> None:
    validator = DataFormatValidator()
    assert validator.validate_evaluation_dataset(SAMPLE_DATASET) == []
    assert validator.validate_ground_truth(CITATION_ANNOTATION) == []
    assert validator.validate_evaluation_results(RESULTS) == []
    assert validator.schemas["evaluation_dataset"] == schema("evaluation-dataset")
    assert set(validator.schemas) == {"evaluation_dataset", "ground_truth", "evaluation_results"}


def test_a_subclass_may_bring_schemas_and_rules_of_its_own() -> None:
    class Owned(DataFormatValidator):
        def _load_schemas(self) -> dict[str, dict[str, Any]]:
            owned = {"type": "object", "required": ["owner"], "properties": {"owner": {"const": "us"}}}
            return {**super()._load_schemas(), "evaluation_dataset": owned}

        def _custom_validations(self, data: dict[str, Any]) -> list[str]:
            return [*super()._custom_validations(data), f"checked by {type(self).__name__}"]

    owned = Owned()
    assert owned.validate_evaluation_dataset({}) == ['"owner" is missing', "checked by Owned"]
    query = {"query_id": "q"}
    assert owned.validate_evaluation_dataset({"owner": "them", "queries": [query, query]}) == [
        "owner: expected a value that the schema allows, got 'them' (\"us\" was expected)",
        "queries[1].query_id: expected unique query_ids, got duplicate 'q'",
        "checked by Owned",
    ]
    assert owned.validate_ground_truth(CITATION_ANNOTATION) == ["checked by Owned"]
    assert owned.validate_evaluation_results(RESULTS) == ["checked by Owned"]


def test_a_subclass_may_take_the_whole_validation_over_and_a_schema_that_is_none_is_said() -> None:
    class Titled(DataFormatValidator):
        def _validate_data(self, data: dict[str, Any], schema: dict[str, Any]) -> list[str]:
            return [schema["title"], *super()._validate_data(data, schema)]

    assert Titled().validate_evaluation_results(RESULTS) == ["Evaluation results"]
    validator = DataFormatValidator()
    validator.schemas["ground_truth"] = {"type": "nonsense"}
    (told,) = validator.validate_ground_truth(CITATION_ANNOTATION)
    assert told.startswith("expected a JSON Schema, got")


def test_a_lenient_validator_asks_for_the_least() -> None:
    lenient = DataFormatValidator(lenient=True)
    dataset = {"dataset_id": "d", "queries": [{"query_id": 1, "query_text": 2, "relevant_documents": 3}]}
    assert lenient.validate_evaluation_dataset(dataset) == []
    assert lenient.validate_ground_truth({"annotation_id": "a", "query_id": "q"}) == []
    assert lenient.validate_evaluation_results({"evaluation_id": "e", "retrieval_metrics": {}}) == []
    assert lenient.validate_evaluation_dataset({}) == ['"dataset_id" is missing', '"queries" is missing']


@pytest.mark.parametrize("wrong", [{"a": float("nan")}, {"a": {1, 2}}, {1: 2}, {"a": "\ud800"}, None, []])
def test_what_is_not_even_json_data_is_an_error_in_words(wrong: Any) -> None:
    assert (
        len(
            DataFormatValidator().validate_evaluation_dataset(
                {**SAMPLE_DATASET, "x": wrong} if wrong else wrong
            )
        )
        == 1
    )
