"""A sweep over the handbook: ranked, tested against the best, the same bytes each time, written and read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import (
    Corpus,
    Evaluation,
    Options,
    TokenLevelEvaluation,
    UsageError,
    evaluate,
    validate_file,
)
from rag_evaluation_framework.components import chunker_from
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.evaluation.grid_runs import write_sweep
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.results_document import compare_documents
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.retrieval.sweep import grid_of
from rag_evaluation_framework.statistics.paired import holm

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
QUESTIONS = HANDBOOK / "questions.eval.json"
CHUNKERS = ("recursive(chunk_size=200, overlap=50)", "recursive(chunk_size=500)", "fixed(tokens=100)")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.from_folder(HANDBOOK / "documents")


def swept(
    corpus: Corpus, *, seed: int = 0, rank_by: str | None = None, workers: int = 1, **parts: Any
) -> Evaluation:
    level = parts.pop("level", None)
    grid = grid_of(
        **{
            "chunkers": CHUNKERS,
            "vector_stores": ["exact"],
            "rerankers": [None, "lexical"],
            "k": (3, 5),
            **parts,
        }
    )
    return evaluate(
        QUESTIONS,
        target=grid,
        documents=corpus,
        metrics=None if rank_by is None else [rank_by],
        seed=seed,
        options=Options(level=level, resamples=1000, workers=workers),
    )


def k_of(cell: Evaluation) -> int:
    k: int = cell.head.configuration["k"]
    return k


def comparisons(sweep: Evaluation) -> tuple[MetricComparison, ...]:
    assert sweep.comparison is not None
    return sweep.comparison.metrics


@pytest.fixture(scope="module")
def results(corpus: Corpus) -> Evaluation:
    return swept(corpus)


def test_cells_stand_by_k_and_then_the_best_first_each_with_an_interval(results: Evaluation) -> None:
    assert [k_of(each) for each in results.parts.values()] == [3] * 6 + [5] * 6
    for k in (3, 5):
        values = [each.metrics["span_recall"].value for each in results.parts.values() if k_of(each) == k]
        assert values == sorted(values, reverse=True)  # type: ignore[type-var]
    for each in results.parts.values():
        for metric in each.metrics.values():
            assert metric.interval is not None
            assert metric.value is not None
            assert metric.interval.low <= metric.value <= metric.interval.high
            assert (metric.n_scored, metric.n_skipped, metric.n_failed) == (168, 0, 0)


def test_a_cell_has_the_figures_of_its_evaluation_alone(corpus: Corpus, results: Evaluation) -> None:
    evaluation = TokenLevelEvaluation(corpus, QUESTIONS)
    alone = evaluation.run(chunker_from(CHUNKERS[1]), HashingEmbedder(), 5, ExactVectorStore())
    name = alone.raw_results.head.target
    found = {each.metric: each.value for each in results.parts[name].metrics.values()}
    assert {metric: found[metric] for metric in alone.metrics} == dict(alone.metrics)


def test_each_cell_is_tested_against_the_best_of_its_k_with_one_correction(results: Evaluation) -> None:
    best = {k: next(name for name, each in results.parts.items() if k_of(each) == k) for k in (3, 5)}
    assert len(comparisons(results)) == 10
    for each in comparisons(results):
        assert each.baseline == best[int(each.contender[-1])]
        assert each.difference <= 0
        assert each.n == 168
    p_values = [each.p_value for each in comparisons(results) if each.p_value is not None]
    assert [each.p_adjusted for each in comparisons(results)] == holm(p_values)


def test_the_text_ranks_shows_intervals_and_says_which_differences_are_significant(
    results: Evaluation,
) -> None:
    text = results.render(details=True)
    worse = sum(each.verdict == "worse" for each in comparisons(results))
    assert len(re.findall(r" worse$", text, re.MULTILINE)) == worse
    assert text.count("  highest\n") == 2
    assert "dense(embedder=hashing(dimensions=1024), store=exact)" in text
    assert "Recommended for k = 3: " in text
    assert text.count("95% CI") == 2
    assert "Holm's correction for 10 comparisons;" in text


def documents(results: Evaluation, folder: Path) -> dict[str, Any]:
    """Write a sweep and return every document in it, without what each run took."""
    read = {path.name: json.loads(path.read_bytes()) for path in write_sweep(results, folder)}
    for name, document in read.items():
        if name == "sweep.json":
            for cell in document["cells"]:
                del cell["performance"]
        else:
            del document["performance_metrics"], document["timestamp"]
            del document["metadata"]["evaluation_environment"]  # how busy the machine was
    return read


def test_same_seed_same_bytes_whatever_the_number_of_workers(corpus: Corpus, tmp_path: Path) -> None:
    grid: dict[str, Any] = {"chunkers": CHUNKERS[1:], "k": 5}
    once = documents(swept(corpus, **grid), tmp_path / "1")
    for workers in (2, 4):
        assert documents(swept(corpus, workers=workers, **grid), tmp_path / str(workers)) == once
    other = documents(swept(corpus, seed=1, **grid), tmp_path / "seed")
    assert other["sweep.json"]["cells"] != once["sweep.json"]["cells"]


def test_results_are_valid_and_compare_query_by_query(results: Evaluation, tmp_path: Path) -> None:
    paths = [path for path in write_sweep(results, tmp_path) if path.name != "sweep.json"]
    assert len(paths) == 12
    for path in paths:
        assert list(validate_file(path)) == []
    first, second = (json.loads(path.read_bytes()) for path in paths[:2])
    assert first["query_results"][0]["query_text"].startswith("On which weekday")
    assert first["query_results"][0]["retrieval_results"]["retrieved_spans"][0].keys() == {
        "chunk_id",
        "document_id",
        "start_char",
        "end_char",
    }
    assert first["performance_metrics"]["index"]["chunks"] > 0
    assert first["performance_metrics"]["stage_seconds"].keys() == {
        "chunk",
        "embed",
        "index",
        "search",
        "rerank",
    }
    compared = compare_documents({"first": first, "second": second})
    assert {test["metric"] for test in compared["paired_tests"]} >= {"span_recall", "span_iou"}


def test_cells_may_be_ranked_by_another_metric(corpus: Corpus) -> None:
    ranked = swept(corpus, rank_by="span_iou", rerankers=[None], k=5)
    values = [each.metrics["span_iou"].value for each in ranked.parts.values()]
    assert values == sorted(values, reverse=True)  # type: ignore[type-var]
    assert {each.metric for each in comparisons(ranked)} == {"span_iou"}


def test_lexical_and_fused_retrievers_are_cells_beside_the_dense_one(corpus: Corpus) -> None:
    ranked = swept(
        corpus, retrievers=["dense", "bm25", "fused"], chunkers=CHUNKERS[1:2], rerankers=[None], k=5
    )
    kinds = {each.head.configuration["retriever"].partition("(")[0] for each in ranked.parts.values()}
    assert kinds == {"dense", "bm25", "fused"}


def written_beir(folder: Path) -> Path:
    corpus = [{"_id": f"d{n}", "title": "", "text": text} for n, text in enumerate(["red fox", "blue whale"])]
    queries = [
        {"_id": "q1", "text": "fox"},
        {"_id": "q2", "text": "whale"},
        {"_id": "q3", "text": "unjudged"},
    ]
    (folder / "qrels").mkdir(parents=True)
    for name, records in (("corpus.jsonl", corpus), ("queries.jsonl", queries)):
        (folder / name).write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore", "q1\td0\t1", "q2\td1\t1"]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_beir_folder_is_evaluated_at_document_level_without_its_unjudged_queries(tmp_path: Path) -> None:
    from rag_evaluation_framework import read_dataset

    dataset = read_dataset(written_beir(tmp_path / "beir"))
    ranked = evaluate(dataset, target=grid_of(chunkers=["recursive"], vector_stores=["exact"], k=1))
    assert ranked.head.configuration["level"] == "document"
    recall = next(iter(ranked.parts.values())).metrics["recall"]
    assert (recall.value, recall.n_scored, recall.n_skipped) == (1.0, 2, 1)
    assert comparisons(ranked) == ()
    assert "1 question is not scored" in str(ranked)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"level": "words"}, UnknownNameError, 'unknown level "words"'),
        ({"rank_by": "ndcg"}, UnknownNameError, 'unknown metric at token level "ndcg"'),
        ({"level": "chunk"}, UsageError, "168 samples without relevant chunk ids"),
        ({"k": 0}, UsageError, "k: expected a whole number of at least 1, got 0"),
        ({"embedders": ["nothing"]}, UnknownNameError, "unknown embedder"),
    ],
)
def test_wrong_settings_are_one_clear_message_each(
    corpus: Corpus, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        swept(corpus, **options)


class WrongSize:
    """An embedder whose vectors are longer for queries than for chunks."""

    def embed(self, texts: Sequence[str]) -> Any:
        return [[1.0] * (2 if len(texts) == 168 else 3) for _ in texts]


class NotFinite:
    def embed(self, texts: Sequence[str]) -> Any:
        return [[float("nan")] * 3 for _ in texts]


@pytest.mark.parametrize(
    ("embedder", "message"),
    [
        (WrongSize(), "expected vectors of 3 numbers, got 2"),
        (NotFinite(), "expected a finite number, got nan"),
    ],
)
def test_an_embedder_that_returns_nonsense_is_one_clear_message(
    corpus: Corpus, embedder: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        swept(corpus, embedders=[embedder])


class PricedEmbedder(HashingEmbedder):
    """Reads a token for each character, at two cents a million."""

    price = 0.02
    tokens_used = 0

    @property
    def characters_used(self) -> int:
        return self.tokens_used

    def embed(self, texts: Sequence[str]) -> Any:
        self.tokens_used += sum(map(len, texts))
        return super().embed(texts)


def test_costs_stand_in_the_table_and_the_files_where_they_are_known(
    corpus: Corpus, results: Evaluation, tmp_path: Path
) -> None:
    embedder = PricedEmbedder()
    priced = swept(corpus, embedders=[embedder], chunkers=CHUNKERS[1:], k=5)
    in_all = embedder.tokens_used * 0.02 / 1e6
    assert priced.performance.figures["spent_usd"] == pytest.approx(in_all)
    text = str(priced)
    assert re.search(r"chars +cost +result", text)
    assert f"with nothing shared or cached; ${in_all:.2g} spent in total" in text
    written = priced.to_dict()
    assert written["spent_usd"] == pytest.approx(in_all)
    costs = [cell["performance"]["cost_usd"] for cell in written["cells"]]
    assert all(0 <= cost["spent"] <= cost["alone"] * (1 + 1e-9) for cost in costs)
    path = next(path for path in write_sweep(priced, tmp_path) if path.name != "sweep.json")
    assert json.loads(path.read_text())["performance_metrics"]["cost_usd"] in costs
    assert list(validate_file(path)) == []
    # Where nothing has a price there is no cost, not one of 0.
    assert "spent_usd" not in results.performance.figures
    assert "cost" not in str(results)
    assert "cost_usd" not in results.to_dict()["cells"][0]["performance"]
    assert "spent_usd" not in results.to_dict()
