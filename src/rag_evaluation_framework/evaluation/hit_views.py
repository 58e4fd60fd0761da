"""Readers of what a system says it retrieved, against what the sample marks as relevant.

A system that reports no ids of what it retrieved has no score. One that reports an empty list has one, and
what it retrieved that is not in the dataset is a miss. Where the names of a whole run are not those of the
dataset, they are of another kind, and the metrics are not evaluated. Where the documents are at hand, their
names are looked up on both sides, and contexts without a position are searched for in their texts. To score
a retrieval pipeline over its own corpus, and check the truth as well, use ``rag-eval retrieval``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.golden_contexts import (
    source_documents,
    spans_of_contexts,
    unlocated_contexts,
)
from rag_evaluation_framework.errors import InputError, counted, shown
from rag_evaluation_framework.evaluation.agent_shapes import resolve_names
from rag_evaluation_framework.evaluation.scoring import MetricScorer, Reader
from rag_evaluation_framework.judging.answer_verdicts import found_once
from rag_evaluation_framework.judging.cited_texts import CitableTexts, SearchedDocuments
from rag_evaluation_framework.metrics.judged_rankings import JudgedRankings, RankingRules
from rag_evaluation_framework.metrics.judged_rankings import Reading as Depth
from rag_evaluation_framework.metrics.qrels import judge_mappings
from rag_evaluation_framework.metrics.views import LOCATED, NO_HITS, NO_TRUTH, NoValueError
from rag_evaluation_framework.records.documents import CharacterSpan, Document, DocumentId
from rag_evaluation_framework.records.responses import Hit, Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.structs import replace

_NO_POSITIONS = "the hits have no positions"
_EXCERPT = "pa_chunk_"
_CONTEXT_NUMBER = re.compile(r"\A\[\d+\]\s*")
_OWN_CHUNK_ID = re.compile(r"(?:pa_)?chunk_[0-9a-f]{12}")
# A list of hits is short: all of it is looked at, however deep each metric goes.
_WHOLE = Depth(None, False)


def ranked_documents(
    hits: Sequence[Hit], documents: CitableTexts, judged: Collection[str]
) -> list[str] | str:
    """Return the ids of the documents of the hits, each once in their order, or why they are unknown.

    With the documents at hand, a document may be named in any of its ways; any other name is an id. Of a hit
    with several names the first counts that means a document, or is ``judged``. The scores of rankings and
    blame go by the same.
    """
    names = _document_names(hits, lambda name: name in judged or documents.document(name))
    if names and _are_own_chunks(names):
        return "the hits are chunks without document names"
    return list(dict.fromkeys(map(documents.id_of, names)))


def _document_names(hits: Iterable[Hit], is_known: Callable[[str], object]) -> list[str]:
    return [hit.id if hit.span is None else hit.span.doc_id for hit in resolve_names(tuple(hits), is_known)]


def _are_own_chunks(ids: Sequence[str]) -> bool:
    """Return True if these are ids that chunkers of this package make."""
    return all(map(_OWN_CHUNK_ID.fullmatch, ids))


class RankingReader(Reader):
    """The documents of the hits in their order, with their grades; a document ranks by its first hit."""

    @found_once
    def judged(self) -> JudgedRankings:
        sample, documents = self.sample, self.methods.documents.texts
        if not sample.relevant_documents:
            raise NoValueError(NO_TRUTH.format("documents"))
        if not self.response.hits and not self.response.retrieved_nothing:
            raise NoValueError(NO_HITS)
        ranking = ranked_documents(self.response.hits, documents, sample.relevant_documents)
        if isinstance(ranking, str):
            raise NoValueError(ranking)
        grades = {documents.id_of(name): grade for name, grade in sample.relevant_documents.items()}
        try:
            blocks = judge_mappings(
                {sample.id: grades}, {sample.id: ranking}, rules=RankingRules(), reading=_WHOLE
            )
            found = [judged for _, judged in blocks]
        except InputError as error:  # such as a grade that is no whole number
            raise NoValueError(str(error), failed=True) from error
        for judged in found:
            if isinstance(judged, JudgedRankings) and judged.relevant[0] > 0:
                return judged
        raise NoValueError(NO_TRUTH.format("documents"))


class HitsReader(Reader):
    """The ids and characters of the hits, or where the system's contexts are in the documents."""

    retrieved_ids = property(lambda self: self._ids[0])
    relevant_ids = property(lambda self: self._ids[1])

    @found_once
    def _ids(self) -> tuple[list[str], Sequence[str]]:
        """The ids retrieved and relevant, if the system reports any and they are ids of chunks.

        A chunk with a position counts by the id of its text.
        """
        relevant = self.sample.relevant_chunk_ids
        found = [hit.id for hit in resolve_names(self.response.hits, relevant.__contains__)]
        if relevant and not found and not self.response.retrieved_nothing:
            raise NoValueError(NO_HITS)
        if not relevant:
            raise NoValueError(NO_TRUTH.format("chunks"))
        if any(each.startswith(_EXCERPT) for each in relevant):
            raise NoValueError("the relevant ids belong to excerpts, not chunks")
        return [each.removeprefix("pa_") for each in found], relevant

    @found_once
    def relevant_spans(self) -> Sequence[CharacterSpan]:
        placed = map(self._documents.texts.placed, self.sample.relevant_spans)
        return _known([CharacterSpan(DocumentId(each.file), each.start, each.end) for each in placed])

    @found_once
    def retrieved_spans(self) -> Sequence[CharacterSpan]:
        relevant, response = self.relevant_spans, self.response
        if response.retrieved_nothing:
            return []
        spans = [hit.span for hit in response.hits if hit.span is not None]
        if spans and len(spans) == len(response.hits):
            id_of = self._documents.texts.id_of
            return [replace(span, doc_id=DocumentId(id_of(span.doc_id))) for span in spans]
        return self._searched(relevant)

    @property
    def chunk_spans(self) -> Sequence[CharacterSpan]:
        raise NoValueError("this metric needs all chunks of the corpus: use rag-eval retrieval")

    @property
    def _documents(self) -> SearchedDocuments:
        return self.methods.documents

    def _searched(self, relevant: Sequence[CharacterSpan]) -> list[CharacterSpan]:
        """Return where the texts are that the system returned."""
        texts = list(_own_texts(self.response))
        if not texts:
            without = f"{_NO_POSITIONS} and no texts"
            raise NoValueError(without if self.response.hits else NO_HITS)
        if not self._documents.texts:
            raise NoValueError(f"{_NO_POSITIONS}, and no documents are given to search")
        places = [self._place_of(text, name, relevant) for text, name in texts]
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


