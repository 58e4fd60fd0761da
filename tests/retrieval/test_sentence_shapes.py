"""The shapes of retrieved and generated text that break splitters of sentences."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.retrieval.sentences import sentence_spans

# Each shape is written as its sentences, with the white space between them; none may be split or joined.
SHAPES: dict[str, list[str]] = {
    # citation markers
    "marker after the stop": ["It fell.[1]", " Next it rose."],
    "several markers after the stop": ["It fell.[1][2]", " Next it rose."],
    "a list in one marker": ["It fell.[1, 2–4]", " Next it rose."],
    "marker before the stop": ["It fell [1].", " Next it rose [2]."],
    "marker after a space": ["It fell. [1]", " Next it rose. [2]"],
    "several markers after a space": ["It fell. [1][2] [3]", " Next it rose."],
    "span citation after the stop": ["It fell.[report.pdf:3:10-20]", " Next it rose."],
    "span citation after a space": ["It fell. [report.pdf:3]", " Next it rose. [Source 2]", " End."],
    "a named source after a Chinese stop": ["涨了。[来源1]", "又跌了。[资料 2]", "完。"],
    "numbers that count up after Chinese stops": [
        "分工：（1）甲负责数据。",
        "（2）乙负责培训。",
        "（3）丙供电。",
    ],
    "raised numbers": ["It fell.¹", " Next it rose.²³"],
    "number in brackets": ["It fell.(1)", " Next it rose."],
    "author and year after the stop": ["It fell. (Wu 2020)", " Next it rose. (Wu and Li, 2021)", " End."],
    "author and year before the stop": ["It fell (Wu et al., 2020).", " Next it rose."],
    "a year in brackets that cites nobody": ["It fell.", " (In 2020) it rose."],
    "markers that begin a list of sources": ["[1] Wu, On Tides.", " [2] Li, On Sand."],
    "marker after a Chinese stop": ["涨了。[1]", "又跌了。[2][3]", "完。"],
    "marker before a Chinese stop": ["涨了[1]。", "又跌了[2]。"],
    "lenticular marker": ["涨了。【1】", "又跌了。"],
    "full-width marker": ["涨了。（1）", "又跌了。"],
    # abbreviations, initials, numbers
    "a country's initials": ["She moved to the U.S. in May.", " He stayed in the U.S.", " They write."],
    "months and days between words": ["Open from Apr. to Oct. on Tues. 9 and Thurs. 11.", " Closed in May."],
    "units and paragraphs": ["Wait 10 mins. or see cl. 9.3, para. 4.", " It is a 20-min. walk."],
    "a letter that is no initial": ["Take vitamin C.", " It helps.", " T. May left."],
    "by example": ["See e.g. the table, i.e. page 2.", " Fine."],
    "long titles and cases": ["Messrs. Smith and Jones lost Roe v. Wade.", " Approx. Ten came."],
    "titles": ["Dr. Lee met Mr. Wu and St. John.", " They talked."],
    "time of day": ["We met at 5 p.m. on Monday.", " We left at 6 a.m.", " They stayed."],
    "figures and numbers": ["Fig. 3 shows No. 5.", " See Eq. 4 on pp. 7-9."],
    "companies": ["Acme Inc. bought Beta Co. in 2020.", " It was cheap."],
    "degrees": ["He has a Ph.D. in physics.", " She teaches."],
    "initials of a name": ["J. R. Smith wrote it.", " So did C. Wu."],
    "months": ["He came on Jan. 5.", " She came on Feb. 6."],
    "a capital with initials": ["Washington, D.C. is a capital.", " It is big."],
    "decimals": ["The ratio is 3.14 or 2.5e-3.", " Good."],
    "a number begins the next": ["Prices rose by 5%.", " 2020 was worse."],
    "money": ["It costs $5.", " $6 is too much."],
    "sections": ["See section 2.3.1 for more.", " It is short."],
    # names of things with dots
    "versions": ["Use v1.2.3 or 2.0.1.", " Then update."],
    "file names": ["Edit setup.py and run main.py.", " Done."],
    "addresses": ["Visit https://example.com/a.b?c=d. ", "It works.", " Or write to a.b@example.com today."],
    "code in a line": ["Call obj.method() or `a.b()`.", " Then stop."],
    "attributes in capitals": ["Read System.In.Read and Console.Out.", " Fine."],
    # quotes and brackets
    "stop inside quotes": ['He said "Stop."', " Then he left."],
    "stop inside curly quotes": ["He said “Stop.”", " Then he left."],
    "speaker after the quote": ["“Stop!” he said.", " She stopped."],
    "Chinese quotes": ["他说：“走吧。”", "然后走了。"],
    "corner brackets": ["他說：「走吧。」", "然後走了。"],
    "Chinese speaker after the quote": ["“真的吗？”她问。", "「走吧。」他說，然後走了。"],
    "a sentence in brackets": ["(It holds.)", " Next."],
    "a stop inside brackets": ["It holds (see. page 4) today [p. 3, ed. 2].", " Next."],
    "words left out": ['"It fell [...] and rose [...]" (Wu 55).', " Next."],
    "a mark in a Chinese title": ["我们看《走吧！孩子》好吗？", "《好吗？》是一部电影。", "好！"],
    "a Chinese stop inside brackets": ["他走了（又回来了。没有说话）很久。", "好。"],
    "a Chinese quote in an English sentence": ["Say “走吧。” and leave.", " Then wait."],
    "a Chinese speaker of many words": ["“能多睡二十分钟！”住在南湖的刘女士说。", "她笑了。"],
    # marks
    "two kinds of marks": ["What?!", " No way!!", " OK."],
    "two kinds of Chinese marks": ["真的吗？！", "是的！！！", "好。"],
    "ellipses": ["Wait… what?", " Well... maybe.", " Then it ended..."],
    "spaced ellipses": ["It fell . . . and rose.", " Then it stopped. . . .", " It rains."],
    "Chinese ellipses": ["等等……他走了。", "好。"],
    "full-width stops": ["先看．", "再说．", "圆周率是３．１４。"],
    "emoji after the mark": ["Great!😀", " Next.👍", " 很好。"],
    "emoji after a Chinese mark": ["开吃！😋", "好。"],
    "emoji before the stop": ["很好👍。", "下一个。"],
    # scripts together
    "Chinese after an English stop": ["It works.", "很好。", "Is it?", "是的。"],
    "English after a Chinese stop": ["这是AI。", "It works.", " 对。"],
    "a half-width stop between Chinese characters": ["我走了.", "他来了."],
    "no stop after a digit": ["版本3.5发布了。", "步骤1.打开。"],
    "no space after the stop": ["It rained.", "The match went on.", "However it ended."],
    "no space in a name": ["Use Node.Next for this.", " Fine."],
    # Markdown
    "headings": ["# Title\n", "Text here.\n\n", "## Next one\n", "More."],
    "bullets": ["- one\n", "- two.", " And a half\n", "* three\n", "• four\n", "– five"],
    "numbered items": ["1. First item.\n", "2. Second item.\n", "10. Tenth."],
    "numbered items in one line": ["1. First item.", " 2. Second item.", " 3.) Third item."],
    "numbered items in one line without stops": ["9. First item", " 10. Second item", " 11. Third item"],
    "lettered items in one line": ["a. First item", " b. Second item.", " c. Third item"],
    "initials are no items": ["A. Smith met B. Jones in 1990.", " 2 came."],
    "bullets in one line": ["• First item", " • 2. Second item", " • Third item."],
    "numbers in brackets": ["(1) First\n", "(2) Second\n", "3) Third"],
    "lettered items": ["a) First\n", "b) Second"],
    "lettered items with stops": ["a. First thing.\n", "b. Second thing."],
    "Chinese items": ["一、第一点\n", "二、第二点\n", "（3）第三点；\n", "4、第四点\n", "⑤第五点"],
    "steps": ["Step 1. Open it.", " Step 2. Close it."],
    "sections with a title": ["Section 12. Termination of contracts.", " It ends."],
    "a list after a colon": ["To open it: 1. Turn the key.", " 2. Push."],
    "a line that ends with a colon": ["Agenda:\n", "We meet at nine.", " We leave at ten."],
    "emphasis": [
        "**The fee is 20.**",
        " *It rose.*",
        " __Done.__",
        " Next.",
        " **费用是20元。**",
        "船开了。",
    ],
    "times of day in a chat": ["It is done.", " [10:34] Anna: Great.", " [10:35] Bob: Fine."],
    "a line in bold type": ["**Day one**\n", "We arrive.\n\n", "We rest."],
    "short Chinese lines": ["一、适用范围\n", "本手册适用于全体员工。\n", "步骤1 打开\n", "（一）关上"],
    "long Chinese lines that wrap": [
        "这一行很长很长很长很长很长很长很长很长很长很长\n所以折到了下一行。",
        "好。",
    ],
    "tables": ["| a | b |\n", "| --- | --- |\n", "| 1. | 2. |\n", "After it."],
    "fenced code": ["Run it.\n", "```python\n", "a = 1. B = 2.\n", "```\n", "Good."],
    "lines that wrap": ["First line\nsecond line of it.", "\nNext."],
    "a name broken by a line end": ["Dr.\nWu came.", " He left."],
    "a blank line": ["Title\n\n", "Body"],
    "ideographic space": ["The end.\u3000", "Next."],
}


@pytest.mark.parametrize("pieces", SHAPES.values(), ids=SHAPES)
def test_a_shape_is_split_where_a_reader_splits_it(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert [text[start:end] for start, end in sentence_spans(text)] == [piece.strip() for piece in pieces]


@pytest.mark.parametrize(
    "unit",
    [
        "\n",
        ". ",
        "1. ",
        "A. ",
        ". [1",
        ".[1][",
        "“。”他",
        "```\n",
        "~~~a\n",
        "|\n",
        "\n  - ",
        ". (Aa Bb ",
        "# ",
        "。”",
        "e.g. ",
        ". .",
        " •",
        "(. a",
        "《！",
        "1. a 2",
        ". [1][2] ",
        "。（1）",
        "（。",
        "中\n",
    ],
)
def test_a_hostile_text_is_split_in_one_pass(unit: str) -> None:
    # Work that grew with the square of the length would take minutes here.
    text = unit * (100_000 // len(unit))
    position = 0
    for start, end in sentence_spans(text):
        assert position <= start < end
        position = end
