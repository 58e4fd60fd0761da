"""Which document a citation means when it gives a file name: an answer, or "cannot tell", never a guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from rag_evaluation_framework.records.documents import Document

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
        """Return the position of the one document that a name means; ``None`` when that cannot be told."""
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
