"""Opening citations in documents and contexts; looking texts up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import msgspec

from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.records.citations import (
    Citation,
    ContextCitation,
    SpanCitation,
    TokenSpanCitation,
    has_pages,
    place_in,
    range_counted_in,
)
from rag_evaluation_framework.records.documents import CharacterSpan, Document, DocumentNames
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.text.normalisation import folded
from rag_evaluation_framework.text.search import SqueezedText, exact_places, without_dots, without_spaces
from rag_evaluation_framework.text.shingles import ShingleIndex
from rag_evaluation_framework.text.spans import Span

CHARACTERS, TOKENS, CONTEXTS = "characters of files", "tokens of files", "numbered contexts"
_KINDS: dict[type[Citation], str] = {
    SpanCitation: CHARACTERS,
    TokenSpanCitation: TOKENS,
    ContextCitation: CONTEXTS,
}
_LEFT_OUT = re.compile(r"\.\.\.|…")
_UNRESOLVED = ("unknown-document", "ambiguous-document")
# In the place of a page's number where its characters are counted in the whole document: the number of none.
_WHOLE_DOCUMENT = -1


class OpenedCitation(msgspec.Struct, frozen=True, kw_only=True):
    """A citation and the text that it means, or the issue that says why it has none.

    ``citation`` is ``None`` for what was meant as one and cannot be read. ``span`` is where the text stands
    in its document; a numbered context has none.
    """

    citation: Citation | None
    text: str = ""
    span: CharacterSpan | None = None
    issue: Issue | None = None
    bracket: tuple[int, int] | None = None
    """Start and end of the bracket that contains the citation, if the answer has it in brackets."""

    @property
    def is_open(self) -> bool:
        return self.issue is None

    @property
    def is_resolved(self) -> bool:
        """Return True if it names no file or a known one; other citations are not scored."""
        return self.issue is None or self.issue.code not in _UNRESOLVED

    def to_dict(self) -> dict[str, Any]:
        """Return the citation as results hold it."""
        written = {
            **_citation_fields(self.citation),
            "valid": self.is_open,
            "problem": None if self.issue is None else f"{self.issue.code}: {self.issue}",
            "bracket": None if self.bracket is None else list(self.bracket),
            "document_id": None if self.span is None else self.span.doc_id,
        }
        return {name: value for name, value in written.items() if value is not None}


def cited_kinds(citations: Iterable[Citation]) -> set[str]:
    """Return which of the three kinds there are, as phrases."""
    return {_KINDS[type(citation)] for citation in citations}


class CitableTexts:
    """The documents that answers may cite by name. Contexts, cited by number, come with each answer."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._names = DocumentNames.of_records(documents)

    def __bool__(self) -> bool:
        return bool(self._documents)

    def opened(self, citation: Citation, contexts: Sequence[str] = ()) -> OpenedCitation:
        """Return what a citation means."""
        match citation:
            case ContextCitation():
                return _opened_context(citation, contexts)
            case SpanCitation():
                return self._opened_span(citation)
            case TokenSpanCitation():
                found = f"tokens of {citation.tokenizer}"
                return OpenedCitation(citation=citation, issue=Issue("token-span", "characters", found))

    def document(self, name: str) -> Document | None:
        """Return the one document that a name means."""
        found = self._document(name)
        return None if isinstance(found, Issue) else found

    def id_of(self, name: str) -> str:
        """Return the id of the document that a name means, or the name itself."""
        document = self.document(name)
        return name if document is None else document.id

    def placed(self, citation: SpanCitation) -> SpanCitation:
        """Return a citation under its document's id and counted in the whole document, as far as is known.

        Where its pages are known, a place is the same with its page and without; a page which the document
        does not have stays, and is no other page's place.
        """
        document = self._document(citation.file)
        if isinstance(document, Issue):
            return citation
        counted = range_counted_in(citation.page, document.metadata, length=len(document.content))
        placed = replace(citation, file=document.id)
        if counted is None or not has_pages(document.metadata):
            return placed
        first, _ = counted
        start, end = first + citation.start, first + citation.end
        return replace(placed, page=_WHOLE_DOCUMENT, start=start, end=end)

    def _opened_span(self, citation: SpanCitation) -> OpenedCitation:
        document = self._document(citation.file)
        if isinstance(document, Issue):
            return OpenedCitation(citation=citation, issue=self._also_outside(document, citation))
        place = place_in(document, citation)
        if isinstance(place, Issue):
            return OpenedCitation(citation=citation, issue=place)
        text = document.text_of(place)
        issue = None if citation.text is None or quotes(citation.text, text) else _differs(citation, text)
        return OpenedCitation(citation=citation, text=text, span=place, issue=issue)

    def _document(self, name: str) -> Document | Issue:
        positions = self._names.positions(name) or self._names.positions_below(name)
        if len(positions) == 1:
            return self._documents[positions[0]]
        if not positions:
            return Issue("unknown-document", "the name of a document", shown(name))
        several = " and ".join(repr(self._documents[place].id) for place in positions[:3])
        return Issue("ambiguous-document", "a name of one document", f"{shown(name)}, which may be {several}")

    def _also_outside(self, issue: Issue, citation: SpanCitation) -> Issue:
        """Return the issue, with a note if every document is too short for the citation."""
        longest = max((len(document.content) for document in self._documents), default=citation.end)
        if citation.end <= longest:
            return issue
        outside = f"and an end of {shown(citation.end)} beyond the longest document, which has {longest}"
        return replace(issue, found=f"{issue.found} {outside}")


