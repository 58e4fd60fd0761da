"""The phrases by which answers to golden sets are read, compiled from ``data/phrases.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging.words.comparable_text import SENTENCE_END
from rag_evaluation_framework.judging.words.figures import COUNTERS, MEASURE_WORDS
from rag_evaluation_framework.judging.words.measures import UNIT_NAMES
from rag_evaluation_framework.judging.words.negation import CHINESE_NOT, NEGATIONS
from rag_evaluation_framework.judging.words.number_words import NUMERALS
from rag_evaluation_framework.judging.words.question_words import CHINESE_QUESTION_WORDS, QUESTION_WORDS
from rag_evaluation_framework.judging.words.units import CURRENCIES

_NAME = re.compile(r"\{([a-z_]+)\}")
_GIVEN = {
    "counters": COUNTERS,
    "currencies": "|".join(CURRENCIES),
    "measure_words": MEASURE_WORDS,
    "not": "|".join(NEGATIONS),
    "not_zh": CHINESE_NOT,
    "numerals": NUMERALS,
    "question_words": QUESTION_WORDS,
    "question_words_zh": CHINESE_QUESTION_WORDS,
    "sentence_end": SENTENCE_END.pattern,
    "unit_names": "|".join(sorted(UNIT_NAMES, key=len, reverse=True)),
}


@cache
def phrase(name: str) -> re.Pattern[str]:
    """Return the expression of a phrase, for comparable texts.

    >>> phrase("negation").findall("it did not rain here, nor there")
    ['not']
    """
    return re.compile(_written_out()[name])


def says(name: str, text: str) -> bool:
    """Tell whether a comparable text has a phrase."""
    return phrase(name).search(text) is not None


def parts(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the parts of a comparable text that a phrase parts, with where they begin."""
    begin = 0
    for found in phrase(name).finditer(text):
        yield begin, text[begin : found.start()]
        begin = found.end()
    yield begin, text[begin:]


@cache
def words_of(name: str) -> frozenset[str]:
    """Return the words of a phrase that is a list of words."""
    return frozenset(_written_out()[name].split("|"))


@cache
def _written_out() -> dict[str, str]:
    """Return the expressions by their names, with what ``{name}`` stands for in its place."""
    place = files(__package__) / "data" / "phrases.yaml"
    expressions = dict(_GIVEN)

    def expression(named: re.Match[str]) -> str:
        found = expressions[named[1]]
        return f"(?:{found})" if "|" in found else found

    for name, lines in yaml_documents.decode(place.read_text(encoding="utf-8"), file=place.name).items():
        expressions[name] = _NAME.sub(expression, lines.replace("\n", "|"))
    return expressions
