"""The author's checks of an answer: what it must contain, equal, match or hold, decided exactly and offline.

A sample has them as its file does: a list of objects, or one object. Each key of an object is a check, and
the options beside it apply to it. Beside ``json_path``, checks of texts look at a value within the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.text.display import short_text
from rag_evaluation_framework.text.patterns import find_pattern_fault, search_pattern
from rag_evaluation_framework.text.scripts import count_words


class CheckKind(NamedTuple):
    """The demand that a kind of check makes of an answer, with an example."""

    demand: str
    example: Mapping[str, Any]


CHECKS: Mapping[str, CheckKind] = {
    "contains": CheckKind("the answer contains this text", {"contains": "27 days"}),
    "not_contains": CheckKind("the answer does not contain this text", {"not_contains": "30 days"}),
    "equals": CheckKind("the answer is this text", {"equals": "Paris", "ignore_case": True}),
    "one_of": CheckKind("the answer is one of these texts", {"one_of": ["yes", "no"]}),
    "regex": CheckKind(
        "the answer contains a match of this regular expression", {"regex": r"^\d+$", "negate": True}
    ),
    "is_json": CheckKind("the answer is JSON; with false, it is not JSON", {"is_json": True}),
    "json_path": CheckKind(
        "the answer is JSON with a value at this path; text checks in the same object test that value",
        {"json_path": "$.answer", "equals": 5},
    ),
    "max_words": CheckKind("the answer has at most this many words", {"max_words": 60}),
}
"""Every kind of check by name."""
OPTIONS: Mapping[str, str] = {
    "ignore_case": "in the same object as a check: ignore upper and lower case",
    "negate": "in the same object as a check: require it to fail",
}
"""Modifiers that may stand beside the checks of an object."""
_OF_TEXTS = ("contains", "not_contains", "equals", "one_of", "regex")
_EXPECTED = {
    "one_of": "a list of texts",
    "is_json": "true or false",
    "max_words": "a whole number of at least 1",
}
_ONE, _SHOWN = '{"contains": "27 days"}', 60


class Check(msgspec.Struct, frozen=True):
    """One check; ``path`` is where in a JSON answer the value stands that it looks at."""

    kind: str
    value: Any
    path: str | None = None
    ignore_case: bool = False
    negate: bool = False

    @property
    def name(self) -> str:
        """The check in words: ``not json_path $.answer equals 5``."""
        where = f"json_path {self.path} " if self.path is not None else ""
        is_text = isinstance(self.value, str)
        value = f'"{self.value}"' if is_text else strict_json.encode(self.value).decode()
        value = short_text(value, _SHOWN)
        what = {"is_json": "is_json", "json_path": ""}.get(self.kind, f"{self.kind} {value}")
        case = ", ignoring case" if self.ignore_case else ""
        return f"{'not ' if self.negate else ''}{f'{where}{what}'.rstrip()}{case}"

    def holds(self, answer: str) -> bool | None:
        """Return True if an answer passes; ``None`` where a regular expression takes too many attempts."""
        is_met = self._is_met(answer.strip())
        return None if is_met is None else is_met != self.negate

    def _is_met(self, answer: str) -> bool | None:
        value: Any = answer
        if self.path is not None or self.kind == "is_json":
            try:
                value = strict_json.decode(answer)
            except InputError:
                return False
        if self.path is not None and (value := _find(self.path, value)) is None:
            return False
        if self.kind in ("is_json", "json_path"):
            return True
        if self.kind in ("equals", "one_of"):
            wanted = [self.value] if self.kind == "equals" else self.value
            return any(_is_same(self._folded(value), self._folded(each)) for each in wanted)
        text = value if isinstance(value, str) else strict_json.encode(value).decode()
        if self.kind == "max_words":
            return count_words(text) <= int(self.value)
        if self.kind == "regex":
            return search_pattern(self.value, text, ignore_case=self.ignore_case)
        return (self._folded(self.value) in self._folded(text)) == (self.kind == "contains")

    def _folded(self, value: Any) -> Any:
        return value.casefold() if self.ignore_case and isinstance(value, str) else value


def judge_checks(written: Any, answer: str) -> list[tuple[str, bool | None]]:
    """Return the name of each check and whether an answer passes it; ``None`` where that stays open."""
    return [(check.name, check.holds(answer)) for check in read_checks(written)]


def read_checks(written: Any) -> tuple[Check, ...]:
    """Return the checks that a sample has; everything that is wrong with them is in one error."""
    checks, issues = _read(strict_json.encode(written))
    if issues:
        raise InputError(issues)
    return checks


def check_issues(written: Any, path: str = "checks") -> Iterator[Issue]:
    """Yield what is wrong with checks, each with its path; only a list or an object is looked at."""
    with suppress(InputError):  # what JSON cannot hold is somebody else's to name
        if isinstance(written, list | dict):
            yield from (issue.located(within=path) for issue in _read(strict_json.encode(written))[1])


@lru_cache(maxsize=1024)
def _read(text: bytes) -> tuple[tuple[Check, ...], tuple[Issue, ...]]:
    """Read checks once for all the answers that they are held against."""
    written = strict_json.decode(text)
    found = [*_read_object(written)] if isinstance(written, dict) and written else []
    for number, each in enumerate(written if isinstance(written, list) else ()):
        if isinstance(each, dict):
            read = list(_read_object(each))
            found += [it.located(within=f"[{number}]") if isinstance(it, Issue) else it for it in read]
        else:
            found.append(Issue("wrong-type", f"a check such as {_ONE}", shown(each), f"[{number}]"))
    if not isinstance(written, dict | list):
        found.append(Issue("wrong-type", f"a list of checks, or an object such as {_ONE}", shown(written)))
    checks = tuple(each for each in found if isinstance(each, Check))
    return checks, tuple(each for each in found if isinstance(each, Issue))


def _read_object(written: Mapping[str, Any]) -> Iterator[Check | Issue]:
    """Yield the checks of one object, or what is wrong with it."""
    kinds, path = [name for name in written if name in CHECKS], written.get("json_path")
    if not kinds and written.keys() <= OPTIONS.keys():
        yield Issue(
            "missing-field", f"a check: {', '.join(CHECKS)}", "only options" if written else "an empty object"
        )
    for name, value in written.items():
        if name in OPTIONS and not isinstance(value, bool):
            yield Issue("wrong-type", "true or false", shown(value), name)
        elif name not in CHECKS and name not in OPTIONS:
            known = [each for each in (*CHECKS, *OPTIONS) if each not in written]
            if near := get_close_matches(name.casefold(), known, n=1, cutoff=0.7):
                yield Issue("misspelt-key", f"the key {near[0]}", name, name)
            else:
                yield Issue("unknown-key", f"one of {', '.join((*CHECKS, *OPTIONS))}", name, name)
    is_of_value = path is not None and any(kind in _OF_TEXTS for kind in kinds)
    options = {name: written.get(name) is True for name in OPTIONS}
    for kind in kinds:
        value, where = written[kind], path if kind in (*_OF_TEXTS, "json_path") else None
        if (issue := _find_fault(kind, value, is_any=where is not None)) is not None:
            yield issue
        elif kind == "is_json":
            yield Check(kind, True, None, options["ignore_case"], options["negate"] == value)
        elif kind != "json_path" or not is_of_value:
            yield Check(kind, value, where, **options)


def _find_fault(kind: str, value: Any, *, is_any: bool) -> Issue | None:
    """Return what is wrong with the value of a check; ``is_any`` where JSON is compared with it."""
    expected, found = _EXPECTED.get(kind, "text"), shown(value)
    if kind == "is_json":
        is_right = isinstance(value, bool)
    elif kind == "max_words":
        is_right = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    elif kind == "one_of":
        is_right = (
            isinstance(value, list) and bool(value) and all(_is_comparable(each, is_any) for each in value)
        )
    elif kind == "equals":
        is_right = _is_comparable(value, is_any)
        expected = "a value other than null" if is_any else expected
    else:
        is_right = isinstance(value, str) and bool(value)
    if is_right and kind == "regex" and (fault := find_pattern_fault(value)) is not None:
        return Issue("invalid-pattern", "a regular expression", f"{found} ({fault})", kind)
    if is_right and kind == "json_path" and value != "$" and _steps(value) is None:
        return Issue("wrong-format", "a path such as $.answer or $.items[0].name", found, kind)
    if is_right:
        return None
    if expected == "text" and isinstance(value, int | float) and not isinstance(value, bool):
        found += f'; write "{value}"'
    return Issue("wrong-type", expected, found, kind)


def _is_comparable(value: Any, is_any: bool) -> bool:
    return value is not None if is_any else isinstance(value, str) and bool(value)


def _steps(path: str) -> strict_json.JsonPath | None:
    try:
        return strict_json.JsonPath.parse(path.removeprefix("$").removeprefix("."))
    except ValueError:
        return None


def _find(path: str, value: Any) -> Any:
    """Return what stands at a path that may begin with ``$``, which alone is the whole."""
    steps = _steps(path)
    return value if steps is None else steps.find(value)


def _is_same(value: Any, other: Any) -> bool:
    """Compare as JSON does: 5 and 5.0 are the same, true and 1 are not."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_is_same(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_is_same, value, other))
    return bool(value == other)
