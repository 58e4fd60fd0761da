"""Two runs are compared query by query, and only where their figures mean the same."""

from __future__ import annotations

from typing import Any

import pytest
from finished_runs import evaluated, head, run, scored

from rag_evaluation_framework import Comparison, UsageError
from rag_evaluation_framework.records.runs import Run
from rag_evaluation_framework.results.comparison import RunSource, compare_scored, scored_run
from rag_evaluation_framework.structs import replace

LOW = {f"q{n:02}": n / 100 for n in range(20)}
HIGH = {query: value + 0.3 for query, value in reversed(LOW.items())}


def of(values: dict[str, float], *, metric: str = "token_f1", method: str = "lexical", **changes: Any) -> Run:
    return Run(head(**changes), scored(values, metric, method=method))


def document(source: Run) -> dict[str, Any]:
    return replace(evaluated(source.results), head=source.head).to_dict()


def compare_runs(first: RunSource, second: RunSource, **wish: Any) -> Comparison:
    return compare_scored([scored_run(first), scored_run(second)], **wish)


def test_rows_pair_by_sample_id_and_the_direction_is_candidate_minus_baseline() -> None:
    compared = compare_runs(of(LOW, run_id="old"), of({**HIGH, "only here": 1.0}, run_id="new"))
    (metric,) = compared.metrics
    assert (compared.baseline, compared.contenders, metric.n, metric.n_unpaired) == ("old", ("new",), 20, 1)
    assert metric.difference == pytest.approx(0.3)
    assert metric.verdict == "better"


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (of(HIGH, run_id="new", dataset_id="another"), "different datasets"),
        (of(HIGH, run_id="new", dataset_hash="sha256:0"), "different hash"),
        (of(HIGH, run_id="new", method="judge:m"), r"different methods \(lexical and judge:m\)"),
        (of(HIGH, run_id="new", metric_versions={"token_f1": 2}), r"different versions \(1 and 2\)"),
    ],
    ids=["dataset", "content", "method", "version"],
)
def test_figures_that_do_not_mean_the_same_are_compared_only_when_forced(other: Run, reason: str) -> None:
    with pytest.raises(UsageError, match=f"cannot compare with old: new: .*{reason}"):
        compare_runs(of(LOW, run_id="old"), other)
    forced = compare_runs(of(LOW, run_id="old"), other, force=True)
    assert len(forced.warnings) == 1
    assert forced.metrics[0].verdict == "better"


def test_a_hash_that_is_not_known_is_not_held_against_a_run() -> None:
    compared = compare_runs(of(LOW, run_id="old", dataset_hash=None), of(HIGH, run_id="new"))
    assert compared.warnings == ()


def test_a_metric_that_is_not_declared_here_is_compared_in_the_direction_its_document_says() -> None:
    first, second = (
        document(of(values, metric="my own", run_id=name)) for name, values in (("old", LOW), ("new", HIGH))
    )
    assert compare_runs(first, second).metrics[0].verdict == "better"
    for each in (first, second):
        each["answer_quality_metrics"]["my own"]["higher_is_better"] = False
    (metric,) = compare_runs(first, second).metrics
    assert (metric.metric, metric.verdict) == ("my own", "worse")


def test_the_queries_that_moved_most_come_first() -> None:
    before = {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5}
    after = {"a": 0.6, "b": 0.0, "c": 0.5, "d": 1.0}
    moved = compare_runs(of(before, run_id="old"), of(after, run_id="new")).moved
    assert [(query.query_id, pytest.approx(query.difference)) for query in moved] == [
        ("b", -0.5),
        ("d", 0.5),
        ("a", 0.1),
    ]


def test_times_are_not_compared_and_what_only_one_has_is_named() -> None:
    both = compare_runs(run(run_id="old"), run(run_id="new"))
    assert "latency" not in [metric.metric for metric in both.metrics]
    fewer = Run(head(run_id="new"), tuple(scored({"q1": 0.5, "q2": 0.5})))
    assert compare_runs(run(run_id="old"), fewer).unshared_metrics == (
        "citation_span_f1",
        "house_style",
        "ndcg@5",
        "span_recall",
    )


def test_nothing_but_a_run_is_compared() -> None:
    with pytest.raises(UsageError, match="expected a run, its folder or a results document"):
        compare_runs(3, of(LOW))  # type: ignore[arg-type]
