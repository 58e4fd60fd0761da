"""The exact, slower reader of JSON: knows the line of every value, and says precisely what is wrong.

:mod:`strict_json` reads with a fast decoder and comes here only when that decoder refuses, or when a
caller wants to know where each value stands. Both accept the same texts; a test holds them to it.
"""

from __future__ import annotations

import math
import re
from typing import Any, NoReturn

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.files.values import (
    MAX_DEPTH,
    MAX_DIGITS,
    Lines,
    ValuePath,
    has_lone_surrogate,
    too_deep,
    written_path,
)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(?P<integer>-?(?:0|[1-9][0-9]*))(?P<rest>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")
_NUMBER_LIKE = re.compile(r"[-+.0-9][-+.0-9A-Za-z_]*")
_WORD = re.compile(r"[A-Za-z_$][\w$]*|-Infinity")
_CHARACTERS = re.compile(r'[^"\\\x00-\x1f]*')
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{4}")
_LITERALS = {"true": True, "false": False, "null": None}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CLOSING = {"[": "]", "{": "}"}


def scan(data: bytes, *, line: int = 1) -> tuple[Any, Lines]:
    """Read one JSON text; return its value and the line of every value in it, by path.

    ``line`` is the number of the text's first line. Errors carry line, path and column; the caller, who
    knows the file, adds it.
    """
    data = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start
        found = f"byte 0x{data[at]:02x} at byte {at}"
        number = line + data.count(b"\n", 0, at)
        raise InputError([Issue("invalid-utf8", "UTF-8 text", found, line=number)]) from None
    scanner = _Scanner(text, line)
    return scanner.document(), scanner.lines


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
        value = self.value()
        if self.peek():
            self.fail("the end after the JSON value")
        return value

    def value(self) -> Any:
        """Read one value with everything inside it."""
        while True:
            complete, value = self.start_of_value()
            while complete:
                if not self.containers:
                    return value
                self.place(value)
                mark = self.peek()
                container = self.containers[-1]
                closing = "]" if isinstance(container, list) else "}"
                if mark == ",":
                    self.position += 1
                    self.next_item(container)
                    break
                if mark != closing:
                    self.fail(f"',' or '{closing}'")
                self.position += 1
                value = self.close()

    def start_of_value(self) -> tuple[bool, Any]:
        """Read a scalar or an empty container, or open a container: then the value is not complete yet."""
        mark = self.peek()
        self.lines[tuple(self.path)] = self.line_here()
        if mark in _CLOSING:
            if len(self.containers) >= MAX_DEPTH:
                raise too_deep(self.path[:3], line=self.line_here())
            container: list[Any] | dict[str, Any] = [] if mark == "[" else {}
            self.position += 1
            if self.peek() == _CLOSING[mark]:
                self.position += 1
                return True, container
            self.containers.append(container)
            self.path.append(0)
            if isinstance(container, dict):
                self.key(container)
            return False, None
        if mark == '"':
            return True, self.string()
        if mark and mark in "-0123456789" and not self.text.startswith("-I", self.position):
            return True, self.number()
        return True, self.literal()

    def next_item(self, container: list[Any] | dict[str, Any]) -> None:
        """Step over a comma: to the next place of a list, or the next key of an object."""
        if isinstance(container, dict):
            self.path[-1] = ""
            self.key(container)
        else:
            self.path[-1] = len(container)

    def place(self, value: Any) -> None:
        container = self.containers[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            container[str(self.path[-1])] = value

    def close(self) -> list[Any] | dict[str, Any]:
        self.path.pop()
        return self.containers.pop()

    def key(self, container: dict[str, Any]) -> None:
        self.path.pop()
        if self.peek() != '"':
            self.fail("a key in double quotes")
        start = self.position
        key = self.string()
        if key in container:
            self.position = start
            self.fail("each key once in an object", f"{shown(key)} again", code="duplicate-key")
        self.path.append(key)
        if self.peek() != ":":
            self.fail("':' after the key")
        self.position += 1

    def literal(self) -> bool | None:
        word = _WORD.match(self.text, self.position)
        if word is None or word[0] not in _LITERALS:
            self.fail("a JSON value")
        self.position = word.end()
        return _LITERALS[word[0]]

    def number(self) -> int | float:
        like = _NUMBER_LIKE.match(self.text, self.position)
        match = _NUMBER.match(self.text, self.position)
        if match is None or like is None or match.end() != like.end():
            self.fail("a number as JSON writes it")
        if not match["rest"]:
            if len(match["integer"].lstrip("-")) > MAX_DIGITS:
                digits = f"{len(match['integer'].lstrip('-'))} digits"
                self.fail(f"an integer of at most {MAX_DIGITS} digits", digits, code="number-too-long")
            self.position = match.end()
            return int(match["integer"])
        number = float(match[0])
        if math.isinf(number):
            self.fail("a number within the range of a double", code="non-finite-number")
        self.position = match.end()
        return number

    def string(self) -> str:
        start = self.position
        self.position += 1
        parts: list[str] = []
        while True:
            run = _CHARACTERS.match(self.text, self.position)
            if run is not None:
                parts.append(run[0])
                self.position = run.end()
            mark = self.text[self.position : self.position + 1]
            if mark == '"':
                break
            if mark != "\\":
                self.fail("a closing '\"'" if not mark else "no bare control character in a string")
            parts.append(self.escape())
        self.position += 1
        # Two escapes that make a pair are one character beyond U+FFFF; half a pair is none.
        value = "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if has_lone_surrogate(value):
            self.position = start
            found = f"half a surrogate pair in {shown(self.text[start : start + 40])}"
            self.fail("a string of Unicode characters", found, code="lone-surrogate")
        return value

    def escape(self) -> str:
        letter = self.text[self.position + 1 : self.position + 2]
        if letter == "u":
            code = _HEXADECIMAL.match(self.text, self.position + 2)
            if code is None:
                self.fail("four hexadecimal digits after \\u")
            self.position = code.end()
            return chr(int(code[0], 16))
        if letter not in _ESCAPES:
            self.fail('one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u')
        self.position += 2
        return _ESCAPES[letter]

    def peek(self) -> str:
        """Skip white space; return the next character, or nothing at the end."""
        space = _SPACE.match(self.text, self.position)
        if space is not None:
            self.position = space.end()
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
        path: ValuePath = tuple(self.path)
        where = f"{found} at column {column}"
        raise InputError([Issue(code, expected, where, written_path(path), line=self.line_here())])
