"""Chunk-level recall, precision and F1."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import ChunkF1, ChunkLevelMetric, ChunkPrecision, ChunkRecall
from rag_evaluation_framework.metrics.spans import chunk_f1, chunk_precision, chunk_recall

ids = st.lists(st.sampled_from([f"chunk_{letter}" for letter in "abcdefgh"]), max_size=10)

WORKED = [
    # retrieved, relevant, recall, precision, F1
    (["a", "b", "c", "d"], ["b", "d", "e"], 2 / 3, 2 / 4, 4 / 7),  # 2 shared of 4 and 3
    (["a"], ["a"], 1.0, 1.0, 1.0),
    (["a", "a", "b"], ["a"], 1.0, 1 / 2, 2 / 3),  # a repeated id counts once: 1 of {a, b}
    (["a", "b"], ["c"], 0.0, 0.0, 0.0),
    ([], ["a"], 0.0, 0.0, 0.0),
    (["a"], [], 0.0, 0.0, 0.0),
    ([], [], 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("retrieved", "relevant", "recall", "precision", "f1"), WORKED)
def test_worked_values(
    retrieved: list[str], relevant: list[str], recall: float, precision: float, f1: float
) -> None:
    assert chunk_recall(retrieved, relevant) == recall
    assert chunk_precision(retrieved, relevant) == precision
    assert chunk_f1(retrieved, relevant) == pytest.approx(f1, abs=1e-15)


@given(ids, ids)
def test_f1_is_the_harmonic_mean_of_recall_and_precision(retrieved: list[str], relevant: list[str]) -> None:
    shared = len(set(retrieved) & set(relevant))
    if not shared:
        assert chunk_f1(retrieved, relevant) == 0.0
        return
    recall, precision = Fraction(shared, len(set(relevant))), Fraction(shared, len(set(retrieved)))
    assert chunk_f1(retrieved, relevant) == float(2 * precision * recall / (precision + recall))


@pytest.mark.parametrize(
    ("metric", "expected"), [(ChunkRecall(), 2 / 3), (ChunkPrecision(), 1 / 2), (ChunkF1(), 4 / 7)]
)
def test_classes_take_arguments_by_position_and_by_name(metric: ChunkLevelMetric, expected: float) -> None:
    retrieved, truth = ["a", "b", "c", "d"], ["b", "d", "e"]
    assert metric.calculate(retrieved, truth) == pytest.approx(expected)
    assert metric.calculate(retrieved=retrieved, ground_truth=truth) == pytest.approx(expected)


def test_a_metric_of_ones_own_may_name_its_arguments_as_it_likes() -> None:
    class FirstIsRelevant(ChunkLevelMetric):
        def calculate(self, retrieved_chunk_ids, ground_truth_chunk_ids):  # type: ignore[no-untyped-def]
            return float(retrieved_chunk_ids[0] in ground_truth_chunk_ids)

    metric: ChunkLevelMetric = FirstIsRelevant()
    assert metric.calculate(["a", "b"], ["a"]) == 1.0
