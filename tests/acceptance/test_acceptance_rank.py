"""``rag-eval rank``: figures by hand and by other tools, comparison, rules, wrong input."""

from __future__ import annotations

import json
from math import log2
from pathlib import Path

import pytest
import pytrec_eval

from acceptance.outside import HANDBOOK, Commands, kept
from acceptance.projects import write_rankings

QRELS = HANDBOOK / "ranking" / "qrels.trec"
RUNS = [HANDBOOK / "ranking" / f"{name}.run" for name in ("bm25", "ngrams", "fused")]
FAST = ("--resamples", "500")


@pytest.fixture
def small(folder: Path) -> tuple[str, str]:
    write_rankings(folder)
    return "qrels.trec", "one.run"


def test_figures_are_those_of_the_arithmetic(rag_eval: Commands, small: tuple[str, str]) -> None:
    qrels, one = small
    wanted = ("ndcg@3", "mrr", "map@10", "recall@1", "hit@1", "precision@2", "r-precision")
    said = rag_eval(
        "rank", qrels, one, "--per-query", "--json", *(part for name in wanted for part in ("-m", name))
    ).ok()
    (system,) = said.json["systems"]
    value = {name: figure["value"] for name, figure in system["metrics"].items()}
    # q1: c b a with grades 0 2 1; q2: a, which is all there is; q3 is not in the run (weight 0.
    ndcg = (2 / log2(3) + 1 / 2) / (2 + 1 / log2(3))
    assert value["ndcg@3"] == pytest.approx((ndcg + 1 + 0) / 3, rel=1e-12)
    assert value["mrr"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert value["map@10"] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1 + 0) / 3)
    assert value["recall@1"] == value["hit@1"] == pytest.approx(1 / 3)
    assert value["precision@2"] == pytest.approx((1 / 2 + 1 + 0) / 3)  # over what was retrieved
    assert value["r-precision"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert system["missing_queries"] == ["q3"]
    assert said.err == ""
    kept("rank-per-query", said.json)


def test_one_run_and_several_with_a_baseline_are_as_before(rag_eval: Commands) -> None:
    kept("rank-one", rag_eval("rank", QRELS, RUNS[0], "--json", *FAST).ok().json)
    three = rag_eval("rank", QRELS, *RUNS, "--baseline", "fused", "--json", "--test", "t", *FAST).ok().json
    assert {comparison["baseline"] for comparison in three["comparisons"]} == {"fused"}
    assert {comparison["contender"] for comparison in three["comparisons"]} == {"bm25", "ngrams"}
    kept("rank-three", three)
    for test in ("randomisation", "wilcoxon"):
        said = rag_eval("rank", QRELS, *RUNS[:2], "-m", "mrr", "--test", test, "--json", *FAST).ok().json
        kept(f"rank-two-{test}", said)


def test_by_the_rules_of_trec_eval_the_figures_are_trec_evals(rag_eval: Commands) -> None:
    names = {"ndcg_cut_10": "ndcg_cut_10", "map": "map", "recip_rank": "recip_rank", "P_5": "P_5"}
    options = [part for name in names for part in ("-m", name)]
    said = rag_eval("rank", QRELS, RUNS[0], "--rules", "trec_eval", "--json", *options, *FAST).ok().json
    value = {name: figure["value"] for name, figure in said["systems"][0]["metrics"].items()}
    with QRELS.open() as file:
        qrels = pytrec_eval.parse_qrel(file)
    with RUNS[0].open() as file:
        run = pytrec_eval.parse_run(file)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
    assert len(value) == len(names)
    for ours, name in zip(value.values(), names, strict=True):
        assert ours == pytest.approx(sum(row[name] for row in theirs.values()) / len(theirs), abs=1e-9), name
    kept("rank-trec-eval", said)


def test_other_formats_give_equal_figures(rag_eval: Commands, folder: Path, small: tuple[str, str]) -> None:
    qrels, one = small
    (folder / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t2\nq1\tc\t0\nq2\ta\t1\nq3\td\t1\n"
    )
    (folder / "run.json").write_text(json.dumps({"q1": {"c": 3, "b": 2, "a": 1}, "q2": {"a": 9}}))
    trec = rag_eval("rank", qrels, one, "--json", *FAST).ok().json["systems"][0]["metrics"]
    other = rag_eval("rank", "test.tsv", "run.json", "--json", *FAST).ok().json["systems"][0]["metrics"]
    assert other == trec
