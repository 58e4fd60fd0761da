"""Document, Corpus, CharacterSpan, ids, and which document a file name means."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NewType

from rag_evaluation_framework.errors import InputError, Issue, MissingExtraError, counted, invalid
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.text.display import display, element, short_repr, short_text
from rag_evaluation_framework.text.spans import Spanned

# Names for the strings that identify things, so that a signature says which one it means.

DocumentId = NewType("DocumentId", str)
"""A document of the corpus: its path relative to the folder, such as ``guides/rag_overview.md``."""

QueryId = NewType("QueryId", str)
"""A question, such as ``query_001``."""

QueryText = NewType("QueryText", str)
"""The words of a question."""

ChunkId = NewType("ChunkId", str)
"""A chunk's text: ``chunk_`` and 12 hexadecimal digits. The same text in two places has one id."""

PositionAwareChunkId = NewType("PositionAwareChunkId", str)
"""The same for a chunk that knows its place: ``pa_chunk_`` and 12 hexadecimal digits."""

EvaluationType = Literal["chunk-level", "token-level"]
"""Level of comparison: the ids of chunks, or the characters they cover."""


# A stretch of characters in a document.


def check_range(start: object, end: object) -> None:
    """Refuse anything but whole numbers with ``0 <= start < end``."""
    if not isinstance(start, int) or isinstance(start, bool) or start < 0:
        raise invalid("start", "a whole number of at least 0", start)
    if not isinstance(end, int) or isinstance(end, bool) or end <= start:
        raise invalid("end", f"a whole number above {start}", end)


@dataclass(frozen=True, slots=True, order=True)
class CharacterSpan(Spanned):
    """The characters ``[start, end)`` of a document.

    Positions count code points from 0 in the text as it is stored.

    Args:
        doc_id: Id of the document.
        start: Position of the first character.
        end: Position after the last character.

    Raises:
        InputError: The span has no document, is empty or inverted.

    Example:
        >>> from rag_evaluation_framework import CharacterSpan
        >>> span = CharacterSpan("doc1", 0, 5)
        >>> "Hello, World!"[span.start : span.end]
        'Hello'
    """

    doc_id: DocumentId
    start: int
    end: int

    def __post_init__(self) -> None:
        if not isinstance(self.doc_id, str) or not self.doc_id:
            raise invalid("doc_id", "a document id", self.doc_id)
        check_range(self.start, self.end)

    def overlaps(self, other: CharacterSpan) -> bool:
        """Return True if the two share at least one character of the same document."""
        return self.doc_id == other.doc_id and self.meets(other)

    def overlap_chars(self, other: CharacterSpan) -> int:
        """Count the characters the two share."""
        if not self.overlaps(other):
            return 0
        return min(self.end, other.end) - max(self.start, other.start)

    def length(self) -> int:
        """Count the characters of this span."""
        return self.size


# Ids that must be unique within one record.


def require_unique(ids: Iterable[str], *, what: str, path: str) -> None:
    """Refuse repeated ids; each repetition is an issue at its own position, ``path[3]``."""
    seen: set[str] = set()
    issues: list[Issue] = []
    for index, identifier in enumerate(ids):
        if identifier in seen:
            found = f"duplicate {identifier!r}"
            issues.append(Issue("duplicate-id", f"unique {what}s", found, f"{path}[{index}]"))
        seen.add(identifier)
    if issues:
        raise InputError(issues)


@dataclass(frozen=True, slots=True)
class Document:
    """A source text and its id. Positions everywhere count the code points of ``content``.

    Args:
        id: Id of the document, unique in its corpus.
        content: The text.
        metadata: Any values.
        title: Title, if known.
        extra: Other values of its file, which are written back.

    Example:
        >>> from rag_evaluation_framework import Document
        >>> Document("rome.md", "Rome is old.").content[0:4]
        'Rome'
    """

    id: DocumentId
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    title: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    __repr__ = short_repr

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


_SHOWN_DOCUMENTS = 10


