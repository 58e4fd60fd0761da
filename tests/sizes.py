"""What a test costs: its size, and the packages it loads only when it runs."""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType

import pytest

LONG = bool(os.environ.get("RAG_EVAL_LONG_TESTS"))


def size(usual: int, whole: int) -> int:
    """Return how large a test is; ``RAG_EVAL_LONG_TESTS=1`` runs it at its whole size."""
    return whole if LONG else usual


def loaded_on_use(name: str, *, reason: str) -> ModuleType:
    """Return a package that costs a second or more and is loaded by the first test that touches it.

    To collect the tests then costs nothing of it. Where it is absent, the module's tests are skipped.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        pytest.skip(reason, allow_module_level=True)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
