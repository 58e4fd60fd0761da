"""YAML that means the same as JSON, with lines and limits; a reader by paths that keeps every problem.

Plain words follow YAML 1.2's core schema: only ``true`` and ``false`` (``True``, ``TRUE``) are booleans,
``null``, ``~`` and nothing are null, ``010`` is ten, ``0o10`` eight, ``1e3`` a number. ``yes``, ``off``,
``1:30``, ``1_000`` and ``2024-01-15T10:00:00Z`` are the strings they look like.

Refused: duplicate keys, keys that are not strings, merge keys (``<<``), tags beyond the core schema,
``.nan`` and ``.inf``, several documents, nesting beyond the limit of JSON, and aliases that expand to
more than :data:`MAX_ALIASED_VALUES` values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, shown
from rag_evaluation_framework.files.access import decode_text
from rag_evaluation_framework.files.json_scanner import (
    MAX_DEPTH,
    MAX_DIGITS,
    Lines,
    ValuePath,
    check_value,
    has_lone_surrogate,
    nearest_line,
    too_deep,
    written_path,
)
from rag_evaluation_framework.startup import late_module, late_pattern

if TYPE_CHECKING:
    import yaml
else:
    yaml = late_module("yaml")

# What a single YAML word means, when reading and when writing: the core schema of YAML 1.2.

_CONSTANTS: dict[str, bool | None] = {
    spelling: value
    for word, value in (("null", None), ("~", None), ("", None), ("true", True), ("false", False))
    for spelling in (word, word.title(), word.upper())
}
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OCTAL = re.compile(r"0o[0-7]+\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")
# Only words that begin like this can be anything but strings.
_MAY_NOT_BE_TEXT = frozenset("-+.0123456789~ntfNTF")

_TAG = "tag:yaml.org,2002:"
_TYPES_OF_TAGS: dict[str, type | tuple[type, ...]] = {
    f"{_TAG}null": type(None),
    f"{_TAG}bool": bool,
    f"{_TAG}int": int,
    f"{_TAG}float": (int, float),
}


class UnreadableNumberError(ValueError):
    """A word that reads as a number which no JSON file can hold; the message says what is expected."""


def read_plain(word: str) -> Any:
    """Return what a word without quotes means."""
    if word and word[0] not in _MAY_NOT_BE_TEXT:
        return word
    if _INTEGER.match(word):
        if len(word.lstrip("-+")) > MAX_DIGITS:
            raise UnreadableNumberError(f"an integer of at most {MAX_DIGITS} digits")
        return int(word)
    if _FLOAT.match(word):
        number = float(word)
        if math.isinf(number):
            raise UnreadableNumberError("a number within the range of a double")
        return number
    if _NOT_FINITE.match(word):
        raise UnreadableNumberError("a finite number")
    if _OCTAL.match(word) or _HEXADECIMAL.match(word):
        return int(word, 0)
    return _CONSTANTS.get(word, word)


def read_tagged(tag: str, word: str) -> Any:
    """Return what a word with an explicit tag means; ``ValueError`` if the tag is unknown or does not fit."""
    if tag == f"{_TAG}str":
        return word
    value = read_plain(word)
    fits = tag in _TYPES_OF_TAGS and isinstance(value, _TYPES_OF_TAGS[tag])
    if not fits:
        raise ValueError(tag)
    return float(value) if tag == f"{_TAG}float" else value


@cache
def _dumper() -> Any:
    """Return what writes strings plain where YAML 1.1 and 1.2 both read strings, and repeats no anchors."""

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_text(self, data: str) -> yaml.ScalarNode:
            return self.represent_scalar(f"{_TAG}str", str(data), style=_style(data))

    Dumper.add_representer(str, Dumper.represent_text)
    # Subclasses (an enumeration of strings, numpy's ``float64``) are written as what they are at heart.
    Dumper.add_multi_representer(str, Dumper.represent_text)
    Dumper.add_multi_representer(float, lambda dumper, data: dumper.represent_float(float(data)))
    Dumper.add_multi_representer(int, lambda dumper, data: dumper.represent_int(int(data)))
    Dumper.add_multi_representer(dict, lambda dumper, data: dumper.represent_dict(data.items()))
    # PyYAML's own resolvers are those of YAML 1.1; these are what 1.2 adds to them.
    Dumper.add_implicit_resolver(f"{_TAG}int", _OCTAL, ["0"])
    Dumper.add_implicit_resolver(f"{_TAG}int", _INTEGER, list("-+0123456789"))
    Dumper.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))
    return Dumper


def _style(text: str) -> str | None:
    """Choose lines as they are for simple text of several lines, double quotes where they could change it."""
    if text.isprintable():
        return None
    lines = text.split("\n")
    if len(lines) > 1 and all(line.isprintable() and line and line == line.strip() for line in lines):
        return "|"
    return '"'


# Defaults shared between a few sections stay far below this; a bomb of nine aliased levels is 10**9.
MAX_ALIASED_VALUES = 100_000

# Beyond what YAML calls non-printable, U+0085, U+2028 and U+2029: the parser speaks YAML 1.1, takes them for
# line breaks and folds them away inside strings.
_NOT_ALLOWED_BARE = late_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_SURROGATES = late_pattern(r"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
_MAP_TAGS = (None, "!", "tag:yaml.org,2002:map")
_LIST_TAGS = (None, "!", "tag:yaml.org,2002:seq")


def decode(text: str | bytes, *, file: str | None = None) -> Any:
    """Read one YAML document; an empty one is ``None``."""
    return decode_with_lines(text, file=file)[0]


def decode_with_lines(text: str | bytes, *, file: str | None = None) -> tuple[Any, Lines]:
    """Read one YAML document, and the 1-based line of every value by its path.

    A path is a tuple such as ``("spec", "datasets", 0, "path")``. What stands behind an alias has the lines
    where it was written.
    """
    value, lines, issues = decode_noting(text, file=file)
    if issues:
        raise InputError(issues)
    return value, lines


def decode_noting(text: str | bytes, *, file: str | None = None) -> tuple[Any, Lines, list[Issue]]:
    """Return a YAML document, its lines, and the issues of single values, which stay text.

    The caller can then report other issues too. A document that cannot be read raises an error.
    """
    if isinstance(text, bytes):
        text = decode_text(text, file=file)
    text = _without_surrogates(text.removeprefix("\ufeff"))
    builder = _Builder()
    try:
        _check_characters(text)
        for event in _events(text):
            builder.take(event)
    except InputError as error:
        raise type(error)([*builder.issues, *error.issues]).located(file) from None
    return builder.root, builder.lines, [issue.located(file) for issue in builder.issues]


def _without_surrogates(text: str) -> str:
    """Return JSON with the characters that it writes as two surrogates, of which YAML knows nothing."""
    if _SURROGATES.search(text) is None:
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _SURROGATES.sub(lambda found: found[1] + json.loads(f'"{found[2]}"'), text)


def encode(value: Any) -> str:
    """Write a value as a YAML document that :func:`decode` reads back equal; tuples come back as lists.

    Words that YAML 1.1 or 1.2 would read as something other than a string are quoted. Raises
    :class:`InputError`, naming the path, for what YAML and JSON do not both hold.
    """
    check_value(value)
    text: str = yaml.dump(
        value, Dumper=_dumper(), allow_unicode=True, sort_keys=False, default_flow_style=False, width=1 << 30
    )
    return text


class _Builder:
    """Builds the value from the parser's events, with its open containers on a list, not on a call stack."""

    def __init__(self) -> None:
        self.root: Any = None
        self.documents = 0
        self.lines: Lines = {}
        self.issues: list[Issue] = []
        self.containers: list[list[Any] | dict[str, Any]] = []
        self.path: list[str | int] = []
        # Whether the next scalar of each open container is a key.
        self.awaits_key: list[bool] = []

    def take(self, event: Any) -> None:
        line = _line(event)
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self.fail("one document", "another", line, code="several-documents")
        elif isinstance(event, yaml.ScalarEvent):
            if self.containers and self.awaits_key[-1]:
                self.key(event, line)
            else:
                self.attach(self.scalar(event, line), line)
                self.step()
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            self.open(event, line)
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            self.containers.pop()
            self.path.pop()
            self.awaits_key.pop()
            self.step()

    def open(self, event: Any, line: int) -> None:
        is_map = isinstance(event, yaml.MappingStartEvent)
        if self.containers and self.awaits_key[-1]:
            self.fail("string keys", "a map" if is_map else "a list", line, code="key-not-a-string")
        if event.tag not in (_MAP_TAGS if is_map else _LIST_TAGS):
            self.fail("no tag", event.tag, line, code="unknown-tag")
        if len(self.containers) >= MAX_DEPTH:
            raise too_deep(self.path[:3], line=line)
        container: list[Any] | dict[str, Any] = {} if is_map else []
        self.attach(container, line)
        self.containers.append(container)
        self.path.append(0)
        self.awaits_key.append(is_map)

    def key(self, event: Any, line: int) -> None:
        self.path.pop()
        key = self.scalar(event, line)
        if not isinstance(key, str):
            found = f'{shown(key)}; write "{event.value}" in quotes'
            self.fail("string keys", found, line, code="key-not-a-string")
        if key == "<<" and event.implicit[0]:
            self.fail("keys without merging", "the merge key <<", line, code="merge-key")
        if key in self.containers[-1]:
            self.fail("unique keys in a map", f"duplicate {shown(key)}", line, code="duplicate-key")
        self.path.append(key)
        self.awaits_key[-1] = False

    def scalar(self, event: Any, line: int) -> Any:
        """Return the value of a word; a word without one is noted, and stays text."""
        is_plain = event.tag is None and event.implicit[0]
        word: str = event.value
        try:
            if has_lone_surrogate(word):
                # Only PyYAML's own parser, used where libyaml is missing, lets such an escape through.
                self.note("valid YAML", f"a lone surrogate in {shown(word)}", line, code="yaml-syntax")
            elif event.tag not in (None, "!"):
                return read_tagged(event.tag, word)
            elif is_plain:
                return read_plain(word)
        except UnreadableNumberError as error:
            self.note(str(error), shown(word), line, code="non-finite-number")
        except ValueError:
            found = f"{event.tag} {shown(word)}"
            self.note("a value that fits a tag of YAML's core schema", found, line, code="unknown-tag")
        return word

    def attach(self, value: Any, line: int) -> None:
        """Put a value where the path leads."""
        self.lines[tuple(self.path)] = line
        if not self.containers:
            self.root = value
            return
        container = self.containers[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            container[str(self.path[-1])] = value

    def step(self) -> None:
        """Go on to the next item of the innermost container."""
        if self.containers:
            container = self.containers[-1]
            self.awaits_key[-1] = isinstance(container, dict)
            if isinstance(container, list):
                self.path[-1] = len(container)

    def note(self, expected: str, found: str, line: int, *, code: str) -> None:
        self.issues.append(self.issue(expected, found, line, code=code))

    def fail(self, expected: str, found: str, line: int, *, code: str) -> NoReturn:
        raise InputError([self.issue(expected, found, line, code=code)])

    def issue(self, expected: str, found: str, line: int, *, code: str) -> Issue:
        return Issue(code, expected, found, written_path(self.path), line=line)


def _events(text: str) -> Iterator[Any]:
    try:
        yield from _expanded(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", None) or yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise _syntax(error) from None


def _expanded(events: Iterable[Any]) -> Iterator[Any]:
    """Yield the events with every alias replaced by the events of what it stands for, up to the limit."""
    # All events since the first anchor; where each anchor's begin and end; the anchors still open, with the
    # number of containers around them.
    seen: list[Any] = []
    anchored: dict[str, tuple[int, int]] = {}
    unfinished: list[tuple[str, int, int]] = []
    aliased = depth = 0
    for event in events:
        replacement = [event]
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.AliasEvent):
            if anchor not in anchored:
                expected = "an alias of an earlier anchor"
                raise InputError([Issue("unknown-alias", expected, f"*{anchor}", line=_line(event))])
            replacement = seen[slice(*anchored[anchor])]
            aliased += len(replacement)
            if aliased > MAX_ALIASED_VALUES:
                expected = f"aliases that expand to at most {MAX_ALIASED_VALUES:,} values"
                raise LimitExceededError([Issue("alias-limit", expected, "more", line=_line(event))])
        elif anchor is not None:
            anchored.pop(anchor, None)
            unfinished.append((anchor, len(seen), depth))
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if unfinished or anchored:
            seen.extend(replacement)
        while unfinished and unfinished[-1][2] == depth:
            name, start, _ = unfinished.pop()
            anchored[name] = (start, len(seen))
        yield from replacement


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _check_characters(text: str) -> None:
    """Refuse what YAML does not allow bare, and what the parser would change without a word."""
    bare = _NOT_ALLOWED_BARE.search(text)
    if bare:
        line = text.count("\n", 0, bare.start()) + 1
        expected = "the character escaped, in double quotes"
        raise InputError([Issue("yaml-syntax", expected, f"U+{ord(bare[0]):04X}", line=line)])


def _syntax(error: yaml.YAMLError) -> InputError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    found = getattr(error, "problem", None) or str(error)
    if mark is None:
        return InputError([Issue("yaml-syntax", "valid YAML", found)])
    return InputError(
        [Issue("yaml-syntax", "valid YAML", f"{found} at column {mark.column + 1}", line=mark.line + 1)]
    )


# Reads the values of a YAML document by their paths, and keeps every problem with its line.

# How alike two keys must be for one to be the other misspelt, and where unknown keys are allowed.
_ALIKE, _SURELY_ALIKE = 0.6, 0.75


class YamlReader:
    """The values of one document, each read by its path: ``reader.text("criteria", 0, "name")``.

    A value that is wrong, or that YAML cannot hold, is noted and read as its default; :meth:`raise_all`
    raises everything noted.
    """

    code = "invalid-value"
    """The code of a problem that has none of its own."""

    def __init__(self, text: str, *, file: str | None = None) -> None:
        self.value, self._lines, self.issues = decode_noting(text, file=file)
        self.file = file
        self._unreadable = {(issue.path, issue.found) for issue in self.issues}

    def problem(self, path: ValuePath, expected: str, found: str, *, code: str | None = None) -> None:
        """Note what is wrong with the value at a path."""
        self.problems(path, InputError([Issue(code or self.code, expected, found)]))

    def problems(self, path: ValuePath, error: InputError) -> None:
        """Note an error that was raised without knowing its place; what YAML cannot hold is noted already."""
        place = (self.file, self.line(path), written_path(path))
        located = (issue.located(*place) for issue in error.issues)
        self.issues += [issue for issue in located if (issue.path, issue.found) not in self._unreadable]

    def raise_all(self) -> None:
        """Raise everything noted, in the order of the lines."""
        if self.issues:
            raise InputError(sorted(self.issues, key=lambda issue: issue.line or 0))

    def at(self, *path: str | int) -> Any:
        """Return the value at a path; ``None`` if there is none."""
        found = self.value
        for step in path:
            if isinstance(step, str):
                found = found.get(step) if isinstance(found, dict) else None
            else:
                found = found[step] if isinstance(found, list) and step < len(found) else None
        return found

    def line(self, path: ValuePath) -> int | None:
        """Return the line of a value; where it is missing, that of the nearest thing around it."""
        return nearest_line(self._lines, path)

    def text(self, *path: str | int) -> str:
        """Return the text at a path, which must not be blank."""
        found = self.at(*path)
        if isinstance(found, str) and found.strip():
            return found.strip()
        self._wrong(path, "text")
        return ""

    def optional_text(self, *path: str | int) -> str | None:
        """Return the text at a path, if there is one."""
        return None if self.at(*path) is None else self.text(*path) or None

    def texts(self, *path: str | int, expected: str) -> tuple[str, ...]:
        """Return the texts listed at a path, each once; there must be at least one."""
        listed = self.items(*path, expected=expected)
        if all(isinstance(each, str) and each.strip() for each in listed):
            return tuple(dict.fromkeys(each.strip() for each in listed))
        self._wrong(path, expected)
        return ()

    def items(self, *path: str | int, expected: str) -> list[Any]:
        """Return the list at a path, which must not be empty."""
        found = self.at(*path)
        if isinstance(found, list) and found:
            return found
        self._wrong(path, expected)
        return []

    def mapping(self, *path: str | int, required: bool = False) -> dict[str, Any]:
        """Return the mapping at a path, empty where nothing is; one that is required must not be empty."""
        found = self.at(*path)
        if isinstance(found, dict) and (found or not required):
            return found
        if found is not None or required:
            self._wrong(path, "a mapping")
        return {}

    def whole_number(self, *path: str | int, default: int | None = None) -> int:
        """Return the whole number of at least 1 at a path; it may be missing only if there is a default."""
        found = self.at(*path)
        if found is None and default is not None:
            return default
        if isinstance(found, int) and not isinstance(found, bool) and found >= 1:
            return found
        self._wrong(path, "a whole number of at least 1")
        return 1

    def share(self, *path: str | int, default: float | None = None) -> float:
        """Return the number from 0 to 1 at a path; it may be missing only if there is a default."""
        found = self.at(*path)
        if found is None and default is not None:
            return default
        if isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= 1:
            return float(found)
        self._wrong(path, "a number from 0 to 1")
        return 0.0

    def true_or_false(self, *path: str | int) -> bool:
        """Return the boolean at a path; nothing is false."""
        found = self.at(*path)
        if found is not None and not isinstance(found, bool):
            self._wrong(path, "true or false")
        return found is True

    def check_keys(self, known: Sequence[str], *path: str | int, strict: bool = False) -> None:
        """Note the keys at a path that look like a known one misspelt; with ``strict``, all unknown ones."""
        there = self.at(*path)
        plain = {each.casefold(): each for each in known}
        for key in there if isinstance(there, dict) else ():
            if key in known:
                continue
            cutoff = _ALIKE if strict else _SURELY_ALIKE
            near = [plain[each] for each in get_close_matches(key.casefold(), plain, n=1, cutoff=cutoff)]
            if near and near[0] not in there:
                self.problem((*path, key), f"the key {near[0]}", key, code="misspelt-key")
            elif strict:
                self.problem((*path, key), f"one of {', '.join(known)}", key, code="unknown-key")

    def _wrong(self, path: ValuePath, expected: str) -> None:
        found = self.at(*path)
        emptiness = "an empty mapping" if found == {} else "an empty list" if found == [] else None
        text = "nothing" if found is None else emptiness or shown(found)
        self.problem(path, expected, text)
