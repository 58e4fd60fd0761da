"""Flags counted, under the names that results give to the counts."""

from __future__ import annotations

from collections.abc import Sequence


def flag_counts(flags: Sequence[bool], counted: str) -> dict[str, int]:
    """Return how many flags there are and how many are set: ``total_claims`` beside ``cited_claims``."""
    _, _, things = counted.partition("_")
    return {f"total_{things}": len(flags), counted: sum(flags)}
