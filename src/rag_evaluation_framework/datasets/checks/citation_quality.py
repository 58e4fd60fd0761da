"""What can be wrong between a dataset's citations, the documents they name and the documents said relevant.

A citation is only judged where the document it means can be told. The work for a citation is bounded by the
length of its own text, never by that of the document, so that a check is linear in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from rag_evaluation_framework.datasets.checks.consistency_rules import span_issues
from rag_evaluation_framework.datasets.checks.document_names import DocumentNames
from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.records.pages import has_pages, range_counted_in

_ELLIPSES = ("...", "…")
_WHITE_SPACE = re.compile(r"\s+")
# A document's characters may hold more white space than a citation's text, within reason.
_MORE_WHITE_SPACE = 2


def citation_issues(
    query: Mapping[str, Any], path: str, *, documents: Sequence[Mapping[str, Any]], names: DocumentNames
) -> Iterator[Issue]:
    """Yield what is wrong with the spans of a query's citations; without documents, only what needs none."""
    yield from span_issues(query.get("citations"), f"{path}.citations", start="start_char", end="end_char")
    if not documents:
        return
    for place, citation in citations_of(query, path):
        name = citation.get("file_name")
        if not isinstance(name, str):
            continue
        positions = names.positions(name)
        if len(positions) == 1:
            yield from _span_in(documents[positions[0]], citation, place)
        else:
            found = f"{shown(name)}, which {_how_many(positions)} called: cannot tell what it cites"
            yield Issue(
                "unresolved-citation", "the name of one document", found, f"{place}.file_name", "warning"
            )


def relevance_issues(
    query: Mapping[str, Any], path: str, *, documents: Sequence[Mapping[str, Any]], names: DocumentNames
) -> Iterator[Issue]:
    """Yield what is cited and not relevant and, where all that is cited is known, what is relevant only."""
    relevant = {
        identifier: index
        for index, identifier in enumerate(_list(query.get("relevant_documents")))
        if isinstance(identifier, str)
    }
    if not documents:
        documents = [{"document_id": identifier} for identifier in relevant]
        names = DocumentNames(documents)
    cited: set[str] = set()
    unknown = 0
    for place, citation in citations_of(query, path):
        name = citation.get("file_name")
        position = names.position(name) if isinstance(name, str) else None
        identifier = None if position is None else documents[position].get("document_id")
        if not isinstance(identifier, str):
            unknown += 1
            continue
        cited.add(identifier)
        if identifier not in relevant:
            found = f"{shown(name)}, which is {shown(identifier)}"
            yield Issue(
                "cited-not-relevant", "a citation of a relevant document", found, f"{place}.file_name"
            )
    if unknown or not cited:
        return
    for identifier, index in relevant.items():
        if identifier not in cited and names.position(identifier) is not None:
            found = f"none of {shown(identifier)}"
            place = f"{path}.relevant_documents[{index}]"
            yield Issue("relevant-not-cited", "a citation of each relevant document", found, place, "warning")


def citations_of(query: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a query's citations with their paths; what is no object is for the schema to report."""
    for index, citation in enumerate(_list(query.get("citations"))):
        if isinstance(citation, Mapping):
            yield f"{path}.citations[{index}]", citation


def _span_in(document: Mapping[str, Any], citation: Mapping[str, Any], place: str) -> Iterator[Issue]:
    """Compare a span and its text with the document's characters."""
    content, start, end = document.get("content"), citation.get("start_char"), citation.get("end_char")
    if not isinstance(content, str) or not _is_position(start) or not _is_position(end) or start >= end:
        return
    page, name = citation.get("page_number"), shown(document.get("document_id"))
    if page is not None and not _is_position(page):
        return
    counted = range_counted_in(page, document.get("metadata"), length=len(content))
    if counted is None:
        yield Issue("unknown-page", f"a page of {name}", shown(page), f"{place}.page_number")
        return
    first, last = counted
    if end > last - first:
        what = name if (first, last) == (0, len(content)) else f"page {page} of {name}"
        expected = f"at most {last - first}, the length of {what}"
        yield Issue("span-out-of-range", expected, shown(end), f"{place}.end_char")
        return
    if page is not None and not has_pages(document.get("metadata")):
        return  # the positions may count from the beginning of the page, which the document does not tell
    start, end = first + start, first + end
    for field, stands in (("text", _is_span), ("context_text", _surrounds_span)):
        text = citation.get(field)
        if isinstance(text, str) and text.strip() and not stands(text, content, start, end):
            yield _difference(text, content, start, end, f"{place}.{field}")


def _is_span(text: str, content: str, start: int, end: int) -> bool:
    return end - start == len(text) and content.startswith(text, start)


def _surrounds_span(text: str, content: str, start: int, end: int) -> bool:
    """Tell whether a text is the span, stands around it, or is one end of it with the rest left out."""
    if _is_span(text, content, start, end):
        return True
    core = text.strip()
    begins, ends = core.startswith(_ELLIPSES), core.endswith(_ELLIPSES)
    core = core.strip(".… \t\r\n") if begins or ends else core
    if len(core) >= end - start:
        return core in content[max(0, end - len(core)) : start + len(core)]
    return (ends and content.startswith(core, start)) or (begins and content.endswith(core, start, end))


def _difference(text: str, content: str, start: int, end: int, place: str) -> Issue:
    expected = f"the document's characters, {shown(content[start : min(end, start + len(text))])}"
    may_be_spacing = end - start <= _MORE_WHITE_SPACE * len(text)
    if may_be_spacing and _spaced_once(text) == _spaced_once(content[start:end]):
        return Issue(
            "white-space-differs", expected, f"{shown(text)}, which differs in white space", place, "warning"
        )
    return Issue("text-differs", expected, shown(text), place)


def _spaced_once(text: str) -> str:
    return _WHITE_SPACE.sub(" ", text).strip()


def _how_many(positions: Sequence[int]) -> str:
    return f"{len(positions)} documents are" if positions else "no document is"


def _is_position(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
