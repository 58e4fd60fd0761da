"""Reads the patterns by which answers are classified from the data file beside the code."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from rag_evaluation_framework.characters import HAN
from rag_evaluation_framework.judging.classes.pattern_cues import (
    Cue,
    Shape,
    cue_of,
    either,
    shape_of,
    words_in,
)
from rag_evaluation_framework.judging.words.folded_text import folded_with_places
from rag_evaluation_framework.judging.words.number_words import PLAIN_NUMERALS

AnswerKind = Literal["answered", "refused", "dont_know", "asks_back"]
Where = Literal["opening", "brief", "ending", "whole"]

_PHRASE = re.compile(r"\{([a-z_]+)\}")
_BETWEEN = re.compile(r" \| |\n")


class Expression:
    """A line of the data file, compiled when it is first tried: few texts need many of them."""

    def __init__(self, line: str, phrases: _Phrases, *, is_whole: bool = False) -> None:
        self.line = line
        self._phrases = phrases
        self._is_whole = is_whole

    @cached_property
    def cue(self) -> Cue | None:
        """Words one of which a text must have if the expression is to match."""
        line = rf"\A{self.line}\Z" if self._is_whole else self.line
        return cue_of(shape_of(line, self._phrases.shapes))

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The expression, for folded texts."""
        return self._phrases.compiled(self.line)


@dataclass(frozen=True, slots=True)
class AnswerPattern:
    """One way to say something, what it says, and in which part of an answer it counts."""

    name: str
    kind: AnswerKind
    where: Where
    expressions: tuple[Expression, ...]
    unless_goes_on: bool
    unless_asked: Expression | None
    when_asked: Expression | None
    on_the_question: bool
    denies: bool


class Sought(NamedTuple):
    """What a question seeks: how it asks, the nouns that name it, and what would be an answer to it."""

    asked: re.Pattern[str]
    named: re.Pattern[str]
    answer: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class AnswerPatterns:
    """The patterns in the order in which they are tried, and what tells that an answer is given besides."""

    version: int
    patterns: tuple[AnswerPattern, ...]
    besides: Mapping[str, re.Pattern[str]]
    sought: tuple[Sought, ...]
    by_cue: Mapping[str | None, set[Expression]]

    def worth_trying(self, text: str) -> set[Expression]:
        """Return the expressions whose cue is in a folded text, and those that have none."""
        found = [self.by_cue[word] for word in (None, *words_in(text)) if word in self.by_cue]
        return set().union(*found)


@cache
def answer_patterns() -> AnswerPatterns:
    """Return the patterns; they are read once."""
    from rag_evaluation_framework.files.yaml_documents import decode  # only who classifies waits for it

    data = decode(files(__package__).joinpath("data", "answer_patterns.yaml").read_bytes())
    phrases = _Phrases({**_phrases_of_characters(), **data["phrases"]})
    patterns = tuple(_pattern(entry, phrases) for entry in data["patterns"])
    by_cue: dict[str | None, set[Expression]] = defaultdict(set)
    for pattern in patterns:
        for expression in pattern.expressions:
            for word in expression.cue or (None,):
                by_cue[word].add(expression)
    return AnswerPatterns(
        data["version"],
        patterns,
        _Besides(data["besides"], phrases),
        tuple(_sought(entry, phrases) for entry in data["sought"]),
        dict(by_cue),
    )


def _phrases_of_characters() -> dict[str, str]:
    """Return the phrases that the data file need not spell out, in the characters of folded texts."""
    numerals, _ = folded_with_places("".join(sorted(PLAIN_NUMERALS)))
    return {"han": f"[{HAN}]", "zh_numeral": f"[{numerals}]"}


def _pattern(entry: Mapping[str, Any], phrases: _Phrases) -> AnswerPattern:
    lines, is_whole = entry["any"].splitlines(), entry["where"] == "whole"
    return AnswerPattern(
        entry["name"],
        entry["kind"],
        entry["where"],
        tuple(Expression(line, phrases, is_whole=is_whole) for line in lines),
        entry.get("unless_goes_on", False),
        Expression(entry["unless_asked"], phrases) if "unless_asked" in entry else None,
        Expression(entry["when_asked"], phrases) if "when_asked" in entry else None,
        entry.get("on_the_question", False),
        entry.get("denies", False),
    )


def _sought(entry: Mapping[str, str], phrases: _Phrases) -> Sought:
    answer = phrases.compiled(entry["answer"]) if "answer" in entry else None
    return Sought(phrases.compiled(entry["asked"]), phrases.compiled(entry["named"]), answer)


class _Phrases:
    """What ``{name}`` stands for; a phrase may contain those above it."""

    def __init__(self, phrases: Mapping[str, str]) -> None:
        self.shapes: dict[str, Shape] = {}
        self._texts: dict[str, str] = {}
        for name, phrase in phrases.items():
            alternatives = _BETWEEN.split(phrase)
            self.shapes[name] = either([shape_of(each, self.shapes) for each in alternatives])
            self._texts[name] = f"(?:{self._written_out('|'.join(alternatives))})"

    def compiled(self, expression: str) -> re.Pattern[str]:
        """Compile an expression in which a space is any white space."""
        return re.compile(self._written_out(expression).replace(" ?", r"\s*").replace(" ", r"\s+"))

    def _written_out(self, expression: str) -> str:
        return _PHRASE.sub(lambda match: self._texts[match[1]], expression)


class _Besides(dict[str, re.Pattern[str]]):
    """Expressions by their names, each compiled when it is first needed."""

    def __init__(self, lines: Mapping[str, str], phrases: _Phrases) -> None:
        super().__init__()
        self._lines = lines
        self._phrases = phrases

    def __missing__(self, name: str) -> re.Pattern[str]:
        expression = self[name] = self._phrases.compiled(self._lines[name].replace("\n", "|"))
        return expression
