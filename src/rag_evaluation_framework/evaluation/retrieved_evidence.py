"""Whether the text that answers a sample was retrieved, and what of it is missing.

It is told by the most reliable truth a sample has, in this order: relevant characters against the characters
retrieved; relevant passages (reference contexts, or the text of relevant characters) against the texts
retrieved; relevant chunks; relevant documents; and at last what the answer should say against the texts
retrieved. Every relevant place must be found, but one document is enough, since each may hold the answer.
Documents are looked up by their names on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_evaluation_framework.evaluation.hit_views import ranked_documents
from rag_evaluation_framework.judging.cited_texts import CitableTexts, quotes
from rag_evaluation_framework.judging.expected_points import ExpectedPoints, statements_of, supported_by
from rag_evaluation_framework.metrics.spans import merge_spans
from rag_evaluation_framework.metrics.views import NOTHING_RETRIEVED
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import SupportMethod
from rag_evaluation_framework.startup import dataclass, replace

# A passage may be cut by the edge of a chunk; with half of it, it counts as found.
_ENOUGH = 0.5


@dataclass(frozen=True, slots=True)
class RetrievedTruth:
    """Whether the relevant text was retrieved (``None`` if that is not known), why, and what is missing."""

    is_retrieved: bool | None
    why: str
    missing: tuple[str, ...] = ()


def texts_retrieved(response: Response) -> tuple[str, ...]:
    """Return the texts that the system answered from: its contexts, else the texts of its hits."""
    contexts = tuple(text for text in response.contexts if text.strip())
    return contexts or tuple(hit.text for hit in response.hits if hit.text and hit.text.strip())


def relevant_passages(sample: Sample, documents: CitableTexts | None) -> tuple[str, ...]:
    """Return the relevant passages whose words are known."""
    given = tuple(text for text in sample.reference_contexts if text.strip())
    return given or tuple(dict.fromkeys(filter(None, _texts_of_spans(sample, documents))))


def retrieved_truth(
    sample: Sample,
    response: Response,
    support: SupportMethod,
    *,
    documents: CitableTexts | None,
    wanted: ExpectedPoints,
) -> RetrievedTruth:
    """Find out whether the text that answers a sample was retrieved; ``wanted`` is what to answer."""
    texts = texts_retrieved(response)
    if response.retrieved_nothing and not texts:
        return RetrievedTruth(False, NOTHING_RETRIEVED, relevant_passages(sample, documents))
    if not texts and not response.hits:
        return RetrievedTruth(None, "the system returned neither contexts nor hits")
    by_characters = _by_characters(sample, response, documents)
    if by_characters is not None:
        return by_characters
    passages = relevant_passages(sample, documents)
    if passages and texts:
        missing = [text for text in passages if not _is_found(text, texts, sample, support)]
        return _found("relevant passages", len(passages), missing)
    ids = {hit.id for hit in response.hits}
    if sample.relevant_chunk_ids and ids:
        chunks = sample.relevant_chunk_ids
        return _found("relevant chunks", len(chunks), [each for each in chunks if each not in ids])
    by_documents = _by_documents(sample, response, documents)
    if by_documents is not None and by_documents.is_retrieved is not None:
        return by_documents
    if wanted.points and texts:
        sought = [point for point in wanted.points if not point.is_said] or wanted.points
        missing = [point.text for point in wanted.absent(sought, texts)]
        truth, came = _found(wanted.what, len(sought), missing), len(sought) - len(missing)
        if len(sought) == len(wanted.points):
            return truth
        return replace(truth, why=f"{came or 'none'} of the {len(sought)} it lacks came")
    if wanted.points or passages:
        return RetrievedTruth(None, "no texts came with the hits")
    return by_documents or RetrievedTruth(None, "nothing is known to be relevant")


def _found(what: str, total: int, missing: Sequence[str], *, one_is_enough: bool = False) -> RetrievedTruth:
    found = total - len(missing)
    is_retrieved = found > 0 if one_is_enough else not missing
    return RetrievedTruth(is_retrieved, f"{found} of {total} {what} retrieved", tuple(missing))


def _by_characters(
    sample: Sample, response: Response, documents: CitableTexts | None
) -> RetrievedTruth | None:
    """Compare characters, where both sides have them in documents of the same names."""
    spans = [hit.span for hit in response.hits if hit.span is not None]
    if not spans or not sample.relevant_spans:
        return None
    documents = documents or CitableTexts(())
    hits = merge_spans(replace(span, doc_id=DocumentId(documents.id_of(span.doc_id))) for span in spans)
    placed = [documents.placed(span) for span in sample.relevant_spans]
    names = {span.doc_id for span in hits}
    if not documents and not any(span.file in names for span in placed):
        return None
    missing = []
    for span in placed:
        wanted = CharacterSpan(DocumentId(span.file), span.start, span.end)
        if sum(wanted.overlap_chars(hit) for hit in hits) < _ENOUGH * wanted.length():
            missing.append(span.text or f"{span.file}, characters {span.start} to {span.end}")
    return _found("relevant passages", len(placed), missing)


def _by_documents(
    sample: Sample, response: Response, documents: CitableTexts | None
) -> RetrievedTruth | None:
    """Compare documents, if some are relevant and there are hits."""
    relevant = [document for document, grade in sample.relevant_documents.items() if grade > 0]
    if not relevant or not response.hits:
        return None
    documents = documents or CitableTexts(())
    ranked = ranked_documents(response.hits, documents)
    if isinstance(ranked, str):
        return RetrievedTruth(None, ranked)
    missing = [document for document in relevant if documents.id_of(document) not in ranked]
    return _found("relevant documents", len(relevant), missing, one_is_enough=True)


def _is_found(passage: str, texts: Sequence[str], sample: Sample, support: SupportMethod) -> bool:
    if any(quotes(passage, text) for text in texts):
        return True
    verdicts = supported_by(statements_of(passage), texts, sample, support)
    return sum(verdict.is_supported for verdict in verdicts) >= _ENOUGH * len(verdicts)


def _texts_of_spans(sample: Sample, documents: CitableTexts | None) -> Iterator[str | None]:
    for span in sample.relevant_spans:
        opened = documents.opened(span) if span.text is None and documents else None
        yield span.text if opened is None else opened.text
