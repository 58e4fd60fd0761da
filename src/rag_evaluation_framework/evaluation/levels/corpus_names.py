"""Which document of a corpus a dataset means, and whether it is still as the dataset knew it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.records.documents import Corpus, Document, DocumentNames
from rag_evaluation_framework.records.samples import Dataset

FINGERPRINTS = "corpus_fingerprint"
"""Where a dataset, or one of its samples, has the SHA-256 of each document in its ``metadata``."""


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
        return Issue("ambiguous-document", "a name of one document", f"{shown(name)}, which may be {several}")

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
