"""Vendor packages, imported when used: what is missing says what to install."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rag_evaluation_framework.errors import MissingExtraError


def extra_module(name: str, *, feature: str, extra: str) -> Any:
    """Import a module that an extra brings, or raise the error that names the extra."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error


def require_extra(name: str, *, feature: str, extra: str) -> None:
    """Refuse at once when an extra's package is absent, without the cost of importing it."""
    if find_spec(name) is None:
        raise MissingExtraError(feature, extra)
