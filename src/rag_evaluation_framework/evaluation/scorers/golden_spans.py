"""The truth of span metrics in golden sets: the golden contexts that occur once in their source file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rag_evaluation_framework.datasets.golden_contexts import (
    source_texts,
    spans_of_contexts,
    unlocated_contexts,
)
from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.scorers.metric_scorer import MetricScorer
from rag_evaluation_framework.evaluation.scorers.retrieved_scorers import RetrievedSpansScorer
from rag_evaluation_framework.evaluation.scorers.searched_documents import SearchedDocuments
from rag_evaluation_framework.records.documents import CharacterSpan, Document, DocumentId
from rag_evaluation_framework.records.samples import Sample


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

    def unmeasured(self, scorers: Iterable[MetricScorer]) -> dict[str, str]:
        """Return the metrics of spans, and why they cannot be measured, if none was located."""
        return {} if self.truth else dict.fromkeys(_span_metrics(scorers), self.count)

    def doubt(self, scorers: Iterable[MetricScorer]) -> str | None:
        """Say in a line that some were not located, and what that means; ``None`` if all were."""
        if not self.unlocated:
            return None
        unmeasured = self.unmeasured(scorers)
        lost = f", so {' and '.join(unmeasured)} cannot be measured" if unmeasured else ""
        return f"{self.count}{lost} (rag-eval validate lists all): {self.unlocated[0]}"


def located_for(
    scorers: Iterable[MetricScorer], samples: Callable[[], Iterable[Sample]], *, dialect: str
) -> LocatedContexts | None:
    """Return where the golden contexts of samples are, if a golden set is scored by its spans."""
    are_wanted = dialect in GOLDEN_DIALECTS and bool(_span_metrics(scorers))
    return LocatedContexts.of(list(samples())) if are_wanted else None


def _span_metrics(scorers: Iterable[MetricScorer]) -> list[str]:
    """Return the names of those scorers that score the characters retrieved."""
    return [scorer.name for scorer in scorers if isinstance(scorer, RetrievedSpansScorer)]
