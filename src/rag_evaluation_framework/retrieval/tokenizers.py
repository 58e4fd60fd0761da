"""The starts of tokens, by the available tokenizers.

======================  =================================================================================
``cl100k``, ``o200k``   the byte pairs of OpenAI's models, offline; needs the extra ``tokens``
``words``               words, numbers and marks by a rule, Chinese and kana by the character
an object               a tiktoken encoding, a ``tokenizers.Tokenizer``, or a fast tokenizer of transformers
======================  =================================================================================

The default is ``cl100k`` where the extra is installed, else ``words``; results name the one that was used.
Installed packages add names through the entry points ``rag_evaluation_framework.tokenizers``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import Registry, extra_module
from rag_evaluation_framework.text.scripts import HAN, KANA

IntArray: TypeAlias = npt.NDArray[np.int64]
AnyTokenizer: TypeAlias = object
"""A tokenizer's name, or an object that :func:`tokenizer_from` takes."""

# What is written without spaces, each character a token, and so are the marks of Japanese among it.
_UNSPACED = f"{HAN}{KANA}〆〇゠・"
# The space before a word is part of it, as in byte-pair vocabularies; long numbers are cut into threes.
_WORD = re.compile(rf" ?[^\W\d_{_UNSPACED}]+| ?\d{{1,3}}|[{_UNSPACED}]| ?[^\w\s]+|_+|\s+?(?= \w)|\s+")


@runtime_checkable
class Tokenizer(Protocol):
    """Cuts a text into tokens."""

    name: str
    """Name in results: ``words``, ``cl100k``."""

    def offsets(self, text: str) -> IntArray:
        """Return where each token starts, in characters from 0, and at the end the length of the text.

        A token that starts inside a character starts with that character.
        """


TOKENIZERS: Registry[Callable[[], Tokenizer]] = Registry("tokenizer")
TOKENIZERS.register("words", "rag_evaluation_framework.retrieval.tokenizers:WordTokenizer")
TOKENIZERS.register("cl100k", "rag_evaluation_framework.retrieval.tokenizers:cl100k", extra="tokens")
TOKENIZERS.register("o200k", "rag_evaluation_framework.retrieval.tokenizers:o200k", extra="tokens")


class WordTokenizer:
    """Words with the space before them, numbers by three digits, runs of marks, Chinese by the character."""

    name = "words"

    def offsets(self, text: str) -> IntArray:
        starts = [match.start() for match in _WORD.finditer(text)]
        return np.array([*starts, len(text)], np.int64)


class TiktokenTokenizer:
    """The tokens of a ``tiktoken.Encoding``; what looks like a special token is ordinary text."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding
        self.name = str(encoding.name)

    def offsets(self, text: str) -> IntArray:
        single = self._encoding.decode_single_token_bytes
        lengths = [len(single(token)) for token in self._encoding.encode_ordinary(text)]
        return character_offsets(text, np.array(lengths, np.int64))


class HuggingFaceTokenizer:
    """The tokens of a ``tokenizers.Tokenizer`` or of a fast tokenizer of transformers; no special ones."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)

    def offsets(self, text: str) -> IntArray:
        if hasattr(self._tokenizer, "encode_batch"):
            pairs = self._tokenizer.encode(text, add_special_tokens=False).offsets
        else:
            encoded = self._tokenizer(
                text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
            )
            pairs = encoded["offset_mapping"]
        # What the tokenizer skips before its first token belongs to it.
        starts = [0, *(start for start, _ in pairs[1:])] if text else []
        return np.maximum.accumulate(np.array([*starts, len(text)], np.int64))


def tokenizer_from(tokenizer: AnyTokenizer | None) -> Tokenizer:
    """Return the tokenizer that a name or an object stands for; ``None`` is ``cl100k``, else ``words``."""
    if tokenizer is None:
        return cl100k() if find_spec("rs_bpe") else WordTokenizer()
    if isinstance(tokenizer, str):
        return TOKENIZERS.get(tokenizer)()
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    if hasattr(tokenizer, "encode_ordinary"):
        return TiktokenTokenizer(tokenizer)
    if hasattr(tokenizer, "encode_batch") or getattr(tokenizer, "is_fast", False):
        return HuggingFaceTokenizer(tokenizer)
    expected = "a tokenizer name, a tiktoken encoding, a fast Hugging Face tokenizer or offsets()"
    raise UsageError(f"tokenizer: expected {expected}, got {shown(tokenizer)}")


def character_offsets(text: str, byte_lengths: IntArray | Sequence[int]) -> IntArray:
    """Turn the lengths of tokens in UTF-8 bytes into where they start, in characters.

    >>> character_offsets("é!", [1, 1, 1]).tolist()  # the first two tokens are halves of é
    [0, 0, 1, 2]
    """
    ends = np.cumsum(np.asarray(byte_lengths, np.int64))
    if text.isascii():
        return np.concatenate([np.zeros(1, np.int64), ends])
    encoded = np.frombuffer(text.encode(), np.uint8)
    # The number of the character to which each byte belongs; all but the first byte of one are 10xxxxxx.
    character = np.cumsum((encoded & 0xC0) != 0x80) - 1
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    return np.append(character[starts], len(text)) if len(ends) else np.array([len(text)], np.int64)


# The byte-pair vocabularies of OpenAI's models, carried by ``rs-bpe``: nothing is downloaded.
#
# Needs the extra ``tokens``.


class BytePairTokenizer:
    """The tokens of one vocabulary; what looks like a special token is ordinary text."""

    def __init__(self, name: str, vocabulary: Any, tokens: int) -> None:
        self.name = name
        self._vocabulary = vocabulary
        decode = vocabulary.bpe().decode_tokens
        self._lengths = np.array([len(decode([token])) for token in range(tokens)], np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        return tokenizer_from, (self.name,)  # another process has, or builds, the vocabulary itself

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
