"""The fixed-size chunker: so many tokens a chunk, wherever that ends."""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.retrieval.recursive_spans import SpanList
from rag_evaluation_framework.retrieval.span_chunker import SpanChunker, checked_sizes
from rag_evaluation_framework.retrieval.tokenizers import AnyTokenizer, tokenizer_from


class FixedTokenChunker(SpanChunker):
    """Cuts a text after every so many tokens; ``overlap`` tokens are repeated in the next chunk.

    The default tokenizer is ``words``, which needs no download: about nine of its tokens are ten of
    ``cl100k`` in English. A chunk never ends inside a character, even where a token does (byte pairs cut
    emoji): the character goes with the chunk that has its last token.
    """

    name = "fixed"

    def __init__(self, tokens: int = 200, overlap: int = 0, tokenizer: AnyTokenizer | None = None) -> None:
        self.tokens, self.overlap = checked_sizes("tokens", tokens, overlap)
        self.tokenizer = tokenizer_from(tokenizer)

    def spans(self, text: str) -> SpanList:
        offsets = self.tokenizer.offsets(text)
        count = len(offsets) - 1
        # The last window is the first one that reaches the end.
        last = max(count - self.overlap, 1)
        starts = offsets[0 : min(last, count) : self.tokens - self.overlap].tolist()
        ends = offsets[self.tokens : count : self.tokens - self.overlap].tolist()
        ends += [len(text)] * (len(starts) - len(ends))
        return [span for span in zip(starts, ends, strict=True) if text[span[0] : span[1]].strip()]

    @property
    def parameters(self) -> dict[str, Any]:
        return {"tokens": self.tokens, "overlap": self.overlap, "tokenizer": self.tokenizer.name}
