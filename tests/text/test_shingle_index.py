"""Which of many texts may hold a text."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.text.shingles import ROW, ShingleIndex

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def random_text(seed: int, length: int) -> str:
    return "".join(random.Random(seed).choices(LETTERS, k=length))


@given(st.lists(st.text("ab中\ud800 \n", max_size=120), max_size=5), st.data())
def test_no_text_that_holds_a_text_is_left_out(texts: list[str], data: st.DataObject) -> None:
    text = "".join(data.draw(st.sampled_from([*texts, "nothing"])).split())
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    numbers = ShingleIndex(texts).may_hold(text[start:end])
    holding = {number for number, each in enumerate(texts) if text[start:end] in "".join(each.split())}
    assert holding <= {*numbers}
    assert [*numbers] == sorted({*numbers})


def test_of_many_texts_the_one_that_holds_a_text_is_told() -> None:
    texts = [random_text(number, 500) for number in range(200)]
    index = ShingleIndex(texts)
    for number, text in enumerate(texts):
        assert index.may_hold("\n".join(text[100 : 100 + ROW])) == [number]
    assert index.may_hold(random_text(200, ROW)) == []


def test_the_rarest_shingle_tells_a_text_from_those_that_share_the_others() -> None:
    shared = random_text(200, 500)
    index = ShingleIndex(2 * (shared + random_text(number, 100)) for number in range(20))
    assert index.may_hold(shared) == [*range(20)]
    assert index.may_hold(shared + random_text(7, 100)) == [7]


def test_a_text_shorter_than_a_row_of_shingles_may_be_anywhere() -> None:
    index = ShingleIndex(["some text", "", "another"])
    assert [*index.may_hold(" ".join("x" * (ROW - 1)))] == [0, 1, 2]
    assert [*index.may_hold("x" * ROW)] == []
    assert [*ShingleIndex([]).may_hold("x")] == [*ShingleIndex([]).may_hold("x" * ROW)] == []


def test_a_long_text_is_read_in_blocks_that_tear_no_row_apart() -> None:
    block = 1 << 20
    text = random_text(0, block + 100)
    index = ShingleIndex(["", text])
    for start in range(block - ROW - 1, block + 2):
        assert index.may_hold(text[start : start + ROW]) == [1]


def test_an_index_takes_about_a_byte_for_each_character() -> None:
    index = ShingleIndex([random_text(0, 100_000), "repeated " * 10_000])
    # Two of seventeen shingles, in eight bytes each: 94,118; of the repeated text, one again and again.
    assert 90_000 < index._entries.nbytes < 100_000
