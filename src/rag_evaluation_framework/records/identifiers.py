"""Names for the strings that identify things, so that a signature says which one it means."""

from __future__ import annotations

from typing import Literal, NewType

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
"""What is compared: the identity of chunks, or the characters they cover."""
