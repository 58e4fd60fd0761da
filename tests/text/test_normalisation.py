"""What golden sets compare: width, case, white space, both ways of writing Chinese, alternatives, dots."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.text.normalisation import alternatives, comparable, slash_groups, variants
from rag_evaluation_framework.text.tokens import pieces

TABLES = tables_beside(__file__)

PAIRS = (
    (files("rag_evaluation_framework.text") / "data" / "traditional_simplified.txt")
    .read_text(encoding="utf-8")
    .split()
)


@pytest.mark.parametrize(
    ("text", "expected"), TABLES["texts_are_compared_without_width_case_and_way_of_writing"]
)
def test_texts_are_compared_without_width_case_and_way_of_writing(text: str, expected: str) -> None:
    assert comparable(text) == expected


def test_every_pair_has_a_traditional_and_a_simplified_character_and_none_comes_twice() -> None:
    assert len(PAIRS) > 1000
    assert len({pair[0] for pair in PAIRS}) == len(PAIRS)
    simplified = {pair[1] for pair in PAIRS}
    assert not simplified & {pair[0] for pair in PAIRS}  # so that folding twice changes nothing
    for pair in PAIRS:
        assert len(pair) == 2
        assert pair[0] != pair[1]
        # The national character set of the mainland has every simplified character.
        assert pair == "囉啰" or pair[1].encode("gb2312")


@given(st.text(max_size=40))
def test_a_comparable_text_stays_as_it_is(text: str) -> None:
    assert comparable(comparable(text)) == comparable(text)


@given(st.text(alphabet="龙伙伴阿尤ab1 ,。'", max_size=30))
def test_pieces_are_in_order_and_stand_where_they_say(text: str) -> None:
    even = comparable(text)
    found = list(pieces(even))
    assert all(even[piece.start : piece.end] == piece.text for piece in found)
    assert all(before.end <= after.start for before, after in pairwise(found))


@pytest.mark.parametrize(("name", "expected"), TABLES["a_slash_means_either_unless_between_figures"])
def test_a_slash_means_either_unless_between_figures(name: str, expected: list[str]) -> None:
    assert alternatives(name) == expected


def test_alternatives_in_a_sentence_are_the_words_that_the_slash_joins() -> None:
    assert slash_groups("她们是朋友关系/战友关系,共同参与了") == [["她们是朋友关系", "战友关系"]]
    assert variants("她们是朋友关系/战友关系，共同参与了...") == [
        "她们是朋友关系，共同参与了",
        "战友关系，共同参与了",
    ]
    assert variants("He is calm/quiet and tall／big.") == [
        "He is calm and tall.",
        "He is calm and big.",
        "He is quiet and tall.",
        "He is quiet and big.",
    ]
    assert variants("It opens 24/7.") == ["It opens 24/7."]
    assert variants("It is in /home.") == ["It is in /home."]  # a slash that joins nothing


@pytest.mark.parametrize("dots", ["...", "…", "……", "。。。"])
def test_dots_stand_for_what_is_not_written_yet(dots: str) -> None:
    assert variants(f"阿尤协助基尼奇击败了深渊魔物{dots}") == ["阿尤协助基尼奇击败了深渊魔物"]


def test_a_text_full_of_slashes_has_few_variants() -> None:
    assert len(variants(" ".join(f"a{n}/b{n}" for n in range(50)))) <= 16
    assert len(variants("/".join("ab" * 200))) <= 16
