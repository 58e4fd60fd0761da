"""The items a retriever should find: relevant characters, chunks or documents, checked against the corpus.

Characters come from the spans of any dialect, or from golden contexts that stand in one place only (of the
whole corpus, where they name no file). A span whose text is known is moved to where that text now stands, if
there is one such place; any other change of a document is an error. A span on a page counts from the page's
start where the document's pages are known, and is given by its place in the whole text. Chunk ids must be
those of chunks that the chunker makes of the corpus as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.golden_contexts import spans_of_contexts
from rag_evaluation_framework.errors import InputError, Issue, UsageError, counted, shown
from rag_evaluation_framework.records.chunks import ChunkRegistry
from rag_evaluation_framework.records.citations import SpanCitation, place_in
from rag_evaluation_framework.records.documents import (
    CharacterSpan,
    Corpus,
    Document,
    DocumentNames,
    PositionAwareChunkId,
)
from rag_evaluation_framework.records.samples import Dataset, Sample

Level = Literal["token", "chunk", "document"]
LEVELS: tuple[Level, ...] = ("token", "chunk", "document")

CHUNKER = "chunker"
"""Where a dataset, or one of its samples, has the chunker of its chunk ids in its ``metadata``."""

FINGERPRINTS = "corpus_fingerprint"
"""Where a dataset, or one of its samples, has the SHA-256 of each document in its ``metadata``."""

_GOLDEN = "golden-"
_SHOWN_IDS = 3


class RelevantSpans(msgspec.Struct, frozen=True):
    """The relevant characters of each sample that has any; ``moved`` counts spans found elsewhere by text."""

    spans: Mapping[str, tuple[CharacterSpan, ...]]
    moved: int


def level_of(dataset: Dataset) -> Level:
    """Return the finest level at which a dataset has ground truth."""
    if any(sample.relevant_spans for sample in dataset.samples):
        return "token"
    if dataset.dialect.startswith(_GOLDEN) and any(sample.reference_contexts for sample in dataset.samples):
        return "token"
    if any(sample.relevant_chunk_ids for sample in dataset.samples):
        excerpts = any(_is_excerpt(sample) for sample in dataset.samples)
        return "token" if excerpts else "chunk"
    if any(sample.relevant_documents for sample in dataset.samples):
        return "document"
    raise _no_truth("relevant characters, chunks or documents", dataset)


def with_registered_spans(dataset: Dataset, registry: ChunkRegistry) -> Dataset:
    """Return a dataset whose samples have the characters of their relevant chunks, where they had only ids.

    Ids that the registry does not know are all in one error.
    """
    issues: list[Issue] = []
    samples: list[Sample] = []
    for sample in dataset.samples:
        if sample.relevant_spans:
            samples.append(sample)
            continue
        found: list[SpanCitation] = []
        for index, each in enumerate(sample.relevant_chunk_ids):
            spans = registry.get_spans(PositionAwareChunkId(each))
            found += [SpanCitation(span.doc_id, span.start, span.end) for span in spans]
            if not spans:
                unknown = Issue("unknown-chunk", "a chunk of the registry with a position", shown(each))
                issues.append(_placed(unknown, sample, f"relevant_chunk_ids[{index}]"))
        samples.append(replace(sample, relevant_spans=tuple(found)))
    if issues:
        raise InputError(issues)
    return replace(dataset, samples=tuple(samples))


def relevant_spans(dataset: Dataset, corpus: Corpus) -> RelevantSpans:
    """Return the relevant characters of the samples, each where the corpus now has it."""
    names = CorpusNames(corpus, dataset)
    changed = changed_documents(dataset, names)
    cited = _cited_spans(dataset, corpus)
    if not any(cited.values()):
        raise _no_truth("relevant characters", dataset)
    spans: dict[str, tuple[CharacterSpan, ...]] = {}
    issues: list[Issue] = []
    moved = 0
    for sample in dataset.samples:
        found: list[CharacterSpan] = []
        for index, citation in enumerate(cited[sample.id]):
            anchored = _anchored(citation, names, changed)
            if isinstance(anchored, Issue):
                issues.append(_placed(anchored, sample, f"relevant_spans[{index}]"))
                continue
            span, is_moved = anchored
            moved += is_moved
            found.append(span)
        if found:
            spans[sample.id] = tuple(found)
    if issues:
        raise InputError(issues)
    return RelevantSpans(spans, moved)


def relevant_chunks(
    dataset: Dataset, corpus: Corpus, *, chunker: str, chunk_ids: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return the relevant chunk ids of each sample that has any; every one of them is among ``chunk_ids``.

    ``chunker`` is the specification of the one that made those chunks.
    """
    _check_chunker(dataset, chunker)
    changed = changed_documents(dataset, CorpusNames(corpus, dataset))
    if changed:
        raise InputError(
            Issue("changed-document", "the original documents of the chunk ids", f"{name!r}, which {how}")
            for name, how in changed.items()
        )
    truth = {sample.id: sample.relevant_chunk_ids for sample in dataset.samples if sample.relevant_chunk_ids}
    if not truth:
        raise _no_truth("relevant chunk ids", dataset)
    known = set(chunk_ids)
    issues = [
        _placed(_unknown_ids(unknown, chunker), sample, "relevant_chunk_ids")
        for sample in dataset.samples
        if (unknown := [each for each in sample.relevant_chunk_ids if each not in known])
    ]
    if issues:
        raise InputError(issues)
    return truth


