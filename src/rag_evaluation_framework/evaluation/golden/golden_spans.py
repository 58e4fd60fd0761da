"""The truth of span metrics in golden sets: the golden contexts that occur once in their source file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.datasets.checks.golden_contexts import (
    source_texts,
    spans_of_contexts,
    unlocated_contexts,
)
from rag_evaluation_framework.evaluation.scorers.metric_scorer import MetricScorer
from rag_evaluation_framework.evaluation.scorers.retrieved_scorers import RetrievedSpansScorer
from rag_evaluation_framework.evaluation.scorers.searched_documents import SearchedDocuments
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.spans import CharacterSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedContexts:
    """Where the golden contexts of some samples are.

    ``sources`` are the files that these contexts name, so a text that is in none of them was retrieved from
    another. ``unlocated`` has each snippet that was not found in exactly one place, with its sample and the
    reason.
    """

    truth: Mapping[str, Sequence[CharacterSpan]] = field(hash=False)
    sources: SearchedDocuments = field(hash=False)
    unlocated: tuple[str, ...]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> LocatedContexts:
        """Look up the golden contexts of samples in their files."""
        truth = {
            sample_id: tuple(CharacterSpan(DocumentId(cited.file), cited.start, cited.end) for cited in spans)
            for sample_id, spans in spans_of_contexts(samples).items()
            if spans
        }
        sources = [Document(DocumentId(name), source.text) for name, source in source_texts(samples).items()]
        unlocated = tuple(f"{sample.id}: {issue}" for sample, issue in unlocated_contexts(samples))
        return cls(truth=truth, sources=SearchedDocuments(sources, are_all=False), unlocated=unlocated)

    def scorers(self, scorers: Iterable[MetricScorer]) -> list[MetricScorer]:
        """Return scorers, those of spans with the golden contexts as their truth."""
        return [
            RetrievedSpansScorer(scorer.metric, self.sources, truth=self.truth)
            if isinstance(scorer, RetrievedSpansScorer)
            else scorer
            for scorer in scorers
        ]

    @property
    def count(self) -> str:
        """How many were located, in words; contexts without a snippet are not counted."""
        located = sum(map(len, self.truth.values()))
        if not located and not self.unlocated:
            return "no golden context has a snippet"
        return f"{located:,} of {counted(located + len(self.unlocated), 'golden context')} located"


def with_located_contexts(
    scorers: Sequence[MetricScorer], samples: Callable[[], Iterable[Sample]]
) -> list[MetricScorer]:
    """Return scorers for the samples of a golden set, which are read only if a scorer is one of spans."""
    if not any(isinstance(scorer, RetrievedSpansScorer) for scorer in scorers):
        return list(scorers)
    return LocatedContexts.of(list(samples())).scorers(scorers)
