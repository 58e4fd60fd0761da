"""The exact JSON reader that knows every line; the line of a path.

:mod:`strict_json` reads with a fast decoder and comes here only when that decoder refuses, or when a
caller wants to know where each value stands. Both accept the same texts; a test holds them to it.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, shown

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
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


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
    """Tell whether a string holds half of a surrogate pair, which no UTF-8 file can."""
    return not text.isascii() and _LONE_SURROGATE.search(text) is not None


def _check_keys(path: ValuePath, item: Mapping[Any, Any]) -> None:
    for key in item:
        if not isinstance(key, str):
            raise _not_a_value("key-not-a-string", "keys that are strings", shown(key), path)
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


# Finds the line of a value in a JSON text by its path, when there is an error to show.
#
# One linear pass over a text that was read before, so nothing is checked here. ``//`` comments are passed
# over. A path is written as in an :class:`~rag_evaluation_framework.errors.Issue`:
# ``queries[3].citations[0].end_char``.

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|//[^\n]*|[\[\]{},:]|[^\s\[\]{},:"/]++', re.DOTALL)
_NEXT_BRACKET = re.compile(r'(?:[^"\[\]{}/]++|"(?:[^"\\]++|\\.)*+"|//[^\n]*+|/)*+[\[\]{}]', re.DOTALL)
_PATH_PART = re.compile(r'\[(?P<index>\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.?(?P<key>[^.\[\]"]+)')


def line_of(text: str, path: str) -> int | None:
    """Return the 1-based line on which a value begins, or the nearest value around it that exists."""
    return lines_of(text, [path])[path]


def lines_of(text: str, paths: Iterable[str]) -> dict[str, int | None]:
    """Return the line of each path, all found in one pass; ``None`` where the text has no value at all."""
    root = _Place()
    wanted = {path: list(_parts(path)) for path in paths}
    for parts in wanted.values():
        place = root
        for part in parts:
            place = place.inside.setdefault(part, _Place())
    _walk(text, root)
    return {path: _deepest_line(root, parts) for path, parts in wanted.items()}


@dataclass(slots=True)
class _Place:
    """A place that a wanted path leads to or through, and its line once it was met."""

    inside: dict[str | int, _Place] = field(default_factory=dict)
    line: int | None = None


@dataclass(slots=True)
class _Container:
    """A list or object that is open; ``part`` is the index or key of the value that comes next."""

    place: _Place | None
    part: str | int | None

    def next_place(self) -> _Place | None:
        return None if self.place is None or self.part is None else self.place.inside.get(self.part)


def _walk(text: str, root: _Place) -> None:
    """Write down the line of every wanted place; lists and objects with no such place inside are skipped."""
    line, counted, position = 1, 0, 0
    open_: list[_Container] = []
    while token := _TOKEN.search(text, position):
        mark, position = token[0], token.end()
        if mark[0] == "/" or mark == ":":
            continue
        container = open_[-1] if open_ else None
        if mark == ",":
            if container is not None:
                container.part = container.part + 1 if isinstance(container.part, int) else None
        elif mark in "]}":
            open_.pop()
        elif container is not None and container.part is None:
            container.part = _key(mark, container.place)
        else:
            place = container.next_place() if container else root
            if place is not None and place.line is None:
                line += text.count("\n", counted, token.start())
                counted = token.start()
                place.line = line
            if mark in "[{":
                if place is not None and place.inside:
                    open_.append(_Container(place, 0 if mark == "[" else None))
                else:
                    position = _container_end(text, position)


def _container_end(text: str, position: int) -> int:
    """Return where the list or object ends that is open at a position."""
    depth = 1
    for bracket in _NEXT_BRACKET.finditer(text, position):
        depth += 1 if text[bracket.end() - 1] in "[{" else -1
        if not depth:
            return bracket.end()
    return len(text)


def _key(mark: str, place: _Place | None) -> str:
    """Return what a key says; where nothing is wanted inside, its spelling does not matter."""
    if place is None or "\\" not in mark:
        return mark[1:-1]
    key: str = json.loads(mark)
    return key


def _parts(path: str) -> Iterator[str | int]:
    """Take a written path apart: ``queries[3].id`` is ``queries``, 3, ``id``."""
    for part in _PATH_PART.finditer(path):
        if part["index"]:
            yield int(part["index"])
        else:
            yield json.loads(part["quoted"]) if part["quoted"] else part["key"]


def _deepest_line(root: _Place, parts: Iterable[str | int]) -> int | None:
    line, place = root.line, root
    for part in parts:
        if part not in place.inside or place.inside[part].line is None:
            break
        place = place.inside[part]
        line = place.line
    return line
