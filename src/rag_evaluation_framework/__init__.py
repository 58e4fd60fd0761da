"""Know how good a retrieval-augmented assistant is, where it fails, and whether a change helped.

Every public name is importable from here and loads when it is first touched, so that importing the package
costs next to nothing. ``__init__.pyi`` tells type checkers the same names; a test keeps the two equal.
"""

from importlib import import_module

from rag_evaluation_framework.version import __version__ as __version__

_HOMES = {
    "adapters.chonkie_chunkers": ("ChonkieChunker",),
    "adapters.chroma_store": ("ChromaVectorStore",),
    "adapters.cohere_reranker": ("CohereReranker",),
    "adapters.cross_encoder_reranker": ("CrossEncoderReranker",),
    "adapters.http_agent": ("HttpAgent",),
    "adapters.langchain_splitters": ("LangChainChunker",),
    "adapters.onnx_embedder": ("OnnxEmbedder",),
    "adapters.openai_chat": ("OpenAIChatModel",),
    "adapters.openai_embeddings": ("OpenAIEmbedder",),
    "adapters.openai_model": ("OpenAIModel",),
    "adapters.python_callable": ("PythonCallable",),
    "adapters.qdrant_store": ("QdrantVectorStore",),
    "adapters.recorded_answers": ("RecordedAnswers",),
    "adapters.sentence_transformers_embedder": ("SentenceTransformerEmbedder",),
    "datasets.annotators.agreement": (
        "AgreementReport",
        "agreement_report",
    ),
    "datasets.annotators.annotations": (
        "read_annotations",
        "write_annotations",
    ),
    "datasets.annotators.human_labels": (
        "HumanLabel",
        "LabelField",
        "labels_of_annotations",
        "read_labels",
    ),
    "datasets.benchmark_files": (
        "read_benchmark",
        "write_benchmark",
    ),
    "datasets.checks.file_validation": ("validate_file",),
    "datasets.checks.quality": (
        "DataQualityChecker",
        "quality_issues",
    ),
    "datasets.checks.validation": ("DataFormatValidator",),
    "datasets.compressor": ("DataCompressor",),
    "datasets.convert": ("convert",),
    "datasets.dialects.recognition": (
        "read_dataset",
        "recognise",
    ),
    "datasets.folders.catalogue": ("EvaluationDatasetLoader",),
    "datasets.schemas": ("schema",),
    "datasets.splits.build": (
        "BuildPaths",
        "build_splits",
    ),
    "errors": (
        "InputError",
        "Issue",
        "LimitExceededError",
        "Location",
        "MissingDatasetError",
        "MissingExtraError",
        "MissingResultsError",
        "ModelError",
        "RagEvalError",
        "StorageError",
        "TargetError",
        "UnknownNameError",
        "UsageError",
    ),
    "evaluation.citation_evaluator": ("CitationEvaluator",),
    "evaluation.grid_runs": ("evaluate_sweep",),
    "evaluation.hit_columns": ("retrieval_scorers",),
    "evaluation.pipeline_targets": ("PipelineTarget",),
    "evaluation.retrieval_evaluation": (
        "ChunkLevelEvaluation",
        "EvaluationResult",
        "TokenLevelEvaluation",
    ),
    "evaluation.runs.runner": ("run_samples",),
    "evaluation.scoring": ("scorers_for",),
    "extensions": (
        "BatchVectorStore",
        "Chunker",
        "Dialect",
        "Embedder",
        "LanguageModel",
        "PositionAwareChunker",
        "Registry",
        "Reranker",
        "Retriever",
        "Scorer",
        "Target",
        "VectorStore",
    ),
    "judging.claims": ("claims_of",),
    "judging.classes.answer_classes": (
        "AnswerClass",
        "classify_answer",
    ),
    "judging.judges.judge": ("Judge",),
    "judging.judges.judge_support": ("JudgeSupport",),
    "judging.judges.judged_pairs": (
        "Preference",
        "judge_preference",
    ),
    "judging.judges.rubrics": (
        "Criterion",
        "Rubric",
        "read_rubric",
    ),
    "judging.methods": ("ScoringMethods",),
    "judging.support.lexical_support": ("LexicalSupport",),
    "judging.support.screening": (
        "Screening",
        "screen_answer",
    ),
    "judging.verdicts": (
        "Claim",
        "ClaimVerdict",
        "Evidence",
        "SupportMethod",
    ),
    "language_models.cache": ("RememberingModel",),
    "language_models.chat": (
        "ChatModel",
        "Completion",
        "Message",
    ),
    "language_models.clients": ("as_chat_model",),
    "metrics.chunks": (
        "ChunkF1",
        "ChunkLevelMetric",
        "ChunkPrecision",
        "ChunkRecall",
    ),
    "metrics.citations": ("evaluate_citation_spans",),
    "metrics.declaration": (
        "BoundMetric",
        "Metric",
        "all_metrics",
        "metric",
        "parse_metric",
        "parse_metrics",
    ),
    "metrics.evaluate_ranking": (
        "RankingReport",
        "evaluate_ranking",
    ),
    "metrics.evaluate_spans": (
        "SpanReport",
        "evaluate_spans",
    ),
    "metrics.inline_citations": ("parse_citations",),
    "metrics.ranking_rules": ("RankingRules",),
    "metrics.span_sets": ("merge_spans",),
    "metrics.spans": (
        "SpanF1",
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
    "records.citations": (
        "Citation",
        "ContextCitation",
        "SpanCitation",
        "TokenSpanCitation",
    ),
    "records.datasets": (
        "Dataset",
        "Preview",
    ),
    "records.documents": (
        "Corpus",
        "Document",
    ),
    "records.ground_truths": (
        "ChunkLevelDatasetExample",
        "ChunkLevelGroundTruth",
        "ChunkLevelRunOutput",
        "Query",
        "TokenLevelDatasetExample",
        "TokenLevelGroundTruth",
        "TokenLevelRunOutput",
    ),
    "records.identifiers": (
        "ChunkId",
        "DocumentId",
        "EvaluationType",
        "PositionAwareChunkId",
        "QueryId",
        "QueryText",
    ),
    "records.responses": (
        "Failure",
        "Hit",
        "Request",
        "Response",
        "Usage",
    ),
    "records.runs": (
        "Progress",
        "Run",
        "RunHead",
        "RunOutcome",
        "RunSettings",
        "SampleResult",
    ),
    "records.samples": (
        "Entities",
        "Expectation",
        "Milestones",
        "Origin",
        "Recorded",
        "Refusal",
        "Relation",
        "Sample",
        "Turn",
    ),
    "records.scores": ("Score",),
    "records.spans": ("CharacterSpan",),
    "results.answered_runs": (
        "AnsweredRun",
        "answered_run",
        "open_answered_run",
    ),
    "results.calibration": (
        "Calibration",
        "calibrate",
    ),
    "results.calibration_pairs": ("LabelPair",),
    "results.comparison": (
        "Comparison",
        "MetricComparison",
        "compare_systems",
    ),
    "results.documents": ("write_run_results",),
    "results.evaluations": ("Evaluation",),
    "results.gate": (
        "Gate",
        "Threshold",
        "Threshold",
        "Verdict",
    ),
    "results.metric_calibration": (
        "CalibrationSettings",
        "MetricCalibration",
    ),
    "results.rankings": (
        "RankingResults",
        "rank_systems",
    ),
    "results.run_comparison": ("compare_runs",),
    "results.run_folder": (
        "RunFolder",
        "list_runs",
    ),
    "results.storage": ("EvaluationResultsStorage",),
    "results.summaries": (
        "MetricSummary",
        "summarise",
    ),
    "results.trend": (
        "MetricTrend",
        "metric_trends",
    ),
    "retrieval.bm25": ("BM25Retriever",),
    "retrieval.components": ("chunker_from",),
    "retrieval.embedders": ("HashingEmbedder",),
    "retrieval.embedding_cache": ("CachedEmbedder",),
    "retrieval.exact_store": ("ExactVectorStore",),
    "retrieval.fusion": (
        "FusedRetriever",
        "reciprocal_rank_fusion",
    ),
    "retrieval.markdown_chunker": ("MarkdownHeadingChunker",),
    "retrieval.pipeline": ("RetrievalPipeline",),
    "retrieval.positions": (
        "ChunkerPositionAdapter",
        "position_aware",
    ),
    "retrieval.recursive_chunker": ("RecursiveCharacterChunker",),
    "retrieval.rerankers": ("LexicalReranker",),
    "retrieval.retrievers": (
        "DenseRetriever",
        "retriever_from",
    ),
    "retrieval.semantic_chunker": ("SemanticChunker",),
    "retrieval.sentence_chunker": ("SentenceChunker",),
    "retrieval.token_chunker": ("FixedTokenChunker",),
    "specifications": (
        "Specification",
        "parse_specification",
    ),
    "statistics.agreement": (
        "cohens_kappa",
        "krippendorff_alpha",
    ),
    "statistics.agreement_tables": ("Resampling",),
    "statistics.classification": (
        "Confusion",
        "confusion",
    ),
    "statistics.corrections": ("holm",),
    "statistics.effects": (
        "cohens_d",
        "wins_ties_losses",
    ),
    "statistics.intervals": (
        "Interval",
        "bootstrap_interval",
        "mean_interval",
        "normal_interval",
        "wilson_interval",
    ),
    "statistics.paired": (
        "paired_randomisation_test",
        "paired_t_test",
        "wilcoxon_test",
    ),
    "statistics.power": (
        "sample_size",
        "smallest_detectable_difference",
    ),
    "statistics.prediction_powered": (
        "corrected_mean",
        "rogan_gladen_rate",
    ),
    "synthesis.chunk_level_generator": ("ChunkLevelDataGenerator",),
    "synthesis.data_generators": ("SyntheticDataGenerator",),
    "synthesis.extractive": (
        "Extraction",
        "generate_extractively",
    ),
    "synthesis.generation": (
        "Generation",
        "generate_with_model",
    ),
    "synthesis.quality": ("QualityControl",),
    "synthesis.token_level_generator": ("TokenLevelDataGenerator",),
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
