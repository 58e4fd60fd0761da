"""Fixed numbers of tokens, and the tokenizers that count them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from chunked_texts import BLANK, TEXTS

from cases import tables_beside
from rag_evaluation_framework import FixedTokenChunker, UsageError
from rag_evaluation_framework.retrieval.chunkers import CharacterMeasure, Measure, TokenMeasure
from rag_evaluation_framework.retrieval.tokenizers import (
    HuggingFaceTokenizer,
    IntArray,
    TiktokenTokenizer,
    WordTokenizer,
    character_offsets,
    tokenizer_from,
)

TABLES = tables_beside(__file__)


def tokens_of(text: str) -> list[str]:
    offsets = WordTokenizer().offsets(text).tolist()
    return [text[start:end] for start, end in pairwise(offsets)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    TABLES["the_default_tokenizer_keeps_spaces_with_words_and_cuts_chinese_by_the_character"],
)
def test_the_default_tokenizer_keeps_spaces_with_words_and_cuts_chinese_by_the_character(
    text: str, tokens: list[str]
) -> None:
    assert tokens_of(text) == tokens


@pytest.mark.parametrize(
    ("tokens", "overlap", "chunks"), TABLES["chunks_have_so_many_tokens_and_the_last_one_reaches_the_end"]
)
def test_chunks_have_so_many_tokens_and_the_last_one_reaches_the_end(
    tokens: int, overlap: int, chunks: list[str]
) -> None:
    assert FixedTokenChunker(tokens, overlap).chunk("a b c d e") == chunks


class Halves:
    """A tokenizer that cuts every character into two byte-pair-like halves."""

    name = "halves"

    def offsets(self, text: str) -> IntArray:
        return character_offsets(text, [len(character.encode()) // 2 for character in text for _ in (1, 2)])


def test_a_chunk_never_ends_inside_a_character() -> None:
    # Every letter is two bytes and two tokens: the first window of three tokens ends inside ü.
    assert FixedTokenChunker(3, tokenizer=Halves()).chunk("éüöäß") == ["é", "üö", "ä", "ß"]
    assert FixedTokenChunker(1, tokenizer=Halves()).chunk("éü") == ["é", "ü"]


@pytest.mark.parametrize(("is_installed", "tokenizer"), [(True, "cl100k"), (False, "words")])
def test_a_real_tokenizer_is_used_where_one_is_installed_and_the_specification_says_which(
    is_installed: bool, tokenizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = "rag_evaluation_framework.retrieval.tokenizers.find_spec"
    monkeypatch.setattr(found, lambda name: object() if is_installed else None)
    chunker = FixedTokenChunker(tokens=100)
    assert str(chunker) == f"fixed(tokens=100, overlap=0, tokenizer={tokenizer})"
    # "Tides" is one word of ours and two of the vocabulary's: "T", "ides".
    assert FixedTokenChunker(tokens=1).chunk("Tides") == (["T", "ides"] if is_installed else ["Tides"])


def test_the_specification_names_the_tokenizer() -> None:
    assert (
        str(FixedTokenChunker(tokens=100, tokenizer=Halves()))
        == "fixed(tokens=100, overlap=0, tokenizer=halves)"
    )


@pytest.mark.parametrize(
    "arguments", [{"tokens": 0}, {"tokens": 5, "overlap": 5}, {"tokens": 5, "tokenizer": 3}]
)
def test_parameters_that_make_no_sense_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="expected"):
        FixedTokenChunker(**arguments)


def test_a_tiktoken_encoding_is_taken_as_it_is() -> None:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    single_bytes = {bytes([value]): value for value in range(256)}
    encoding = tiktoken.Encoding("bytes", pat_str=r"\S+|\s+", mergeable_ranks=single_bytes, special_tokens={})
    tokenizer = tokenizer_from(encoding)
    assert isinstance(tokenizer, TiktokenTokenizer)
    assert tokenizer.name == "bytes"
    assert tokenizer.offsets("aé").tolist() == [0, 1, 1, 2]


def test_a_hugging_face_tokenizer_is_taken_as_it_is() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="the Hugging Face tokenizers are not installed")
    bert = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "two": 1}, unk_token="[UNK]"))
    bert.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = tokenizer_from(bert)
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    assert tokenizer.offsets("  one two").tolist() == [0, 6, 9]
    assert FixedTokenChunker(1, tokenizer=bert).chunk("one two 三") == ["one ", "two ", "三"]


@pytest.mark.parametrize("text", [*TEXTS.values(), *BLANK.values()])
def test_a_measure_finds_the_furthest_and_the_earliest_place_of_a_length(text: str) -> None:
    measures: list[Measure] = [CharacterMeasure(text), TokenMeasure(text, WordTokenizer())]
    for measure in measures:
        for position in range(0, len(text), 37):
            for amount in (0, 1, 10):
                furthest = measure.furthest(position, amount)
                assert measure.length(position, furthest) <= amount
                assert furthest == len(text) or measure.length(position, furthest + 1) > amount
                earliest = measure.earliest(position, amount)
                assert measure.length(earliest, position) <= amount
                assert earliest == 0 or measure.length(earliest - 1, position) > amount
