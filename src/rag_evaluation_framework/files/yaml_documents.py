"""YAML that means the same as JSON: read with limits and line numbers, written so that it reads back equal.

Plain words follow YAML 1.2's core schema: only ``true`` and ``false`` (``True``, ``TRUE``) are booleans,
``null``, ``~`` and nothing are null, ``010`` is ten, ``0o10`` eight, ``1e3`` a number. ``yes``, ``off``,
``1:30``, ``1_000`` and ``2024-01-15T10:00:00Z`` are the strings they look like.

Refused: duplicate keys, keys that are not strings, merge keys (``<<``), tags beyond the core schema,
``.nan`` and ``.inf``, several documents, nesting beyond the limit of JSON, and aliases that expand to
more than :data:`MAX_ALIASED_VALUES` values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import yaml

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, shown
from rag_evaluation_framework.files.text import decode_text
from rag_evaluation_framework.files.values import (
    MAX_DEPTH,
    Lines,
    check_value,
    has_lone_surrogate,
    too_deep,
    written_path,
)
from rag_evaluation_framework.files.yaml_scalars import (
    UnreadableNumberError,
    YamlDumper,
    read_plain,
    read_tagged,
)

# Defaults shared between a few sections stay far below this; a bomb of nine aliased levels is 10**9.
MAX_ALIASED_VALUES = 100_000

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Beyond what YAML calls non-printable, U+0085, U+2028 and U+2029: the parser speaks YAML 1.1, takes them for
# line breaks and folds them away inside strings.
_NOT_ALLOWED_BARE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
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
    """Read one YAML document and its lines, and what is wrong with single values, which stay as their text.

    The caller can then say what else is wrong. Where the document itself cannot be read, that is an error.
    """
    if isinstance(text, bytes):
        text = decode_text(text, file=file)
    text = text.removeprefix("\ufeff")
    builder = _Builder()
    try:
        _check_characters(text)
        for event in _events(text):
            builder.take(event)
    except InputError as error:
        raise type(error)([*builder.issues, *error.issues]).located(file) from None
    return builder.root, builder.lines, [issue.located(file) for issue in builder.issues]


def encode(value: Any) -> str:
    """Write a value as a YAML document that :func:`decode` reads back equal; tuples come back as lists.

    Words that YAML 1.1 or 1.2 would read as something other than a string are quoted. Raises
    :class:`InputError`, naming the path, for what YAML and JSON do not both hold.
    """
    check_value(value)
    text: str = yaml.dump(
        value, Dumper=YamlDumper, allow_unicode=True, sort_keys=False, default_flow_style=False, width=1 << 30
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
                self.place(self.scalar(event, line), line)
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
            self.fail("keys that are strings", "a map" if is_map else "a list", line, code="key-not-a-string")
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
            found = f'{shown(key)}: write "{event.value}" in quotes'
            self.fail("keys that are strings", found, line, code="key-not-a-string")
        if key == "<<" and event.implicit[0]:
            self.fail("keys written out", "the merge key <<", line, code="merge-key")
        if key in self.containers[-1]:
            self.fail("each key once in a map", f"{shown(key)} again", line, code="duplicate-key")
        self.path.append(key)
        self.awaits_key[-1] = False

    def scalar(self, event: Any, line: int) -> Any:
        """Return what a word means; one that means nothing is noted, and stays as it is written."""
        is_plain = event.tag is None and event.implicit[0]
        word: str = event.value
        try:
            if has_lone_surrogate(word):
                # Only PyYAML's own parser, used where libyaml is missing, lets such an escape through.
                self.note("valid YAML", f"half a surrogate pair in {shown(word)}", line, code="yaml-syntax")
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

    def place(self, value: Any, line: int) -> None:
        self.attach(value, line)
        self.step()

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
        yield from _expanded(yaml.parse(text, Loader=_Loader))
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
            replacement = _aliased(event, seen, anchored)
            aliased += len(replacement)
            if aliased > MAX_ALIASED_VALUES:
                expected = f"aliases that stand for at most {MAX_ALIASED_VALUES:,} values"
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


def _aliased(event: Any, seen: list[Any], anchored: dict[str, tuple[int, int]]) -> list[Any]:
    if event.anchor not in anchored:
        expected = "an alias of a value that ended above"
        raise InputError(
            [Issue("unknown-alias", expected, f"*{event.anchor}", line=event.start_mark.line + 1)]
        )
    start, end = anchored[event.anchor]
    return seen[start:end]


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _check_characters(text: str) -> None:
    """Refuse what YAML does not allow bare, and what the parser would change without a word."""
    bare = _NOT_ALLOWED_BARE.search(text)
    if bare:
        line = text.count("\n", 0, bare.start()) + 1
        expected = "such a character escaped, in double quotes"
        raise InputError([Issue("yaml-syntax", expected, f"U+{ord(bare[0]):04X}", line=line)])


def _syntax(error: yaml.YAMLError) -> InputError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    found = getattr(error, "problem", None) or str(error)
    if mark is None:
        return InputError([Issue("yaml-syntax", "valid YAML", found)])
    return InputError(
        [Issue("yaml-syntax", "valid YAML", f"{found} at column {mark.column + 1}", line=mark.line + 1)]
    )
