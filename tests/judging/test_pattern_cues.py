"""Cues: what an expression matches has one of the words that were read from the expression."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from rag_evaluation_framework.judging.answer_classes import (
    AnswerPattern,
    answer_patterns,
    words_in,
)

PARTS = re.compile(r"\\.|\[(?:[^]\\]|\\.)+\]|\(\?<?[=!]|[()]|[^\\()\[]+")


def without_asides(expression: str) -> str:
    """Leave out what looks ahead or behind: texts are then easier to make, and there are more of them."""
    kept: list[str] = []
    asides: list[bool] = []
    for part in PARTS.findall(expression):
        if part.startswith("("):
            asides.append(part != "(" or any(asides[-1:]))
        if not any(asides[-1:]):
            kept.append(part)
        if part == ")":
            asides.pop()
    return "".join(kept)


@cache
def matches(pattern: AnswerPattern) -> st.SearchStrategy[tuple[str, ...]]:
    """Make a text for each expression of a pattern."""
    generous = [re.compile(without_asides(each.compiled.pattern)) for each in pattern.expressions]
    return st.tuples(*(st.from_regex(each, fullmatch=pattern.where == "whole") for each in generous))


@pytest.mark.parametrize("pattern", answer_patterns().patterns, ids=lambda pattern: pattern.name)
@settings(max_examples=3, phases=[Phase.generate])
@given(data=st.data())
def test_what_an_expression_matches_has_its_cue(pattern: AnswerPattern, data: st.DataObject) -> None:
    for expression, text in zip(pattern.expressions, data.draw(matches(pattern)), strict=True):
        assert expression.cue is None or not expression.cue.isdisjoint(words_in(text)), expression.line
