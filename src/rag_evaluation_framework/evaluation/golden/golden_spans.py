"""Span metrics over golden contexts: which characters of the source files a target retrieved.

The truth are the golden contexts that stand in one place of their file. What was retrieved are the spans of
the hits; a target that returns texts alone has them looked up in those files. A text that stands nowhere in
them counts as so many characters of another document, and one that stands in several places as the one that
the truth overlaps, since it is the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from rag_evaluation_framework.datasets.checks.golden_contexts import (
    source_texts,
    spans_of_contexts,
    unlocated_contexts,
)
from rag_evaluation_framework.datasets.checks.scenes import SourceText
from rag_evaluation_framework.datasets.checks.snippets import Stretch
from rag_evaluation_framework.evaluation.levels.retrieval_scorers import SpanScorer
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.responses import Hit, Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.records.spans import CharacterSpan

_MARK = re.compile(r"\[\d+\]\s*(?=\S)")


class GoldenSpanScorer:
    """Fulfils ``MetricScorer`` with a span metric whose truth are golden contexts."""

    def __init__(
        self, metric: str, truth: Mapping[str, Sequence[CharacterSpan]], sources: Mapping[str, SourceText]
    ) -> None:
        self._scorer = SpanScorer(metric, truth=truth)
        self._truth, self._sources = truth, sources
        self.name, self.method = self._scorer.name, self._scorer.method
        self.version, self.higher_is_better = self._scorer.version, self._scorer.higher_is_better
        self.needs: tuple[str, ...] = ()

    def score(self, sample: Sample, response: Response) -> Score:
        """Score what was retrieved; a target that does not tell what it retrieved is skipped."""
        relevant = self._truth.get(sample.id, ())
        spans = self._retrieved(response, relevant)
        if relevant and not spans:
            return Score.skipped(self.name, "the target returns no contexts", method=self.method)
        hits = tuple(Hit(id=span.doc_id, span=span) for span in spans)
        return self._scorer.score(sample, replace(response, hits=hits))

    def _retrieved(self, response: Response, relevant: Sequence[CharacterSpan]) -> list[CharacterSpan]:
        """Return the characters that were retrieved, those that stand nowhere in the sources included."""
        if response.hits and all(hit.span is not None for hit in response.hits):
            return [
                replace(hit.span, doc_id=self._file(hit.span.doc_id)) for hit in response.hits if hit.span
            ]
        texts = [text.strip() for text in response.contexts if text.strip()]
        return [
            self._located(text, relevant) or CharacterSpan(DocumentId(f"elsewhere {number}"), 0, len(text))
            for number, text in enumerate(texts)
        ]

    def _located(self, context: str, relevant: Sequence[CharacterSpan]) -> CharacterSpan | None:
        mark = _MARK.match(context)
        text = context[mark.end() :] if mark else context
        places = [
            CharacterSpan(DocumentId(name), place.start, place.end)
            for name, source in self._sources.items()
            for place in source.places_of(text, Stretch(0, len(source.text)))
        ]
        wanted = (place for place in places if any(place.overlaps(span) for span in relevant))
        return next(wanted, places[0] if places else None)

    def _file(self, doc_id: DocumentId) -> DocumentId:
        """Return the source that a document's id means: its path, the end of its path, or its name."""
        if doc_id in self._sources:
            return doc_id
        for is_meant in (_is_end_of, _has_name_of):
            meant = [name for name in self._sources if is_meant(doc_id, name)]
            if len(meant) == 1:
                return DocumentId(meant[0])
        return doc_id


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedContexts:
    """Where the golden contexts of some samples stand: the truth of span metrics.

    ``unlocated`` says of each snippet that does not stand in one place which sample's it is, and why.
    """

    truth: Mapping[str, Sequence[CharacterSpan]] = field(hash=False)
    sources: Mapping[str, SourceText] = field(hash=False)
    unlocated: tuple[str, ...]

    @classmethod
    def of(cls, samples: Sequence[Sample], root: str | Path | None = None) -> LocatedContexts:
        """Look up the golden contexts of samples in their files."""
        truth = {
            sample_id: tuple(CharacterSpan(DocumentId(cited.file), cited.start, cited.end) for cited in spans)
            for sample_id, spans in spans_of_contexts(samples, root).items()
            if spans
        }
        unlocated = tuple(f"{sample.id}: {issue}" for sample, issue in unlocated_contexts(samples, root))
        return cls(truth=truth, sources=source_texts(samples, root), unlocated=unlocated)

    def scorers(self, metrics: Iterable[str]) -> list[GoldenSpanScorer]:
        """Return a scorer for each span metric; none where no golden context could be located."""
        return [GoldenSpanScorer(metric, self.truth, self.sources) for metric in metrics if self.truth]

    @property
    def count(self) -> str:
        """How many were located, in words; contexts without a snippet are not counted."""
        located = sum(map(len, self.truth.values()))
        if not located and not self.unlocated:
            return "no golden context has a snippet"
        return f"{located:,} of {located + len(self.unlocated):,} golden contexts located"


def _is_end_of(doc_id: str, name: str) -> bool:
    longer, shorter = sorted((_parts(doc_id), _parts(name)), key=len, reverse=True)
    return longer[len(longer) - len(shorter) :] == shorter


def _has_name_of(doc_id: str, name: str) -> bool:
    return PurePosixPath(doc_id).stem == PurePosixPath(name).stem


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path.replace("\\", "/")).parts
