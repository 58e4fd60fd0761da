"""Reads the patterns by which answers are classified from the data file beside the code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

AnswerKind = Literal["answered", "refused", "dont_know", "asks_back"]
Where = Literal["opening", "brief", "ending", "whole"]

_PHRASE = re.compile(r"\{([a-z_]+)\}")
_WORD = re.compile(r"n't|[a-z](?:(?!n't)[a-z])*")
# Of the beginning of a word so many letters are compared: enough for a cue.
_BEGINNING = 5
_LENGTHS = range(2, _BEGINNING + 1)
_BETWEEN = re.compile(r" \| |\n")


class Cue(NamedTuple):
    """Without one of these words, beginnings of words or characters a pattern cannot hold."""

    words: frozenset[str]
    beginnings: frozenset[str]
    characters: re.Pattern[str] | None

    def is_in(self, text: CuedText) -> bool:
        """Tell whether a text has it."""
        if not self.words.isdisjoint(text.words) or not self.beginnings.isdisjoint(text.beginnings):
            return True
        return self.characters is not None and self.characters.search(text.text) is not None


class CuedText:
    """A folded text with its words and the beginnings of its words, in which cues are looked for."""

    __slots__ = ("beginnings", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = frozenset(_WORD.findall(text))
        self.beginnings = frozenset(word[:length] for word in self.words for length in _LENGTHS)


@dataclass(frozen=True, slots=True)
class AnswerPattern:
    """One way to say something, what it says, and in which part of an answer it counts.

    The lines of a pattern for brief answers are expressions of their own: many that begin alike are found
    faster one by one.
    """

    name: str
    kind: AnswerKind
    where: Where
    cue: Cue | None
    expressions: tuple[re.Pattern[str], ...]
    unless_goes_on: bool
    unless_asked: re.Pattern[str] | None
    when_asked: re.Pattern[str] | None
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


@cache
def answer_patterns() -> AnswerPatterns:
    """Return the patterns; they are read and compiled once."""
    import yaml  # only who classifies an answer waits for it

    data = yaml.safe_load(files(__package__).joinpath("data", "answer_patterns.yaml").read_text("utf-8"))
    phrases: dict[str, str] = {}
    for name, phrase in data["phrases"].items():
        alternatives = _BETWEEN.split(phrase)
        expression = f"(?:{'|'.join(alternatives)})" if len(alternatives) > 1 else phrase
        phrases[name] = _with_phrases(expression, phrases)
    return AnswerPatterns(
        data["version"],
        tuple(_pattern(entry, phrases) for entry in data["patterns"]),
        {name: _compiled(_any(lines, phrases)) for name, lines in data["besides"].items()},
        tuple(_sought(entry, phrases) for entry in data["sought"]),
    )


def _pattern(entry: Mapping[str, Any], phrases: Mapping[str, str]) -> AnswerPattern:
    texts = entry["any"].splitlines() if entry["where"] == "brief" else [entry["any"]]
    return AnswerPattern(
        entry["name"],
        entry["kind"],
        entry["where"],
        _cue(entry.get("cue", ""), entry.get("characters")),
        tuple(_compiled(_any(lines, phrases)) for lines in texts),
        entry.get("unless_goes_on", False),
        _optional(entry.get("unless_asked"), phrases),
        _optional(entry.get("when_asked"), phrases),
        entry.get("on_the_question", False),
        entry.get("denies", False),
    )


def _cue(words: str, characters: str | None) -> Cue | None:
    if not words and characters is None:
        return None
    listed = words.split()
    return Cue(
        frozenset(word for word in listed if not word.endswith("*")),
        frozenset(word.removesuffix("*")[:_BEGINNING] for word in listed if word.endswith("*")),
        None if characters is None else re.compile(characters),
    )


def _sought(entry: Mapping[str, Any], phrases: Mapping[str, str]) -> Sought:
    asked, named = _compiled(entry["asked"]), _compiled(entry["named"])
    return Sought(asked, named, _optional(entry.get("answer"), phrases))


def _any(lines: str, phrases: Mapping[str, str]) -> str:
    return "|".join(_with_phrases(line, phrases) for line in lines.splitlines())


def _with_phrases(text: str, phrases: Mapping[str, str]) -> str:
    return _PHRASE.sub(lambda match: phrases[match[1]], text)


def _optional(expression: str | None, phrases: Mapping[str, str]) -> re.Pattern[str] | None:
    return _compiled(_with_phrases(expression, phrases)) if expression is not None else None


def _compiled(expression: str) -> re.Pattern[str]:
    """Compile an expression in which a space is any white space."""
    return re.compile(expression.replace(" ?", r"\s*").replace(" ", r"\s+"))
