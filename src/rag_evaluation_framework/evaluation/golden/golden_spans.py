"""Span metrics over golden contexts: which characters of the source files a target retrieved.

The truth are the golden contexts that stand in one place of their file. What was retrieved are the spans of
the hits; a target that returns texts alone has them looked up in those files. A text that stands nowhere in
them counts as so many characters of another document, and one that stands in several places as the one that
the truth overlaps, since it is the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from rag_evaluation_framework.datasets.checks.golden_contexts import source_texts, spans_of_contexts
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
        """Score what was retrieved; where that cannot be told, the sample is skipped."""
        relevant = self._truth.get(sample.id, ())
        if relevant and not response.hits and not response.contexts:
            return Score.skipped(self.name, "the target returns no contexts", method=self.method)
        spans = self._retrieved(response, relevant)
        if relevant and spans is None:
            reason = "none of its contexts stands in the source files"
            return Score.skipped(self.name, reason, method=self.method)
        hits = tuple(Hit(id=span.doc_id, span=span) for span in spans or ())
        return self._scorer.score(sample, replace(response, hits=hits))

    def _retrieved(self, response: Response, relevant: Sequence[CharacterSpan]) -> list[CharacterSpan] | None:
        """Return the characters that were retrieved; ``None`` where no text is found in the sources."""
        if response.hits and all(hit.span is not None for hit in response.hits):
            return [
                replace(hit.span, doc_id=self._file(hit.span.doc_id)) for hit in response.hits if hit.span
            ]
        texts = [text.strip() for text in response.contexts if text.strip()]
        found = [self._located(text, relevant) for text in texts]
        if not any(found):
            return None
        return [
            span or CharacterSpan(DocumentId(f"elsewhere {number}"), 0, len(text))
            for number, (span, text) in enumerate(zip(found, texts, strict=True))
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


def golden_span_scorers(
    metrics: Iterable[str], samples: Sequence[Sample], root: str | Path | None = None
) -> list[GoldenSpanScorer]:
    """Return a scorer for each span metric; none where no golden context of the samples can be located."""
    located = spans_of_contexts(samples, root)
    truth = {
        sample_id: tuple(CharacterSpan(DocumentId(cited.file), cited.start, cited.end) for cited in spans)
        for sample_id, spans in located.items()
        if spans
    }
    if not truth:
        return []
    sources = source_texts(samples, root)
    return [GoldenSpanScorer(metric, truth, sources) for metric in metrics]


def _is_end_of(doc_id: str, name: str) -> bool:
    longer, shorter = sorted((_parts(doc_id), _parts(name)), key=len, reverse=True)
    return longer[len(longer) - len(shorter) :] == shorter


def _has_name_of(doc_id: str, name: str) -> bool:
    return PurePosixPath(doc_id).stem == PurePosixPath(name).stem


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path.replace("\\", "/")).parts
