"""A run against an earlier one: what pairs, what does not, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rag_evaluation_framework import Request, Response, Sample, Turn, UsageError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.results.comparison import Uncompared, check_baseline, compare_with_baseline
from rag_evaluation_framework.results.run_folder import NEW_RUN, RunFolder

METRICS = ("string_match", "latency")


class Answering:
    """A target that answers by a function."""

    name = "answering"

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    async def answer(self, request: Request) -> Response:
        return Response(text=self._answer(request.sample.question))

    async def close(self) -> None:
        pass


def samples(questions: dict[str, str]) -> list[Sample]:
    return [
        Sample(id=name, turns=(Turn(role="user", content=question),), reference="yes")
        for name, question in questions.items()
    ]


def run(
    folder: Path, given: list[Sample], answer: Callable[[str], str], metrics: tuple[str, ...] = METRICS
) -> RunFolder:
    created = RunFolder.create(folder, RunHead(run_id=NEW_RUN, dataset_id="d"))
    run_samples(given, Answering(answer), scorers_for(metrics), folder=created)
    return created


def test_samples_pair_by_id_and_only_where_their_content_is_the_same(tmp_path: Path) -> None:
    before = run(tmp_path, samples({"a": "1", "b": "2", "c": "3", "gone": "4"}), lambda _: "yes")
    after = run(tmp_path, samples({"c": "3", "new": "5", "b": "edited", "a": "1"}), lambda _: "no")
    compared = compare_with_baseline(before, after, scorers_for(METRICS))
    (comparison,) = compared.metrics
    assert (comparison.metric, comparison.n, comparison.difference) == ("string_match", 2, -1.0)
    assert compared.uncompared == ()


def test_times_are_not_compared(tmp_path: Path) -> None:
    folder = run(tmp_path, samples({"a": "1", "b": "2"}), lambda _: "yes")
    compared = compare_with_baseline(folder, folder, scorers_for(METRICS))
    assert [each.metric for each in compared.metrics] == ["string_match"]


def test_a_metric_that_no_sample_has_in_both_runs_is_named(tmp_path: Path) -> None:
    given = samples({"a": "1", "b": "2"})
    before = run(tmp_path, given, lambda question: "yes" if question == "1" else "")
    after = run(tmp_path, given, lambda question: "" if question == "1" else "yes")
    compared = compare_with_baseline(before, after, scorers_for(METRICS))
    assert compared.uncompared == (Uncompared("string_match", in_baseline=True),)


def test_a_metric_that_the_baseline_has_no_score_of_is_told_from_one_that_does_not_pair(
    tmp_path: Path,
) -> None:
    given = samples({"a": "1", "b": "2"})
    nothing, something = run(tmp_path, given, lambda _: ""), run(tmp_path, given, lambda _: "yes")
    compared = compare_with_baseline(nothing, something, scorers_for(METRICS))
    assert compared.uncompared == (Uncompared("string_match", in_baseline=False),)
    other = run(tmp_path, samples({"c": "3"}), lambda _: "yes")
    compared = compare_with_baseline(something, other, scorers_for(METRICS))
    assert compared.uncompared == (Uncompared("string_match", in_baseline=True),)


def test_a_baseline_scored_otherwise_or_not_complete_is_refused(tmp_path: Path) -> None:
    folder = run(tmp_path, samples({"a": "1"}), lambda _: "yes", ("string_match",))
    check_baseline(folder, scorers_for(METRICS))
    with pytest.raises(UsageError, match="was not scored with token_f1"):
        check_baseline(folder, scorers_for(["token_f1"]))
    (other,) = scorers_for(["string_match"])
    other.method = "judge:m"
    with pytest.raises(UsageError, match="has string_match by lexical, this run by judge:m"):
        check_baseline(folder, [other])
    unfinished = RunFolder.create(tmp_path, RunHead(run_id=NEW_RUN, dataset_id="d"))
    with pytest.raises(UsageError, match="incomplete: expected a complete run"):
        check_baseline(unfinished, scorers_for(METRICS))
