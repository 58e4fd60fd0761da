"""A refusal that is expected survives in dialects that have no field for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_evaluation_framework.datasets.dialects.recognition import DIALECTS, read_dataset
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.samples import Refusal, Sample, Turn


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("evaluation-dataset", "d.eval.json"), ("evaluation-dataset", "d.eval.csv"), ("langsmith", "d.jsonl")],
)
def test_a_question_to_decline_is_read_back_as_one(dialect: str, name: str, tmp_path: Path) -> None:
    sample = Sample(
        id="q1",
        turns=(Turn(role="user", content="Who will win?"),),
        expectation=Refusal(),
        metadata={"topic": "x"},
    )
    DIALECTS.get(dialect).write(Dataset(samples=(sample,), dialect=dialect), tmp_path / name)
    (read,) = read_dataset(tmp_path / name).samples
    assert (read.expectation, dict(read.metadata)) == (Refusal(), {"topic": "x"})
