"""The exact JSON reader that knows every line; the line of a path; comments blanked.

:mod:`strict_json` reads with a fast decoder and comes here only when that decoder refuses. Both accept the
same texts; a test holds them to it.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, shown
from rag_evaluation_framework.files.access import decode_text

# What JSON and YAML have in common here: the values they may hold, and the paths that lead to them.
#
# A value is ``None``, a boolean, a finite number, a string without lone surrogates, a list (or tuple) of
# values, or a dictionary from strings to values, nested at most :data:`MAX_DEPTH` deep.

ValuePath = tuple[str | int, ...]
Lines = dict[ValuePath, int]

# Evaluation data nests about ten deep. The limit leaves room for every recursive walk (ours, the standard
# library's) within Python's own limit of 1,000 frames, so that no input can end in a RecursionError.
MAX_DEPTH = 200

# Python's own bound on the quadratic conversion between text and integers.
MAX_DIGITS = sys.int_info.default_max_str_digits

_PLAIN_KEY = re.compile(r"[^\s.\[\]\"'\x00-\x1f]+\Z")


def written_path(path: Sequence[str | int]) -> str:
    """Write a path for people: ``("spec", "datasets", 0)`` is ``spec.datasets[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.match(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part)}]"
    return text


def check_value(value: Any) -> None:
    """Raise :class:`InputError`, naming the path, unless the value is one that JSON and YAML can hold."""
    waiting: list[tuple[ValuePath, Any]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict | list | tuple):
            if len(path) >= MAX_DEPTH:
                raise too_deep(path[:3])
            # Reversed, so that the first problem in reading order is the one reported.
            if isinstance(item, dict):
                _check_keys(path, item)
                waiting.extend(((*path, key), item[key]) for key in reversed(item))
            else:
                waiting.extend(((*path, index), item[index]) for index in reversed(range(len(item))))
        else:
            _check_scalar(path, item)


def too_deep(path: Sequence[str | int] = (), *, line: int | None = None) -> LimitExceededError:
    """Build the error for a value nested beyond :data:`MAX_DEPTH`."""
    expected = f"at most {MAX_DEPTH} levels of nesting"
    return LimitExceededError([Issue("too-deep", expected, "more", written_path(path), line=line)])


def has_lone_surrogate(text: str) -> bool:
    """Return True if a string holds half of a surrogate pair, which no UTF-8 file can."""
    try:
        return not text.isascii() and not text.encode()
    except UnicodeEncodeError:
        return True


def _check_keys(path: ValuePath, item: Mapping[Any, Any]) -> None:
    for key in item:
        if not isinstance(key, str):
            raise _not_a_value("key-not-a-string", "string keys", shown(key), path)
        if has_lone_surrogate(key):
            raise _not_a_value("lone-surrogate", "keys of Unicode characters", shown(key), path)


def _check_scalar(path: ValuePath, item: Any) -> None:
    if item is None or isinstance(item, bool):
        return
    if isinstance(item, str):
        if has_lone_surrogate(item):
            raise _not_a_value("lone-surrogate", "a string of Unicode characters", shown(item), path)
    elif isinstance(item, float):
        if not math.isfinite(item):
            raise _not_a_value("non-finite-number", "a finite number", str(float(item)), path)
    elif isinstance(item, int):
        # Four bits hold more than one decimal digit, so a number this short needs no exact count.
        if item.bit_length() > 3 * MAX_DIGITS and abs(item) >= 10**MAX_DIGITS:
            found = f"one of {item.bit_length()} bits"
            raise _not_a_value("number-too-long", f"an integer of at most {MAX_DIGITS} digits", found, path)
    else:
        expected = "null, a boolean, a number, a string, a list or a dictionary"
        raise _not_a_value("not-a-json-value", expected, f"{shown(item)} ({type(item).__name__})", path)


def _not_a_value(code: str, expected: str, found: str, path: ValuePath) -> InputError:
    return InputError([Issue(code, expected, found, written_path(path))])