def quotes(quotation: str, text: str) -> bool:
    """Return True if the parts of a quotation stand in a text, in order; an empty one does in any.

    >>> quotes("the Boat … at SIX", "The boat  leaves at noon and returns at six.")
    True
    """
    where, position = folded(text), 0
    for part in filter(None, (folded(part) for part in _LEFT_OUT.split(quotation))):
        found = where.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True


def _opened_context(citation: ContextCitation, contexts: Sequence[str]) -> OpenedCitation:
    if citation.number <= len(contexts):
        return OpenedCitation(citation=citation, text=contexts[citation.number - 1])
    expected = f"a context's number up to {len(contexts)}" if contexts else "a numbered context to cite"
    return OpenedCitation(citation=citation, issue=Issue("unknown-context", expected, f"[{citation.number}]"))


def _differs(citation: SpanCitation, text: str) -> Issue:
    return Issue("text-differs", f"words that stand there, {shown(text)}", shown(citation.text))


def _citation_fields(citation: Citation | None) -> dict[str, Any]:
    match citation:
        case SpanCitation(file=file, page=page, start=start, end=end):
            return {"file_name": file, "page_number": page, "start_char": start, "end_char": end}
        case TokenSpanCitation(file=file, start=start, end=end, tokenizer=tokenizer):
            return {"file_name": file, "start_token": start, "end_token": end, "tokenizer": tokenizer}
        case ContextCitation(number=number):
            return {"context": number}
    return {}


# Looks up texts in documents: where are the contexts that came without a position?


class SearchedDocuments:
    """Documents in which texts without a position are searched for; without any, a name is an id.

    ``are_all`` is false where the system may have retrieved from other documents too.
    """

    def __init__(self, documents: Sequence[Document], *, are_all: bool = True) -> None:
        self._documents, self.are_all = documents, are_all
        self.texts = CitableTexts(documents)
        # Documents that cannot hold a text are ruled out by their characters alone, which take less memory.
        self._characters = cache(without_spaces)
        self._squeezed = lru_cache(maxsize=64)(SqueezedText)
        self._places_of = lru_cache(maxsize=256)(self._searched)  # several metrics ask about the same texts

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(SearchedDocuments, are_all=self.are_all), (self._documents,)

    def places_of(self, text: str, name: str | None) -> Sequence[CharacterSpan]:
        """Return where a text is: in the document of that name, or in any if no document has the name.

        Only if it is nowhere to the letter may white space differ, and dots at its ends be left out.
        """
        return self._places_of(text, name)

    def _searched(self, text: str, name: str | None) -> Sequence[CharacterSpan]:
        document = None if name is None else self.texts.document(name)
        for wanted in filter(str.strip, dict.fromkeys((text, without_dots(text)))):
            held = self._index.may_hold(wanted) if document is None else ()
            among = [self._documents[number] for number in held] if document is None else [document]
            for search in (exact_places, self._with_other_spaces):
                if found := [
                    CharacterSpan(each.id, place.start, place.end)
                    for each in among
                    for place in search(wanted, each.content, Span(0, len(each.content)))
                ]:
                    return found
        return []

    @cached_property
    def _index(self) -> ShingleIndex:
        return ShingleIndex(document.content for document in self._documents)

    def _with_other_spaces(self, wanted: str, text: str, within: Span) -> list[Span]:
        if without_spaces(wanted) not in self._characters(text):
            return []
        return self._squeezed(text).places(wanted, within)
