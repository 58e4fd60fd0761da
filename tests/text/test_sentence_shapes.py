"""The shapes of retrieved and generated text that break splitters of sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.text.sentences import sentence_spans

TABLES = tables_beside(__file__)

# Each shape is written as its sentences, with the white space between them; none may be split or joined.
SHAPES: dict[str, list[str]] = TABLES["shapes"]


@pytest.mark.parametrize("pieces", SHAPES.values(), ids=SHAPES)
def test_a_shape_is_split_where_a_reader_splits_it(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert [text[start:end] for start, end in sentence_spans(text)] == [piece.strip() for piece in pieces]


@given(
    st.sampled_from(["1.", "**2.**", "- b.", "Ask Dr.", "It is approx.", "Step 3.", "See Fig. 4, e.g."]),
    st.characters(categories=["P", "S"], exclude_characters=".!?…。！？｡．•▪◦‣⁃"),
    st.sampled_from(["", " "]),
)
def test_no_mark_parts_an_abbreviation_or_a_number_from_what_it_stands_before(
    head: str, mark: str, space: str
) -> None:
    text = f"{head} {mark}{space}Five of them{mark} came."
    assert [text[start:end] for start, end in sentence_spans(text)] == [text]


@pytest.mark.parametrize("unit", TABLES["a_hostile_text_is_split_in_one_pass"])
def test_a_hostile_text_is_split_in_one_pass(unit: str) -> None:
    # Work that grew with the square of the length would take minutes here.
    text = unit * (100_000 // len(unit))
    position = 0
    for start, end in sentence_spans(text):
        assert position <= start < end
        position = end
