"""What must hold between fields, and the validator of data in memory that stands on it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from format_examples import (
    ANSWER_QUALITY_ANNOTATION,
    CITATION_ANNOTATION,
    EVALUATION_DATASET,
    EXAMPLES,
    GOLDEN_BOUNDARY,
    RESULTS,
    SAMPLE_DATASET,
    rule_issues,
)
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import DataFormatValidator
from rag_evaluation_framework.datasets.consistency import RULES
from rag_evaluation_framework.datasets.schemas import KINDS, schema, value_issues
from rag_evaluation_framework.errors import Issue


def example(kind: str, number: int = 0) -> Any:
    return copy.deepcopy([value for name, value in EXAMPLES if name == kind][number])


def messages(kind: str, value: Any) -> list[str]:
    return list(map(str, rule_issues(kind, value)))


def test_rules_belong_to_kinds() -> None:
    assert set(RULES) <= set(KINDS)


@pytest.mark.parametrize(("kind", "value"), EXAMPLES)
def test_the_users_examples_keep_every_rule(kind: str, value: Any) -> None:
    assert value_issues(kind, value) == []


def test_each_repetition_of_a_query_id_is_reported() -> None:
    query = SAMPLE_DATASET["queries"][0]
    dataset = {**SAMPLE_DATASET, "queries": [query, {**query, "query_id": "other"}, query, query]}
    assert messages("evaluation-dataset", dataset) == [
        "queries[2].query_id: expected each query_id once, got 'sample_query_001' again",
        "queries[3].query_id: expected each query_id once, got 'sample_query_001' again",
    ]


def test_a_span_must_end_after_it_starts_and_start_at_0_or_later() -> None:
    dataset = copy.deepcopy(EVALUATION_DATASET)
    spans = [(1350, 1250), (5, 5), (-1, 3), (0, 1)]
    dataset["queries"][0]["citations"] = [
        {"file_name": "a", "start_char": start, "end_char": end} for start, end in spans
    ]
    assert messages("evaluation-dataset", dataset) == [
        "queries[0].citations[0].end_char: expected a position above 1350, got 1250",
        "queries[0].citations[1].end_char: expected a position above 5, got 5",
        "queries[0].citations[2].start_char: expected a position of at least 0, got -1",
    ]


def test_annotations_of_every_shape_have_their_spans_checked() -> None:
    wrong = copy.deepcopy(CITATION_ANNOTATION)
    wrong["citations"][0]["end_char"] = 0
    tail = "citations[0].end_char: expected a position above 1250, got 0"
    assert messages("annotations", wrong) == [tail]
    assert messages("annotations", [wrong]) == [f"[0].{tail}"]
    assert messages("annotations", {"annotations": [wrong]}) == [f"annotations[0].{tail}"]


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


@pytest.mark.parametrize(
    ("summary", "sound"),
    [
        ({"total_queries": 5, "successful_queries": 3, "failed_queries": 2}, True),
        ({"total_queries": 5, "successful_queries": 3}, True),  # some were not asked yet
        ({"successful_queries": 3, "failed_queries": 2}, True),
        ({"total_queries": 5, "successful_queries": 6}, False),
        ({"total_queries": 5, "successful_queries": 4, "failed_queries": 2}, False),
    ],
)
def test_no_more_queries_succeed_and_fail_than_there_are(summary: dict[str, int], sound: bool) -> None:
    found = messages("results", {**RESULTS, "summary": summary})
    told = "summary.total_queries: expected at least 6, as many as succeeded and failed, got 5"
    assert found == ([] if sound else [told])


def test_a_metric_that_is_a_share_is_from_0_to_1() -> None:
    results = copy.deepcopy(RESULTS)
    results["retrieval_metrics"] = {"hit@1": {"value": 1.7}, "mrr": -0.1, "theirs": 7, "ndcg@5": None}
    results["answer_quality_metrics"] = {"unsupported_tokens": {"value": 12}, "chrf": 1 + 1e-12}
    results["performance_metrics"] = {"hit@1": 3}
    results["query_results"][0]["individual_metrics"] = {"success_1": 2, "latency": 800.0}
    assert messages("results", results) == [
        "retrieval_metrics.hit@1.value: expected a number from 0 to 1, got 1.7",
        "retrieval_metrics.mrr: expected a number from 0 to 1, got -0.1",
        "query_results[0].individual_metrics.success_1: expected a number from 0 to 1, got 2",
    ]


def test_golden_ids_and_squad_ids_are_unique() -> None:
    assert messages("golden-boundary", [GOLDEN_BOUNDARY[0], GOLDEN_BOUNDARY[0]]) == [
        "[1].id: expected each id once, got 'bound_001' again"
    ]
    squad = example("squad")
    squad["data"][0]["paragraphs"][0]["qas"][1]["id"] = "s1"
    assert messages("squad", squad) == [
        "data[0].paragraphs[0].qas[1].id: expected each id once, got 's1' again"
    ]


def test_a_squad_answer_stands_where_it_says() -> None:
    squad = example("squad")
    squad["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 19
    assert messages("squad", squad) == [
        "data[0].paragraphs[0].qas[0].answers[0]: expected 'eight' at character 19, got ' eigh'"
    ]


@pytest.mark.parametrize("kind", ["qa-pair", "summary"])
def test_sources_stand_beside_contexts(kind: str) -> None:
    record = {**example(kind), "sources": ["one"]}
    assert messages(kind, record) == ["sources: expected 2, one for each context, got 1"]


def test_sources_inside_rag_stand_beside_its_contexts() -> None:
    record = example("offline-record")
    record["rag"]["sources"].append("three")
    assert messages("offline-record", record) == ["rag.sources: expected 2, one for each context, got 3"]


def test_an_interval_is_not_turned_around() -> None:
    results = copy.deepcopy(RESULTS)
    results["retrieval_metrics"]["mrr"]["confidence_interval"] = [0.9, 0.1]
    assert messages("results", results) == [
        "retrieval_metrics.mrr.confidence_interval: expected an upper end of at least 0.9, got 0.1"
    ]


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
        "name: expected a value (required), got nothing",
        "queries[0].query_type: expected one of factual, analytical, comparative, temporal, got 'odd'",
        "queries[1].query_type: expected one of factual, analytical, comparative, temporal, got 'odd'",
        "queries[1].query_id: expected each query_id once, got 'q' again",
        "queries[1].citations[0].end_char: expected a position above 9, got 3",
    ]


def test_the_validator_accepts_the_users_examples() -> None:
    validator = DataFormatValidator()
    assert validator.validate_evaluation_dataset(SAMPLE_DATASET) == []
    assert validator.validate_ground_truth(CITATION_ANNOTATION) == []
    assert validator.validate_evaluation_results(RESULTS) == []
    assert validator.schemas["evaluation_dataset"] == schema("evaluation-dataset")
    assert set(validator.schemas) == {"evaluation_dataset", "ground_truth", "evaluation_results"}


def test_a_lenient_validator_asks_for_the_least() -> None:
    lenient = DataFormatValidator(lenient=True)
    dataset = {"dataset_id": "d", "queries": [{"query_id": 1, "query_text": 2, "relevant_documents": 3}]}
    assert lenient.validate_evaluation_dataset(dataset) == []
    assert lenient.validate_ground_truth({"annotation_id": "a", "query_id": "q"}) == []
    assert lenient.validate_evaluation_results({"evaluation_id": "e", "retrieval_metrics": {}}) == []
    assert lenient.validate_evaluation_dataset({}) == [
        "dataset_id: expected a value (required), got nothing",
        "queries: expected a value (required), got nothing",
    ]


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
