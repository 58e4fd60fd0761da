"""Ranking metrics: figures that can be followed by hand, the rules around them, and what the report says."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from cases import tables_beside
from rag_evaluation_framework import UsageError, evaluate_ranking
from rag_evaluation_framework.metrics.declaration import all_metrics, parse_metric
from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.metrics.ranking import ranking_totals

TABLES = tables_beside(__file__)

RANKING = [metric for metric in all_metrics() if metric.family == "ranking"]

# Rank:      1 (unjudged)  2 (grade 2)  3 (grade 0)  4 (grade 1)  5 (grade -1: pooled, not judged)
RANKED = ["u", "a", "n", "b", "p"]
# Three relevant documents (a, b, c), of which c is not retrieved; two judged non-relevant (n, m).
GRADES = {"a": 2, "b": 1, "c": 3, "n": 0, "m": 0, "p": -1}


def value(metric: str, ranked: list[str] = RANKED, grades: dict[str, int] = GRADES) -> float:
    report = evaluate_ranking({"q": grades}, {"q": ranked}, [metric])
    (only,) = report.per_query.values()
    assert only.shape == (1,)
    return float(only[0])


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("hit@1", 0.0),
        ("hit@2", 1.0),
        ("hit", 1.0),
        ("precision@1", 0 / 1),
        ("precision@2", 1 / 2),
        ("precision@10", 2 / 5),  # only 5 were retrieved
        ("precision_strict@10", 2 / 10),
        ("precision_strict", 2 / 5),
        ("recall@2", 1 / 3),
        ("recall@5", 2 / 3),
        ("recall", 2 / 3),
        ("set_f", 2 * 2 / (5 + 3)),
        ("set_map", 2 / 5 * 2 / 3),
        ("set_relative_precision", 2 / 3),  # of five retrieved, three could be relevant
        # gains 0 2 0 1 over the ideal 3 2 1
        ("ndcg@2", (2 / log2(3)) / (3 + 2 / log2(3))),
        ("ndcg@5", (2 / log2(3) + 1 / log2(5)) / (3 + 2 / log2(3) + 1 / log2(4))),
        ("ndcg", (2 / log2(3) + 1 / log2(5)) / (3 + 2 / log2(3) + 1 / log2(4))),
        # gains 0 3 0 1 over the ideal 7 3 1
        ("ndcg(gain=exponential)@5", (3 / log2(3) + 1 / log2(5)) / (7 + 3 / log2(3) + 1 / log2(4))),
        ("mrr", 1 / 2),
        ("mrr@1", 0.0),
        ("mrr@2", 1 / 2),
        ("map", (1 / 2 + 2 / 4) / 3),
        ("map@3", (1 / 2) / 3),  # divides by all three relevant ones, not by what fits
        ("r-precision", 1 / 3),  # one relevant in the first three
        # above a: no judged non-relevant one; above b: n, so 1 - min(1, 3) / min(2, 3)
        ("bpref", (1 + (1 - 1 / 2)) / 3),
        ("rbp", 0.2 * (0.8**1 + 0.8**3)),
        ("rbp(p=0.5)@2", 0.5 * 0.5**1),
        # satisfaction 0, 3/16, 0, 1/16
        ("err", 3 / 16 / 2 + (1 - 3 / 16) * 1 / 16 / 4),
        ("err(max_grade=3)@2", 3 / 8 / 2),
        ("hole@1", 1 / 1),
        ("hole@4", 1 / 4),
        ("hole", 2 / 5),  # u has no judgement, p was pooled but not judged
    ],
)
def test_worked_example(metric: str, expected: float) -> None:
    assert value(metric) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("theirs", "ours"), TABLES["names_of_trec_eval_and_ir_measures_are_understood"])
def test_names_of_trec_eval_and_ir_measures_are_understood(theirs: str, ours: str) -> None:
    assert str(parse_metric(theirs)) == ours


@pytest.mark.parametrize("declared", RANKING, ids=lambda declared: declared.name)
def test_every_metric_is_best_for_the_ideal_ranking_and_worst_when_nothing_is_found(declared) -> None:  # type: ignore[no-untyped-def]
    names = [declared.name] + (
        [f"{declared.name}@{k}" for k in (1, 2, 1000)] if "k" in declared.parameters else []
    )
    for name in names:
        ideal, unfound, nothing = value(name, ["c", "a", "b"]), value(name, ["u", "v"]), value(name, [])
        if declared.higher_is_better:
            assert 0 == nothing == unfound < ideal <= 1
        else:
            assert (ideal, unfound, nothing) == (0, 1, 0)


@pytest.mark.parametrize("cut_offs", [(2, 12, 13), (13, 12, 2)])
def test_every_cut_off_is_looked_down_to_whichever_is_asked_for_first(cut_offs: tuple[int, ...]) -> None:
    ranked = [f"d{rank}" for rank in range(1, 16)]
    report = evaluate_ranking({"q": ["d2", "d13"]}, {"q": ranked}, [f"recall@{k}" for k in cut_offs])
    assert report.mean == {f"recall@{k}": {2: 1 / 2, 12: 1 / 2, 13: 2 / 2}[k] for k in cut_offs}


def test_perfect_rankings_have_an_ndcg_of_exactly_one() -> None:
    grades = {f"d{n:03}": 1 + n % 7 for n in range(200)}
    ranked = sorted(grades, key=lambda document: -grades[document])
    for k in (1, 3, 7, 50, 200, 1000):
        assert value(f"ndcg@{k}", ranked, grades) == 1.0


def test_grades_too_wide_for_a_byte_are_read_whole() -> None:
    # gains 1000 and 70000 in the wrong order, and a grade far below zero that counts as no judgement
    grades = {"a": 1000, "b": 70_000, "c": -70_000}
    expected = (1000 + 70_000 / log2(3)) / (70_000 + 1000 / log2(3))
    assert value("ndcg", ["a", "b", "c"], grades) == pytest.approx(expected, abs=1e-15)
    assert value("hole", ["a", "b", "c"], grades) == 1 / 3


def test_relevance_level_moves_the_line_but_not_the_gains() -> None:
    at_two = RankingRules(relevance_level=2)
    report = evaluate_ranking({"q": GRADES}, {"q": RANKED}, ["map", "ndcg", "bpref"], rules=at_two)
    assert report.mean["map"] == pytest.approx((1 / 2) / 2)  # a at rank 2; c is missing; b no longer counts
    assert report.mean["ndcg"] == pytest.approx(value("ndcg"))
    assert report.mean["bpref"] == pytest.approx(1 / 2)  # nothing judged non-relevant stands above a


@pytest.mark.parametrize(("metric", "message"), TABLES["parameters_that_make_no_sense_are_refused"])
def test_parameters_that_make_no_sense_are_refused(metric: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        value(metric, ["c"])


def test_exponential_gain_of_an_enormous_grade_is_refused_rather_than_infinite() -> None:
    with pytest.raises(UsageError, match="grades up to 1000, got 5000"):
        value("ndcg(gain=exponential)", ["a"], {"a": 5000})


def test_the_highest_grades_that_gains_can_be_made_of_are_read() -> None:
    assert value("ndcg(gain=exponential)", ["b", "a"], {"a": 1000, "b": 0}) == pytest.approx(1 / log2(3))
    assert value("err(max_grade=3)", ["c"]) == 7 / 8
    # 1 / 2 ** 4 at the top, and the second satisfies whom the first did not: 1/16 + 15/16 * 1/16 / 2.
    assert value("err", ["a", "b"], {"a": 1, "b": 1}) == pytest.approx(1 / 16 + 15 / 16 / 16 / 2)


def test_totals_are_those_of_trec_eval() -> None:
    """Average precisions 1/2 and, counted as the least, 0.00001: their geometric mean is 0.002236."""
    run = {"q": ["x", "a"], "r": ["x", "y"], "unjudged": ["a"]}
    qrels = {"q": {"a": 1, "n": 0}, "r": {"b": 1, "c": 2}, "absent": {"a": 1}}
    totals = ranking_totals(qrels, run, rules=RankingRules.trec_eval())
    assert totals.pop("gm_map") == pytest.approx((0.5 * 0.00001) ** 0.5)
    assert totals == {"num_q": 2, "num_ret": 4, "num_rel": 3, "num_rel_ret": 1}
    assert ranking_totals(qrels, run, rules=RankingRules.trec_eval(), max_depth=1)["num_rel_ret"] == 0
    nothing = ranking_totals({"q": {"a": 0}}, {"q": ["a"]}, rules=RankingRules())
    assert nothing == {"num_q": 0, "num_ret": 0, "num_rel": 0, "num_rel_ret": 0, "gm_map": 0.0}


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
        "unknown": "no judgments for this query",
        "hopeless": "no relevant document among its judgments",
    }
    assert (len(report.query_ids), len(report.skipped)) == (2, 2)


def test_trec_eval_drops_missing_queries_and_scores_hopeless_ones_zero() -> None:
    report = evaluate_ranking(QRELS, RUN, ["recall@1"], rules=TREC)
    assert report.query_ids == ("found", "hopeless")
    assert report.per_query["recall@1"].tolist() == [1, 0]
    assert report.skipped == {"unknown": "no judgments for this query", "absent": "not in the run"}


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
        ([], "metrics is empty"),
        ("ndcg@10", "a list of metrics"),
        (["span_recall"], "ranking metrics, got span_recall"),
        (["ndgc@10", "mpa"], "ndgc.*\n.*mpa"),
    ],
)
def test_metrics_that_cannot_be_computed_here_are_refused(metrics: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate_ranking({"q": ["a"]}, {"q": ["a"]}, metrics)