def relevant_documents(dataset: Dataset, corpus: Corpus) -> dict[str, dict[str, int]]:
    """Return the grades of each sample's documents, by the ids of the corpus."""
    names = CorpusNames(corpus, dataset)
    truth: dict[str, dict[str, int]] = {}
    issues: list[Issue] = []
    for sample in dataset.samples:
        for name, grade in sample.relevant_documents.items():
            document = names.document(name)
            if isinstance(document, Issue):
                issues.append(_placed(document, sample, "relevant_documents"))
            else:
                truth.setdefault(sample.id, {})[document.id] = grade
    if issues:
        raise InputError(issues)
    if not truth:
        raise _no_truth("relevant documents", dataset)
    return truth


def _cited_spans(dataset: Dataset, corpus: Corpus) -> Mapping[str, Sequence[SpanCitation]]:
    if not dataset.dialect.startswith(_GOLDEN):
        return {sample.id: sample.relevant_spans for sample in dataset.samples}
    located = spans_of_contexts(dataset.samples, documents=corpus.documents)
    folder = corpus.metadata.get("folder")
    if all(located.values()) or not isinstance(folder, str):
        return located
    inside = spans_of_contexts(dataset.samples, folder, documents=corpus.documents)
    return {sample_id: spans or inside[sample_id] for sample_id, spans in located.items()}


def _anchored(
    citation: SpanCitation, names: CorpusNames, changed: Mapping[str, str]
) -> tuple[CharacterSpan, bool] | Issue:
    """Return where a span stands now and whether it has moved, or why that is unknown."""
    document = names.document(citation.file)
    if isinstance(document, Issue):
        return document
    text = _text_of(citation, names)
    if text is None and document.id in changed:
        expected = "the text of the span, because its document changed"
        return Issue(
            "changed-document", expected, f"{citation.start}-{citation.end} of {document.id!r} without text"
        )
    place = place_in(document, citation)
    if text is None or (isinstance(place, CharacterSpan) and document.text_of(place) == text):
        return place if isinstance(place, Issue) else (place, False)
    start = document.content.find(text)
    if start >= 0 and document.content.find(text, start + 1) < 0:
        return CharacterSpan(document.id, start, start + len(text)), True
    where = "several places" if start >= 0 else "no place"
    expected = f"text that occurs once in the changed document {document.id!r}"
    return Issue("span-lost", expected, f"{shown(text)} in {where}")


def _text_of(citation: SpanCitation, names: CorpusNames) -> str | None:
    """Return the characters that a citation means, as far as the dataset tells them."""
    if citation.text is not None:
        return citation.text
    context = citation.extra.get("context_text")
    # A longer one is what stands around the span.
    if isinstance(context, str) and len(context) == citation.end - citation.start:
        return context
    own = names.own_document(citation.file)
    place = None if own is None else place_in(own, citation)
    return own.text_of(place) if own is not None and isinstance(place, CharacterSpan) else None


def _check_chunker(dataset: Dataset, chunker: str) -> None:
    for metadata in (dataset.metadata, *(sample.metadata for sample in dataset.samples)):
        made_with = metadata.get(CHUNKER)
        if isinstance(made_with, str) and made_with != chunker:
            raise UsageError(
                f"the chunk ids were made with another chunker: expected {made_with}, got {chunker}; "
                "at token level, the ground truth is valid for every chunker"
            )


