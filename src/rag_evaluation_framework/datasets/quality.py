"""DataQualityChecker: what a schema allows and is yet a mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeGuard

from rag_evaluation_framework.datasets.consistency import is_whole, items, says_nothing, span_issues, unique
from rag_evaluation_framework.errors import Issue, counted, described, shown
from rag_evaluation_framework.records.citations import has_pages, range_counted_in
from rag_evaluation_framework.records.documents import DocumentNames

# What can be wrong between a dataset's citations, the documents they name and the documents said relevant.
#
# A citation is only judged where the document it means can be told. The work for a citation is bounded by
# the length of its own text, never by that of the document, so that a check is linear in the file.

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
    for place, citation in items(query.get("citations"), f"{path}.citations"):
        name = citation.get("file_name")
        if not isinstance(name, str):
            continue
        positions = names.positions(name)
        if len(positions) == 1:
            yield from _span_in(documents[positions[0]], citation, place)
        else:
            named = counted(len(positions), "document") if positions else "no document"
            found = f"{shown(name)}, which matches {named}"
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
    for place, citation in items(query.get("citations"), f"{path}.citations"):
        name = citation.get("file_name")
        position = names.position(name) if isinstance(name, str) else None
        identifier = None if position is None else documents[position].get("document_id")
        if not isinstance(identifier, str):
            unknown += 1
            continue
        cited.add(identifier)
        if identifier not in relevant:
            found = f"{shown(name)}, which is not relevant ({shown(identifier)})"
            yield Issue(
                "cited-not-relevant", "a citation of a relevant document", found, f"{place}.file_name"
            )
    if unknown or not cited:
        return
    for identifier, index in relevant.items():
        if identifier not in cited and names.position(identifier) is not None:
            found = f"no citation of {shown(identifier)}"
            place = f"{path}.relevant_documents[{index}]"
            yield Issue("relevant-not-cited", "a citation of each relevant document", found, place, "warning")


def _span_in(document: Mapping[str, Any], citation: Mapping[str, Any], place: str) -> Iterator[Issue]:
    """Compare a span and its text with the document's characters."""
    content, start, end = document.get("content"), citation.get("start_char"), citation.get("end_char")
    if not isinstance(content, str) or not _is_position(start) or not _is_position(end) or start >= end:
        return
    page, name = citation.get("page_number"), shown(document.get("document_id"))
    if page is not None and not _is_position(page):
        return
    stretch = range_counted_in(page, document.get("metadata"), length=len(content))
    if stretch is None:
        yield Issue("unknown-page", f"a page of {name}", shown(page), f"{place}.page_number")
        return
    first, last = stretch
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
    """Return True if a text is the span, contains it, or is one end of it."""
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
            "white-space-differs", expected, f"{shown(text)}, with different white space", place, "warning"
        )
    return Issue("text-differs", expected, shown(text), place)


def _spaced_once(text: str) -> str:
    return _WHITE_SPACE.sub(" ", text).strip()


def _is_position(value: Any) -> TypeGuard[int]:
    return is_whole(value) and value >= 0


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# Quality checks of an evaluation dataset: what a schema allows and is yet a mistake, or probably one.
#
# ============================  ========  ====================================================================
# code                          severity  meaning
# ============================  ========  ====================================================================
# ``duplicate-id``              error     a query or document id stands twice
# ``missing-document``          error     a relevant document is not among the documents (where there are any)
# ``negative-span``             error     a citation begins before 0
# ``inverted-span``             error     a citation does not end after its start
# ``span-out-of-range``         error     a citation ends behind the end of its document
# ``text-differs``              error     a citation's text is not what stands in the document
# ``white-space-differs``       warning   the same, but only in white space
# ``unresolved-citation``       warning   a file name means no document, or several: cannot tell
# ``cited-not-relevant``        error     a citation's document is not among the relevant ones
# ``relevant-not-cited``        warning   a query has citations, but none of this relevant document
# ``empty-question``            error     a question without words
# ``empty-reference``           warning   a reference answer that is there and says nothing
# ``near-duplicate-question``   warning   a question that nearly repeats an earlier one
# ``count-differs``             warning   ``metadata.size`` is not the number of queries
# ``documents-absent``          info      there are citations, and no documents to compare them with
# ============================  ========  ====================================================================
#
# Parts of the wrong type are passed over, since the schema reports them. Every check is linear in the file.


def quality_issues(dataset: Mapping[str, Any]) -> list[Issue]:
    """Return everything the quality checks find in a dataset, check by check."""
    parts = _Parts(dataset)
    return [issue for check in CHECKS for issue in check(parts)]


