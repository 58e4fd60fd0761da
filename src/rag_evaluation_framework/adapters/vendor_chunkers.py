"""Chunkers of other packages: LangChain's text splitters (extra ``langchain``), Chonkie's (``chonkie``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.errors import MissingExtraError, UnknownNameError, UsageError, shown
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.chunkers import sliced
from rag_evaluation_framework.retrieval.positions import ChunkerPositionAdapter


class VendorChunker(ABC):
    """A chunker of another package, given as an object, or by the name of its class and arguments.

    It is placed in the document by where its texts are found.
    """

    name: str
    """Name in specifications, and of the extra."""
    vendor: str
    module: str
    part: str
    """The package's term for it: the argument of the specification that names it."""
    method: str

    def __init__(self, given: Any, arguments: Mapping[str, Any]) -> None:
        if not isinstance(given, str):
            if arguments:
                found = sorted(arguments)
                raise UsageError(f"arguments apply only to a {self.part} given by name, got {found}")
            if not callable(getattr(given, self.method, None)):
                expected = f"an object with {self.method}(text)"
                raise UsageError(f"{self.part}: expected {expected}, got {shown(given)}")
        self.wrapped = self._built(given, arguments) if isinstance(given, str) else given
        self._arguments = arguments
        self._positions = ChunkerPositionAdapter(self)

    @property
    def unplaced(self) -> dict[str, int]:
        """Return the number of chunks of each document left out because their text was changed."""
        return self._positions.unplaced

    @abstractmethod
    def chunk(self, text: str) -> list[str]:
        """Return the texts of the chunks."""

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        """Return the chunks that are in the document, with their characters."""
        return self._positions.chunk_with_positions(doc)

    @abstractmethod
    def _known(self, package: Any) -> list[str]:
        """Return the names of the package's classes that are such chunkers."""

    def _built(self, name: str, arguments: Mapping[str, Any]) -> Any:
        package = extra_module(self.module, feature=f"{self.vendor}'s {self.part}s", extra=self.name)
        if name not in (known := self._known(package)):
            raise UnknownNameError(f"{self.vendor} {self.part}", name, known)
        try:
            return getattr(package, name)(**arguments)
        except ImportError as error:
            raise MissingExtraError(f"{self.vendor}'s {name}", self.name) from error
        except (TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}") from error

    def __repr__(self) -> str:
        return str(Specification(self.name, {self.part: type(self.wrapped).__name__, **self._arguments}))


class LangChainChunker(VendorChunker):
    """A splitter of ``langchain_text_splitters``: its class name and arguments, or the object itself.

    ``LangChainChunker("RecursiveCharacterTextSplitter", chunk_size=200, chunk_overlap=50)``, or as a
    specification ``langchain(splitter=RecursiveCharacterTextSplitter, chunk_size=200, chunk_overlap=50)``.
    Chunks are placed by :class:`~rag_evaluation_framework.retrieval.positions.ChunkerPositionAdapter`. Their
    own ``add_start_index`` is not used: with token lengths and overlap about two in five of its offsets are
    wrong or missing, because it searches from a place that it computes in tokens.
    """

    name, vendor, module = "langchain", "LangChain", "langchain_text_splitters"
    part, method = "splitter", "split_text"

    def __init__(self, splitter: Any = "RecursiveCharacterTextSplitter", **arguments: Any) -> None:
        super().__init__(splitter, arguments)

    def chunk(self, text: str) -> list[str]:
        pieces = self.wrapped.split_text(text)
        # Some splitters (of Markdown, of HTML) return documents.
        return [piece if isinstance(piece, str) else piece.page_content for piece in pieces]

    def _known(self, package: Any) -> list[str]:
        return list(package.__all__)


class ChonkieChunker(VendorChunker):
    """A chunker of ``chonkie``: its class name and arguments, or the object itself.

    ``ChonkieChunker("RecursiveChunker", tokenizer="character", chunk_size=200)``, or as a specification
    ``chonkie(chunker=RecursiveChunker, tokenizer=character, chunk_size=200)``. Chonkie tells where its chunks
    are, and that is used as long as the document's characters agree. Chunks whose text is not where it says
    make the whole document go through
    :class:`~rag_evaluation_framework.retrieval.positions.ChunkerPositionAdapter`.
    """

    name, vendor, module = "chonkie", "chonkie", "chonkie"
    part, method = "chunker", "chunk"

    def __init__(self, chunker: Any = "RecursiveChunker", **arguments: Any) -> None:
        super().__init__(chunker, arguments)

    def chunk(self, text: str) -> list[str]:
        return [piece.text for piece in self.wrapped.chunk(text)]

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        pieces = [piece for piece in self.wrapped.chunk(doc.content) if piece.text.strip()]
        if all(doc.content[piece.start_index : piece.end_index] == piece.text for piece in pieces):
            return sliced(doc, [(piece.start_index, piece.end_index) for piece in pieces])
        return super().chunk_with_positions(doc)

    def _known(self, package: Any) -> list[str]:
        return [name for name in dir(package) if name.endswith("Chunker") and name != "BaseChunker"]
