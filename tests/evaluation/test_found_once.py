"""What several metrics ask about an answer is found once."""

from __future__ import annotations

from dataclasses import replace

from rag_evaluation_framework import Response, Sample, Turn
from rag_evaluation_framework.judging.methods import LatestOf

SAMPLE = Sample(id="s", turns=(Turn(role="user", content="When?"),))
RESPONSE = Response(text="At noon.")


def counted() -> tuple[LatestOf[int], list[Sample]]:
    """What is found is how many answers were looked at before."""
    looked_at: list[Sample] = []

    def find(sample: Sample, response: Response) -> int:
        looked_at.append(sample)
        return len(looked_at)

    return LatestOf(find), looked_at


def test_the_same_sample_and_response_are_looked_at_once_and_equal_others_by_themselves() -> None:
    latest, looked_at = counted()
    assert [latest.of(SAMPLE, RESPONSE) for _ in range(3)] == [1, 1, 1]
    assert latest.of(replace(SAMPLE), RESPONSE) == 2
    assert latest.of(SAMPLE, replace(RESPONSE)) == 3
    assert len(looked_at) == 3


def test_only_the_latest_answers_are_kept() -> None:
    latest, looked_at = counted()
    latest.of(SAMPLE, RESPONSE)
    for _ in range(1000):  # none is held on to here, so that an id could pass to the next one
        latest.of(replace(SAMPLE), replace(RESPONSE))
    assert len(looked_at) == 1001
    assert latest.of(SAMPLE, RESPONSE) == 1002