_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(?P<integer>-?(?:0|[1-9][0-9]*))(?P<rest>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")
_NUMBER_LIKE = re.compile(r"[-+.0-9][-+.0-9A-Za-z_]*")
_WORD = re.compile(r"[A-Za-z_$][\w$]*|-Infinity")
# A string as far as it is good, without the quote that ends it.
_STRING = re.compile(r'"(?>(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)')
_LITERALS = {"true": True, "false": False, "null": None}


def scan(data: bytes, *, line: int = 1) -> Any:
    """Read one JSON text.

    ``line`` is the number of the text's first line. Errors carry line, path and column; the caller, who
    knows the file, adds it.
    """
    return _Scanner(decode_text(data, line=line), line).document()


def after_space(text: str, position: int) -> int:
    """Return the place of the first character from here on that is no white space."""
    space = _SPACE.match(text, position)
    return space.end() if space else position


class _Scanner:
    """One pass over the text. Open containers are kept on a list, not on Python's stack."""

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.position = 0
        self.line, self.counted = line, 0
        self.lines: Lines = {}
        self.containers: list[list[Any] | dict[str, Any]] = []
        self.path: list[str | int] = []

    def document(self) -> Any:
        """Read the value with everything inside it."""
        root = self.read_value()
        while self.containers:
            container = self.containers[-1]
            closing = "]" if isinstance(container, list) else "}"
            mark = self.peek()
            if container and mark not in (",", closing):
                self.fail(f"',' or '{closing}'")
            if mark == closing:
                self.position += 1
                self.containers.pop()
                self.path.pop()
                continue
            self.position += bool(container)
            if isinstance(container, list):
                self.path[-1] = len(container)
                container.append(self.read_value())
            else:
                key = self.key(container)
                container[key] = self.read_value()
        if self.peek():
            self.fail("the end after the JSON value")
        return root

    def read_value(self) -> Any:
        """Read a scalar, or what opens a list or an object."""
        mark = self.peek()
        if mark:
            self.lines[tuple(self.path)] = self.line_here()
        if mark in ("[", "{"):
            if len(self.containers) >= MAX_DEPTH:
                raise too_deep(self.path[:3], line=self.line_here())
            self.position += 1
            self.containers.append([] if mark == "[" else {})
            self.path.append(0)
            return self.containers[-1]
        if mark == '"':
            return self.string()
        if mark and mark in "-0123456789" and not self.text.startswith("-I", self.position):
            return self.number()
        word = _WORD.match(self.text, self.position)
        if word is None or word[0] not in _LITERALS:
            self.fail("a JSON value")
        self.position = word.end()
        return _LITERALS[word[0]]

    def key(self, container: dict[str, Any]) -> str:
        self.path.pop()
        if self.peek() != '"':
            self.fail("a key in double quotes")
        start = self.position
        key = self.string()
        if key in container:
            self.position = start
            self.fail("unique keys in an object", f"duplicate {shown(key)}", code="duplicate-key")
        self.path.append(key)
        if self.peek() != ":":
            self.fail("':' after the key")
        self.position += 1
        return key

    def number(self) -> int | float:
        like = _NUMBER_LIKE.match(self.text, self.position)
        match = _NUMBER.match(self.text, self.position)
        if match is None or like is None or match.end() != like.end():
            self.fail("a JSON number")
        digits = len(match["integer"].lstrip("-"))
        if not match["rest"] and digits > MAX_DIGITS:
            expected = f"an integer of at most {MAX_DIGITS} digits"
            self.fail(expected, f"{digits} digits", code="number-too-long")
        number = float(match[0]) if match["rest"] else int(match[0])
        if number in (math.inf, -math.inf):
            self.fail("a number within the range of a double", code="non-finite-number")
        self.position = match.end()
        return number

    def string(self) -> str:
        start = self.position
        begun = _STRING.match(self.text, start)
        self.position = start if begun is None else begun.end()
        rest = self.text[self.position : self.position + 2]
        if rest.startswith("\\u"):
            self.fail("four hexadecimal digits after \\u")
        if rest.startswith("\\"):
            self.fail('one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u')
        if not rest.startswith('"'):
            self.fail("no bare control character in a string" if rest else "a closing '\"'")
        self.position += 1
        value: str = json.loads(self.text[start : self.position])
        if has_lone_surrogate(value):
            self.position = start
            found = f"a lone surrogate in {shown(self.text[start : start + 40])}"
            self.fail("a string of Unicode characters", found, code="lone-surrogate")
        return value

    def peek(self) -> str:
        """Skip white space; return the next character, or nothing at the end."""
        self.position = after_space(self.text, self.position)
        return self.text[self.position : self.position + 1]

    def line_here(self) -> int:
        self.line += self.text.count("\n", self.counted, self.position)
        self.counted = self.position
        return self.line

    def fail(self, expected: str, found: str | None = None, *, code: str = "json-syntax") -> NoReturn:
        if found is None:
            word = _WORD.match(self.text, self.position) or _NUMBER_LIKE.match(self.text, self.position)
            piece = word[0] if word else self.text[self.position : self.position + 1]
            found = shown(piece) if piece else "the end of the text"
        column = self.position - self.text.rfind("\n", 0, self.position)
        where = f"{found} at column {column}"
        raise InputError([Issue(code, expected, where, written_path(self.path), line=self.line_here())])


# The line of a value by its path, when there is an error to show. A path is written as in an
# :class:`~rag_evaluation_framework.errors.Issue`: ``queries[3].citations[0].end_char``.

_PATH_PART = re.compile(r'\[(?P<index>\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<key>[^.\[\]"]+)')


def line_of(text: str, path: str) -> int | None:
    """Return the 1-based line on which a value begins, or the nearest value around it that exists."""
    return lines_of(text, [path])[path]


def lines_of(text: str, paths: Iterable[str]) -> dict[str, int | None]:
    """Return the line of each path, all found in one pass; ``None`` where the text has no value at all.

    The text was read before, so nothing is refused here; ``//`` comments are passed over.
    """
    scanner = _Scanner(without_comments(text), 1)
    with suppress(InputError):
        scanner.document()
    return {path: nearest_line(scanner.lines, parts_of(path)) for path in paths}


def nearest_line(lines: Lines, path: ValuePath) -> int | None:
    """Return the line of a value; where it is missing, that of the nearest thing around it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def parts_of(path: str) -> ValuePath:
    """Take a written path apart: ``queries[3].id`` is ``queries``, 3, ``id``."""
    return tuple(
        int(part["index"]) if part["index"] else json.loads(part["quoted"]) if part["quoted"] else part["key"]
        for part in _PATH_PART.finditer(path)
    )


# JSON that people wrote by hand, with ``//`` comments: the comments are blanked out and reported.
#
# A comment begins with ``//`` outside a string and runs to the end of its line. It is replaced by as many
# spaces, so every position, column and line of what remains is that of the file. Only the comments are
# looked at here: whether the rest is JSON is for the strict reader to say.

# A string is passed over whole, escapes included. One that is never closed ends with its line, where the
# strict reader will stop. Possessive, so that no text makes the search slow.
_STRING_OR_COMMENT = re.compile(r'"[^"\\\r\n]*+(?>(?:\\.[^"\\\r\n]*+)*)"?+|(?P<comment>//[^\r\n]*+)')


def without_comments(text: str) -> str:
    """Return the text with spaces in the place of every comment.

    >>> without_comments('{"url": "http://x"} // why')
    '{"url": "http://x"}       '
    """
    if "//" not in text:
        return text
    return _STRING_OR_COMMENT.sub(lambda found: " " * len(found[0]) if found["comment"] else found[0], text)


def comment_issues(text: str) -> list[Issue]:
    """Return one warning where a text has comments, with the line of the first; none where it has none."""
    starts = [found.start() for found in _STRING_OR_COMMENT.finditer(text) if found["comment"]]
    if not starts:
        return []
    found = "a // comment" if len(starts) == 1 else f"{len(starts):,} // comments"
    expected = "JSON without comments (they are ignored, and lost when the file is rewritten)"
    line = text.count("\n", 0, starts[0]) + 1
    return [Issue("json-comment", expected, found, severity="warning", line=line)]
