"""What an answer says, without its citations and its list of sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.citations.said_text import said_in, without_source_list

SAID = "It rained here."


@pytest.mark.parametrize(
    "sources",
    [
        "\n\nReferences:\n[1] Fee schedule 2020.\n[2] Contract handbook.",
        "\n\nSources:\n- handbook.pdf, page 3\n- fees.pdf, page 9",
        "\n\nSources:\nhandbook.pdf, page 3\nhttps://example.org/fees",
        "\n\n### Sources used\n\n1. Contract handbook\n2. Fee schedule 2020\n",
        "\n\n**Works cited**\n- Smith, J. (2020). The Guide. Oxford.",
        "\n\nSource: handbook.pdf, page 3",
        "\n\n参考资料：\n- 《员工手册》第3页\n- 收费表",
        "\n來源：《員工手冊》",
        "\n\nSources:\n[1] Fee schedule\n\nLet me know if you have any questions!",
    ],
)
def test_a_list_of_sources_is_left_out(sources: str) -> None:
    assert said_in(SAID + sources).strip() == SAID
    assert len(said_in(SAID + sources)) == len(SAID + sources)


@pytest.mark.parametrize(
    "text",
    [
        # sentences, and numbers that are no years
        "Here it is.\nSources:\nIt rained here.\nIt snowed there.",
        "It needs calcium.\n\nSources:\n- Milk: 300 mg\n- Kale: 100 mg",
        "It is long.\nSource: the river Nile",
        # something follows
        "It rained.\n\nSources:\n- handbook.pdf\n\nThe fee is high.",
        # the list is the answer
        "Sources:\n- handbook.pdf\n- fees.pdf",
        "It rained.\nSources:",
    ],
)
def test_what_may_be_said_is_kept(text: str) -> None:
    assert without_source_list(text) == text


@given(st.text(alphabet="ab.[]1:?-|\n 来源：Sources", max_size=80))
def test_every_character_stays_or_is_a_space(text: str) -> None:
    said = said_in(text)
    assert len(said) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, said, strict=True))
