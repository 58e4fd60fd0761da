"""What a :class:`CitationEvaluator` is given, in any of the forms in which people have it.

Documents: a corpus, ``{id: text}``, ``{id: {content, file_path, metadata}}``, or a list of document records.
A list of plain texts are numbered contexts, which answers cite as ``[1]``, ``[2]`` … Citations: records, and
whatever :func:`.citations_in` reads. The query: a text, a record of an evaluation dataset, or a sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag_evaluation_framework.datasets.evaluation_sets import decode_document
from rag_evaluation_framework.errors import InputError, invalid, shown
from rag_evaluation_framework.judging.cited_texts import CitableTexts, OpenedCitation
from rag_evaluation_framework.records.citations import Citation, citations_in, span_citations
from rag_evaluation_framework.records.documents import Corpus, Document, DocumentId
from rag_evaluation_framework.records.samples import Sample, Turn


class CitedSources:
    """The documents that may be cited by name, or the contexts that may be cited by number."""

    def __init__(self, documents: Sequence[Document] = (), contexts: Sequence[str] = ()) -> None:
        self.texts = CitableTexts(documents)
        self.contexts = contexts
        self.evidence = contexts or [document.content for document in documents]

    def opened(self, citation: Citation) -> OpenedCitation:
        """Return what a citation means."""
        return self.texts.opened(citation, self.contexts)


def read_sources(given: Any) -> CitedSources:
    """Read documents or contexts."""
    if given is None:
        return CitedSources()
    if isinstance(given, Corpus):
        return CitedSources(tuple(given.documents))
    if isinstance(given, Mapping):
        return CitedSources(tuple(_document(name, value) for name, value in given.items()))
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise invalid("documents", "documents by id, a list of them or a corpus", given)
    if all(isinstance(each, str) for each in given):
        return CitedSources(contexts=tuple(given))
    return CitedSources(tuple(_document(None, value, f"documents[{n}]") for n, value in enumerate(given)))


def _document(name: Any, value: Any, path: str = "") -> Document:
    path = path or f"documents[{shown(name)}]"
    if isinstance(value, Document):
        return value
    if isinstance(value, str) and isinstance(name, str) and name:
        return Document(DocumentId(name), value)
    if not isinstance(value, Mapping):
        raise invalid(path, "a document", value)
    record = {"document_id": name, **value} if name is not None else dict(value)
    for field in ("document_id", "content"):
        if not isinstance(record.get(field), str):
            raise invalid(f"{path}.{field}", "text", record.get(field))
    if not isinstance(record.setdefault("metadata", {}), Mapping):
        raise invalid(f"{path}.metadata", "a mapping", record["metadata"])
    return decode_document(record)


def read_query(given: Any) -> Sample:
    """Read a query as a sample; what it does not say, such as its true citations, is left out."""
    if isinstance(given, Sample):
        return given
    query = {"query_text": given} if given is None or isinstance(given, str) else given
    if not isinstance(query, Mapping):
        raise invalid("query", "a question, a query of a dataset or a sample", given)
    question, reference = query.get("query_text"), query.get("ground_truth_answer")
    citations: Any = query.get("citations") or []
    return Sample(
        id="query",
        turns=(Turn(role="user", content=question if isinstance(question, str) else ""),),
        reference=reference if isinstance(reference, str) else None,
        relevant_spans=tuple(span_citations(citations, "query.citations")),
    )


def open_listed(given: Any, sources: CitedSources) -> list[OpenedCitation]:
    """Open citations of any form; what cannot be read is a citation that cannot be opened."""
    if given is None:
        return []
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise invalid("citations", "a list of citations", given)
    opened: list[OpenedCitation] = []
    for number, item in enumerate(given):
        try:
            opened += [sources.opened(citation) for citation in citations_in(item)]
        except InputError as error:
            located = error.issues[0].located(within=f"citations[{number}]")
            issue = replace(located, code="unreadable-citation")
            opened.append(OpenedCitation(citation=None, issue=issue))
    return opened
