"""Our ranking metrics against the tools everybody uses: trec_eval, cwl_eval and gdeval.

A case is one query. Nothing here is close: figures agree to 1e-12, or to every digit the other tool prints.
"""

from __future__ import annotations

from fractions import Fraction
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval

from rag_evaluation_framework import Options, evaluate_ranking
from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.results.rankings import evaluate_run_files
from sizes import size

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]

# Our name, trec_eval's request, trec_eval's answer.
TREC_NAMES = [
    ("map", "map", "map"),
    ("ndcg", "ndcg", "ndcg"),
    ("mrr", "recip_rank", "recip_rank"),
    ("r-precision", "Rprec", "Rprec"),
    ("bpref", "bpref", "bpref"),
    ("precision", "set_P", "set_P"),
    ("recall", "set_recall", "set_recall"),
    ("set_f", "set_F", "set_F"),
    ("set_map", "set_map", "set_map"),
    ("set_relative_precision", "set_relative_P", "set_relative_P"),
    *(
        (f"{ours}@{k}", f"{theirs}.{k}", f"{theirs}_{k}")
        for ours, theirs in [
            ("ndcg", "ndcg_cut"),
            ("map", "map_cut"),
            ("precision_strict", "P"),
            ("recall", "recall"),
            ("hit", "success"),
        ]
        for k in (1, 3, 5, 20)
    ),
]


def random_cases(seed: int, queries: int, *, scores: str, grades: tuple[int, int]) -> tuple[Qrels, Run]:
    """Queries with 1 to 16 of 24 documents retrieved and 1 to 12 judged, in any order, some unjudged."""
    generator = np.random.default_rng(seed)
    names = [f"d{n:02}" for n in range(24)]
    qrels, run = {}, {}
    order = generator.permuted(np.tile(np.arange(24), (2 * queries, 1)), axis=1).tolist()
    retrieved = generator.integers(1, 17, size=queries).tolist()
    judged = generator.integers(1, 13, size=queries).tolist()
    drawn = _scores(generator, (queries, 24), scores).tolist()
    given = generator.integers(grades[0], grades[1] + 1, size=(queries, 24)).tolist()
    for n in range(queries):
        run[str(n)] = {names[d]: drawn[n][d] for d in order[2 * n][: retrieved[n]]}
        qrels[str(n)] = {names[d]: given[n][d] for d in order[2 * n + 1][: judged[n]]}
        # pytrec_eval crashes on a query whose grades are all negative.
        first = names[order[2 * n + 1][0]]
        qrels[str(n)][first] = max(qrels[str(n)][first], 0)
    return qrels, run


def _scores(generator: np.random.Generator, shape: tuple[int, int], kind: str) -> Any:
    if kind == "distinct":  # also as 32-bit floats
        return generator.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1) / 8
    if kind == "tied":
        return generator.integers(0, 4, size=shape) / 2
    # Equal as 32-bit floats, all different as 64-bit ones.
    return 1 + generator.integers(0, 3, size=shape) + generator.random(shape) * 1e-9


@pytest.mark.parametrize(
    ("scores", "grades", "level"),
    [
        ("distinct", (0, 1), 1),
        ("distinct", (-2, 3), 1),
        ("distinct", (-2, 3), 2),
        ("tied", (0, 1), 1),
        ("tied", (-2, 3), 1),
        ("tied in 32 bits", (-2, 3), 2),
    ],
)
def test_thousands_of_queries_agree_with_trec_eval(scores: str, grades: tuple[int, int], level: int) -> None:
    qrels, run = random_cases(11, size(5_000, 17_000), scores=scores, grades=grades)
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {request for _, request, _ in TREC_NAMES}, relevance_level=level
    )
    expected = evaluator.evaluate(run)
    rules = [RankingRules.trec_eval(relevance_level=level)]
    if scores == "distinct":  # without ties our own order is the same
        rules.append(RankingRules(no_relevant="zero", relevance_level=level))
    for rule in rules:
        report = evaluate_ranking(qrels, run, [ours for ours, _, _ in TREC_NAMES], rules=rule)
        assert set(report.query_ids) == set(expected)
        for ours, _, theirs in TREC_NAMES:
            oracle = np.array([expected[query][theirs] for query in report.query_ids])
            assert np.abs(report.per_query[ours] - oracle).max() <= 1e-12, ours


def test_cut_off_reciprocal_rank_is_trec_evals_reciprocal_rank_within_the_cut_off() -> None:
    qrels, run = random_cases(5, 3000, scores="tied", grades=(-2, 3))
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    report = evaluate_ranking(qrels, run, ["mrr@3"], rules=RankingRules.trec_eval())
    full = np.array([expected[query]["recip_rank"] for query in report.query_ids])
    assert np.array_equal(report.per_query["mrr@3"], np.where(full >= 1 / 3, full, 0))


def rank(folder: Path, qrels: Any, run: Any, metrics: list[str], options: Options) -> Any:
    judged = [f"{query} 0 {name} {grade}" for query, each in qrels.items() for name, grade in each.items()]
    found = [
        f"{query} Q0 {name} 1 {score!r} t" for query, each in run.items() for name, score in each.items()
    ]
    for name, lines in (("qrels", judged), ("a.run", found)):
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return evaluate_run_files(folder / "qrels", {"a": folder / "a.run"}, metrics, options=options)


