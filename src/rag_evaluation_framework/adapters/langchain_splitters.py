"""LangChain's text splitters as chunkers. Needs the extra ``langchain``.

Their own ``add_start_index`` is not used: with token lengths and overlap about two in five of its offsets are
wrong or missing, because it searches from a place that it computes in tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.adapters.extras import given_or_built
from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.positions import ChunkerPositionAdapter


class LangChainChunker:
    """A splitter of ``langchain_text_splitters``: its class name and arguments, or the object itself.

    ``LangChainChunker("RecursiveCharacterTextSplitter", chunk_size=200, chunk_overlap=50)``, or as a
    specification ``langchain(splitter=RecursiveCharacterTextSplitter, chunk_size=200, chunk_overlap=50)``.
    Chunks are placed by :class:`~rag_evaluation_framework.retrieval.positions.ChunkerPositionAdapter`.
    """

    name = "langchain"

    def __init__(self, splitter: Any = "RecursiveCharacterTextSplitter", **arguments: Any) -> None:
        self.splitter = given_or_built(splitter, arguments, _built, what="splitter", method="split_text")
        self._arguments = arguments
        self._positions = ChunkerPositionAdapter(self)

    @property
    def unplaced(self) -> dict[str, int]:
        """How many chunks of each document were left out because the splitter changed their text."""
        return self._positions.unplaced

    def chunk(self, text: str) -> list[str]:
        """Return the texts that the splitter gives."""
        pieces = self.splitter.split_text(text)
        # Some splitters (of Markdown, of HTML) return documents.
        return [piece if isinstance(piece, str) else piece.page_content for piece in pieces]

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        """Return the chunks that are in the document, with their characters."""
        return self._positions.chunk_with_positions(doc)

    def __str__(self) -> str:
        return str(Specification(self.name, {"splitter": type(self.splitter).__name__, **self._arguments}))

    __repr__ = __str__


def _built(name: str, arguments: Mapping[str, Any]) -> Any:
    feature = "LangChain's text splitters"
    splitters = extra_module("langchain_text_splitters", feature=feature, extra="langchain")
    if name not in splitters.__all__:
        raise UnknownNameError("LangChain splitter", name, splitters.__all__)
    try:
        return getattr(splitters, name)(**arguments)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from error
