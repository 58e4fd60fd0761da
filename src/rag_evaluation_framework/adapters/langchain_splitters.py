"""LangChain's text splitters as chunkers. Needs the extra ``langchain``.

Their own ``add_start_index`` is not used: with token lengths and overlap about two in five of its offsets are
wrong or missing, because it searches from a place that it computes in tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.adapters.extras import VendorChunker
from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.extensions import extra_module


class LangChainChunker(VendorChunker):
    """A splitter of ``langchain_text_splitters``: its class name and arguments, or the object itself.

    ``LangChainChunker("RecursiveCharacterTextSplitter", chunk_size=200, chunk_overlap=50)``, or as a
    specification ``langchain(splitter=RecursiveCharacterTextSplitter, chunk_size=200, chunk_overlap=50)``.
    Chunks are placed by :class:`~rag_evaluation_framework.retrieval.positions.ChunkerPositionAdapter`.
    """

    name, part, method = "langchain", "splitter", "split_text"

    def __init__(self, splitter: Any = "RecursiveCharacterTextSplitter", **arguments: Any) -> None:
        super().__init__(splitter, arguments)

    def chunk(self, text: str) -> list[str]:
        pieces = self.wrapped.split_text(text)
        # Some splitters (of Markdown, of HTML) return documents.
        return [piece if isinstance(piece, str) else piece.page_content for piece in pieces]

    def _built(self, name: str, arguments: Mapping[str, Any]) -> Any:
        feature = "LangChain's text splitters"
        splitters = extra_module("langchain_text_splitters", feature=feature, extra="langchain")
        if name not in splitters.__all__:
            raise UnknownNameError("LangChain splitter", name, splitters.__all__)
        try:
            return getattr(splitters, name)(**arguments)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}") from error