@pytest.mark.parametrize("level", [1, 2])
def test_totals_agree_with_trec_eval(level: int, tmp_path: Path) -> None:
    qrels, run = random_cases(11, 500, scores="tied", grades=(-2, 3))
    names = {"num_q", "num_ret", "num_rel", "num_rel_ret", "gm_map"}
    each = pytrec_eval.RelevanceEvaluator(qrels, names, relevance_level=level).evaluate(run)
    expected = {
        name: pytrec_eval.compute_aggregated_measure(name, [query[name] for query in each.values()])
        for name in names
    }
    options = Options(rules="trec_eval", relevance_level=level, totals=True)
    ranking = rank(tmp_path, qrels, run, ["map"], options)
    totals = ranking.to_dict()["systems"][0]["totals"]
    assert totals == pytest.approx(expected, abs=1e-9)


def test_the_first_documents_of_a_query_are_those_that_trec_eval_takes(tmp_path: Path) -> None:
    qrels, run = random_cases(12, 500, scores="tied", grades=(0, 2))
    # What -M keeps: the first by the score as a 32-bit float, then by the larger document id.
    first = {
        query: dict(sorted(scored.items(), key=lambda it: (np.float32(it[1]), it[0]), reverse=True)[:3])
        for query, scored in run.items()
    }
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"map", "set_P"}).evaluate(first)
    options = Options(rules="trec_eval", max_depth=3)
    ranking = rank(tmp_path, qrels, run, ["map", "set_P"], options)
    columns = ranking.parts["a"].columns
    for ours, theirs in (("map", "map"), ("precision", "set_P")):
        oracle = {query: figures[theirs] for query, figures in expected.items()}
        assert columns.scored(ours) == pytest.approx(oracle, abs=1e-12)


def test_queries_are_dropped_and_kept_as_by_trec_eval() -> None:
    qrels = {"both": {"a": 1}, "hopeless": {"a": 0}, "absent": {"a": 1}}
    run = {"both": {"a": 1.0}, "hopeless": {"a": 1.0}, "extra": {"a": 1.0}}
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)
    report = evaluate_ranking(qrels, run, ["map"], rules=RankingRules.trec_eval())
    values = dict(zip(report.query_ids, report.per_query["map"].tolist(), strict=True))
    assert values == {query: each["map"] for query, each in expected.items()}


@pytest.mark.filterwarnings("ignore")
def test_rbp_agrees_with_cwl_eval() -> None:
    import ir_measures

    qrels, run = random_cases(3, 500, scores="distinct", grades=(-2, 3))
    measures = {"rbp": ir_measures.RBP(rel=1), "rbp(p=0.5)": ir_measures.RBP(rel=1, p=0.5)}
    report = evaluate_ranking(qrels, run, measures, rules=RankingRules(no_relevant="zero"))
    for ours, theirs in measures.items():
        oracle = {each.query_id: each.value for each in ir_measures.cwl_eval.iter_calc([theirs], qrels, run)}
        values = np.array([oracle[query] for query in report.query_ids])
        assert np.abs(report.per_query[ours] - values).max() <= 1e-12


def exact_err(grades: list[int]) -> Fraction:
    total, reached = Fraction(0), Fraction(1)
    for rank, grade in enumerate(grades, start=1):
        satisfied = Fraction(2 ** max(grade, 0) - 1, 16)
        total += reached * satisfied / rank
        reached *= 1 - satisfied
    return total


def exponential_dcg(grades: list[int]) -> float:
    return sum((2 ** max(grade, 0) - 1) / log2(rank + 1) for rank, grade in enumerate(grades, start=1))


GDEVAL_NAMES = ["err@5", "err@20", "ndcg(gain=exponential)@5", "ndcg(gain=exponential)@20"]


def test_err_and_exponential_ndcg_agree_with_exact_arithmetic() -> None:
    qrels, run = random_cases(2, 4000, scores="distinct", grades=(-2, 4))
    report = evaluate_ranking(qrels, run, GDEVAL_NAMES, rules=RankingRules(no_relevant="zero"))
    for place, query in enumerate(report.query_ids):
        ranked = sorted(run[query], key=lambda document: -run[query][document])
        grades = [qrels[query].get(document, 0) for document in ranked]
        ideal = sorted(qrels[query].values(), reverse=True)
        for k in (5, 20):
            best = exponential_dcg(ideal[:k])
            ndcg = exponential_dcg(grades[:k]) / best if best else 0.0
            assert abs(report.per_query[f"err@{k}"][place] - float(exact_err(grades[:k]))) <= 1e-12
            assert abs(report.per_query[f"ndcg(gain=exponential)@{k}"][place] - ndcg) <= 1e-12


@pytest.mark.vendors("perl")
@pytest.mark.filterwarnings("ignore")
def test_err_and_exponential_ndcg_agree_with_every_digit_that_gdeval_prints() -> None:
    import ir_measures

    qrels, run = random_cases(4, 1500, scores="tied", grades=(-2, 4))
    err, ndcg = ir_measures.ERR, ir_measures.nDCG(dcg="exp-log2")
    measures = dict(zip(GDEVAL_NAMES, (err @ 5, err @ 20, ndcg @ 5, ndcg @ 20), strict=True))
    report = evaluate_ranking(qrels, run, GDEVAL_NAMES, rules=RankingRules.trec_eval())
    values = {
        (ours, query): value
        for ours in GDEVAL_NAMES
        for query, value in zip(report.query_ids, report.per_query[ours].tolist(), strict=True)
    }
    for ours, theirs in measures.items():
        for each in ir_measures.gdeval.iter_calc([theirs], qrels, run):
            assert abs(values[ours, each.query_id] - each.value) <= 0.5e-5 + 1e-9
