"""What counts as a claim, and where it stands."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.judging.claims import claims_of

TABLES = tables_beside(__file__)


def texts(text: str) -> list[str]:
    return [claim.text for claim in claims_of(text)]


@pytest.mark.parametrize(("text", "expected"), TABLES["claims_are_sentences"])
def test_claims_are_sentences(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize("text", TABLES["what_states_nothing_gives_no_claim"])
def test_what_states_nothing_gives_no_claim(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize("text", ["B", "(b)", "七", "42."])
def test_a_single_letter_character_or_number_is_a_claim(text: str) -> None:
    assert len(texts(text)) == 1


@pytest.mark.parametrize("text", TABLES["a_sentence_with_a_verb_is_a_claim"])
def test_a_sentence_with_a_verb_is_a_claim(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize("text", TABLES["what_only_begins_like_a_courtesy_is_a_claim"])
def test_what_only_begins_like_a_courtesy_is_a_claim(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize("text", ["Source: the river [1].", "Rating: 5 [1].", "来源：太阳能【1】。"])
def test_what_is_said_before_a_citation_is_a_claim(text: str) -> None:
    assert texts(text) == [text]


def test_list_items_and_table_rows_are_claims_without_their_markers() -> None:
    text = (
        "Facts:\n- Rome is old.\n* Paris is big [1].\n1. Oslo is cold.\n2) Bern is small.\n（1）巴黎很大。\n"
    )
    assert texts(text) == [
        "Rome is old.",
        "Paris is big [1].",
        "Oslo is cold.",
        "Bern is small.",
        "巴黎很大。",
    ]
    assert texts("| city | people |\n|---|---|\n| Rome | 3 million |\n") == ["| Rome | 3 million |"]


@pytest.mark.parametrize(
    "marker", ["**1.** ", "**1**. ", "__2)__ ", "① ", "⑵", "❸ ", "Q1. ", "A12) ", "- **Q1.** "]
)
def test_the_marker_of_an_item_is_no_part_of_its_claim(marker: str) -> None:
    assert texts(f"{marker}Rome is old.") == ["Rome is old."]


@pytest.mark.parametrize(
    "text", ["①和②都对。", "①②正确。", "S3.example.com serves files.", "**3.5** million came."]
)
def test_what_only_looks_like_a_marker_stays(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize(
    "heading", ["Shipping\n--------", "**Shipping**\n---", "运费\n====", "运费\r\n----\r"]
)
def test_an_underlined_heading_is_no_claim(heading: str) -> None:
    assert texts(f"Rome is old.\n\n{heading}\nIt costs 5 euros.") == ["Rome is old.", "It costs 5 euros."]


def test_what_a_rule_parts_from_the_next_paragraph_is_no_heading() -> None:
    assert texts("Rome is old.\n---\nOslo is cold.") == ["Rome is old.", "Oslo is cold."]
    assert texts("- Rome is old\n---\nOslo is cold.") == ["Rome is old\n---", "Oslo is cold."]


def test_each_line_of_code_is_a_claim_and_its_fence_is_none() -> None:
    assert texts("Run this.\n```bash\nx = 1\ny = 2\n```\nIt prints 1.") == [
        "Run this.",
        "x = 1",
        "y = 2",
        "It prints 1.",
    ]


def test_citations_and_sources_claim_nothing_and_claims_keep_the_characters_of_the_answer() -> None:
    cited = 'The boat leaves at noon [t.md:?:0-24 | excerpt: "It leaves. Noon."].'
    assert texts(f"{cited} It returns [1]. [2]\n\nSources:\n- boats.pdf, page 3") == [
        cited,
        "It returns [1].",
    ]


@given(st.text(alphabet=st.sampled_from("Ab c.;!?，。；？\n-*|#`[]1&罗马")))
def test_a_claim_is_exactly_its_characters_and_claims_do_not_overlap(text: str) -> None:
    claims = claims_of(text)
    assert all(text[claim.start : claim.end] == claim.text == claim.text.strip() != "" for claim in claims)
    assert all(one.end <= other.start for one, other in pairwise(claims))
