"""Steps of a story: which of them an answer tells, and where it first does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.judging.milestones import first_tellings, golden_places, telling_places

TABLES = tables_beside(__file__)

STEPS = ["初入纳塔", "报名竞技场", "赢得胜利", "授予古名"]
TEXTS = st.text(alphabet="沈栖小萤不没是的友师爱ab not.,，。/ '", max_size=60)


@pytest.mark.parametrize(
    ("answer", "expected"), TABLES["a_step_is_told_in_the_words_of_a_sentence_or_most_of_them"]
)
def test_a_step_is_told_in_the_words_of_a_sentence_or_most_of_them(answer: str, expected: list[bool]) -> None:
    assert [place is not None for place in first_tellings(answer, STEPS)] == expected


@pytest.mark.parametrize(("answer", "expected"), TABLES["an_english_step_is_told_by_its_words_in_order"])
def test_an_english_step_is_told_by_its_words_in_order(answer: str, expected: bool) -> None:
    (place,) = first_tellings(answer, ["dropped the lens"])
    assert (place is not None) == expected


@pytest.mark.parametrize(("answer", "steps", "expected"), TABLES["a_step_may_be_a_number"])
def test_a_step_may_be_a_number(answer: str, steps: list[str], expected: list[bool]) -> None:
    assert [place is not None for place in first_tellings(answer, steps)] == expected


@pytest.mark.parametrize(("step", "answer", "expected"), TABLES["a_step_that_is_denied_is_not_told"])
def test_a_step_that_is_denied_is_not_told(step: str, answer: str, expected: bool) -> None:
    (place,) = first_tellings(answer, [step])
    assert (place is not None) == expected


def test_the_place_of_a_step_is_where_it_is_first_told() -> None:
    # 授予古名 begins at 0, 初入纳塔 at 8 and again later.
    assert first_tellings("授予古名之前他曾初入纳塔。他初入纳塔。", ["初入纳塔", "授予古名"]) == [8, 0]


@given(answer=TEXTS, step=TEXTS)
def test_whatever_the_texts_a_step_is_told_or_not(answer: str, step: str) -> None:
    assert len(first_tellings(answer, [step])) == 1


@pytest.mark.parametrize(("contexts", "places"), TABLES["a_golden_place_is_found_with_half_of_its_snippet"])
def test_a_golden_place_is_found_with_half_of_its_snippet(contexts: list[str], places: int) -> None:
    snippets = ["沈栖发现雾礁的灯火熄灭了，于是决定出海。", "沈栖和陆远舟连夜修好小船，冒着大雾出发。"]
    assert golden_places(contexts, snippets) == places


def test_a_context_inside_another_is_no_place_of_its_own() -> None:
    contexts = ["她修好小船。", "夜里她修好小船。出发了。", "她点亮灯火。", "别的故事。"]
    assert telling_places(contexts, ["修好小船", "点亮灯火"]) == 2
