"""What chunkers of other packages share: they are given as an object, or by name and arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rag_evaluation_framework.errors import UsageError, shown


def given_or_built(
    given: Any, arguments: Mapping[str, Any], build: Callable[..., Any], *, what: str, method: str
) -> Any:
    """Return the object itself, which must have the method, or what is built by that name."""
    if isinstance(given, str):
        return build(given, arguments)
    if arguments:
        raise UsageError(f"expected arguments only with the name of a {what}, got {sorted(arguments)}")
    if not callable(getattr(given, method, None)):
        raise UsageError(f"{what}: expected an object with {method}(text), got {shown(given)}")
    return given
