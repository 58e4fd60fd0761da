"""Scores what a system says it retrieved against what the sample marks as relevant.

A system that reports no ids of what it retrieved has no score; neither has one whose ids are of another kind
than the sample's, such as chunks where documents are relevant. One that reports an empty list has one.
Where the documents are at hand, their names are looked up on both sides, and contexts without a position are
searched for in their texts. To score a retrieval pipeline over its own corpus, and check the truth as well,
use ``rag-eval retrieval``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_evaluation_framework.errors import InputError, UsageError
from rag_evaluation_framework.evaluation.scorers.hit_scorers import NO_TRUTH, ChunkScorer, RetrievalScorer
from rag_evaluation_framework.evaluation.scorers.ranked_documents import are_own_chunks, ranked_documents
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods
from rag_evaluation_framework.evaluation.scorers.searched_documents import SearchedDocuments
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.ranking import evaluate_ranking
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score

_NO_HITS = "the system does not report what it retrieved"
_NO_POSITIONS = "its hits have no positions"
LOCATED = "golden_context"
"""What a metric of spans needs of a sample whose relevant characters are looked up."""
_CONTEXT_NUMBER = re.compile(r"\A\[\d+\]\s*")


def retrieved_scorer(metric: BoundMetric, methods: ScoringMethods) -> RetrievalScorer:
    """Return the scorer of a metric of ranking, chunks or spans."""
    if "chunks" in metric.metric.needs:
        raise UsageError(f"metric {metric}: it judges all chunks of a corpus: use rag-eval retrieval")
    if metric.metric.family == "chunks":
        return RetrievedChunksScorer(metric)
    if metric.metric.family == "spans":
        return RetrievedSpansScorer(metric, methods.documents)
    return RankedDocumentsScorer(metric, methods.documents.texts)


class RankedDocumentsScorer(RetrievalScorer):
    """Scores the documents of the hits in their order; a document ranks by its first hit."""

    def __init__(self, metric: BoundMetric, documents: CitableTexts) -> None:
        super().__init__(metric)
        self._documents = documents

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the ranking; skip a sample without relevant documents, and hits that name no document."""
        if not sample.relevant_documents:
            return self.skipped(NO_TRUTH.format("documents"))
        if not response.hits and not response.retrieved_nothing:
            return self.skipped(_NO_HITS)
        ranking = ranked_documents(response.hits, self._documents)
        if isinstance(ranking, str):
            return self.skipped(ranking)
        grades = {self._documents.id_of(name): grade for name, grade in sample.relevant_documents.items()}
        try:
            report = evaluate_ranking({sample.id: grades}, {sample.id: ranking}, [self.metric])
        except (InputError, UsageError) as error:  # a grade that the metric has no room for
            return self.failed(str(error))
        if sample.id in report.skipped:
            return self.skipped(NO_TRUTH.format("documents"))
        return self.scored(report.mean[self.name])


class RetrievedChunksScorer(ChunkScorer):
    """Scores the ids of hits, if the system reports any and they are ids of chunks."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the hits; skip a sample without relevant chunks, and hits that are not chunks."""
        relevant, found = sample.relevant_chunk_ids, [hit.id for hit in response.hits]
        if relevant and not found and not response.retrieved_nothing:
            return self.skipped(_NO_HITS)
        are_foreign = bool(found) and not any(are_own_chunks([each]) for each in found)
        if relevant and are_own_chunks(relevant) and are_foreign:
            return self.skipped("the ids of its hits are not of the kind that the dataset's chunks have")
        return super().measured(sample, response)


class RetrievedSpansScorer(RetrievalScorer):
    """Scores the characters of the hits, or where the system's contexts are in the documents.

    ``truth`` has the relevant characters of each sample; by default, those that the sample itself cites.
    """

    def __init__(
        self,
        metric: BoundMetric,
        documents: SearchedDocuments,
        *,
        truth: Mapping[str, Sequence[CharacterSpan]] | None = None,
    ) -> None:
        super().__init__(metric)
        self._documents, self._truth = documents, truth
        if truth is not None:
            self.needs = tuple(LOCATED if need == "relevant_spans" else need for need in self.needs)

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the characters; if it is not known which were retrieved, the sample is skipped."""
        relevant = self._cited(sample) if self._truth is None else self._truth.get(sample.id, ())
        if not relevant:
            return self.skipped(NO_TRUTH.format("characters"))
        retrieved = self._retrieved(response, relevant)
        if isinstance(retrieved, str):
            return self.skipped(retrieved)
        return self._compared(retrieved, relevant)

    def _cited(self, sample: Sample) -> list[CharacterSpan]:
        placed = map(self._documents.texts.placed, sample.relevant_spans)
        return [CharacterSpan(DocumentId(each.file), each.start, each.end) for each in placed]

    def _retrieved(self, response: Response, relevant: Sequence[CharacterSpan]) -> list[CharacterSpan] | str:
        """Return the characters that were retrieved, or why they are not known."""
        if response.retrieved_nothing:
            return []
        spans = [hit.span for hit in response.hits if hit.span is not None]
        if spans and len(spans) == len(response.hits):
            id_of = self._documents.texts.id_of
            return [replace(span, doc_id=DocumentId(id_of(span.doc_id))) for span in spans]
        texts = list(_own_texts(response))
        if not texts:
            return f"{_NO_POSITIONS}, and no texts came with them" if response.hits else _NO_HITS
        if not self._documents.texts:
            return f"{_NO_POSITIONS}, and there are no documents to search"
        places = [self._place_of(text, name, relevant) for text, name in texts]
        # In all the documents there are, even an irrelevant text would be found, unless it was rewritten.
        if self._documents.are_all and not any(places):
            return "none of its contexts is in the documents"
        return [
            place or CharacterSpan(DocumentId(f"elsewhere {number}"), 0, len(text))
            for number, (place, (text, _)) in enumerate(zip(places, texts, strict=True))
        ]

    def _place_of(
        self, text: str, name: str | None, relevant: Sequence[CharacterSpan]
    ) -> CharacterSpan | None:
        """Return where a text is; of several places, one that is relevant, since the text is the same."""
        places = self._documents.places_of(text, name)
        wanted = (place for place in places if any(map(place.overlaps, relevant)))
        return next(wanted, places[0] if places else None)


def _own_texts(response: Response) -> Iterator[tuple[str, str | None]]:
    """Yield the contexts that the system itself returned, each with the id of its hit if it has one."""
    contexts = () if response.context_origin == "dataset" else response.contexts
    is_of_hits = len(response.hits) == len(contexts)
    for number, context in enumerate(contexts):
        if text := _CONTEXT_NUMBER.sub("", context.strip()):
            yield text, response.hits[number].id if is_of_hits else None
