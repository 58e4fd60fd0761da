"""Texts that are there and say nothing."""

from __future__ import annotations

import re

_BLANKS_AND_DOTS = re.compile(r"[\s.…]*\Z")


def says_nothing(text: str) -> bool:
    """Tell whether a text is blank or only dots, which stand for something left out.

    >>> says_nothing(" … "), says_nothing("...?")
    (True, False)
    """
    return _BLANKS_AND_DOTS.match(text) is not None
