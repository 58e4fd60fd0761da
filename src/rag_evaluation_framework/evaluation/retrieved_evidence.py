"""The retrieval of the text that answers a sample, and the missing parts of it.

It is found by the most reliable truth a sample has, in this order: relevant characters against the characters
retrieved; relevant passages (reference contexts, or the text of relevant characters) against the texts
retrieved; relevant chunks; and what the answer should say against the texts retrieved. Every relevant place
must be found. A relevant document that was retrieved says nothing of the passage in it, so that it decides
only where no texts came; none that was retrieved is a miss. Documents are looked up by their names on both
sides. Contexts that the dataset gave, not the system, are no evidence of what was retrieved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.hit_views import ranked_documents
from rag_evaluation_framework.judging.cited_texts import CitableTexts, quotes
from rag_evaluation_framework.judging.details import (
    Detail,
    format_details,
    is_stated,
    lacking_details,
    word_share,
)
from rag_evaluation_framework.judging.expected_points import ExpectedPoints, Point, statements_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.metrics.spans import merge_spans
from rag_evaluation_framework.metrics.views import NOTHING_RETRIEVED
from rag_evaluation_framework.records.documents import DocumentId
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.text.normalisation import folded
from rag_evaluation_framework.text.search import without_dots
from rag_evaluation_framework.text.spans import Span, joined

# A passage of which a chunk's edge cuts off more was not retrieved as a whole; nor one of which it cuts off a
# number or a name that the answer lacks; where it leaves all of these, half of the rest may be cut off.
_CUT, _CUT_WITHOUT_DETAILS = 0.2, 0.5
# As much of a passage, 30 letters, 10 Chinese characters or a share, is at a chunk's edge by no coincidence.
_LEAST_BYTES, _LEAST_SHARE = 30, 0.4
# How much of a claim's words a passage has that is seen to have it: ``python -m benchmarks.causes``.
_MOST_WORDS = 0.8
NO_SOURCES = "the agent reported no retrieved passages"


class RetrievedTruth(msgspec.Struct, frozen=True):
    """True if the relevant text was retrieved (``None`` if unknown), with the reason and the missing parts.

    ``doubt`` says why it was not seen that one retrieved passage has what the answer lacks, where
    the relevant text was found by words alone; ``is_cut`` that all that is missing was cut by chunk edges.
    """

    is_retrieved: bool | None
    why: str
    missing: tuple[str, ...] = ()
    is_cut: bool = False
    doubt: str | None = None


def texts_retrieved(response: Response) -> tuple[str, ...]:
    """Return the texts that the system answered from: its contexts, else the texts of its hits."""
    contexts = tuple(text for text in response.contexts if text.strip())
    return contexts or tuple(hit.text for hit in response.hits if hit.text and hit.text.strip())


def reported_by_system(sample: Sample, response: Response) -> Response:
    """Return the response without sources of the dataset's that did not come with this answer.

    A row's contexts belong to the row's answer; to an agent that was asked again they are the dataset's.
    """
    row = sample.recorded
    if row is not None and (row.answer or "") == (response.text or ""):
        return response
    if response.context_origin == "dataset":
        response = replace(response, contexts=(), context_origin=None)
    return replace(response, retrieved_nothing=False) if row and row.retrieved_nothing else response


def relevant_passages(sample: Sample, documents: CitableTexts | None) -> tuple[str, ...]:
    """Return the relevant passages whose words are known."""
    given = tuple(text for text in sample.reference_contexts if text.strip())
    return given or tuple(dict.fromkeys(filter(None, _texts_of_spans(sample, documents))))


def retrieved_truth(
    sample: Sample, response: Response, *, documents: CitableTexts | None, wanted: ExpectedPoints
) -> RetrievedTruth:
    """Find out whether the text that answers a sample was retrieved; ``wanted`` is what to answer."""
    texts = texts_retrieved(response)
    if response.retrieved_nothing and not texts:
        return RetrievedTruth(False, NOTHING_RETRIEVED, relevant_passages(sample, documents))
    if not texts and not response.hits:
        return RetrievedTruth(None, NO_SOURCES)
    lacking = [point for point in wanted.points if not point.is_supported] or list(wanted.points)
    asked = (sample.question, response.text or "")
    details = [detail for point in lacking for detail in lacking_details(point.text, *asked)]
    by_characters = _by_characters(sample, response, documents, details)
    if by_characters is not None:
        return by_characters
    passages = relevant_passages(sample, documents)
    if passages and texts:
        fates = {text: _fate_in_texts(text, texts, details) for text in passages}
        by_words = [text for text, fate in fates.items() if fate is None]
        fates |= {text: "found" for text in by_words if _is_found(text, texts, sample)}
        is_by_words = any(fates[text] == "found" for text in by_words) and bool(wanted.points)
        doubt = find_doubt(wanted, lacking, texts, asked) if is_by_words else None
        return _found_passages(fates, doubt=doubt)
    ids = {name for hit in response.hits for name in (hit.id, *hit.names)}
    if sample.relevant_chunk_ids and ids:
        chunks = sample.relevant_chunk_ids
        return _found("relevant chunks", len(chunks), [each for each in chunks if each not in ids])
    by_documents = _by_documents(sample, response, documents)
    if by_documents is not None and by_documents.is_retrieved is False:
        return by_documents
    if wanted.points and texts:
        return _by_points(wanted, lacking, texts, asked)
    if by_documents is not None and by_documents.is_retrieved is not None:
        return replace(by_documents, doubt="the agent reported documents without passages")
    if wanted.points or passages:
        return RetrievedTruth(None, "the hits have no texts")
    return by_documents or RetrievedTruth(None, "the sample has no expected passages")


def _by_points(
    wanted: ExpectedPoints, lacking: Sequence[Point], texts: Sequence[str], asked: Sequence[str]
) -> RetrievedTruth:
    missing = [point.text for point in wanted.absent(lacking, texts)]
    found = len(lacking) - len(missing)
    why = f"{found} of {len(lacking)} missing statements retrieved"
    if len(lacking) == len(wanted.points):
        why = f"{found} of {len(lacking)} {wanted.what} retrieved"
    if missing:
        return RetrievedTruth(False, why, tuple(missing))
    return RetrievedTruth(True, why, doubt=find_doubt(wanted, lacking, texts, asked))


def find_doubt(
    wanted: ExpectedPoints, lacking: Sequence[Point], texts: Sequence[str], asked: Sequence[str]
) -> str | None:
    """Say why no one passage is seen to state what an answer lacks; ``None`` if one does, of each point.

    ``asked`` are the question and the answer, whose numbers and names are not sought.
    """
    for points in [lacking] if wanted.stand_together else [[point] for point in lacking]:
        if passage_with(wanted, points, texts, asked) is not None:
            continue
        details = [each for point in points for each in lacking_details(point.text, *asked)]
        new = [each for each in details if not any(each.is_in(text) for text in texts)]
        told = f" with the {format_details(details)}" if details else ""
        without = f"not its {format_details(new)}" if new else f"no single passage states it{told}"
        return f"the retrieved passages share words with the expected answer, but {without}"
    return None


def passage_with(
    wanted: ExpectedPoints, points: Sequence[Point], texts: Sequence[str], asked: Sequence[str]
) -> str | None:
    """Return the retrieved passage that states the points with all their numbers and names, if one does."""
    details = [each for point in points for each in lacking_details(point.text, *asked)]
    for text in texts:
        if all(each.is_in(text) for each in details) and not wanted.absent(points, (text,)):
            shares = [word_share(point.text, text, asked[0]) for point in points]
            has_words = wanted.are_enough or min(shares, default=0) >= _MOST_WORDS
            if has_words and all(is_stated(point.text, text, *asked) for point in points):
                return text
    return None


def _found(what: str, total: int, missing: Sequence[str], *, one_is_enough: bool = False) -> RetrievedTruth:
    found = total - len(missing)
    is_retrieved = found > 0 if one_is_enough else not missing
    return RetrievedTruth(is_retrieved, f"{found} of {total} {what} retrieved", tuple(missing))


def _found_passages(fates: Mapping[str, Fate | None], *, doubt: str | None = None) -> RetrievedTruth:
    """Return the truth of passages by what became of each; those that are missing altogether come first."""
    absent = [text for text, fate in fates.items() if fate is None]
    cut = [text for text, fate in fates.items() if fate == "cut"]
    truth = _found("relevant passages", len(fates), absent + cut)
    if not cut:
        return replace(truth, doubt=doubt)
    why = f"{truth.why}, {counted(len(cut), 'is', 'are')} cut by a chunk edge"
    return replace(truth, why=why, is_cut=not absent)


def _by_characters(
    sample: Sample, response: Response, documents: CitableTexts | None, details: Sequence[Detail]
) -> RetrievedTruth | None:
    """Compare characters, where both sides have them in documents of the same names."""
    spans = [hit.span for hit in response.hits if hit.span is not None]
    if not spans or not sample.relevant_spans:
        return None
    documents = documents or CitableTexts(())
    hits = merge_spans(
        dataclasses.replace(span, doc_id=DocumentId(documents.id_of(span.doc_id))) for span in spans
    )
    placed = [documents.placed(span) for span in sample.relevant_spans]
    names = {span.doc_id for span in hits}
    if not documents and not any(span.file in names for span in placed):
        return None
    fates: dict[str, Fate | None] = {}
    for given, span in zip(sample.relevant_spans, placed, strict=True):
        opened = documents.opened(given)
        text = span.text or opened.text
        place = f"{span.file}, characters {span.start} to {span.end}"
        covered = [
            Span(max(hit.start, span.start) - span.start, min(hit.end, span.end) - span.start)
            for hit in hits
            if hit.doc_id == span.file and hit.start < span.end and hit.end > span.start
        ]
        fates[text or place] = _fate(text, span.end - span.start, covered, details)
    return _found_passages(fates)


Fate = Literal["found", "cut"]
"""The fate of an expected passage of which something was retrieved."""


def _fate(text: str, length: int, covered: Sequence[Span], details: Sequence[Detail]) -> Fate | None:
    """Tell what became of a passage of which these parts were retrieved.

    If it has numbers or names that the answer lacks, those decide; else how much of it was cut off.
    """
    if not covered:
        return None
    retrieved = " … ".join(part.of(text) for part in covered)
    held = [each for each in details if each.is_in(text)]
    if not all(each.is_in(retrieved) for each in held):
        return "cut"
    lacking = length - sum(part.end - part.start for part in covered)
    return "cut" if lacking > (_CUT_WITHOUT_DETAILS if held else _CUT) * length else "found"


def _fate_in_texts(passage: str, texts: Iterable[str], details: Sequence[Detail]) -> Fate | None:
    """Tell what became of a passage, by the parts of it that begin or end a retrieved text."""
    if any(quotes(passage, text) for text in texts):
        return "found"
    whole = folded(passage)
    parts = [part for text in texts for part in _parts_at_edges(whole, folded(without_dots(text)))]
    return _fate(whole, len(whole), joined(parts), details)


def _parts_at_edges(passage: str, text: str) -> Iterator[Span]:
    """Yield the parts of a passage that a text consists, ends or begins with, if they are no coincidence."""
    least = min(_LEAST_BYTES, _LEAST_SHARE * len(passage.encode()))
    longest = min(len(passage), len(text))
    inside = passage.find(text)
    ends = next((n for n in range(longest, 0, -1) if text.endswith(passage[:n])), 0)
    begins = next((n for n in range(longest, 0, -1) if text.startswith(passage[-n:])), 0)
    whole = Span(inside, inside + len(text)) if inside >= 0 else Span(0, 0)
    for part in (whole, Span(0, ends), Span(len(passage) - begins, len(passage))):
        if len(part.of(passage).encode()) >= least:
            yield part


def _by_documents(
    sample: Sample, response: Response, documents: CitableTexts | None
) -> RetrievedTruth | None:
    """Compare documents, if some are relevant and there are hits."""
    relevant = [document for document, grade in sample.relevant_documents.items() if grade > 0]
    if not relevant or not response.hits:
        return None
    documents = documents or CitableTexts(())
    ranked = ranked_documents(response.hits, documents, sample.relevant_documents)
    if isinstance(ranked, str):
        return RetrievedTruth(None, ranked)
    if documents and not any(map(documents.document, ranked)):  # a whole run may name documents in other ways
        return RetrievedTruth(None, "no hit has the name of a document in the dataset")
    missing = [document for document in relevant if documents.id_of(document) not in ranked]
    return _found("relevant documents", len(relevant), missing, one_is_enough=True)


def _is_found(passage: str, texts: Sequence[str], sample: Sample) -> bool:
    flags = LexicalSupport().are_supported(statements_of(passage), texts, question=sample.question)
    return sum(flags) >= (1 - _CUT) * len(flags)


def _texts_of_spans(sample: Sample, documents: CitableTexts | None) -> Iterator[str | None]:
    for span in sample.relevant_spans:
        opened = documents.opened(span) if span.text is None and documents else None
        yield span.text if opened is None else opened.text
