"""From a corpus to an experiment by one name: the whole way, with LangSmith and without a key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langsmith_server import LangSmithServer, signed_in

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.retrieval_evaluation import (
    ChunkLevelEvaluation,
    TokenLevelEvaluation,
)
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.chunkers import RecursiveCharacterChunker, SentenceChunker
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.synthesis.generators import ChunkLevelDataGenerator, TokenLevelDataGenerator

PASSAGES = {
    "Harbour ferries depart at noon and again at dusk every working day.": "When do ferries depart?",
    "Library cards are renewed each spring at the counter downstairs.": "Where are library cards renewed?",
    "Kettles must be descaled monthly with vinegar by the last person leaving.": "How are kettles descaled?",
}
CHUNK = re.compile(r"chunk_[0-9a-f]{12}")
PARTS: dict[str, Any] = {"embedder": HashingEmbedder(), "k": 1, "vector_store": ExactVectorStore()}


class Writer:
    """A language model that asks what it was told to ask about each passage it sees."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        seen = [(passage, question) for passage, question in PASSAGES.items() if passage in prompt]
        chunks = CHUNK.findall(prompt)
        questions = [
            {
                "question": question,
                **({"chunk_ids": chunks[:1]} if chunks else {"excerpts": [passage]}),
                "answer": passage,
                "kind": "factual",
                "difficulty": "easy",
            }
            for passage, question in seen
        ]
        return json.dumps({"questions": questions})


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    for number, passage in enumerate(PASSAGES):
        path = tmp_path / "documents" / f"{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{passage}\n", encoding="utf-8")
    return Corpus.from_folder(tmp_path / "documents")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LangSmithServer]:
    pytest.importorskip("langsmith", reason="the extra 'langsmith' is not installed")
    with signed_in(monkeypatch, tmp_path) as running:
        yield running


def test_chunkers_are_compared_on_a_generated_dataset_at_langsmith(
    server: LangSmithServer, corpus: Corpus
) -> None:
    generator = TokenLevelDataGenerator(Writer(), corpus)
    truth = generator.generate(queries_per_doc=1, upload_to_langsmith=True, dataset_name="handbook")
    assert len(truth) == 3
    evaluation = TokenLevelEvaluation(corpus=corpus, langsmith_dataset_name="handbook")
    urls = set()
    for chunker in (RecursiveCharacterChunker(chunk_size=200), SentenceChunker(chunk_size=100)):
        result = evaluation.run(chunker=chunker, **PARTS)
        assert result.metrics["span_recall"] == 1.0
        assert sorted(result.per_query) == sorted(each.query.id for each in truth)
        urls.add(result.experiment_url)
    assert None not in urls
    assert len(urls) == len(server.projects) == 2
    assert len(server.runs) == 6
    # Nothing was left behind on the disk, and doing it again adds nothing.
    assert not Path("langsmith").exists()
    again = TokenLevelDataGenerator(Writer(), corpus)
    again.generate(queries_per_doc=1, upload_to_langsmith=True, dataset_name="handbook")
    assert again.delivered is not None
    assert again.delivered.upload is not None
    assert (again.delivered.upload.added, again.delivered.upload.unchanged) == (0, 3)


def test_the_same_chunker_evaluates_generated_chunk_ids_and_another_is_refused(
    server: LangSmithServer, corpus: Corpus
) -> None:
    chunker = RecursiveCharacterChunker(chunk_size=200)
    generator = ChunkLevelDataGenerator(Writer(), corpus, chunker)
    generator.generate(queries_per_doc=1, upload_to_langsmith=True, dataset_name="handbook")
    evaluation = ChunkLevelEvaluation(corpus=corpus, langsmith_dataset_name="handbook")
    result = evaluation.run(chunker=chunker, **PARTS)
    assert result.metrics["chunk_recall"] == 1.0
    assert result.experiment_url is not None
    with pytest.raises(UsageError, match="the chunk ids were made with another chunker"):
        evaluation.run(chunker=SentenceChunker(chunk_size=40), **PARTS)


def test_without_a_key_the_same_name_leads_to_the_local_folder(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    writer = Writer()
    generator = TokenLevelDataGenerator(writer, corpus)
    with pytest.raises(UsageError, match="expected an API key in LANGSMITH_API_KEY, got none"):
        generator.generate(queries_per_doc=1, dataset_name="handbook")
    assert not writer.prompts
    generator.generate(queries_per_doc=1, upload_to_langsmith=False, dataset_name="handbook")
    evaluation = TokenLevelEvaluation(corpus=corpus, langsmith_dataset_name="handbook")
    result = evaluation.run(chunker=RecursiveCharacterChunker(chunk_size=200), **PARTS)
    assert result.metrics["span_recall"] == 1.0
    assert result.experiment_url is None


def test_a_key_that_is_refused_costs_no_request_to_the_model(
    server: LangSmithServer, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2-wrong-0123456789")
    writer = Writer()
    with pytest.raises(UsageError, match="expected a key that it accepts in LANGSMITH_API_KEY"):
        TokenLevelDataGenerator(writer, corpus).generate(queries_per_doc=1)
    assert not writer.prompts
