"""The package root: what the seeds' samples import and do, in their words, with real servers behind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rag_evaluation_framework as door
from acceptance.outside import DATA, HANDBOOK, kept, read_tables

TABLES = read_tables("acceptance_door")

NAMES = TABLES["names"]
SAMPLE = "sample_eval_v1.0.0"


@pytest.mark.parametrize("name", NAMES.split())
def test_the_name_is_at_the_root(name: str) -> None:
    assert getattr(door, name) is not None
    assert name in door.__all__


class Letters(door.Embedder):
    """Somebody's embedder: how often each letter stands in a text."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [
            [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts
        ]

    @property
    def dimension(self) -> int:
        return 26


class Reversed(door.Reranker):
    def rerank(self, query: str, chunks: list[Any], top_k: int | None = None) -> list[Any]:
        return list(reversed(chunks))[:top_k]


def test_components_of_ones_own_are_evaluated_and_the_figures_are_as_before(folder: Path) -> None:
    corpus = door.Corpus.from_folder(str(HANDBOOK / "documents"))
    evaluation = door.TokenLevelEvaluation(corpus, str(HANDBOOK / "questions.eval.json"))
    plain = evaluation.run(door.RecursiveCharacterChunker(chunk_size=500), Letters(), k=5)
    turned = evaluation.run(
        door.RecursiveCharacterChunker(chunk_size=500),
        Letters(),
        k=5,
        reranker=Reversed(),
        metrics=[door.SpanRecall(), door.SpanIoU()],
    )
    assert set(turned.metrics) == {"span_recall", "span_iou"}
    kept("door-token-level", {"plain": plain.metrics, "turned": turned.metrics})


def test_rankings_and_datasets_are_read_and_scored_by_functions(folder: Path) -> None:
    report = door.evaluate_ranking({"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0}}, ["mrr", "recall@2"])
    assert report.mean["mrr"] == 0.5
    assert report.mean["recall@2"] == 0.5
    dataset = door.read_dataset(DATA / "golden" / "boundary_qa.json")
    assert [type(sample.expectation) for sample in dataset.samples] == [door.Refusal, door.Refusal]
    (sample,) = door.read_dataset(DATA / "golden" / "relationship_qa.json").samples
    assert isinstance(sample.expectation, door.Relation)
    door.convert(DATA / "rag.jsonl", "rag.eval.json", lossy=True)
    assert list(door.validate_file("rag.eval.json")) == []
    (folder / "bad.jsonl").write_text('{"input": "a", "expected": "b"}\n{"input": 7, "expected": "b"}\n')
    (issue,) = door.validate_file("bad.jsonl")
    assert (issue.line, issue.path, issue.severity) == (2, "input", "error")
    with pytest.raises(door.InputError, match=r"bad\.jsonl:2"):
        door.read_dataset("bad.jsonl")
