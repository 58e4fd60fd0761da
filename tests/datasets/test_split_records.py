"""Raw records and splits as dialects: read into samples, written back, recognised."""

from __future__ import annotations

from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import InputError, Sample, Turn
from rag_evaluation_framework.datasets.dialect import RecordDialect
from rag_evaluation_framework.datasets.split_mapping import qa_record, summary_record
from rag_evaluation_framework.datasets.split_records import OFFLINE_RECORDS, QA_PAIRS, SUMMARIES

TABLES = tables_beside(__file__)

RAW: dict[str, Any] = TABLES["raw"]
RECORDS = [(OFFLINE_RECORDS, RAW), (QA_PAIRS, qa_record(RAW) | {"new": 1}), (SUMMARIES, summary_record(RAW))]


@pytest.mark.parametrize(("dialect", "record"), RECORDS, ids=lambda value: getattr(value, "name", ""))
def test_a_record_is_written_back_with_every_field(dialect: RecordDialect, record: dict[str, Any]) -> None:
    sample = dialect.sample(record)
    assert dialect.record(sample) == record
    assert sample.id == "1"
    assert sample.question == RAW["instruction"]
    assert sample.reference == RAW["expected_response"]
    assert sample.category == "qa"
    assert sample.relevant_chunk_ids == ("c1",)
    assert sample.metadata == {"document": "timetable.md"}
    assert sample.recorded.prompt == "Answer."
    assert len(sample.recorded.contexts) == len(sample.recorded.sources) == 2
    assert sample.recorded.retrieved == ({"chunk_id": "c1", "score": 0.5},)


@pytest.mark.parametrize(
    ("dialect", "task_type"), [(OFFLINE_RECORDS, "qa"), (QA_PAIRS, "qa"), (SUMMARIES, "summaries")]
)
def test_a_sample_without_a_category_is_a_task_of_its_splits_type(
    dialect: RecordDialect, task_type: str
) -> None:
    sample = Sample(id="1", turns=(Turn(role="user", content="Who?"),), reference="Ann")
    assert dialect.record(sample)["task_type"] == task_type


def test_a_raw_record_of_other_names_is_the_same_sample_and_is_written_under_the_first_names() -> None:
    flat = {
        "task_id": "1",
        "task_type": "qa",
        "instruction": None,
        "question": RAW["instruction"],
        "response": RAW["expected_response"],
        "rag_prompt": "Answer.",
        **{name: RAW["rag"][name] for name in ("contexts", "sources", "scores", "retrieved")},
        "rag": {"citations": RAW["rag"]["citations"], "model": "small"},
        "metadata": RAW["metadata"],
        "unknown": RAW["unknown"],
    }
    assert OFFLINE_RECORDS.sample(flat) == OFFLINE_RECORDS.sample(RAW)
    assert OFFLINE_RECORDS.record(OFFLINE_RECORDS.sample(flat)) == RAW


def test_a_raw_record_that_asks_nothing_is_no_sample() -> None:
    with pytest.raises(InputError, match="instruction: expected a question, got None"):
        OFFLINE_RECORDS.sample({"task_id": "1", "task_type": "qa"})