@dataclass(frozen=True, repr=False)
class Corpus:
    """The documents to retrieve from. Ids are unique; order is kept.

    Args:
        documents: The documents.
        metadata: Any values.

    Raises:
        InputError: Two documents have the same id.

    Example:
        >>> from rag_evaluation_framework import Corpus, Document
        >>> Corpus([Document("rome.md", "Rome is old.")])["rome.md"].content
        'Rome is old.'
    """

    documents: Sequence[Document]
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        require_unique((document.id for document in self.documents), what="document id", path="documents")

    @classmethod
    def from_folder(cls, folder_path: str | Path, glob_pattern: str | None = "**/*.md") -> Corpus:
        """Read every matching file of a folder, sorted by path; with ``None`` those of every readable kind.

        A document's id is its path relative to the folder, with ``/``. The text of HTML and PDF files is
        taken out of them; a PDF's pages are in its metadata, as start and end in the text. Files that are
        not UTF-8 are all named in one error; a folder without a matching file is an error too, and so is a
        pattern that leads out of the folder. What is left out is in ``metadata["skipped"]``, with the reason.
        One file instead of a folder is read like a folder that contains nothing else, for any pattern.
        """
        from rag_evaluation_framework.files.extraction import READABLE, extract_text

        folder = Path(folder_path)
        if folder.is_file():
            paths, glob_pattern = {folder.name: folder}, None
        elif folder.is_dir():
            paths = _matching(folder, "**/*" if glob_pattern is None else glob_pattern)
        else:
            expected = "an existing folder or file"
            raise invalid("folder_path", expected, str(folder_path), code="missing-folder")
        documents: list[Document] = []
        issues: list[Issue] = []
        skipped: dict[str, str] = {}
        for name in sorted(paths):
            if glob_pattern is None and (reason := _unreadable(name)) is not None:
                skipped |= {name: reason} if reason else {}
                continue
            try:
                read = extract_text(paths[name])
                documents.append(Document(DocumentId(name), read.text, read.metadata, read.title))
            except InputError as error:
                issues.extend(error.issues)
        if issues:
            raise InputError(issues)
        if not documents and glob_pattern is not None:
            expected = f"a pattern that matches a file in {folder_path}"
            raise invalid("glob_pattern", expected, glob_pattern, code="empty-corpus")
        if not documents and _PDF_UNREAD in skipped.values():
            raise MissingExtraError("reading PDF files", "pdf")
        if not documents:
            kinds = f"a document ({', '.join(READABLE)})"
            found = "a folder without documents" if folder.is_dir() else "a file of another type"
            raise InputError([Issue("empty-corpus", kinds, found, file=str(folder_path))])
        if folder.is_file():
            return cls(documents, {"file": str(folder_path)})
        metadata: dict[str, Any] = {"folder": str(folder_path), "glob_pattern": glob_pattern}
        return cls(documents, {**metadata, "skipped": skipped} if skipped else metadata)

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

    def __repr__(self) -> str:
        size = sum(len(document.content) for document in self.documents)
        folder = self.metadata.get("folder")
        where = f" ({short_text(Path(folder).resolve().name)})" if isinstance(folder, str) else ""
        return f"Corpus: {counted(len(self), 'document')}, {counted(size, 'character')}{where}"

    def _repr_html_(self) -> str:
        rows = [
            element(
                "tr",
                element("td", element("code", short_text(document.id, 60))),
                element("td", f"{len(document.content):,}", class_="number"),
                element("td", short_text(document.content, 70), dir="auto"),
            )
            for document in self.documents[:_SHOWN_DOCUMENTS]
        ]
        names = ("document", None), ("characters", "number"), ("begins with", None)
        head = element("tr", *(element("th", name, scope="col", class_=kind) for name, kind in names))
        more = len(self) - len(rows)
        rest = element("p", f"{counted(more, 'more document')}", class_="dim") if more else None
        return display(element("p", repr(self), class_="word"), element("table", head, *rows), rest)


def _unreadable(name: str) -> str | None:
    """Return why a file is no document, where nobody says which are: "" for one that hides."""
    if any(part.startswith(".") for part in PurePosixPath(name).parts):
        return ""
    if not is_document(name):
        return "not Markdown, text, HTML or PDF"
    return _PDF_UNREAD if plain_name(name).endswith(".pdf") and find_spec("pypdf") is None else None


def is_document(name: str) -> bool:
    """Return True if a file of this name is of a kind whose text can be read."""
    from rag_evaluation_framework.files.extraction import READABLE

    return PurePosixPath(plain_name(name)).suffix in READABLE


_PDF_UNREAD = "for PDF, pip install 'rag-evaluation-framework[pdf]'"