class DataQualityChecker:
    """A checker of the quality of evaluation data.

    ``checks`` may be changed: each is called with the dataset and returns a list of texts.

    Example:
        >>> from rag_evaluation_framework import DataQualityChecker
        >>> checker = DataQualityChecker()
        >>> checker.checks.append(lambda dataset: [] if dataset.get("queries") else ["no queries"])
        >>> "no queries" in checker.run_quality_checks({"queries": []})
        True
    """

    def __init__(self) -> None:
        self.checks: list[Callable[[dict[str, Any]], list[str]]] = [
            self._check_query_uniqueness,
            self._check_document_references,
            self._check_citation_validity,
            self._check_ground_truth_consistency,
            *(partial(_rendered, check) for check in (_empty_texts, _near_duplicates, _counts)),
        ]

    def run_quality_checks(self, dataset: dict[str, Any]) -> list[str]:
        """Run all quality checks on a dataset; one that breaks is reported and does not stop the others."""
        found: list[str] = []
        for check in self.checks:
            try:
                found.extend(check(dataset))
            except Exception as error:  # noqa: BLE001 - anyone's check may raise anything
                name = getattr(check, "__name__", shown(check))
                found.append(f"error: check {name} failed: {described(error)} [check-failed]")
        return found

    def _check_query_uniqueness(self, dataset: dict[str, Any]) -> list[str]:
        """Check that all query ids and document ids are unique."""
        return _rendered(_repeated_ids, dataset)

    def _check_document_references(self, dataset: dict[str, Any]) -> list[str]:
        """Check that all referenced documents exist."""
        return _rendered(_missing_documents, dataset)

    def _check_citation_validity(self, dataset: dict[str, Any]) -> list[str]:
        """Check that citations are spans of their documents with the same text."""
        return _rendered(_invalid_citations, dataset)

    def _check_ground_truth_consistency(self, dataset: dict[str, Any]) -> list[str]:
        """Check that what is cited is relevant, and what is relevant is cited."""
        return _rendered(_inconsistent_relevance, dataset)


class _Parts:
    """The parts of a dataset that have the right type, each query with its path."""

    def __init__(self, dataset: Mapping[str, Any]) -> None:
        self.head: Mapping[str, Any] = dataset if isinstance(dataset, Mapping) else {}
        self.queries = list(items(self.head.get("queries"), "queries"))
        self.placed_documents = list(items(self.head.get("documents"), "documents"))
        self.documents = [document for _, document in self.placed_documents]

    @cached_property
    def names(self) -> DocumentNames:
        return DocumentNames(self.documents)


def _repeated_ids(parts: _Parts) -> Iterator[Issue]:
    for field, placed in (("query_id", parts.queries), ("document_id", parts.placed_documents)):
        yield from unique(((f"{path}.{field}", item.get(field)) for path, item in placed), field)


def _missing_documents(parts: _Parts) -> Iterator[Issue]:
    if not parts.documents:
        return
    known = {identifier for each in parts.documents if isinstance(identifier := each.get("document_id"), str)}
    for path, query in parts.queries:
        for index, identifier in enumerate(_list(query.get("relevant_documents"))):
            if isinstance(identifier, str) and identifier not in known:
                place = f"{path}.relevant_documents[{index}]"
                yield Issue("missing-document", "the id of one of the documents", shown(identifier), place)


def _invalid_citations(parts: _Parts) -> Iterator[Issue]:
    unchecked = 0
    for path, query in parts.queries:
        yield from citation_issues(query, path, documents=parts.documents, names=parts.names)
        unchecked += (
            0 if parts.documents else sum(1 for _ in items(query.get("citations"), f"{path}.citations"))
        )
    if unchecked:
        found = f"no documents, so {counted(unchecked, 'citation is', 'citations are')} not checked"
        yield Issue("documents-absent", "documents to check the citations", found, "documents", "info")


def _inconsistent_relevance(parts: _Parts) -> Iterator[Issue]:
    for path, query in parts.queries:
        yield from relevance_issues(query, path, documents=parts.documents, names=parts.names)


def _empty_texts(parts: _Parts) -> Iterator[Issue]:
    for path, query in parts.queries:
        question, reference = query.get("query_text"), query.get("ground_truth_answer")
        if isinstance(question, str) and says_nothing(question):
            yield Issue("empty-question", "a question", shown(question), f"{path}.query_text")
        if isinstance(reference, str) and says_nothing(reference):
            place = f"{path}.ground_truth_answer"
            yield Issue("empty-reference", "an answer, or no such field", shown(reference), place, "warning")


def _near_duplicates(parts: _Parts) -> Iterator[Issue]:
    asked = [
        (path, text) for path, query in parts.queries if isinstance(text := query.get("query_text"), str)
    ]
    if len(asked) < 2:
        return
    from rag_evaluation_framework.text.shingles import near_duplicates

    for earlier, later, similarity in near_duplicates([text for _, text in asked]):
        likeness = "a duplicate of" if similarity == 1 else f"text {similarity:.0%} similar to"
        found = f"{likeness} {asked[earlier][0]}: {shown(asked[later][1])}"
        place = f"{asked[later][0]}.query_text"
        yield Issue("near-duplicate-question", "a unique question", found, place, "warning")


def _counts(parts: _Parts) -> Iterator[Issue]:
    metadata, queries = parts.head.get("metadata"), parts.head.get("queries")
    size = metadata.get("size") if isinstance(metadata, Mapping) else None
    if isinstance(size, int) and isinstance(queries, list) and size != len(queries):
        expected = f"{len(queries)}, the number of queries"
        yield Issue("count-differs", expected, str(size), "metadata.size", "warning")


CHECKS: Sequence[Callable[[_Parts], Iterator[Issue]]] = (
    _repeated_ids,
    _missing_documents,
    _invalid_citations,
    _inconsistent_relevance,
    _empty_texts,
    _near_duplicates,
    _counts,
)


def _rendered(check: Callable[[_Parts], Iterator[Issue]], dataset: Mapping[str, Any]) -> list[str]:
    return [f"{issue.severity}: {issue} [{issue.code}]" for issue in check(_Parts(dataset))]
