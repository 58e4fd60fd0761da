"""Regular expressions that users write, in Python's syntax, searched in bounded time.

Python's own engine may take years over ``(a+)+$``. That of jsonschema-rs reads a text once; only what looks
around or refers back makes it try again, a limited number of times, so that every machine finds the same.
Where the two differ in what a class of characters holds, Python's meaning is taken.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

# Some seconds at most, for very long texts: each of the attempts may read what is left of the text.
_MOST_STEPS, _MOST_ATTEMPTS = 1_000_000_000, 1_000_000
_PIECE = re.compile(r"\\(.)|\[\^?\]?|\]", re.DOTALL)
_WORD = r"\p{L}\p{N}_"
_IN_CLASS = {"d": r"\p{Nd}", "D": r"\P{Nd}", "w": _WORD}
_ELSEWHERE = {**_IN_CLASS, "w": f"[{_WORD}]", "W": f"[^{_WORD}]", "Z": r"\z"}


def search_pattern(pattern: str, text: str, *, ignore_case: bool = False) -> bool | None:
    """Return True if a pattern matches somewhere in a text; ``None`` if that takes too many attempts."""
    from jsonschema_rs import ValidationError, ValidationErrorKind

    attempts = max(1, min(_MOST_ATTEMPTS, _MOST_STEPS // (len(text) + 1)))
    # Few different limits, so that few validators are compiled.
    compiled = _compiled(f"(?i){pattern}" if ignore_case else pattern, 1 << (attempts.bit_length() - 1))
    try:
        compiled.validate(text.encode(errors="replace").decode())
    except ValidationError as error:
        return False if isinstance(error.kind, ValidationErrorKind.Pattern) else None
    return True


def find_pattern_fault(pattern: str) -> str | None:
    """Return why a regular expression cannot be searched for; ``None`` if it can."""
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    try:
        _compiled(pattern, 1)
    except ValueError:
        return "cannot be searched in bounded time. Remove (?P=name), (?>…), (?(1)…), [\\W] or bare {"
    return None


@lru_cache(maxsize=256)
def _compiled(pattern: str, attempts: int) -> Any:
    from jsonschema_rs import Draft202012Validator, FancyRegexOptions  # costs 27 ms, so only when needed

    options = FancyRegexOptions(backtrack_limit=attempts)
    return Draft202012Validator({"pattern": _translated(pattern)}, pattern_options=options)


def _translated(pattern: str) -> str:
    """Return a pattern of Python's in the words of the other engine, where classes are those of ASCII."""
    is_inside = False

    def piece(found: re.Match[str]) -> str:
        nonlocal is_inside
        if (name := found[1]) is None:
            is_inside = found[0] != "]" if not is_inside else not found[0].endswith("]")
            return found[0]
        if is_inside and name == "W":
            raise ValueError(pattern)
        return (_IN_CLASS if is_inside else _ELSEWHERE).get(name, found[0])

    return _PIECE.sub(piece, pattern)