def skipped_files(folder: Path) -> dict[str, str]:
    """Return what :meth:`Corpus.from_folder` leaves out where nobody says what to take, and why."""
    return {name: why for name in sorted(_matching(folder, "**/*")) if (why := _unreadable(name))}


def _matching(folder: Path, glob_pattern: str) -> dict[str, Path]:
    """Return the files of a folder that match, by their relative path."""
    try:
        if ".." in Path(glob_pattern).parts:
            raise ValueError(glob_pattern)
        matching = [path for path in folder.glob(glob_pattern) if path.is_file()]
    except (NotImplementedError, ValueError):  # what glob raises for an absolute, empty or wrong pattern
        expected = "a pattern inside the folder, such as '**/*.md'"
        raise invalid("glob_pattern", expected, glob_pattern) from None
    return {path.relative_to(folder).as_posix(): path for path in matching}


# Which document a citation means when it gives a file name: an answer, or "cannot tell", never a guess.

# Deeper paths are no file's; looking below each of their folders would take quadratic time.
_DEEPEST_PATH = 64


class DocumentNames:
    """The names by which documents may be cited, from the surest to the least sure.

    A name is looked up as a document's id, its ``file_path``, the end of that path (``b/x.txt`` of
    ``a/b/x.txt``), its ``metadata.file_name``, and at last without its suffix. The first way that knows the
    name decides, even when it knows several documents of that name.

    >>> names = DocumentNames([{"document_id": "doc_ml", "file_path": "docs/ml_intro.pdf"}])
    >>> names.position("ml_intro.pdf"), names.position("ml_intro"), names.position("ml_guide.pdf")
    (0, 0, None)
    """

    def __init__(self, documents: Sequence[Mapping[str, Any]]) -> None:
        self._ways: tuple[dict[str, list[int]], ...] = ({}, {}, {}, {}, {})
        for position, document in enumerate(documents):
            for way, names in zip(self._ways, _names(document), strict=True):
                for name in names:
                    way.setdefault(name, []).append(position)

    @classmethod
    def of_records(cls, documents: Iterable[Document]) -> DocumentNames:
        """Return the names of documents that were read; the id of one that was a file is its path."""
        return cls(
            [
                {
                    "document_id": document.id,
                    "file_path": document.extra.get("file_path", document.id),
                    "metadata": document.metadata,
                }
                for document in documents
            ]
        )

    def positions(self, name: str) -> Sequence[int]:
        """Return the positions of the documents that a name may mean, in order: none, one or several."""
        by_id, *by_path, by_stem = self._ways
        if name in by_id:
            return by_id[name]
        name = _plain(name)
        for way in by_path:
            if name in way:
                return way[name]
        return by_stem.get(_stem(name), ())

    def position(self, name: str) -> int | None:
        """Return the position of the only document with a name; ``None`` if none or several."""
        positions = self.positions(name)
        return positions[0] if len(positions) == 1 else None

    def positions_below(self, name: str) -> Sequence[int]:
        """Return the positions of documents whose id ends the path: a corpus may begin in a folder of it."""
        return next((self._ways[0][end] for end in _ends(_plain(name)) if end in self._ways[0]), ())


def _names(document: Mapping[str, Any]) -> Iterator[set[str]]:
    """Yield the names of a document for each way of looking it up."""
    identifier, path = document.get("document_id"), document.get("file_path")
    metadata = document.get("metadata")
    file_name = metadata.get("file_name") if isinstance(metadata, Mapping) else None
    ids = {identifier} if isinstance(identifier, str) else set()
    paths = {_plain(path)} if isinstance(path, str) else set()
    path_ends = {end for name in paths for end in _ends(name)}
    file_names = {_plain(file_name)} if isinstance(file_name, str) else set()
    yield ids
    yield paths
    yield path_ends
    yield file_names
    yield {_stem(name) for name in ids | paths | path_ends | file_names} | ids


def _ends(path: str) -> Iterator[str]:
    """Yield what is left of a path when its first folders are taken away, one after the other."""
    parts = PurePosixPath(path).parts[-_DEEPEST_PATH:]
    return ("/".join(parts[first:]) for first in range(1, len(parts)))


def _plain(name: str) -> str:
    """Write a path in one way, whichever system it comes from."""
    return name.replace("\\", "/").removeprefix("./")


def _stem(name: str) -> str:
    """Leave out the suffix of a name; its folders stay, since another folder holds another file."""
    path = PurePosixPath(name)
    return str(path.with_suffix("")) if path.suffix else name
