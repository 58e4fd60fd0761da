"""Numbers have one form, their value, in whatever way they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.numbers import even_text

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(("text", "expected"), TABLES["a_number_is_written_as_its_value"])
def test_a_number_is_written_as_its_value(text: str, expected: str) -> None:
    assert even_text(text) == expected


@given(st.text(alphabet="abc 。，是的"))
def test_a_text_without_numbers_is_only_made_comparable(text: str) -> None:
    assert even_text(text) == comparable(text)
