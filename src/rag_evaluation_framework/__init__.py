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
    "adapters.http_agent": ("HttpAgent",),
    "adapters.langchain_splitters": ("LangChainChunker",),
    "adapters.onnx_embedder": ("OnnxEmbedder",),
    "adapters.openai": (
        "OpenAIChatModel",
        "OpenAIEmbedder",
        "OpenAIModel",
    ),
    "adapters.python_callable": ("PythonCallable",),
    "adapters.qdrant_store": ("QdrantVectorStore",),
    "adapters.recorded_answers": ("RecordedAnswers",),
    "adapters.sentence_transformers": (
        "CrossEncoderReranker",
        "SentenceTransformerEmbedder",
    ),
    "components": ("chunker_from",),
    "datasets.annotations": (
        "read_annotations",
        "write_annotations",
    ),
    "datasets.annotator_agreement": (
        "AgreementReport",
        "agreement_report",
    ),
    "datasets.benchmark_files": (
        "read_benchmark",
        "write_benchmark",
    ),
    "datasets.catalogue": ("EvaluationDatasetLoader",),
    "datasets.consistency": ("DataFormatValidator",),
    "datasets.conversion": ("convert",),
    "datasets.human_labels": (
        "HumanLabel",
        "LabelField",
        "labels_of_annotations",
        "read_labels",
    ),
    "datasets.quality": (
        "DataQualityChecker",
        "quality_issues",
    ),
    "datasets.recognition": (
        "read_dataset",
        "recognise",
    ),
    "datasets.schemas": ("schema",),
    "datasets.split_build": (
        "BuildPaths",
        "build_splits",
    ),
    "datasets.validation": ("validate_file",),
    "datasets.value_files": ("DataCompressor",),
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
    "evaluation.evaluate": (
        "Options",
        "compare",
        "evaluate",
        "evaluate_async",
    ),
    "evaluation.grid_runs": ("evaluate_sweep",),
    "evaluation.hit_views": ("retrieval_scorers",),
    "evaluation.pipeline_targets": ("PipelineTarget",),
    "evaluation.retrieval_evaluation": (
        "ChunkLevelEvaluation",
        "EvaluationResult",
        "TokenLevelEvaluation",
    ),
    "evaluation.runs.runner": ("run_samples",),
    "evaluation.scoring": ("scorers_for",),
    "evaluation.systems": ("rank_systems",),
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
        "Specification",
        "Target",
        "VectorStore",
        "parse_specification",
    ),
    "judging.answer_classes": (
        "AnswerClass",
        "classify_answer",
    ),
    "judging.claims": ("claims_of",),
    "judging.judge": ("Judge",),
    "judging.judged_answers": (
        "JudgeSupport",
        "Preference",
        "judge_preference",
    ),
    "judging.lexical_support": (
        "LexicalSupport",
        "Screening",
        "screen_answer",
    ),
    "judging.methods": ("ScoringMethods",),
    "judging.rubrics": (
        "Criterion",
        "Rubric",
        "read_rubric",
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
    "metrics.judged_rankings": ("RankingRules",),
    "metrics.ranking": (
        "RankingReport",
        "evaluate_ranking",
    ),
    "metrics.spans": (
        "ChunkF1",
        "ChunkLevelMetric",
        "ChunkPrecision",
        "ChunkRecall",
        "SpanF1",
        "SpanIoU",
        "SpanPrecision",
        "SpanRecall",
        "SpanReport",
        "TokenLevelMetric",
        "evaluate_spans",
        "merge_spans",
    ),
    "models.chat": (
        "ChatModel",
        "Completion",
        "Message",
    ),
    "models.clients": ("as_chat_model",),
    "models.memory": ("RememberingModel",),
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
        "parse_citations",
    ),
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
        "ChunkLevelDatasetExample",
        "ChunkLevelGroundTruth",
        "ChunkLevelRunOutput",
        "Dataset",
        "Entities",
        "Expectation",
        "Milestones",
        "Origin",
        "Preview",
        "Query",
        "Recorded",
        "Refusal",
        "Relation",
        "Sample",
        "TokenLevelDatasetExample",
        "TokenLevelGroundTruth",
        "TokenLevelRunOutput",
        "Turn",
    ),
    "records.scores": (
        "Claim",
        "ClaimVerdict",
        "Evidence",
        "Score",
        "SupportMethod",
    ),
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
    "results.run_comparison": ("compare_runs",),
    "results.run_evaluations": (
        "load",
        "save",
    ),
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
    "retrieval.chunkers": (
        "FixedTokenChunker",
        "RecursiveCharacterChunker",
        "SemanticChunker",
        "SentenceChunker",
    ),
    "retrieval.embedders": (
        "CachedEmbedder",
        "HashingEmbedder",
    ),
    "retrieval.markdown_chunker": ("MarkdownHeadingChunker",),
    "retrieval.pipeline": ("RetrievalPipeline",),
    "retrieval.positions": (
        "ChunkerPositionAdapter",
        "position_aware",
    ),
    "retrieval.retrievers": (
        "DenseRetriever",
        "FusedRetriever",
        "LexicalReranker",
        "reciprocal_rank_fusion",
        "retriever_from",
    ),
    "retrieval.stores": ("ExactVectorStore",),
    "statistics.agreement": (
        "Resampling",
        "cohens_kappa",
        "krippendorff_alpha",
    ),
    "statistics.classification": (
        "Confusion",
        "confusion",
    ),
    "statistics.intervals": (
        "Interval",
        "bootstrap_interval",
        "mean_interval",
        "normal_interval",
        "wilson_interval",
    ),
    "statistics.paired": (
        "cohens_d",
        "holm",
        "paired_randomisation_test",
        "paired_t_test",
        "sample_size",
        "smallest_detectable_difference",
        "wilcoxon_test",
        "wins_ties_losses",
    ),
    "statistics.prediction_powered": (
        "corrected_mean",
        "rogan_gladen_rate",
    ),
    "synthesis.draft_quality": ("QualityControl",),
    "synthesis.extractive": (
        "Extraction",
        "generate_extractively",
    ),
    "synthesis.generation": (
        "Generation",
        "generate_with_model",
    ),
    "synthesis.generators": (
        "ChunkLevelDataGenerator",
        "SyntheticDataGenerator",
        "TokenLevelDataGenerator",
    ),
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