# Whether the names of what a run retrieved are those of its dataset. A single unknown name is a miss.

_SHOWN_NAMES = 3


def find_misnamed(
    scorers: Iterable[MetricScorer],
    samples: Callable[[], Iterable[Sample]],
    responses: Callable[[], Iterable[Response]],
    min_resolved: float,
) -> dict[str, str]:
    """Return the metrics that the names of what a run retrieved leave unevaluated, with the reason.

    Of the distinct names at least the share ``min_resolved`` must mean documents of the dataset; where it has
    relevance judgments alone, or texts are searched for, at least one.
    """
    checks = {
        "judged": _misnamed_documents,
        "retrieved_ids": _misnamed_chunks,
        "retrieved_spans": _misnamed_spans,
    }
    reasons: dict[str, str | None] = {}
    misnamed: dict[str, str] = {}
    for scorer in scorers:
        for each in scorer.metric.metric.fields:
            if each.name in checks and each.name not in reasons:
                found = checks[each.name](samples(), responses(), scorer.methods.documents, min_resolved)
                reasons[each.name] = found
            if reason := reasons.get(each.name):
                misnamed[scorer.name] = reason
    return misnamed


def _misnamed_documents(
    samples: Iterable[Sample], responses: Iterable[Response], documents: SearchedDocuments, least: float
) -> str | None:
    judged = dict.fromkeys(chain.from_iterable(each.relevant_documents for each in samples))
    texts, names = documents.texts, dict[str, None]()
    is_known: Callable[[str], Any] = texts.document if texts else judged.__contains__
    is_noticed = False
    for hits in (each.hits for each in responses):
        is_noticed = is_noticed or _notice_two_documents(hits, texts)
        names |= dict.fromkeys(_document_names(hits, is_known))
    names = {name: None for name in names if not _are_own_chunks([name])}
    if texts:
        return _mismatch(names, is_known, least)
    return _mismatch(names, is_known, 0, example=next(iter(judged), None))


def _notice_two_documents(hits: Iterable[Hit], texts: CitableTexts) -> bool:
    """Warn of the first hit whose names mean different documents, of which the first counts."""
    for hit in hits:
        found = {document.id: name for name in hit.names if (document := texts.document(name)) is not None}
        if len(found) > 1:
            names = [shown(name) for name in hit.names if name in found.values()]
            told = f"a retrieved item is named {names[0]} and {names[1]}, which are different documents"
            warnings.warn(
                f"{told}. The first name is used; to change it, set responsePaths.retrieved.", stacklevel=2
            )
            return True
    return False


def _misnamed_chunks(
    samples: Iterable[Sample], responses: Iterable[Response], _: SearchedDocuments, least: float
) -> str | None:
    judged = dict.fromkeys(chain.from_iterable(each.relevant_chunk_ids for each in samples))
    is_known: Callable[[str], Any] = judged.__contains__
    if _are_own_chunks(list(judged)):
        is_known = _OWN_CHUNK_ID.fullmatch
    resolved = (resolve_names(each.hits, is_known) for each in responses)
    names = dict.fromkeys(hit.id for hits in resolved for hit in hits)
    return _mismatch(names, is_known, 0, example=next(iter(judged), None))


def _misnamed_spans(
    _: Iterable[Sample], responses: Iterable[Response], documents: SearchedDocuments, least: float
) -> str | None:
    names: dict[str, None] = {}
    texts: dict[tuple[str, str | None], None] = {}
    for each in responses:
        if each.hits and all(hit.span is not None for hit in each.hits):
            names |= dict.fromkeys(_document_names(each.hits, documents.texts.document))
        else:
            texts |= dict.fromkeys(_own_texts(each))
    if not documents.texts:
        return None
    if texts and not any(documents.places_of(*each) for each in texts):
        return f"the documents contain none of {counted(len(texts), 'retrieved text')}"
    return _mismatch(names, documents.texts.document, least)


