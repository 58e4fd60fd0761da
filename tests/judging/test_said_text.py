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


LED_UP_TO = """
根据资料， | 根据文档， | 根据上下文， | 根据您提供的文档内容， | 根据文档1中的描述， | 根据[1]，
根据资料[1]， | 依据上述资料可知， | 按照文件规定： | 基于上述信息, | 根据知识库中的信息， | 从资料来看，
根據您提供的文檔內容， | 文档中提到 | 文档中提到： | 资料显示， | 資料顯示
综上所述， | 綜上所述， | 总之， | 总的来说， | 您好， | 好的， | 您好，根据资料显示，
综上所述，根据文档， | 5月支付。根据资料， | 5月支付。[2] 根据资料，
"""


@pytest.mark.parametrize(
    "clause", [one for line in LED_UP_TO.strip().splitlines() for one in line.split(" | ")]
)
def test_what_leads_up_to_a_chinese_statement_is_not_said(clause: str) -> None:
    said = said_in(f"{clause}费用是20欧元。")
    assert said.replace("5月支付。", "").strip() == "费用是20欧元。"
    assert len(said) == len(clause) + len("费用是20欧元。")


@pytest.mark.parametrize("text", TABLES["what_only_begins_like_a_leading_clause_is_said"])
def test_what_only_begins_like_a_leading_clause_is_said(text: str) -> None:
    assert said_in(text) == text


@pytest.mark.parametrize("piece", TABLES["an_endless_text_is_read_to_its_end"])
def test_an_endless_text_is_read_to_its_end(piece: str) -> None:
    text = "中" + piece * (100_000 // len(piece))  # quadratic work would take minutes
    assert len(said_in(text)) == len(text)


@given(st.text(alphabet="ab.[]1:?-|\n 来源：Sources根据资料，（）^", max_size=80))
def test_every_character_stays_or_is_a_space(text: str) -> None:
    said = said_in(text)
    assert len(said) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, said, strict=True))
