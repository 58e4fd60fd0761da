"""Documents and the corpus they make up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import InputError, Issue, invalid
from rag_evaluation_framework.files.extraction import extract_text
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.spans import CharacterSpan
from rag_evaluation_framework.records.unique_ids import require_unique


@dataclass(frozen=True, slots=True)
class Document:
    """A source text and its id. Positions everywhere count the code points of ``content``.

    ``extra`` keeps what else a file said of it, so that writing it back loses nothing.
    """

    id: DocumentId
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    title: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise invalid("id", "a document id", self.id)
        if not isinstance(self.content, str):
            raise invalid("content", "text", self.content)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the text as UTF-8, to tell a changed document from the same one."""
        return hashlib.sha256(self.content.encode()).hexdigest()

    def text_of(self, span: CharacterSpan) -> str:
        """Return the characters of a span; one that is not inside this document is refused."""
        if span.doc_id != self.id:
            raise invalid("doc_id", repr(self.id), span.doc_id)
        if span.end > len(self.content):
            raise invalid("end", f"at most {len(self.content)}, the length of {self.id!r}", span.end)
        return self.content[span.start : span.end]


@dataclass(frozen=True)
class Corpus:
    """The documents to retrieve from. Ids are unique; order is kept."""

    documents: Sequence[Document]
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        require_unique((document.id for document in self.documents), what="document id", path="documents")

    @classmethod
    def from_folder(cls, folder_path: str | Path, glob_pattern: str = "**/*.md") -> Corpus:
        """Read every matching file of a folder, sorted by path.

        A document's id is its path relative to the folder, with ``/``. The text of HTML and PDF files is
        taken out of them; a PDF's pages are in its metadata, as start and end in the text. Files that are
        not UTF-8 are all named in one error; a folder without a matching file is an error too, and so is a
        pattern that leads out of the folder.
        """
        folder = Path(folder_path)
        if not folder.is_dir():
            raise invalid("folder_path", "an existing folder", str(folder_path), code="missing-folder")
        documents: list[Document] = []
        issues: list[Issue] = []
        paths = _matching(folder, glob_pattern)
        for name in sorted(paths):
            try:
                read = extract_text(paths[name])
                documents.append(Document(DocumentId(name), read.text, read.metadata, read.title))
            except InputError as error:
                issues.extend(error.issues)
        if issues:
            raise InputError(issues)
        if not documents:
            raise invalid(
                "glob_pattern",
                f"a pattern that matches a file in {folder_path}",
                glob_pattern,
                code="empty-corpus",
            )
        return cls(documents, {"folder": str(folder_path), "glob_pattern": glob_pattern})

    def __len__(self) -> int:
        return len(self.documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __getitem__(self, doc_id: str) -> Document:
        """Return the document of this id; ``KeyError`` when there is none."""
        return self._by_id[doc_id]

    @cached_property
    def _by_id(self) -> dict[str, Document]:
        return {document.id: document for document in self.documents}

    @property
    def fingerprints(self) -> dict[str, str]:
        """The SHA-256 of each document's text, by id."""
        return {document.id: document.fingerprint for document in self.documents}


def _matching(folder: Path, glob_pattern: str) -> dict[str, Path]:
    """Return the files of a folder that match, by their relative path."""
    try:
        if ".." in Path(glob_pattern).parts:
            raise ValueError(glob_pattern)
        matching = [path for path in folder.glob(glob_pattern) if path.is_file()]
    except (NotImplementedError, ValueError):  # what glob raises for an absolute, empty or wrong pattern
        expected = "a pattern below the folder, such as '**/*.md'"
        raise invalid("glob_pattern", expected, glob_pattern) from None
    return {path.relative_to(folder).as_posix(): path for path in matching}
