"""Seed 002 from top to bottom: retrieval at chunk level and token level; the services are servers of ours."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from embedding_server import EmbeddingServer
from following import chapter, write
from langsmith_server import KEY, running_langsmith
from openai import OpenAI
from serving import QuietHandler, serving

from cases import FERRIES
from rag_evaluation_framework import (
    CharacterSpan,
    Chunk,
    Chunker,
    ChunkerPositionAdapter,
    ChunkF1,
    ChunkId,
    ChunkLevelDataGenerator,
    ChunkLevelEvaluation,
    ChunkPrecision,
    ChunkRecall,
    ChunkRegistry,
    Corpus,
    Document,
    DocumentId,
    FixedTokenChunker,
    OpenAIEmbedder,
    PositionAwareChunk,
    Query,
    QueryId,
    QueryText,
    RecursiveCharacterChunker,
    SemanticChunker,
    SpanIoU,
    SpanPrecision,
    SpanRecall,
    TokenLevelDataGenerator,
    TokenLevelEvaluation,
    UsageError,
    generate_chunk_id,
    generate_pa_chunk_id,
    read_dataset,
)

QUOTED = "Dogs pay 2 pounds for each crossing in summer."


class Models(QuietHandler):
    """Embeds as one model does, and asks about the ferries as another would."""

    def do_POST(self) -> None:
        asked = json.loads(self.sent())
        if self.path.endswith("/embeddings"):
            self.reply(200, EmbeddingServer().reply(asked))
            return
        ids = [part.partition(">>")[0] for part in json.dumps(asked).split(" chunk_")[1:]]
        if ids:
            text = f"Q: What do dogs pay?\nChunks: chunk_{ids[0]}"
        else:
            questions = [{"question": "What do dogs pay?", "answer": "2 pounds", "excerpts": [QUOTED]}]
            text = json.dumps({"questions": questions})
        self.reply(200, {"choices": [{"message": {"role": "assistant", "content": text}}]})


chapter("Core types")
document = Document(id=DocumentId("doc1"), content="Hello, World!")
span = CharacterSpan("doc1", 0, 5)
print(span, span.length(), repr(document.content[span.start : span.end]))
print(span.overlaps(CharacterSpan("doc1", 4, 9)), span.overlap_chars(CharacterSpan("doc1", 3, 9)))
print(Query(QueryId("query_f47ac10b"), QueryText("What are the benefits of RAG?")).text)
print(Chunk(id=ChunkId("chunk_a3f2b1c8d9e0"), content="text", doc_id=DocumentId("doc1")))

chapter("Chunk registry")
registry = ChunkRegistry()
identifier = generate_pa_chunk_id("Hello")
registry.register_pa_chunk(PositionAwareChunk(identifier, "Hello", DocumentId("doc1"), 0, 5))
print(identifier, registry.get_pa_chunk(identifier), registry.get_span(identifier))

chapter("Chunker interfaces")


class Words(Chunker):
    """A chunker that knows no positions, and changes one word."""

    def chunk(self, text: str) -> list[str]:
        return [word.replace("World!", "Earth!") for word in text.split()]


for chunk in ChunkerPositionAdapter(Words()).chunk_with_positions(document):
    print(chunk.content, chunk.start, chunk.end)
print(generate_chunk_id("Hello, World!"))

chapter("Metrics")
retrieved: Sequence[ChunkId] = [ChunkId("chunk_a"), ChunkId("chunk_b")]
relevant: Sequence[ChunkId] = [ChunkId("chunk_a"), ChunkId("chunk_c")]
for at_chunks in (ChunkRecall(), ChunkPrecision(), ChunkF1()):
    print(type(at_chunks).__name__, at_chunks.calculate(list(retrieved), list(relevant)))
found = [CharacterSpan("doc1", 0, 100), CharacterSpan("doc1", 50, 150)]
for at_spans in (SpanRecall(), SpanPrecision(), SpanIoU()):
    print(type(at_spans).__name__, at_spans.calculate(found, [CharacterSpan("doc1", 60, 90)]))

chapter("LangSmith dataset schemas")
example = {
    "inputs": {"query": "What are the benefits of RAG?"},
    "outputs": {
        "relevant_chunk_ids": ["chunk_a3f2b1c8d9e0", "chunk_7d9e4f2a1b3c", "chunk_1b3c5d7e9f0a"],
        "metadata": {"source_docs": ["rag_overview.md"], "generation_model": "gpt-4"},
    },
}
write("chunk-level.jsonl", [example])
(sample,) = read_dataset("chunk-level.jsonl").samples
print(sample.question, sample.relevant_chunk_ids)

with serving(Models) as url, running_langsmith() as langsmith:
    os.environ |= {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "a-key"}
    os.environ |= {"LANGSMITH_ENDPOINT": langsmith.url, "LANGSMITH_API_KEY": KEY}
    write("knowledge_base/ferries.md", FERRIES)

    chapter("Token-Level (Recommended for Chunker Comparison)")
    # 1. Load corpus
    corpus = Corpus.from_folder("./knowledge_base")
    # 2. Generate synthetic data (one-time)
    # Note: NO chunker required - ground truth is chunker-independent!
    token_generator = TokenLevelDataGenerator(llm_client=OpenAI(), corpus=corpus)
    token_generator.generate(
        queries_per_doc=10, upload_to_langsmith=True, dataset_name="my-rag-eval-token-level"
    )
    # 3. Run evaluation with different chunkers
    token_level = TokenLevelEvaluation(corpus=corpus, langsmith_dataset_name="my-rag-eval-token-level")
    chunkers_to_test = [
        RecursiveCharacterChunker(chunk_size=200, overlap=0),
        RecursiveCharacterChunker(chunk_size=200, overlap=50),
        RecursiveCharacterChunker(chunk_size=500, overlap=0),
        FixedTokenChunker(tokens=100),
        SemanticChunker(embedder=OpenAIEmbedder()),
    ]
    for chunker in chunkers_to_test:
        result = token_level.run(chunker=chunker, embedder=OpenAIEmbedder(), k=5)
        print(f"{chunker}: Recall={result.metrics['span_recall']:.3f}")
    print(list(result.metrics), bool(result.experiment_url))

    chapter("Chunk-Level (Simpler, but Chunker-Dependent Ground Truth)")
    # 2. Choose chunker (this is fixed for this evaluation)
    fixed = RecursiveCharacterChunker(chunk_size=200)
    # 3. Generate synthetic data with this chunker
    # LLM generates queries AND identifies relevant chunk IDs together
    chunk_generator = ChunkLevelDataGenerator(llm_client=OpenAI(), corpus=corpus, chunker=fixed)
    chunk_generator.generate(
        queries_per_doc=10, upload_to_langsmith=True, dataset_name="my-rag-eval-chunk-level"
    )
    # 4. Run evaluation (must use same chunker!)
    chunk_level = ChunkLevelEvaluation(corpus=corpus, langsmith_dataset_name="my-rag-eval-chunk-level")
    print(dict(chunk_level.run(chunker=fixed, embedder=OpenAIEmbedder(), k=5).metrics))
    try:
        chunk_level.run(chunker=RecursiveCharacterChunker(chunk_size=300), embedder=OpenAIEmbedder())
    except UsageError as error:
        print("UsageError:", error)
    print({name: len(examples) for name, examples in langsmith.datasets.items()})
