"""What an answer says, without its citations and its list of sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.judging.claims import said_in, without_source_list

TABLES = tables_beside(__file__)

SAID = "It rained here."


@pytest.mark.parametrize("sources", TABLES["a_list_of_sources_is_left_out"])
def test_a_list_of_sources_is_left_out(sources: str) -> None:
    assert said_in(SAID + sources).strip() == SAID
    assert len(said_in(SAID + sources)) == len(SAID + sources)


@pytest.mark.parametrize("text", TABLES["what_may_be_said_is_kept"])
def test_what_may_be_said_is_kept(text: str) -> None:
    assert without_source_list(text) == text


@pytest.mark.parametrize("piece", TABLES["an_endless_text_is_read_to_its_end"])
def test_an_endless_text_is_read_to_its_end(piece: str) -> None:
    text = "中" + piece * (100_000 // len(piece))  # quadratic work would take minutes
    assert len(said_in(text)) == len(text)


@given(st.text(alphabet="ab.[]1:?-|\n 来源：Sources，（）^", max_size=80))
def test_every_character_stays_or_is_a_space(text: str) -> None:
    said = said_in(text)
    assert len(said) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, said, strict=True))
