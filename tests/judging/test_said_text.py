"""What an answer says, without its citations and its list of sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.answer_text import said_in, without_source_list

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
        "\n\nReferences:\n- Contract handbook\n- Fee schedule",
        "\n\nSources:\n- Contract handbook\n- fees.pdf",
        "\n\n参考资料：\n［1］收费表\n【2】员工手册。",
        "\n\n[^1]: fees.pdf",
        "\n\n[1]: fees.pdf\n[2]: https://example.org/fees",
        "\n\n---\n[1] fees.pdf, p. 3\n\n- [2] <https://example.org/fees>\n",
        "\n【1】收费表.pdf，第3页",
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
        # nothing shows that these are texts
        "Two are used.\n\nSources:\n- Solar power\n- Wind power",
        "有两种。\n来源：\n- 太阳能\n- 风能",
        # something follows
        "It rained.\n\nSources:\n- handbook.pdf\n\nThe fee is high.",
        # the list is the answer
        "Sources:\n- handbook.pdf\n- fees.pdf",
        "It rained.\nSources:",
        "[1] handbook.pdf\n[2] fees.pdf",
        "There are two files:\n\n[1] handbook.pdf\n[2] fees.pdf",
        "It rained.\n[1] The fee is in fees.pdf",
        "It rained.\n[1] fees.pdf\nThe fee is high.",
    ],
)
def test_what_may_be_said_is_kept(text: str) -> None:
    assert without_source_list(text) == text


LED_UP_TO = """
根据资料， | 根据文档， | 根据上下文， | 根据您提供的文档内容， | 根据文档1中的描述， | 根据[1]，
根据资料[1]， | 依据上述资料可知， | 按照文件规定： | 基于上述信息, | 根据知识库中的信息， | 从资料来看，
根據您提供的文檔內容， | 文档中提到 | 文档中提到： | 资料显示， | 資料顯示 | 文中指出 | 上下文提到的
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


@pytest.mark.parametrize(
    "text",
    [
        "根据公司的文件，费用高。",  # whose
        "根据合同，费用高。",
        "根据《劳动法》，费用高。",
        "资料未提及费用。",
        "文档1提到费用。",  # which
        "文件说明书丢失了。",
        "文件显示在左侧。",
        "信息显示屏坏了。",
        "基于内容的推荐很常见。",
        "这里根据资料，费用高。",
        "综上所述。",
    ],
)
def test_what_only_begins_like_a_leading_clause_is_said(text: str) -> None:
    assert said_in(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "\n",
        "根据资料，",
        "\n根据资料，",
        "根据的",
        "。 ",
        "（来源：",
        "([a](b) ",
        "[Doc 1, ",
        "(a b ",
        "（a.txt",
        "(a.txt, p. 3; ",
    ],
)
def test_an_endless_text_is_read_to_its_end(piece: str) -> None:
    text = "中" + piece * (100_000 // len(piece))  # quadratic work would take minutes
    assert len(said_in(text)) == len(text)


@given(st.text(alphabet="ab.[]1:?-|\n 来源：Sources根据资料，（）^", max_size=80))
def test_every_character_stays_or_is_a_space(text: str) -> None:
    said = said_in(text)
    assert len(said) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, said, strict=True))
