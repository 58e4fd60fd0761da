"""What was found out about texts is kept for the latest of them, of long texts for few."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")

_LONG, _KEPT_LONG = (2_000, 16)  # characters; what is read takes up to a hundred bytes for each


def kept(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Keep what a function of a text returns for the latest texts: for so many, and for few long ones."""

    def keeping(function: Callable[[str], T]) -> Callable[[str], T]:
        short, long = lru_cache(most)(function), lru_cache(_KEPT_LONG)(function)

        @wraps(function)
        def found(text: str) -> T:
            return short(text) if len(text) <= _LONG else long(text)

        return found

    return keeping