def _unknown_ids(unknown: Sequence[str], chunker: str) -> Issue:
    listed = ", ".join(unknown[:_SHOWN_IDS]) + (" …" if len(unknown) > _SHOWN_IDS else "")
    expected = f"chunk ids of {chunker} for this corpus"
    return Issue("unknown-chunk", expected, f"unknown ids {listed}")


def _placed(issue: Issue, sample: Sample, path: str) -> Issue:
    origin = sample.origin
    within = f"{sample.id}.{path}"
    return issue.located(origin.file if origin else None, origin.line if origin else None, within)


def _no_truth(what: str, dataset: Dataset) -> UsageError:
    others = list(_other_truths(dataset))
    hint = f"; it has {' and '.join(others)}" if others else ""
    return UsageError(
        f"dataset: {counted(len(dataset), 'sample')} without {what}{hint}.\n"
        "  Add a column relevant_documents, or generate questions: rag-eval generate FOLDER"
    )


def _other_truths(dataset: Dataset) -> Iterator[str]:
    if any(_is_excerpt(sample) for sample in dataset.samples):
        yield "ids of excerpts without spans (outputs.spans, or a chunk_registry)"
    elif any(sample.relevant_chunk_ids for sample in dataset.samples):
        yield "relevant chunk ids (level chunk)"
    if any(sample.relevant_documents for sample in dataset.samples):
        yield "relevant documents (level document)"


def _is_excerpt(sample: Sample) -> bool:
    return any(chunk_id.startswith("pa_chunk_") for chunk_id in sample.relevant_chunk_ids)


class CorpusNames:
    """Finds the documents of a corpus by the names that a dataset gives them.

    A name that the corpus does not know may be that of a document in the dataset, which has other names too.
    """

    def __init__(self, corpus: Corpus, dataset: Dataset) -> None:
        self._corpus = corpus
        self._names = DocumentNames.of_records(corpus)
        self._own = dataset.documents
        self._own_names = DocumentNames.of_records(dataset.documents)

    def document(self, name: str) -> Document | Issue:
        """Return the one document that a name means, or what is wrong with the name."""
        positions = self._names.positions(name) or self._positions_by_other_names(name)
        if len(positions) == 1:
            return self._corpus.documents[positions[0]]
        if not positions:
            expected = f"a document of the corpus, such as {shown(self._corpus.documents[0].id)}"
            return Issue("unknown-document", expected, shown(name))
        several = " and ".join(repr(self._corpus.documents[place].id) for place in positions[:3])
        return Issue(
            "ambiguous-document", "a unique document name", (f"{shown(name)}, which matches {several}")
        )

    def _positions_by_other_names(self, name: str) -> Sequence[int]:
        """Look for a document's other names, then for the path below a folder that the corpus begins in."""
        own = self.own_document(name)
        for other in _other_names(own) if own is not None else ():
            if positions := self._names.positions(other):
                return positions
        return self._names.positions_below(name)

    def own_document(self, name: str) -> Document | None:
        """Return the document that the dataset itself holds under a name."""
        position = self._own_names.position(name)
        return None if position is None else self._own[position]


def changed_documents(dataset: Dataset, names: CorpusNames) -> dict[str, str]:
    """Return the ids of documents that are not as the dataset recorded them, with what happened to each."""
    changed: dict[str, str] = {}
    known: dict[str, str] = {}
    for name, recorded in _recorded_fingerprints(dataset):
        document = names.document(name)
        if isinstance(document, Issue):
            changed[name] = "is not in the corpus"
            continue
        if known.setdefault(document.id, document.fingerprint) != recorded:
            changed[document.id] = "has changed"
    return changed


def _recorded_fingerprints(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Yield each document and fingerprint that the dataset or a sample names, each pair once."""
    seen: set[tuple[str, str]] = set()
    for metadata in (dataset.metadata, *(sample.metadata for sample in dataset.samples)):
        recorded = metadata.get(FINGERPRINTS)
        for pair in recorded.items() if isinstance(recorded, Mapping) else ():
            if pair not in seen:
                seen.add(pair)
                yield pair


def _other_names(document: Document) -> Iterator[str]:
    yield from (document.id, *(str(document.extra[key]) for key in ("file_path",) if key in document.extra))
    if isinstance(file_name := document.metadata.get("file_name"), str):
        yield file_name
