"""Which sentence of an answer each of its citations stands at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import ContextCitation, SpanCitation
from rag_evaluation_framework.judging.citation_support import cited_answer
from rag_evaluation_framework.records.citations import parse_citations


@pytest.mark.parametrize(("answer", "expected"), tables_beside(__file__)["citations_stand_at_their_sentence"])
def test_citations_stand_at_their_sentence(answer: str, expected: list[list[str]]) -> None:
    found = cited_answer(answer).sentences
    assert [[answer[each.start : each.end] for each in one.brackets] for one in found] == expected


def test_a_citation_is_no_part_of_what_is_claimed_and_every_place_stays() -> None:
    answer = "It rained 3 days [1] in May [a.md:1:0-9]. It snowed."
    first, second = cited_answer(answer).sentences
    assert first.sentence.text.split() == ["It", "rained", "3", "days", "in", "May", "."]
    assert answer[first.sentence.start : first.sentence.end] == "It rained 3 days [1] in May [a.md:1:0-9]."
    assert answer[second.sentence.start : second.sentence.end] == second.sentence.text == "It snowed."


def test_a_mark_that_nothing_can_open_is_no_part_of_what_is_claimed() -> None:
    (only,) = cited_answer("It rained here [Doc 1] in May [1].").sentences
    assert only.sentence.text.split() == ["It", "rained", "here", "in", "May", "."]
    assert len(only.brackets) == 1


@pytest.mark.parametrize(
    "sources",
    [
        "\n\nReferences:\n[1] The Guide, 2020.\n[2] The Handbook says nothing.",
        "\n\n## Sources\n\n- [1] The Guide, 2020.\n",
        "\n**参考文献：**\n1. [指南](guide.md)\n",
    ],
)
def test_a_list_of_sources_is_not_part_of_what_an_answer_says(sources: str) -> None:
    found = cited_answer("It rained here [1]." + sources)
    assert len(found.sentences) == len(found.brackets) == 1


def test_what_only_looks_like_a_list_of_sources_is_read() -> None:
    assert len(cited_answer("Sources:\nIt rained here [1].\nIt snowed there [2].").brackets) == 2


@pytest.mark.parametrize(
    ("answer", "brackets"),
    [("", 0), ("   ", 0), ("[1]", 1), ("Hello!", 0), ("# Heading [1]\n", 1), ("# Heading\n[1][2]", 2)],
)
def test_an_answer_that_claims_nothing_keeps_its_citations(answer: str, brackets: int) -> None:
    found = cited_answer(answer)
    assert found.claiming == ()
    assert len(found.sentences) == min(brackets, 1)
    assert len(found.brackets) == brackets


def test_full_width_citations_stand_at_their_sentences() -> None:
    found = cited_answer(
        "停泊费每晚12欧元【港口.txt：？：0-9】。九点开门［１］（港口.txt第3页）。来源：【2】。"
    )
    assert [one.sentence.text.split() for one in found.sentences] == [
        ["停泊费每晚12欧元", "。"],
        ["九点开门", "。"],
    ]
    assert [one.brackets[0].start for one in found.sentences] == [9, 28]
    assert found.citations == (SpanCitation("港口.txt", 0, 9), ContextCitation(1), ContextCitation(2))


@given(st.text(alphabet='ab A.。！?;；[]【】：12:-,|\n"#-', max_size=80))
def test_every_citation_stands_at_one_sentence_and_no_place_is_changed(answer: str) -> None:
    found = cited_answer(answer)
    parsed = parse_citations(answer)
    assert len(found.brackets) == len(parsed.citations) + len(parsed.malformed)
    assert all(one.claims or one.brackets for one in found.sentences)
    in_brackets = {place for each in found.brackets for place in range(each.start, each.end)}
    for one in found.sentences:
        for claim in (one.sentence, *one.claims):
            said = "".join(
                " " if place in in_brackets else answer[place] for place in range(claim.start, claim.end)
            )
            assert claim.text == said


@pytest.mark.parametrize(
    ("piece", "brackets"),
    [
        ("[1]", 1),
        ("Sources:\n", 0),
        ("It rained. [1]\n", 1),
        ("[", 0),
        (" " * 50 + "\n", 0),
        ("Is it? [1] ", 1),
    ],
)
def test_an_endless_answer_is_read_to_its_end(piece: str, brackets: int) -> None:
    times = 100_000 // len(piece)  # quadratic work would take minutes
    assert len(cited_answer(piece * times).brackets) == brackets * times
