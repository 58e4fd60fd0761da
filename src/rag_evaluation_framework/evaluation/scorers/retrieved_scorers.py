"""Scores what a system told that it retrieved, by what the sample itself says is relevant.

A system that tells no ids of what it retrieved has no score; neither has one whose ids are of another kind
than the sample's, such as chunks where documents are relevant. With the documents at hand, the names of
documents are looked up on both sides, and contexts without a place are looked for in the texts. Retrieval
that is measured with the corpus and its chunks, as ``rag-eval retrieval`` does, checks the truth as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rag_evaluation_framework.datasets.checks.snippets import Stretch, exact_places
from rag_evaluation_framework.errors import InputError, UsageError
from rag_evaluation_framework.evaluation.levels.retrieval_scorers import ChunkScorer, SpanScorer
from rag_evaluation_framework.evaluation.scorers.known_metrics import fields_needed
from rag_evaluation_framework.evaluation.scorers.named_scorers import MetricScorer
from rag_evaluation_framework.evaluation.scorers.ranked_documents import are_own_chunks, ranked_documents
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods
from rag_evaluation_framework.judging.citations.cited_texts import CitableTexts
from rag_evaluation_framework.metrics.declaration import BoundMetric, Family
from rag_evaluation_framework.metrics.evaluate_ranking import evaluate_ranking
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.responses import Hit, Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.records.spans import CharacterSpan

_NO_HITS = "the system does not tell what it retrieved"
_NO_TRUTH = "the dataset has no relevant {} for it"
_CONTEXT_NUMBER = re.compile(r"\[\d+\]\s*")


def retrieved_scorer(metric: BoundMetric, methods: ScoringMethods) -> MetricScorer:
    """Return the scorer of a metric of ranking, chunks or spans."""
    if "chunks" in metric.metric.needs:
        raise UsageError(f"metric {metric}: it judges all chunks of a corpus: use rag-eval retrieval")
    documents = KnownDocuments(() if methods.corpus is None else methods.corpus.documents)
    return _SCORERS[metric.metric.family](metric, documents)


class KnownDocuments:
    """The documents that samples and systems name; without any, a name is an id."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self.texts = CitableTexts(documents)
        self.id_of = self.texts.id_of

    def __bool__(self) -> bool:
        return bool(self._documents)

    def placed(self, cited: SpanCitation) -> CharacterSpan:
        """Return the characters that are meant, counted in the whole document as far as it is known."""
        placed = self.texts.placed(cited)
        return CharacterSpan(DocumentId(placed.file), placed.start, placed.end)

    def places_of(self, text: str, name: str | None) -> list[CharacterSpan]:
        """Return where a text stands: in the document of that name, or in any where none has it."""
        document = None if name is None else self.texts.document(name)
        return [
            CharacterSpan(each.id, place.start, place.end)
            for each in (self._documents if document is None else (document,))
            for place in exact_places(text, each.content, Stretch(0, len(each.content)))
        ]


class _RetrievedScorer:
    """What the scorers of retrieval share: the declared metric, and what has no score."""

    def __init__(self, metric: BoundMetric, documents: KnownDocuments) -> None:
        self.metric, self.documents = metric, documents
        self.name = str(metric)
        self.method = metric.metric.method
        self.version = metric.metric.version
        self.higher_is_better = metric.metric.higher_is_better
        self.needs = fields_needed(metric.metric)

    def skipped(self, reason: str) -> Score:
        """Return the score of a sample to which the metric does not apply."""
        return Score.skipped(self.name, reason, method=self.method)


class RankedDocumentsScorer(_RetrievedScorer):
    """Scores the documents of the hits in their order; a document ranks by its first hit."""

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the ranking; a sample without relevant documents is skipped, and hits that name none too."""
        if not sample.relevant_documents:
            return self.skipped(_NO_TRUTH.format("documents"))
        if not response.hits:
            return self.skipped(_NO_HITS)
        ranking = ranked_documents(response.hits, self.documents.texts)
        if isinstance(ranking, str):
            return self.skipped(ranking)
        grades = {self.documents.id_of(name): grade for name, grade in sample.relevant_documents.items()}
        try:
            report = evaluate_ranking({sample.id: grades}, {sample.id: ranking}, [self.metric])
        except (InputError, UsageError) as error:  # a grade that the metric has no room for
            return Score.failed(self.name, str(error), method=self.method)
        if sample.id in report.skipped:
            return self.skipped(_NO_TRUTH.format("documents"))
        return Score.scored(self.name, report.mean[self.name], method=self.method)


class RetrievedChunksScorer(_RetrievedScorer):
    """Scores the ids of the hits."""

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the hits; a sample without relevant chunks is skipped, and hits that are no chunks too."""
        if not sample.relevant_chunk_ids:
            return self.skipped(_NO_TRUTH.format("chunks"))
        if not response.hits:
            return self.skipped(_NO_HITS)
        own = are_own_chunks(sample.relevant_chunk_ids)
        if own and not any(are_own_chunks([hit.id]) for hit in response.hits):
            return self.skipped("the ids of its hits are not of the kind that the dataset's chunks have")
        return ChunkScorer(self.name).score(sample, response)


class RetrievedSpansScorer(_RetrievedScorer):
    """Scores the characters of the hits, or those of the contexts where they stand in the documents."""

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the characters; where nobody can tell which were retrieved, the sample is skipped."""
        if not sample.relevant_spans:
            return self.skipped(_NO_TRUTH.format("characters"))
        if not response.hits and (response.context_origin == "dataset" or not response.contexts):
            return self.skipped(_NO_HITS)
        relevant = [self.documents.placed(cited) for cited in sample.relevant_spans]
        spans = [hit.span for hit in response.hits if hit.span is not None]
        if not spans or len(spans) < len(response.hits):
            found = self._looked_up(response, relevant)
            if isinstance(found, str):
                return self.skipped(found)
            spans = found
        named = [replace(span, doc_id=DocumentId(self.documents.id_of(span.doc_id))) for span in spans]
        told = replace(response, hits=tuple(Hit(id=span.doc_id, span=span) for span in named))
        return SpanScorer(self.name, truth={sample.id: relevant}).score(sample, told)

    def _looked_up(self, response: Response, relevant: Sequence[CharacterSpan]) -> list[CharacterSpan] | str:
        """Return where the system's contexts stand in the documents, or why that cannot be told.

        Of several places one that is relevant counts; a context that stands nowhere is retrieved in vain.
        """
        if not self.documents:
            return "its hits do not tell where they stand, and there are no documents to look in"
        if not response.contexts:
            return "its hits do not tell where they stand, and no texts came with them"
        of_hits = len(response.hits) == len(response.contexts)
        names = [hit.id for hit in response.hits] if of_hits else [None] * len(response.contexts)
        found: list[CharacterSpan] = []
        for number, (context, name) in enumerate(zip(response.contexts, names, strict=True)):
            text = _CONTEXT_NUMBER.sub("", context.strip(), count=1)
            places = self.documents.places_of(text, name) if text else []
            wanted = (place for place in places if any(map(place.overlaps, relevant)))
            elsewhere = CharacterSpan(DocumentId(f"elsewhere {number}"), 0, max(len(text), 1))
            found.append(next(wanted, places[0] if places else elsewhere))
        if all(span.doc_id.startswith("elsewhere ") for span in found):
            return "none of its contexts stands in the documents"
        return found


_SCORERS: Mapping[Family, Callable[[BoundMetric, KnownDocuments], MetricScorer]] = {
    "ranking": RankedDocumentsScorer,
    "chunks": RetrievedChunksScorer,
    "spans": RetrievedSpansScorer,
}
