"""What should be declined against what was, over all that was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evaluation_framework.statistics.intervals import Interval, wilson_interval


@dataclass(frozen=True, slots=True)
class Refusals:
    """How many answers were declined, of some that should all be declined or all be given."""

    refused: int = 0
    answered: int = 0

    @property
    def total(self) -> int:
        return self.refused + self.answered

    @property
    def rate(self) -> float | None:
        """The share that was declined; ``None`` if there are no answers."""
        return self.refused / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's interval of the share. The turns of one conversation are counted as if independent."""
        return wilson_interval(self.refused, self.total) if self.total else None

    def __add__(self, other: Refusals) -> Refusals:
        return Refusals(self.refused + other.refused, self.answered + other.answered)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and the share as plain values."""
        interval = self.interval
        return {
            "refused": self.refused,
            "answered": self.answered,
            "rate": self.rate,
            "confidence_interval": None if interval is None else [interval.low, interval.high],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalTable:
    """What should be declined against what was; ``by_split`` is about what each split should answer."""

    should_refuse: Refusals
    by_split: Mapping[str, Refusals] = field(hash=False)
    methods: tuple[str, ...]

    @property
    def should_answer(self) -> Refusals:
        return sum(self.by_split.values(), Refusals())

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values."""
        return {
            "should_refuse": self.should_refuse.to_dict(),
            "should_answer": self.should_answer.to_dict(),
            "over_refusal_by_split": {name: counts.to_dict() for name, counts in self.by_split.items()},
            "methods": list(self.methods),
        }
