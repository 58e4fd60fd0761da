"""Functions that keep the start and the end of a command short.

:func:`late_pattern` makes regular expressions that take a millisecond or more to compile when they are
first used, and :func:`late_module` does the same for libraries. :func:`collect_seldom` keeps Python from
looking for garbage where there is hardly any.
"""

from __future__ import annotations

import atexit
import gc
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any, cast

_COMPILED = tuple(EXTENSION_SUFFIXES)


def collect_seldom() -> None:
    """Look for garbage in circles seldom, and not at the end: of texts, which come and go, none is left."""
    gc.set_threshold(100_000, 20, 20)
    atexit.register(_leave_as_it_is)


def _leave_as_it_is() -> None:
    """Have nothing looked for at the end, unless a library made with nanobind is there: it counts leaks."""
    loaded = (
        each for each in [*sys.modules.values()] if str(getattr(each, "__file__", "")).endswith(_COMPILED)
    )
    held = (value for each in loaded for value in [*getattr(each, "__dict__", {}).values()])
    if not any(type(value).__module__ == "nanobind" for value in held):
        gc.freeze()


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used."""
    return cast("re.Pattern[str]", _Late(partial(re.compile, pattern, flags)))


def late_module(name: str) -> Any:
    """Return a module that is imported when something in it is first used."""
    return _Late(partial(import_module, name))


class _Late:
    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        """Find what is asked for; the next time it is found without asking here."""
        found = self.__dict__[name] = getattr(self._make(), name)
        return found