def _mismatch(
    names: Collection[str], is_known: Callable[[str], Any], least: float, *, example: str | None = None
) -> str | None:
    """Say that too few names are known; ``None`` if enough are."""
    unknown = [name for name in names if not is_known(name)]
    resolved = len(names) - len(unknown)
    if not unknown or (resolved and resolved >= least * len(names)):
        return None
    shows = ", ".join(map(shown, unknown[:_SHOWN_NAMES]))
    has = "" if example is None else f"; the dataset has {shown(example)}"
    found = f"{resolved:,} of {counted(len(names), 'retrieved name')} {'is' if resolved == 1 else 'are'}"
    return f"{found} in the dataset; unknown: {shows}{has}"


def _known(relevant: Sequence[CharacterSpan]) -> Sequence[CharacterSpan]:
    if not relevant:
        raise NoValueError(NO_TRUTH.format("characters"))
    return relevant


class LocatedHitsReader(HitsReader):
    """The characters of hits against the golden contexts that were located in their files."""

    def __init__(self, sample: Sample, response: Response, *, contexts: LocatedContexts, **by: Any) -> None:
        super().__init__(sample, response, **by)
        self._contexts = contexts

    @property
    def relevant_spans(self) -> Sequence[CharacterSpan]:
        return _known(self._contexts.truth.get(self.sample.id, ()))

    @property
    def _documents(self) -> SearchedDocuments:
        return self._contexts.sources


class LocatedContexts(msgspec.Struct, frozen=True, kw_only=True, dict=True, weakref=True):
    """The truth of span metrics in golden sets: the golden contexts that occur once in their source file.

    ``sources`` are the files that these contexts name or are found in, so a text that is in none of them was
    retrieved from another. ``unlocated`` has each snippet that was not found in exactly one place, with its
    sample and the reason.
    """

    truth: Mapping[str, Sequence[CharacterSpan]]
    sources: SearchedDocuments
    unlocated: tuple[str, ...]

    @classmethod
    def of(cls, samples: Sequence[Sample], documents: Sequence[Document] = ()) -> LocatedContexts:
        """Look up the golden contexts of samples in their files; those without one in the documents."""
        truth = {
            sample_id: tuple(CharacterSpan(DocumentId(cited.file), cited.start, cited.end) for cited in spans)
            for sample_id, spans in spans_of_contexts(samples, documents=documents).items()
            if spans
        }
        sources = source_documents(samples, documents=documents)
        without = unlocated_contexts(samples, documents=documents)
        unlocated = tuple(f"{sample.id}: {issue}" for sample, issue in without)
        return cls(truth=truth, sources=SearchedDocuments(sources, are_all=False), unlocated=unlocated)

    @cached_property
    def _reader(self) -> Callable[..., LocatedHitsReader]:
        return partial(LocatedHitsReader, contexts=self)

    def scorers(self, scorers: Iterable[MetricScorer]) -> list[MetricScorer]:
        """Return scorers, those of spans with the golden contexts as their truth."""
        return [self._located(scorer) if scorer.reads_spans else scorer for scorer in scorers]

    def _located(self, scorer: MetricScorer) -> MetricScorer:
        needs = tuple(LOCATED if need == "relevant_spans" else need for need in scorer.needs)
        return MetricScorer(scorer.metric, scorer.methods, reader=self._reader, needs=needs)

    @property
    def count(self) -> str:
        """Return the number of located contexts, in words; those without a snippet are not counted."""
        located = sum(map(len, self.truth.values()))
        if not located and not self.unlocated:
            return "no golden context has a snippet"
        return f"{located:,} of {counted(located + len(self.unlocated), 'golden context')} located"

    def unmeasured(self, scorers: Iterable[MetricScorer]) -> dict[str, str]:
        """Return the metrics of spans, and why they cannot be measured, if none was located."""
        return (
            {}
            if self.truth
            else dict.fromkeys((scorer.name for scorer in scorers if scorer.reads_spans), self.count)
        )

    def doubt(self, scorers: Iterable[MetricScorer]) -> str | None:
        """Say in a line that some were not located, and what that means; ``None`` if all were."""
        if not self.unlocated:
            return None
        unmeasured = self.unmeasured(scorers)
        lost = f", so {' and '.join(unmeasured)} cannot be measured" if unmeasured else ""
        return f"{self.count}{lost} (list all with rag-eval validate): {self.unlocated[0]}"


def located_for(
    scorers: Iterable[MetricScorer], samples: Callable[[], Iterable[Sample]]
) -> LocatedContexts | None:
    """Return where the golden contexts of samples are, if one of the scorers is of spans."""
    corpus = next((each.methods.corpus or () for each in scorers if each.reads_spans), None)
    return None if corpus is None else LocatedContexts.of(list(samples()), tuple(corpus))
