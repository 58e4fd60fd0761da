"""What JSON and YAML have in common here: the values they may hold, and the paths that lead to them.

A value is ``None``, a boolean, a finite number, a string without lone surrogates, a list (or tuple) of
values, or a dictionary from strings to values, nested at most :data:`MAX_DEPTH` deep.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, shown

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
