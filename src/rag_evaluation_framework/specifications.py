"""One small language for components: ``recursive(chunk_size=200, overlap=50)``.

The same text stands on the command line, in YAML and in recorded results, and reads back into what it
was written from. A value is a number, ``true``, ``false``, ``none``, a quoted or bare word, or another
specification: ``semantic(embedder=openai(model="m"))``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rag_evaluation_framework.errors import UnknownNameError, UsageError, shown

Built = TypeVar("Built")

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<word>[^\s(),="']+)|(?P<mark>[(),=]))""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BARE_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./:-]*\Z")
_INTEGER = re.compile(r"[+-]?\d{1,300}\Z")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_CONSTANTS: dict[str, object] = {"true": True, "false": False, "none": None}
# What a setting is declared with: which values fit, and what they are called. To Python, true is a number.
_PLAIN_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str), "a text"),
    "int": (lambda value: type(value) is int, "a whole number"),
    "float": (lambda value: type(value) in (int, float), "a number"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "None": (lambda value: value is None, "none"),
}
_MAX_NESTING = 20
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Specification:
    """A component's name and its arguments. ``str()`` is the canonical text, which parses back."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        inside = ", ".join(f"{key}={_written(value)}" for key, value in self.arguments.items())
        return f"{self.name}({inside})"


def parse_specification(text: str) -> Specification:
    """Read ``name`` or ``name(key=value, …)``; anything else is a :class:`UsageError` that shows where."""
    return _Parser(text).parse()


def built(
    build: Callable[..., Built],
    arguments: Mapping[str, Any],
    *,
    of: str,
    given: Mapping[str, Any] | None = None,
) -> Built:
    """Build a component with the arguments of a specification and with what is ``given`` besides.

    Every setting that it does not have or cannot do without, and every value of another kind than the setting
    is declared with, is in one :class:`UsageError`, which begins with what the arguments are ``of``.
    """
    given = given or {}
    parameters = [each for each in inspect.signature(build).parameters.values() if each.name not in given]
    named = {each.name: each for each in parameters if each.kind in _BY_NAME}
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
    unknown = [] if takes_any else [name for name in arguments if name not in named]
    needed = [name for name, each in named.items() if each.default is each.empty]
    wrong = [str(UnknownNameError("setting", name, list(named))) for name in unknown]
    wrong += [f"expected the setting {name}, got none" for name in needed if name not in arguments]
    for name, value in arguments.items():
        kinds = _plain_kinds(named[name].annotation) if name in named else []
        if kinds and not any(fits(value) for fits, _ in kinds):
            expected = " or ".join(described for _, described in kinds)
            wrong.append(f"expected {name} to be {expected}, got {shown(value)}")
    if wrong:
        raise UsageError("\n".join(f"{of}: {problem}" for problem in wrong))
    return build(**arguments, **given)


def _plain_kinds(annotation: Any) -> list[tuple[Callable[[Any], bool], str]]:
    """Return what a setting may be, as in ``float | None``; nothing if it may be more than plain values."""
    written = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    names = written.split(" | ")
    return [_PLAIN_KINDS[name] for name in names] if _PLAIN_KINDS.keys() >= set(names) else []


def _written(value: object) -> str:
    if isinstance(value, Specification):
        return str(value)
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    word = str(value)
    if _BARE_WORD.match(word) and word.lower() not in _CONSTANTS:
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Parser:
    """Recursive descent over the tokens of one specification."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        end = len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise self.error("a name, a value or one of ( ) , =", position)
            self.tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            position = match.end()
        self.next = 0

    def error(self, expected: str, position: int | None = None) -> UsageError:
        if position is None:
            position = self.tokens[self.next][2] if self.next < len(self.tokens) else len(self.text)
        found = shown(self.text[position : position + 20]) if position < len(self.text) else "the end"
        return UsageError(f"{shown(self.text)}: expected {expected} at character {position + 1}, got {found}")

    def take(self, kind: str, value: str | None = None) -> str | None:
        """Consume the next token if it is of this kind (and value)."""
        if self.next < len(self.tokens):
            token_kind, token, _ = self.tokens[self.next]
            if token_kind == kind and value in (None, token):
                self.next += 1
                return token
        return None

    def parse(self) -> Specification:
        specification = self.specification(self.name(), depth=0)
        if self.next < len(self.tokens):
            raise self.error("nothing more")
        return specification

    def name(self) -> str:
        word = self.take("word")
        if word is None:
            raise self.error("a name")
        return word

    def specification(self, name: str, depth: int) -> Specification:
        if depth > _MAX_NESTING:
            raise self.error(f"at most {_MAX_NESTING} levels of nesting")
        arguments: dict[str, object] = {}
        if self.take("mark", "("):
            while not self.take("mark", ")"):
                if arguments and not self.take("mark", ","):
                    raise self.error("',' or ')'")
                key = self.name()
                if key in arguments:
                    raise self.error(f"each argument once, not {key} again")
                if not self.take("mark", "="):
                    raise self.error(f"'=' after {key}")
                arguments[key] = self.value(depth)
        return Specification(name, arguments)

    def value(self, depth: int) -> object:
        string = self.take("string")
        if string is not None:
            return _ESCAPE.sub(r"\1", string[1:-1])
        word = self.take("word")
        if word is None:
            raise self.error("a value")
        if self.next < len(self.tokens) and self.tokens[self.next][1] == "(":
            return self.specification(word, depth + 1)
        if word.lower() in _CONSTANTS:
            return _CONSTANTS[word.lower()]
        if _INTEGER.match(word):
            return int(word)
        return float(word) if _NUMBER.match(word) else word
