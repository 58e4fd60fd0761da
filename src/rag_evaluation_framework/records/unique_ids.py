"""Ids that must be unique within one record."""

from __future__ import annotations

from collections.abc import Iterable

from rag_evaluation_framework.errors import InputError, Issue


def require_unique(ids: Iterable[str], *, what: str, path: str) -> None:
    """Refuse repeated ids; each repetition is an issue at its own position, ``path[3]``."""
    seen: set[str] = set()
    issues: list[Issue] = []
    for index, identifier in enumerate(ids):
        if identifier in seen:
            found = f"{identifier!r} again"
            issues.append(Issue("duplicate-id", f"each {what} once", found, f"{path}[{index}]"))
        seen.add(identifier)
    if issues:
        raise InputError(issues)
