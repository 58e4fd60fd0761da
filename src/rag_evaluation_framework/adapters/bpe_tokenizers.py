"""The byte-pair vocabularies of OpenAI's models, carried by ``rs-bpe``: nothing is downloaded.

Needs the extra ``tokens``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rag_evaluation_framework.adapters.extras import extra_module
from rag_evaluation_framework.retrieval.tokenizers import IntArray, Tokenizer, character_offsets


class BytePairTokenizer:
    """The tokens of one vocabulary; what looks like a special token is ordinary text."""

    def __init__(self, name: str, vocabulary: Any, tokens: int) -> None:
        self.name = name
        self._vocabulary = vocabulary
        decode = vocabulary.bpe().decode_tokens
        self._lengths = np.array([len(decode([token])) for token in range(tokens)], np.int64)

    def offsets(self, text: str) -> IntArray:
        tokens = np.array(self._vocabulary.encode(text), np.int64)
        return character_offsets(text, self._lengths[tokens])


@cache
def cl100k() -> Tokenizer:
    """Return the vocabulary of GPT-3.5, GPT-4 and OpenAI's embedding models; it is built once."""
    return BytePairTokenizer("cl100k", _openai().cl100k_base(), 100_256)


@cache
def o200k() -> Tokenizer:
    """Return the vocabulary of GPT-4o and later models; it is built once."""
    return BytePairTokenizer("o200k", _openai().o200k_base(), 199_998)


def _openai() -> Any:
    return extra_module("rs_bpe", feature="tokenizers cl100k and o200k", extra="tokens").openai
