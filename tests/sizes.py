"""What a test costs: its size, and the packages it loads only when it runs."""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType
from typing import Any

import pytest

LONG = bool(os.environ.get("RAG_EVAL_LONG_TESTS"))


def size(usual: int, whole: int) -> int:
    """Return how large a test is; ``RAG_EVAL_LONG_TESTS=1`` runs it at its whole size."""
    return whole if LONG else usual


class _LoadedOnUse(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks everything that stands in a module whether it wraps a fixture
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


def loaded_on_use(name: str, *, reason: str) -> Any:
    """Return a package that costs a second or more and is loaded by the first test that touches it.

    To collect the tests then costs nothing of it. Where it is absent, the module's tests are skipped.
    """
    if importlib.util.find_spec(name) is None:
        pytest.skip(reason, allow_module_level=True)
    return _LoadedOnUse(name)
