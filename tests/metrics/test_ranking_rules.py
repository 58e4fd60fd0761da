"""The rules around the metrics: ties, missing queries, nothing relevant, and what the report says of it."""

from __future__ import annotations

import numpy as np
import pytest

from rag_evaluation_framework import UsageError, evaluate_ranking
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.metrics.judged_rankings import RankingRules

TREC = RankingRules.trec_eval()


def reciprocal_rank(scores: dict[str, float], relevant: str, rules: RankingRules) -> float:
    return evaluate_ranking({"q": {relevant: 1}}, {"q": scores}, ["mrr"], rules=rules).mean["mrr"]


def test_tied_documents_stand_in_the_order_of_their_ids() -> None:
    scores = {"c": 1.0, "a": 1.0, "b": 1.0, "first": 2.0}
    assert [reciprocal_rank(scores, d, RankingRules()) for d in "abc"] == [1 / 2, 1 / 3, 1 / 4]


def test_tied_documents_stand_in_reverse_order_under_the_rules_of_trec_eval() -> None:
    scores = {"c": 1.0, "a": 1.0, "b": 1.0, "first": 2.0}
    assert [reciprocal_rank(scores, d, TREC) for d in "abc"] == [1 / 4, 1 / 3, 1 / 2]


def test_scores_that_differ_only_beyond_32_bits_are_tied_for_trec_eval_alone() -> None:
    scores = {"a": 1.0 + 1e-12, "b": 1.0}
    assert reciprocal_rank(scores, "a", RankingRules()) == 1
    assert reciprocal_rank(scores, "a", TREC) == 1 / 2


def test_scores_too_large_for_32_bits_are_tied_at_the_top_for_trec_eval() -> None:
    scores = {"a": 1e300, "b": 1e200, "c": 3.4e38, "d": -1e300}
    assert [reciprocal_rank(scores, d, TREC) for d in "abcd"] == [1 / 2, 1, 1 / 3, 1 / 4]


def test_a_tie_below_the_first_look_is_broken_the_same_way() -> None:
    scores = {f"top{n:02}": 100.0 - n for n in range(20)} | {"z": 1.0, "x": 1.0, "y": 1.0}
    assert [reciprocal_rank(scores, d, RankingRules()) for d in "xyz"] == [1 / 21, 1 / 22, 1 / 23]
    assert [reciprocal_rank(scores, d, TREC) for d in "xyz"] == [1 / 23, 1 / 22, 1 / 21]


QRELS = {"found": {"a": 1}, "absent": {"a": 1}, "hopeless": {"a": 0, "b": -1}}
RUN = {"found": ["a"], "hopeless": ["a"], "unknown": ["a"]}


def test_by_default_missing_queries_score_zero_and_hopeless_ones_are_skipped() -> None:
    report = evaluate_ranking(QRELS, RUN, ["recall@1", "hole@1"])
    assert report.query_ids == ("found", "absent")
    assert report.per_query["recall@1"].tolist() == [1, 0]
    assert report.mean == {"recall@1": 0.5, "hole@1": 0.0}
    assert report.skipped == {
        "unknown": "no judgements for this query",
        "hopeless": "no relevant document among its judgements",
    }
    assert (len(report.query_ids), len(report.skipped)) == (2, 2)


def test_trec_eval_drops_missing_queries_and_scores_hopeless_ones_zero() -> None:
    report = evaluate_ranking(QRELS, RUN, ["recall@1"], rules=TREC)
    assert report.query_ids == ("found", "hopeless")
    assert report.per_query["recall@1"].tolist() == [1, 0]
    assert report.skipped == {"unknown": "no judgements for this query", "absent": "not in the run"}


def test_rows_of_padding_are_missing_queries() -> None:
    qrels, run = np.array([[4], [4]]), np.array([[-1, -1], [7, 4]])
    assert evaluate_ranking(qrels, run, ["mrr"]).per_query["mrr"].tolist() == [0, 1 / 2]
    dropped = evaluate_ranking(qrels, run, ["mrr"], rules=TREC)
    assert (dropped.query_ids, dropped.mean, dropped.skipped) == ((1,), {"mrr": 0.5}, {0: "not in the run"})


def test_when_nothing_can_be_scored_there_is_no_mean() -> None:
    report = evaluate_ranking({"q": {"a": 0}}, {"q": ["a"]}, ["ndcg"])
    assert (report.mean, len(report.query_ids), len(report.skipped)) == ({}, 0, 1)
    assert report.per_query["ndcg"].shape == (0,)


def test_metrics_may_be_given_read_already_and_are_reported_once_under_our_names() -> None:
    report = evaluate_ranking({"q": ["a"]}, {"q": ["a"]}, [parse_metric("ndcg@3"), "ndcg_cut_3", "P_2"])
    assert report.mean == {"ndcg@3": 1.0, "precision_strict@2": 0.5}


@pytest.mark.parametrize(
    "wrong", [{"ties": "random"}, {"missing_queries": "drop"}, {"no_relevant": "nan"}, {"relevance_level": 0}]
)
def test_unknown_rules_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"expected {next(iter(wrong))} to be"):
        RankingRules(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], "at least one metric"),
        ("ndcg@10", "a list of metrics"),
        (["span_recall"], "ranking metrics, got span_recall"),
        (["ndgc@10", "mpa"], "ndgc.*\n.*mpa"),
    ],
)
def test_metrics_that_cannot_be_computed_here_are_refused(metrics: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate_ranking({"q": ["a"]}, {"q": ["a"]}, metrics)
