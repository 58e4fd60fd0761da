"""Several systems by one call: ranked runs against qrels, and the cells of a grid of pipelines."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from rag_evaluation_framework import Corpus, evaluate
from rag_evaluation_framework.retrieval.sweep import grid_of

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"


def test_run_files_against_qrels_are_systems_compared_with_the_first() -> None:
    runs = {name: HANDBOOK / "ranking" / f"{name}.run" for name in ("bm25", "fused")}
    ranking = evaluate(HANDBOOK / "ranking" / "qrels.trec", target=runs, metrics=["ndcg@10", "mrr"])
    assert (ranking.kind, list(ranking.parts)) == ("systems", ["bm25", "fused"])
    assert list(ranking.parts["bm25"].metrics) == ["ndcg@10", "mrr"]
    assert ranking.comparison is not None
    assert {each.contender for each in ranking.comparison.metrics} == {"fused"}
    scored = ranking.parts["fused"].columns.scored("mrr")
    assert fmean(scored.values()) == pytest.approx(ranking.parts["fused"].metrics["mrr"].value)
    assert "fused" in str(ranking)


def test_a_grid_is_swept_and_goes_on_where_it_was(tmp_path: Path) -> None:
    corpus = Corpus(Corpus.from_folder(HANDBOOK / "documents").documents)
    grid = grid_of(chunkers=["sentence(chunk_size=400)"], retrievers=["bm25"], k=[3, 5])
    questions = HANDBOOK / "questions.eval.json"
    sweep = evaluate(questions, target=grid, documents=corpus, runs_directory=tmp_path)
    assert (sweep.kind, len(sweep.parts), sweep.outcome.completed) == ("systems", 2, True)
    again = evaluate(
        questions, target=grid, documents=corpus, runs_directory=tmp_path, resume=sweep.head.run_id
    )
    assert [part.metrics for part in again.parts.values()] == [part.metrics for part in sweep.parts.values()]
    assert len(list(tmp_path.iterdir())) == 1
    assert sum(1 for _ in next(iter(sweep.parts.values())).rows) == 168
