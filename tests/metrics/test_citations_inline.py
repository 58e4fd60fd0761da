"""Citations written into an answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import ContextCitation, SpanCitation
from rag_evaluation_framework.records.citations import blanked, parse_citations, without_citations

TABLES = tables_beside(__file__)


def span(file: str, page: int | None, start: int, end: int, text: str | None = None) -> SpanCitation:
    return SpanCitation(file, start, end, page=page, text=text)


@pytest.mark.parametrize(("text", "expected"), TABLES["forms_that_are_read"])
def test_forms_that_are_read(text: str, expected: list[Any]) -> None:
    found = parse_citations(f"As stated {text}, it is.")
    assert [placed.citation for placed in found.citations] == [
        ContextCitation(each) if isinstance(each, int) else span(*each) for each in expected
    ]
    assert found.malformed == ()


MALFORMED = TABLES["malformed"]


@pytest.mark.parametrize(("text", "expected"), MALFORMED)
def test_what_is_meant_as_a_citation_and_cannot_be_read_is_reported(text: str, expected: str) -> None:
    answer = f"As stated {text} and [1]."
    found = parse_citations(answer)
    (problem,) = found.malformed
    assert (problem.text, problem.expected) == (text, expected)
    assert answer[problem.start : problem.end] == text
    assert [placed.citation for placed in found.citations] == [ContextCitation(1)]


@pytest.mark.parametrize("text", TABLES["other_brackets_are_text"])
def test_other_brackets_are_text(text: str) -> None:
    found = parse_citations(f"As stated {text}.")
    assert found.citations == ()
    assert found.malformed == ()


def test_citations_know_their_place_in_the_answer() -> None:
    answer = 'One [1, 2]. Two [a.md:1:0-9, 20-30 | excerpt: "words"].'
    found = parse_citations(answer)
    assert [answer[placed.start : placed.end] for placed in found.citations] == [
        "[1, 2]",
        "[1, 2]",
        '[a.md:1:0-9, 20-30 | excerpt: "words"]',
        '[a.md:1:0-9, 20-30 | excerpt: "words"]',
    ]


def test_an_excerpt_of_several_spans_is_kept_and_given_to_none_of_them() -> None:
    found = parse_citations('[a.md:1:0-9, 20-30 | excerpt: "words"]')
    assert [placed.excerpt for placed in found.citations] == ["words", "words"]
    assert [placed.citation for placed in found.citations] == [span("a.md", 1, 0, 9), span("a.md", 1, 20, 30)]


file_names = st.text(
    st.characters(exclude_characters='[]【】［］|｜",，、;；\n', exclude_categories=["C", "Z"]), min_size=1
).map(lambda stem: f"{stem}.pdf")


@given(file_names, st.none() | st.integers(0, 999), st.integers(0, 9999), st.integers(1, 999))
def test_what_is_written_reads_back(file: str, page: int | None, start: int, length: int) -> None:
    text = f"[{file}:{'?' if page is None else page}:{start}-{start + length}]"
    assert [placed.citation for placed in parse_citations(text).citations] == [
        span(file, page, start, start + length)
    ]


@given(st.text('[]0123456789:-,.|?a "\n“”', max_size=60))
def test_any_text_is_read_without_failing(text: str) -> None:
    found = parse_citations(text)
    for placed in (*found.citations, *found.malformed):
        assert text[placed.start] == "["
        assert text[placed.end - 1] == "]"


@pytest.mark.parametrize("mark", TABLES["what_nothing_can_open_is_no_citation"])
def test_what_nothing_can_open_is_no_citation(mark: str) -> None:
    found = parse_citations(f"It rains {mark}.")
    assert (found.citations, found.malformed) == ((), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *TABLES["spaces_stand_in_the_place_of_citations"],
        ('It rains [a.md:2:0-9, 12-15 | excerpt: "A. B"].', f"It rains {' ' * 37}."),
        ("It rains【1】 here 【4:0†source】.", f"It rains    here {' ' * 12}."),
        ("It rains [Doc 1], [Sources 1 and 2].", f"It rains {' ' * 7}, {' ' * 17}."),
        ("下雨[文档1]了[来源1、2]。", f"下雨{' ' * 5}了{' ' * 7}。"),
        ("It rains [^1].\n\n[^1]: rain.pdf", f"It rains {' ' * 4}.\n\n{' ' * 14}"),
        ("It rains ([a.pdf](https://a.org)).", f"It rains {' ' * 24}."),
        ("It rains [1](https://a.org).", f"It rains {' ' * 18}."),
        ("It rains [1, p. 3], [1†source].", f"It rains {' ' * 9}, {' ' * 10}."),
        ("下雨（来源：文档1）。", f"下雨{' ' * 8}。"),
        ("下雨（資料來源：《指南》，第3頁）。", f"下雨{' ' * 15}。"),
        ("It rains (Source: rain.pdf, page 3).", f"It rains {' ' * 26}."),
        ("下雨【港口.txt：？：0-9】了［１］。", f"下雨{' ' * 14}了   。"),
    ],
)
def test_spaces_stand_in_the_place_of_citations(text: str, said: str) -> None:
    assert without_citations(text) == said


@pytest.mark.parametrize("mark", TABLES["named_sources"])
def test_a_named_source_with_its_page_is_not_said(mark: str) -> None:
    assert without_citations(f"It rains {mark}.") == f"It rains {' ' * len(mark)}."
    assert without_citations(f"下雨{mark}。") == f"下雨{' ' * len(mark)}。"


@pytest.mark.parametrize("text", TABLES["a_bracket_that_says_something_stays"])
def test_a_bracket_that_says_something_stays(text: str) -> None:
    assert without_citations(f"It rains {text}.") == f"It rains {text}."


@given(st.text('[]【】［０１0123456789:：-,，.|｜?？a "\n“”', max_size=60))
def test_what_is_blanked_is_what_is_read(text: str) -> None:
    found = parse_citations(text)
    places = [(placed.start, placed.end) for placed in (*found.citations, *found.malformed)]
    assert without_citations(text) == blanked(text, places)


@given(st.text('[]【】12:：?？-–,，.ap "|｜（）', max_size=60))
def test_full_width_is_read_like_half_width(text: str) -> None:
    half = text.translate(str.maketrans("【】：？，｜", "[]:?,|"))
    assert len(without_citations(text)) == len(text)
    places, half_places = (
        [(each.start, each.end) for each in (*found.citations, *found.malformed)]
        for found in (parse_citations(text), parse_citations(half))
    )
    assert places == half_places


def test_a_long_row_of_separators_is_read_at_once() -> None:
    text = "[1" + ",  " * 300 + "x]"  # backtracking over the spaces would never end
    assert parse_citations(text).citations == ()
    assert without_citations(text) == text
