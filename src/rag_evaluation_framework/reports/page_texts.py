"""The texts of a page, each once: documents, and contexts that stand in none of them."""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.records.citations import SpanCitation, parse_citations, place_in
from rag_evaluation_framework.records.documents import CharacterSpan, Document
from rag_evaluation_framework.results.evaluations import Row
from rag_evaluation_framework.results.run_data import KeptDocuments

MOST_CHARACTERS = 6_000_000
"""So many characters of documents a page holds at the most; of others it has the contexts alone."""

# Contexts without a place are looked for in documents as long as that takes a few seconds at the most.
_SEARCHED_CHARACTERS = 3_000_000_000

Place = list[Any]
"""``[document, start, end]``, ``[document]`` of a whole one, or ``[name, text, is needed]`` of another."""


class PageTexts:
    """Collects the documents and contexts that samples name, and says where in them something stands."""

    def __init__(self) -> None:
        self.documents: list[dict[str, str]] = []
        self.contexts: list[str] = []
        self._kept: list[KeptDocuments] = []
        self._documents: dict[str, int | None] = {}
        self._contexts: dict[str, int] = {}
        self._found: dict[str, tuple[Document, int] | None] = {}
        self._left, self._to_search = MOST_CHARACTERS, _SEARCHED_CHARACTERS

    def add_documents(self, kept: KeptDocuments) -> None:
        """Let names be looked up in the documents of a run."""
        self._kept.append(kept)

    def needed(self, row: Row) -> list[Place]:
        """Return what an answer needs: characters where they are known, else documents."""
        sample = row.sample
        if sample is None:
            return []
        places: list[Place] = []
        named: set[str] = set()
        for span in sample.relevant_spans:
            document = self._document(span.file)
            named.add(span.file if document is None else document.id)
            places.append(self._place(span) or [span.file])
        for name, grade in sample.relevant_documents.items():
            document = self._document(name)
            if grade > 0 and (name if document is None else document.id) not in named:
                index = self._index(document)
                places.append([name if index is None else index])
        return places

    def cited(self, row: Row) -> list[list[int]]:
        """Return the brackets of the answer that cite characters, and which characters of which document.

        One that holds several citations leads to the first that can be found.
        """
        found: dict[tuple[int, int], list[int]] = {}
        for each in parse_citations(row.response.text or "").citations:
            citation = each.citation
            if not isinstance(citation, SpanCitation) or (each.start, each.end) in found:
                continue
            if (place := self._place(citation)) is not None:
                found[each.start, each.end] = [each.start, each.end, *place]
        return list(found.values())

    def _place(self, cited: SpanCitation) -> list[int] | None:
        """Return the characters of a document that are cited, where they can be found."""
        document = self._document(cited.file)
        where = None if document is None else place_in(document, cited)
        index = self._index(document)
        if not isinstance(where, CharacterSpan) or index is None:
            return None
        return [index, where.start, where.end]

    def retrieved(self, row: Row) -> list[Place]:
        """Return what came, in order, where it stands in the documents or as a text."""
        response, sample = row.response, row.sample
        needed = (
            ()
            if sample is None
            else (*sample.relevant_documents, *(each.file for each in sample.relevant_spans))
        )
        if not response.hits:
            sources = () if sample is None or sample.recorded is None else sample.recorded.sources
            named = sources if len(sources) == len(response.contexts) else ("",) * len(response.contexts)
            return [
                self._of_text(text, name, name in needed)
                for text, name in zip(response.contexts, named, strict=True)
            ]
        are_paired = len(response.contexts) == len(response.hits)
        places: list[Place] = []
        for number, hit in enumerate(response.hits):
            text = hit.text or (response.contexts[number] if are_paired else None)
            name = hit.id if hit.span is None else hit.span.doc_id
            document = self._document(name)
            index = self._index(document)
            if hit.span is not None and index is not None:
                places.append([index, hit.span.start, hit.span.end])
            elif text is not None:
                places.append(self._of_text(text, name, name in needed))
            else:
                places.append([name, None, name in needed] if index is None else [index])
        return places

    def _of_text(self, text: str, name: str, is_needed: bool) -> Place:
        found = self._where(text, name)
        if found is not None and (index := self._index(found[0])) is not None:
            return [index, found[1], found[1] + len(text)]
        if text not in self._contexts:
            self._contexts[text] = len(self.contexts)
            self.contexts.append(text)
        return [name, self._contexts[text], is_needed]

    def _where(self, text: str, name: str) -> tuple[Document, int] | None:
        """Return the document in which a text stands, and where; the one of its name, or the first."""
        if text in self._found:
            return self._found[text]
        found = None
        named = self._document(name) if name else None
        candidates = (
            [named] if named is not None else [each for kept in self._kept for each in kept.documents]
        )
        for document in candidates if text.strip() else ():
            self._to_search -= len(document.content)
            if self._to_search < 0:
                break
            start = document.content.find(text)
            if start >= 0:
                found = document, start
                break
        self._found[text] = found
        return found

    def _document(self, name: str) -> Document | None:
        return next((found for kept in self._kept if (found := kept.find(name)) is not None), None)

    def _index(self, document: Document | None) -> int | None:
        """Return the number of a document on the page, which it now is on; ``None`` if there is no room."""
        if document is None:
            return None
        if document.id not in self._documents:
            self._documents[document.id] = None
            if len(document.content) <= self._left:
                self._left -= len(document.content)
                self._documents[document.id] = len(self.documents)
                self.documents.append({"name": document.id, "text": document.content})
        return self._documents[document.id]
