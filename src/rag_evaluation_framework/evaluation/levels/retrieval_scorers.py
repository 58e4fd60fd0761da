"""Scorers of a pipeline's hits whose truth is checked against the corpus.

Documents are looked up there by the names that the dataset gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rag_evaluation_framework.errors import Problems, UsageError
from rag_evaluation_framework.evaluation.retrieval_truth import relevant_chunks, relevant_spans
from rag_evaluation_framework.evaluation.scorers.hit_scorers import ChunkScorer, SpanScorer
from rag_evaluation_framework.evaluation.scorers.metric_scorer import MetricScorer
from rag_evaluation_framework.metrics.declaration import BoundMetric, parse_metric
from rag_evaluation_framework.metrics.spans import FRACTIONS
from rag_evaluation_framework.records.chunks import generate_chunk_id
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.chunking import Chunking

CHUNK_METRICS = ("chunk_recall", "chunk_precision", "chunk_f1")
_METRICS = (*FRACTIONS, *CHUNK_METRICS)


def retrieval_scorers(
    metrics: Iterable[str], dataset: Dataset, *, corpus: Corpus, chunking: Chunking | None = None
) -> list[MetricScorer]:
    """Return a scorer for each metric of spans and chunks, with the truth checked against the corpus.

    What is wrong with the truth is an error before anything is asked. Chunk metrics need the ``chunking``
    of the pipeline, because their truth holds for one chunker only.
    """
    problems = Problems()
    bound: list[BoundMetric] = []
    for name in dict.fromkeys(name.strip() for name in metrics):
        with problems.collected():
            bound.append(_metric(name))
    problems.raise_all()
    families = {metric.metric.family for metric in bound}
    spans = relevant_spans(dataset, corpus).spans if "spans" in families else {}
    chunks = _checked_chunks(dataset, corpus, chunking) if "chunks" in families else {}
    return [
        SpanScorer(metric, spans) if metric.metric.family == "spans" else ChunkScorer(metric, chunks)
        for metric in bound
    ]


def _checked_chunks(
    dataset: Dataset, corpus: Corpus, chunking: Chunking | None
) -> Mapping[str, Sequence[str]]:
    if chunking is None:
        raise UsageError("chunking: expected that of the pipeline, which chunk metrics need, got none")
    ids = {generate_chunk_id(chunk.content) for chunk in chunking.chunks}
    return relevant_chunks(dataset, corpus, chunker=chunking.chunker, chunk_ids=ids)


def _metric(text: str) -> BoundMetric:
    metric = parse_metric(text)
    if metric.metric.name not in _METRICS:
        raise UsageError(f"metric of hits: expected one of {', '.join(_METRICS)}, got {metric.metric.name}")
    return metric
