"""Cues: what an expression matches has one of the words that were read from the expression."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from benchmarks.pattern_cues import KEPT, kept_cues

from rag_evaluation_framework.judging.answer_classes import AnswerPattern, answer_patterns

PARTS = re.compile(r"\\.|\[(?:[^]\\]|\\.)+\]|\(\?<?[=!]|[()]|[^\\()\[]+")
TRIES, TEXTS = 120, 20
OTHERS = "a Zé9的 \n.,'-"
CATEGORIES = {
    kinds.CATEGORY_DIGIT: "07",
    kinds.CATEGORY_SPACE: " \n",
    kinds.CATEGORY_WORD: "aZ9é的",
    kinds.CATEGORY_NOT_SPACE: "aé9.的",
    kinds.CATEGORY_NOT_WORD: " .,\n",
    kinds.CATEGORY_NOT_DIGIT: "a .的",
}


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


def made_of(parsed: Sequence[tuple[Any, Any]], chance: random.Random) -> str:
    """Return a text that the parts of an expression may match, by choosing at random wherever it may."""
    return "".join(_part(kind, value, chance) for kind, value in parsed)


def _part(kind: Any, value: Any, chance: random.Random) -> str:
    if kind is kinds.LITERAL:
        return chr(value)
    if kind in (kinds.IN, kinds.ANY, kinds.NOT_LITERAL):
        return _character([(kind, value)] if kind is not kinds.IN else value, chance)
    if kind is kinds.BRANCH:
        return made_of(chance.choice(value[1]), chance)
    if kind in (kinds.SUBPATTERN, kinds.ATOMIC_GROUP):
        return made_of(value[-1] if kind is kinds.SUBPATTERN else value, chance)
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        least, most, repeated = value
        times = chance.randint(least, max(least, min(most, least + 3)))
        return "".join(made_of(repeated, chance) for _ in range(times))
    assert kind is kinds.AT, kind
    return ""


def _character(items: Sequence[tuple[Any, Any]], chance: random.Random) -> str:
    wanted: list[str] = []
    for kind, value in items:
        if kind is kinds.LITERAL:
            wanted.append(chr(value))
        elif kind is kinds.RANGE:
            wanted += [chr(value[0]), chr(chance.randint(*value)), chr(value[1])]
        elif kind is kinds.CATEGORY:
            wanted += CATEGORIES[value]
    if items[0][0] in (kinds.NEGATE, kinds.ANY, kinds.NOT_LITERAL):
        refused = {*wanted, chr(items[0][1])} if items[0][0] is kinds.NOT_LITERAL else wanted
        return chance.choice([each for each in OTHERS if each not in refused])
    return chance.choice(wanted)


def matched(expression: re.Pattern[str], chance: random.Random, *, whole: bool) -> Iterator[str]:
    """Yield texts that an expression matches, some with words around them."""
    parsed = list(parser.parse(expression.pattern, expression.flags))
    for _ in range(TRIES):
        made = made_of(parsed, chance)
        text = made if whole else chance.choice(("", "Well, ", "嗯")) + made + chance.choice(("", " today"))
        if expression.fullmatch(text) if whole else expression.search(text):
            yield text


@pytest.mark.parametrize("pattern", answer_patterns().patterns, ids=lambda pattern: pattern.name)
def test_what_an_expression_matches_has_its_cues(pattern: AnswerPattern) -> None:
    chance = random.Random(1)
    for expression in pattern.expressions:
        generous = re.compile(without_asides(expression.compiled.pattern), expression.compiled.flags)
        texts = list(islice(matched(generous, chance, whole=pattern.where == "whole"), TEXTS))
        assert texts, expression.line
        for text in texts:
            assert expression in answer_patterns().worth_trying(text), (expression.line, text)


def test_the_cues_are_those_of_the_expressions() -> None:
    assert gzip.decompress(KEPT.read_bytes()).decode() == kept_cues(), (
        "run: python -m benchmarks.pattern_cues"
    )
