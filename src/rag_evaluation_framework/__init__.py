"""Know how good a retrieval-augmented assistant is, where it fails, and whether a change helped.

Every public name is importable from here and loads when it is first touched, so that importing the package
costs next to nothing. ``__init__.pyi`` tells type checkers the same names; a test keeps the two equal.
"""

from importlib import import_module

from rag_evaluation_framework.version import __version__ as __version__

_HOMES = {
    "adapters.chroma_store": ("ChromaVectorStore",),
    "adapters.cohere": ("CohereReranker",),
    "adapters.http_agent": ("HttpAgent",),
    "adapters.openai": ("OpenAIEmbedder",),
    "datasets.catalogue": ("EvaluationDatasetLoader",),
    "datasets.schemas": ("DataFormatValidator",),
    "datasets.conversion": ("convert",),
    "datasets.quality": ("DataQualityChecker",),
    "datasets.recognition": ("read_dataset",),
    "datasets.validation": ("validate_file",),
    "datasets.value_files": ("DataCompressor", "read_results", "write_results"),
    "errors": ("InputError", "Issue", "RagEvalError", "UsageError"),
    "evaluation.citation_evaluator": ("CitationEvaluator",),
    "evaluation.evaluate": ("evaluate", "evaluate_async"),
    "evaluation.judged_pairs": ("compare",),
    "evaluation.retrieval_evaluation": ("ChunkLevelEvaluation", "EvaluationResult", "TokenLevelEvaluation"),
    "extensions": ("Chunker", "Embedder", "PositionAwareChunker", "Reranker", "VectorStore"),
    "judging.judge": ("Judge",),
    "metrics.citations": ("evaluate_citation_spans",),
    "metrics.declaration": ("metric",),
    "metrics.ranking": ("evaluate_ranking",),
    "metrics.spans": (
        "ChunkF1",
        "ChunkLevelMetric",
        "ChunkPrecision",
        "ChunkRecall",
        "SpanIoU",
        "SpanPrecision",
        "SpanRecall",
        "TokenLevelMetric",
    ),
    "records.chunks": (
        "Chunk",
        "ChunkRegistry",
        "PositionAwareChunk",
        "generate_chunk_id",
        "generate_pa_chunk_id",
    ),
    "records.citations": ("ContextCitation", "SpanCitation"),
    "records.documents": (
        "CharacterSpan",
        "ChunkId",
        "Corpus",
        "Document",
        "DocumentId",
        "EvaluationType",
        "PositionAwareChunkId",
        "QueryId",
        "QueryText",
    ),
    "records.responses": ("Hit", "Request", "Response"),
    "records.runs": ("Options",),
    "records.samples": (
        "ChunkLevelDatasetExample",
        "ChunkLevelGroundTruth",
        "ChunkLevelRunOutput",
        "Dataset",
        "Entities",
        "Milestones",
        "Query",
        "Refusal",
        "Relation",
        "Sample",
        "TokenLevelDatasetExample",
        "TokenLevelGroundTruth",
        "TokenLevelRunOutput",
        "Turn",
        "Usage",
    ),
    "records.scores": ("Score",),
    "results.calibration": ("calibrate",),
    "results.comparison": ("Comparison",),
    "results.evaluations": ("Evaluation",),
    "results.gate": ("Gate",),
    "results.results_document": ("EvaluationResultsStorage", "save"),
    "results.stored_runs": ("load",),
    "results.verdicts": ("Threshold", "Verdict"),
    "retrieval.chunkers": ("FixedTokenChunker", "RecursiveCharacterChunker", "SemanticChunker"),
    "retrieval.positions": ("ChunkerPositionAdapter",),
    "synthesis.generators": ("ChunkLevelDataGenerator", "SyntheticDataGenerator", "TokenLevelDataGenerator"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
