"""Records as evidence: JSON, or what looks like it, read into facts whose characters are known.

A fact is a leaf of the record: the words of its key (``OutdoorSeating`` is *outdoor seating*), the words of
the keys around it, what its value says, and where it stands. Python's way of writing dictionaries and records
that were cut off are read too, for contexts come as they come; reading never fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from rag_evaluation_framework.text.spans import Spanned

Meaning = Literal["yes", "no", "nothing", "text"]

_LOOKS_STRUCTURED = re.compile(r"""\s*[\[{]\s*(?:[\[{]\s*)*["'][^"'\n]{0,200}["']\s*[:,\]]""")
_LEXEME = re.compile(
    r"""(?P<string>"(?>(?:[^"\\]|\\.)*)"?|'(?>(?:[^'\\]|\\.)*)'?)
    |(?P<bare>[^\s{}\[\],:"']+)|(?P<mark>[{}\[\],:])""",
    re.VERBOSE | re.DOTALL,
)
_KEY_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_YES = frozenset(["true", "yes", "y", "available"])
_NO = frozenset(
    ("false", "no", "n", "none", "never", "not available", "unavailable", "closed", "not allowed")
)
_NOTHING = frozenset(("null", "nan", "", "n/a", "na", "unknown", "-", "?"))
_BARE_NOTHING = frozenset(("None", "undefined", "nil"))
_DEEPEST = 100
_LONGEST_KEY = 60
_FEWEST_LINES = 3
_LINE = re.compile(
    rf"^(?P<indent>[^\S\n]*)(?:[-*•][^\S\n])?(?P<key>[^\W\d_][^\n:：.!?]{{0,{_LONGEST_KEY}}})[:：]"
    r"(?:[^\S\n]+|$)(?P<value>[^\n]*)$",
    re.MULTILINE,
)
_KEYS_AROUND = 3


class Fact(msgspec.Struct, Spanned, frozen=True):
    """A leaf of a record at ``[start, end)``; its value's own characters begin at ``value_start``."""

    key: tuple[str, ...]
    around: tuple[str, ...]
    value: str
    meaning: Meaning
    start: int
    value_start: int
    end: int


def is_structured(text: str) -> bool:
    """Return True if a text is a record and not prose: JSON, or lines of ``key: value``."""
    return _LOOKS_STRUCTURED.match(text) is not None or _is_lines(text)


def facts_of(text: str) -> list[Fact]:
    """Return the facts of a record, in reading order.

    >>> [(fact.around, fact.key, fact.meaning) for fact in facts_of('{"Parking": {"valet": false}}')]
    [(('parking',), ('valet',), 'no')]
    """
    return list(_facts(text) if _LOOKS_STRUCTURED.match(text) else _line_facts(text))


def decoded(text: str) -> tuple[str, list[int] | None]:
    """Return a string's characters with escapes undone, and the place of each; ``None`` if none moved."""
    if "\\" not in text:
        return text, None
    characters: list[str] = []
    places: list[int] = []
    begin = 0
    for escape in _ESCAPE.finditer(text):
        characters += text[begin : escape.start()]
        places += range(begin, escape.start())
        characters.append(chr(int(escape[1], 16)) if escape[1] else _ESCAPED.get(escape[2], escape[2]))
        places.append(escape.start())
        begin = escape.end()
    characters += text[begin:]
    places += range(begin, len(text))
    return "".join(characters), [*places, len(text)]


def key_words(key: str) -> tuple[str, ...]:
    """Split a key into words: ``OutdoorSeating`` and ``outdoor_seating`` are the same."""
    return tuple(word.lower() for word in _KEY_WORDS.findall(key))


def _is_lines(text: str) -> bool:
    if ":" not in text[:_LONGEST_KEY] or text.count("\n") < _FEWEST_LINES - 1:
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) >= _FEWEST_LINES and all(_LINE.match(line) for line in lines)


def _line_facts(text: str) -> Iterator[Fact]:
    """Yield the facts of lines; a key without a value is around the lines that stand further in."""
    around: list[tuple[int, tuple[str, ...]]] = []
    for line in _LINE.finditer(text):
        depth = len(line["indent"])
        while around and around[-1][0] >= depth:
            around.pop()
        key = key_words(line["key"])
        value = line["value"].strip()
        if not value:
            around.append((depth, key))
            continue
        start = line.start("value")
        yield Fact(
            key,
            tuple(word for _, words in around[-_KEYS_AROUND:] for word in words),
            value,
            _meaning(value, is_bare=True),
            line.start("key"),
            start,
            start + len(value),
        )


def _facts(text: str) -> Iterator[Fact]:
    path: list[tuple[str, int] | None] = []  # the key that holds each open container
    key: tuple[str, int] | None = None
    waiting: re.Match[str] | None = None  # a lexeme that is a key if a colon follows
    for lexeme in _LEXEME.finditer(text):
        mark = lexeme["mark"]
        if mark is None:
            if waiting is not None and lexeme["bare"] and not key:
                continue
            if waiting is not None:
                yield _fact(waiting, key, path)
            waiting = lexeme
            continue
        if mark == ":" and waiting is not None and key is None:
            key = (_content(waiting)[0], waiting.start())
            waiting = None
            continue
        if waiting is not None:
            yield _fact(waiting, key, path)
            waiting = None
        if mark in "{[" and len(path) < _DEEPEST:
            path.append(key)
            key = None
        elif mark in "}]" and path:
            path.pop()
            key = None
        elif mark == ",":
            key = None
    if waiting is not None:
        yield _fact(waiting, key, path)


def _content(lexeme: re.Match[str]) -> tuple[str, int]:
    """Return what stands between the quotes, and where it begins."""
    if lexeme["string"] is None:
        return lexeme[0], lexeme.start()
    quote = lexeme[0][0]
    inner = lexeme[0][1:]
    return (inner[:-1] if inner.endswith(quote) else inner), lexeme.start() + 1


def _fact(lexeme: re.Match[str], key: tuple[str, int] | None, path: list[tuple[str, int] | None]) -> Fact:
    value, value_start = _content(lexeme)
    named = [held for held in path[-_KEYS_AROUND:] if held is not None]
    own = key or (named.pop() if named else None)
    return Fact(
        key_words(own[0]) if own else (),
        tuple(word for held in named for word in key_words(held[0])),
        value,
        _meaning(value, is_bare=lexeme["bare"] is not None),
        key[1] if key else lexeme.start(),
        value_start,
        lexeme.end(),
    )


def _meaning(value: str, *, is_bare: bool) -> Meaning:
    plain = value.strip().lower()
    if plain in _NOTHING or (is_bare and value in _BARE_NOTHING):
        return "nothing"
    if plain in _YES:
        return "yes"
    return "no" if plain in _NO else "text"
