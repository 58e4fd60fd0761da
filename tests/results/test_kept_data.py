"""A run needs nothing but its folder: samples, documents and the verdict are kept there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_evaluation_framework import Evaluation, evaluate, load
from rag_evaluation_framework.components import chunker_from, retriever_from
from rag_evaluation_framework.evaluation.grid_runs import evaluate_over
from rag_evaluation_framework.records.citations import ContextCitation, SpanCitation, TokenSpanCitation
from rag_evaluation_framework.records.documents import Corpus, Document, DocumentId
from rag_evaluation_framework.records.samples import (
    Dataset,
    Entities,
    Milestones,
    Origin,
    Recorded,
    Refusal,
    Relation,
    Sample,
    Turn,
    Usage,
)
from rag_evaluation_framework.results import run_data
from rag_evaluation_framework.results.run_data import (
    SAMPLES_FILE,
    HeldSamples,
    keep_documents,
    keep_samples,
    read_documents,
    read_samples,
)
from rag_evaluation_framework.retrieval.sweep import Grid

QUESTION = (Turn(role="user", content="登塔多少钱？"),)
SAMPLES = (
    Sample(id="plain", turns=QUESTION),
    Sample(
        id="full",
        turns=(
            Turn(role="user", content="one?", extra={"a": [1]}),
            Turn(role="assistant", reference="two", needs=("previous_turn_resolution",)),
            Turn(role="user", content="three?"),
            Turn(role="assistant", expectation=Refusal(reason="unsafe")),
        ),
        reference="a",
        references=("b",),
        recorded=Recorded(
            contexts=("text", "text"),
            sources=("x.md", "y.md"),
            retrieved=({"id": "x", "score": 0.5},),
            citations=(ContextCitation(1), TokenSpanCitation("x.md", 0, 2, "words")),
            answer="an answer",
            usage=Usage(input_tokens=3, cost_usd=0.5),
            latency_ms=12.5,
        ),
        reference_contexts=("text",),
        relevant_documents={"x.md": 2},
        relevant_spans=(SpanCitation("x.md", 0, 4, page=1, text="text", extra={"k": "v"}),),
        relevant_chunk_ids=("chunk_1",),
        category="c",
        difficulty="easy",
        query_type="factual",
        tags=("t", "u"),
        metadata={"m": None},
        extra={"e": {"f": 1}},
        origin=Origin("agentspec", "a.jsonl", 3),
    ),
    *(
        Sample(id=type(each).__name__, turns=QUESTION, expectation=each)
        for each in (
            Refusal(),
            Entities(names=("甲", "乙")),
            Relation(subject="a", relation="b", object="c"),
            Milestones(steps=("a", "b"), hops=2),
        )
    ),
)


def test_samples_come_back_as_they_were(tmp_path: Path) -> None:
    keep_samples(SAMPLES, tmp_path)
    assert tuple(read_samples(tmp_path / SAMPLES_FILE)) == SAMPLES


def test_each_text_of_a_document_is_kept_once_and_those_beyond_the_most_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_data, "MOST_CHARACTERS", 40)
    monkeypatch.setattr(run_data, "WHOLE_CHARACTERS", 0)
    same = "the same text"
    texts = {"a.md": same, "b.md": same, "c.md": "x" * 41, "d.md": "y", "e.md": "unnamed"}
    documents = [Document(DocumentId(name), text) for name, text in texts.items()]
    keep_documents(documents, ["d.md", "a.md", "b", "c.md", "not there"], tmp_path)
    kept = read_documents(tmp_path)
    assert {each.id: each.content for each in kept.documents} == {"d.md": "y", "a.md": same, "b.md": same}
    assert kept.find("a") == documents[0]
    assert kept.find("e.md") is None
    assert list(kept.not_kept) == ["c.md"]
    assert "this document has 41" in kept.not_kept["c.md"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_is_loaded_without_its_dataset_as_it_was_returned(folder: Path) -> None:
    data = folder / "data.jsonl"
    rows = [{"input": "one?", "expected": "yes"}, {"input": "two?", "expected": "no", "tags": ["t"]}]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    gate = {"string_match": 0.9}
    result = evaluate(data, target=lambda question: "yes", metrics=["string_match"], gate=gate)
    rendered, rows_then = result.render(), list(result.rows)
    data.unlink()
    loaded = load(result.head.run_id)
    assert isinstance(loaded, Evaluation)
    assert loaded.verdict == result.verdict
    assert (loaded.kind, loaded.render()) == (result.kind, rendered)
    assert list(loaded.rows) == rows_then
    written = load(result.folder / "results.json") if result.folder else None
    assert isinstance(written, Evaluation)
    assert [row.question for row in written.rows] == ["one?", "two?"]
    assert "the run has no documents" in str(written.to_dict()["metadata"]["documents"])


def test_a_small_corpus_is_kept_with_the_run(folder: Path) -> None:
    documents = folder / "documents"
    documents.mkdir()
    for name in ("fox", "whale", "owl"):
        (documents / f"{name}.md").write_text(f"The {name} is an animal.", encoding="utf-8")
    row = {
        "user_input": "What is a fox?",
        "response": "An animal [fox.md:1:0-10].",
        "retrieved_contexts": ["The fox is an animal."],
    }
    result = evaluate(
        [row], metrics=["citation_validity"], documents=documents, runs_directory=folder / "runs"
    )
    assert [each.id for each in result.documents.documents] == ["fox.md", "owl.md", "whale.md"]


def test_a_sweep_is_loaded_from_its_folder(folder: Path) -> None:
    texts = {"a.md": "Foxes are red. Owls are grey.", "b.md": "x"}
    corpus = Corpus(tuple(Document(DocumentId(name), text) for name, text in texts.items()))
    sample = Sample(
        id="q", turns=(Turn(role="user", content="red?"),), relevant_spans=(SpanCitation("a.md", 0, 14),)
    )
    chunkers = [chunker_from(each) for each in ("sentence", "recursive(chunk_size=20)")]
    grid = Grid(chunkers=chunkers, retrievers=(retriever_from("bm25"),), ks=(1,))
    swept = evaluate_over(
        Dataset(samples=(sample,), dialect=""), grid, documents=corpus, runs_directory=folder / "runs"
    )
    assert swept.folder is not None
    loaded = load(swept.folder)
    assert isinstance(loaded, Evaluation)
    assert loaded.render() == swept.render()
    assert [row.sample for row in loaded.rows] == [sample, sample]
    assert [each.id for each in loaded.documents.documents] == ["a.md", "b.md"]


@pytest.mark.parametrize(("count", "readings"), [(16_384, 1), (16_385, 3)])
def test_the_samples_of_a_small_file_alone_are_held(tmp_path: Path, count: int, readings: int) -> None:
    path, begun = tmp_path / "rows.jsonl", []
    path.write_text("", encoding="utf-8")

    def stream() -> Iterator[Sample]:
        begun.append(1)
        return iter([SAMPLES[0]] * count)

    held = HeldSamples(stream, path)
    next(held())  # a reading that is not finished says nothing of the rest
    begun.clear()
    assert [len(list(held())) for _ in range(3)] == [count] * 3
    assert len(begun) == readings
