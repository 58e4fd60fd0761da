"""Quality checks of an evaluation dataset: what a schema allows and is yet a mistake, or probably one.

============================  ========  ====================================================================
code                          severity  meaning
============================  ========  ====================================================================
``duplicate-id``              error     a query or document id stands twice
``missing-document``          error     a relevant document is not among the documents (where there are any)
``negative-span``             error     a citation begins before 0
``inverted-span``             error     a citation does not end after its start
``span-out-of-range``         error     a citation ends behind the end of its document
``text-differs``              error     a citation's text is not what stands in the document
``white-space-differs``       warning   the same, but only in white space
``unresolved-citation``       warning   a file name means no document, or several: cannot tell
``cited-not-relevant``        error     a citation's document is not among the relevant ones
``relevant-not-cited``        warning   a query has citations, but none of this relevant document
``empty-question``            error     a question without words
``empty-reference``           warning   a reference answer that is there and says nothing
``near-duplicate-question``   warning   a question that nearly repeats an earlier one
``count-differs``             warning   ``metadata.size`` is not the number of queries
``documents-absent``          info      there are citations, and no documents to compare them with
============================  ========  ====================================================================

Parts of the wrong type are passed over, since the schema reports them. Every check is linear in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from rag_evaluation_framework.datasets.checks.citation_quality import (
    citation_issues,
    citations_of,
    relevance_issues,
)
from rag_evaluation_framework.datasets.checks.consistency_rules import unique
from rag_evaluation_framework.datasets.checks.document_names import DocumentNames
from rag_evaluation_framework.datasets.checks.empty_texts import says_nothing
from rag_evaluation_framework.errors import Issue, described, shown


def quality_issues(dataset: Mapping[str, Any]) -> list[Issue]:
    """Return everything the quality checks find in a dataset, check by check."""
    parts = _Parts(dataset)
    return [issue for check in CHECKS for issue in check(parts)]


class DataQualityChecker:
    """Performs quality assurance checks on evaluation data.

    ``checks`` may be changed: each is called with the dataset and returns a list of texts.
    """

    def __init__(self) -> None:
        self.checks: list[Callable[[dict[str, Any]], list[str]]] = [
            self._check_query_uniqueness,
            self._check_document_references,
            self._check_citation_validity,
            self._check_ground_truth_consistency,
            self._check_empty_texts,
            self._check_near_duplicates,
            self._check_counts,
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
        """Check that citations are spans of their documents and say what stands there."""
        return _rendered(_invalid_citations, dataset)

    def _check_ground_truth_consistency(self, dataset: dict[str, Any]) -> list[str]:
        """Check that what is cited is relevant, and what is relevant is cited."""
        return _rendered(_inconsistent_relevance, dataset)

    def _check_empty_texts(self, dataset: dict[str, Any]) -> list[str]:
        """Check that questions and reference answers say something."""
        return _rendered(_empty_texts, dataset)

    def _check_near_duplicates(self, dataset: dict[str, Any]) -> list[str]:
        """Check that no question nearly repeats another."""
        return _rendered(_near_duplicates, dataset)

    def _check_counts(self, dataset: dict[str, Any]) -> list[str]:
        """Check that the head's counts are those of the file."""
        return _rendered(_counts, dataset)


class _Parts:
    """The parts of a dataset that have the right type, each query with its path."""

    def __init__(self, dataset: Mapping[str, Any]) -> None:
        self.head: Mapping[str, Any] = dataset if isinstance(dataset, Mapping) else {}
        self.queries = _objects(self.head.get("queries"), "queries")
        self.placed_documents = _objects(self.head.get("documents"), "documents")
        self.documents = [document for _, document in self.placed_documents]

    @cached_property
    def names(self) -> DocumentNames:
        return DocumentNames(self.documents)


def _repeated_ids(parts: _Parts) -> Iterator[Issue]:
    for field, items in (("query_id", parts.queries), ("document_id", parts.placed_documents)):
        yield from unique(((f"{path}.{field}", item.get(field)) for path, item in items), field)


def _missing_documents(parts: _Parts) -> Iterator[Issue]:
    if not parts.documents:
        return
    known = {identifier for each in parts.documents if isinstance(identifier := each.get("document_id"), str)}
    for path, query in parts.queries:
        relevant = query.get("relevant_documents")
        for index, identifier in enumerate(relevant if isinstance(relevant, list) else ()):
            if isinstance(identifier, str) and identifier not in known:
                place = f"{path}.relevant_documents[{index}]"
                yield Issue("missing-document", "the id of one of the documents", shown(identifier), place)


def _invalid_citations(parts: _Parts) -> Iterator[Issue]:
    unchecked = 0
    for path, query in parts.queries:
        yield from citation_issues(query, path, documents=parts.documents, names=parts.names)
        unchecked += 0 if parts.documents else sum(1 for _ in citations_of(query, path))
    if unchecked:
        found = f"none: {unchecked:,} citation{'s' if unchecked > 1 else ''} not compared with a text"
        yield Issue("documents-absent", "documents, to check citations against", found, "documents", "info")


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
    from rag_evaluation_framework.datasets.checks.near_duplicates import (
        near_duplicates,  # numpy, only when needed
    )

    for earlier, later, similarity in near_duplicates([text for _, text in asked]):
        likeness = "the same as" if similarity == 1 else f"{similarity:.0%} like"
        found = f"{likeness} {asked[earlier][0]}: {shown(asked[later][1])}"
        place = f"{asked[later][0]}.query_text"
        yield Issue("near-duplicate-question", "a question of its own", found, place, "warning")


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


def _objects(value: Any, within: str) -> list[tuple[str, Mapping[str, Any]]]:
    items = value if isinstance(value, list) else ()
    return [(f"{within}[{index}]", item) for index, item in enumerate(items) if isinstance(item, Mapping)]
