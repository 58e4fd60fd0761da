"""The hashing embedder is the same everywhere, sees likeness of spelling, and takes any text."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from stored_texts import TEXTS


def cosine(first: str, second: str) -> float:
    vectors = HashingEmbedder().embed([first, second]).astype(np.float64)
    return float(vectors[0] @ vectors[1])


def mixed(value: int) -> int:
    """The finaliser of splitmix64 in Python's own integers."""
    mask = (1 << 64) - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)


def place_and_sign(piece: str, dimensions: int) -> tuple[int, int]:
    rolling = 0
    for character in piece:
        rolling = (rolling * 0x100000001B3 + mixed(ord(character))) & ((1 << 64) - 1)
    last = mixed(mixed((rolling + len(piece)) & ((1 << 64) - 1)) >> 24)
    return (last >> 1) % dimensions, 1 - 2 * (last & 1)


def test_a_text_is_hashed_piece_by_piece_as_the_page_says() -> None:
    # "aa 检索 aa": the word aa twice, and the Chinese word's two characters and one pair once.
    counts = {" aa": 2, "aa ": 2, " aa ": 2, "检": 1, "索": 1, "检索": 1}
    expected = np.zeros(64)
    for piece, count in counts.items():
        place, sign = place_and_sign(piece, 64)
        expected[place] += sign * (1 + math.log(count))
    expected /= np.linalg.norm(expected)
    assert np.allclose(HashingEmbedder(dimensions=64).embed(["AA 检索 aa"])[0], expected, atol=1e-6)


def test_another_process_gives_the_same_bytes() -> None:
    program = (
        "import sys, hashlib\n"
        "from rag_evaluation_framework.retrieval.embedders import HashingEmbedder\n"
        "print(hashlib.sha256(HashingEmbedder().embed(sys.argv[1:]).tobytes()).hexdigest())"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program, *TEXTS],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(runs) == 1


def test_likeness_of_words_is_nearness() -> None:
    assert cosine("parental leave", "Parental LEAVE!") == pytest.approx(1.0)
    assert cosine("retrieving documents", "document retrieval") > 0.4
    assert cosine("retrieving documents", "quarterly taxes") < 0.2
    assert cosine("带薪年假", "员工的带薪年假") > 0.6
    assert cosine("带薪年假", "报销差旅费") < 0.2


def test_chinese_counts_by_the_character_and_the_pair() -> None:
    # 检索 has the pieces 检, 索 and 检索; 索检 has 索, 检 and 索检: two of three in common.
    assert cosine("检索", "索检") == pytest.approx(2 / 3, abs=1e-6)


@given(st.lists(st.text(max_size=30), max_size=6))
def test_any_text_has_a_finite_vector_of_length_one_or_zero(texts: list[str]) -> None:
    vectors = HashingEmbedder(dimensions=64).embed(texts)
    assert vectors.shape == (len(texts), 64)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert all(abs(length - 1) < 1e-6 or length == 0 for length in lengths)


@pytest.mark.parametrize("dimensions", [0, -3, 2.5, 1 << 21])
def test_a_size_that_no_vector_has_is_refused(dimensions: int) -> None:
    with pytest.raises(UsageError, match="dimensions: expected a whole number from 1 to"):
        HashingEmbedder(dimensions=dimensions)
