"""How a system came to its answer: the steps of a trace, and which traces of many are looked at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from rag_evaluation_framework.errors import UsageError, invalid, shown

StepKind = Literal["retrieval", "rerank", "tool", "model", "embedding"]
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A document that a step returned: its names, the most telling first, and which context its text is."""

    names: tuple[str, ...] = ()
    score: float | None = None
    context: int | None = None
    """Its place among the contexts of the sample, from 0; ``None`` where the text was not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that a system did on the way to its answer.

    ``found`` is ``None`` where it is not known what a retrieval found, and empty where it found nothing.
    ``query`` is what was looked for, ``arguments`` what a tool was called with.
    """

    kind: StepKind
    name: str = ""
    query: str | None = None
    arguments: Any = field(default=None, hash=False)
    found: tuple[Found, ...] | None = None
    started_ms: float | None = None
    """When it began, in milliseconds from the beginning of the trace."""
    took_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    error: str | None = None
    span: str = ""
    """The id of its span."""

    def __post_init__(self) -> None:
        if self.kind not in STEP_KINDS:
            raise invalid("kind", f"one of {', '.join(STEP_KINDS)}", self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What was recorded while a system answered: its steps in their order, its time, and where it failed."""

    steps: tuple[Step, ...] = ()
    took_ms: float | None = None
    error: str | None = None
    service: str = ""
    started_at: str | None = None
    conversation: str | None = None
    """The conversation that it is a turn of."""
    before: tuple[tuple[str, str | None], ...] = ()
    """What was asked and answered in the turns before it, as far as they were read."""
    id: str = ""
    """The trace's own id, and in ``span`` that of the span that answered as a whole."""
    span: str = ""

    def of_kind(self, kind: StepKind) -> tuple[Step, ...]:
        """Return the steps of a kind."""
        return tuple(step for step in self.steps if step.kind == kind)

    def total(self, name: Literal["input_tokens", "output_tokens", "cost_usd"]) -> float | None:
        """Add up what the steps report under a name; ``None`` where none does."""
        told = [value for step in self.steps if (value := getattr(step, name)) is not None]
        return sum(told) if told else None


# Which traces of many are looked at.

_CONDITION = re.compile(r"(?P<name>[^=\s]+)=(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceChoice:
    """Which traces are read: by when they began, by service, and by attributes; all must hold.

    Times are ISO 8601, in UTC where they name no zone; ``since`` is included, ``until`` is not. A trace is of
    a service, or has an attribute, if one of its spans is or has. ``expected`` is a dataset that says what is
    expected of the questions.
    """

    since: datetime | str | None = None
    until: datetime | str | None = None
    services: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    """Conditions such as ``customer.tier=gold``."""
    expected: Path | str | None = None

    def __post_init__(self) -> None:
        for condition in self.where:
            if not _CONDITION.fullmatch(condition):
                raise UsageError(f"where: expected attribute=value, got {shown(condition)}")
        if self.nanoseconds("since") >= self.nanoseconds("until"):
            raise UsageError(f"since: expected a time before {self.until}, got {self.since}")

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """The attributes that are asked for, with their values."""
        found = (_CONDITION.fullmatch(condition) for condition in self.where)
        return tuple((match["name"], match["value"]) for match in found if match)

    @property
    def is_by_time(self) -> bool:
        return self.since is not None or self.until is not None

    def nanoseconds(self, bound: Literal["since", "until"]) -> float:
        """Return a bound in nanoseconds of Unix time; without one, what nothing is beyond."""
        given = getattr(self, bound)
        if given is None:
            return float("-inf") if bound == "since" else float("inf")
        moment = given if isinstance(given, datetime) else _moment(bound, given)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1e9

    def to_dict(self) -> Mapping[str, Any]:
        """Return what was chosen by, as the head of a run records it."""
        return {
            **{name: str(value) for name in ("since", "until", "expected") if (value := getattr(self, name))},
            **{name: list(value) for name in ("services", "where") if (value := getattr(self, name))},
        }


def _moment(bound: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        expected = "a date or time such as 2026-11-16 or 2026-11-16T08:30:00Z"
        raise UsageError(f"{bound}: expected {expected}, got {shown(text)}") from None
