"""The steps by which a system reached its answer, and the choice of traces from many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from rag_evaluation_framework.errors import UsageError, counted, invalid, shown
from rag_evaluation_framework.text.display import Html, duration, element, labelled, people_text, short_text

StepKind = Literal["retrieval", "rerank", "tool", "model", "embedding"]
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)
_SHOWN_STEPS = 12


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A document that a step returned: its names, the most telling first, and which context its text is."""

    names: tuple[str, ...] = ()
    score: float | None = None
    context: int | None = None
    """Its place among the contexts of the sample, from 0; ``None`` where the text was not recorded."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a system did on the way to its answer.

    ``found`` is ``None`` where it is not known what a retrieval found, and empty where it found nothing.
    ``query`` is what was looked for, ``arguments`` what a tool was called with.
    """

    kind: StepKind
    name: str = ""
    query: str | None = None
    arguments: Any = None
    found: tuple[Found, ...] | None = None
    started_ms: float | None = None
    """Start in milliseconds from the beginning of the trace."""
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

    @property
    def action(self) -> str:
        """Return the step in words: its query and results, its arguments, or its tokens."""
        told = [self.name, "" if self.query is None else f"“{self.query}”"]
        if self.arguments is not None:
            given = self.arguments
            told.append(
                given if isinstance(given, str) else msgspec.json.encode(given, enc_hook=str).decode()
            )
        if self.found is not None:
            told.append(counted(len(self.found), "document") if self.found else "no documents")
        tokens = {"in": self.input_tokens, "out": self.output_tokens}
        told.append(", ".join(f"{counted(n, 'token')} {way}" for way, n in tokens.items() if n is not None))
        return ", ".join(short_text(each, 80) for each in told if each)

    @property
    def summary(self) -> str:
        """The step in a line: its kind, what was done, how long it took, and what went wrong."""
        time = "" if self.took_ms is None else f" ({duration(self.took_ms / 1000)})"
        wrong = "" if self.error is None else f" failed: {short_text(self.error, 200)}"
        return f"{self.kind}: {self.action}{time}{wrong}"


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one answer of a system: its steps in order, its time, and its error."""

    steps: tuple[Step, ...] = ()
    took_ms: float | None = None
    error: str | None = None
    service: str = ""
    started_at: str | None = None
    conversation: str | None = None
    """The conversation that it is a turn of."""
    before: tuple[tuple[str, str | None], ...] = ()
    """Questions and answers of the turns before it, as far as they were read."""
    id: str = ""
    """The trace's own id, and in ``span`` that of the span that answered as a whole."""
    span: str = ""

    def of_kind(self, kind: StepKind) -> tuple[Step, ...]:
        """Return the steps of a kind."""
        return tuple(step for step in self.steps if step.kind == kind)

    def total(self, name: Literal["input_tokens", "output_tokens", "cost_usd"]) -> float | None:
        """Add up what the steps report under a name; ``None`` where none does."""
        return total_of(self.steps, name)

    @property
    def by_kind(self) -> str:
        """The time and the tokens of the steps of each kind, in words, and the time of the whole."""
        used = [uses(kind, *_used(steps)) for kind in STEP_KINDS if (steps := self.of_kind(kind))]
        whole = [] if self.took_ms is None else [f"{duration(self.took_ms / 1000)} in total"]
        return "; ".join([*filter(None, [", ".join(used)]), *whole])

    def html(self) -> list[Html]:
        """Return the steps as lines of a list of labels, for a notebook; none without any."""
        if not self.steps:
            return []
        listed = [element("li", people_text(step.summary)) for step in self.steps[:_SHOWN_STEPS]]
        more = len(self.steps) - len(listed)
        rest = element("span", f"and {more:,} more", class_="dim") if more else ""
        return [labelled("steps", element("ol", *listed), rest), labelled("by step", self.by_kind)]


def total_of(steps: Iterable[Step], name: str) -> float | None:
    """Add up what steps report under a name; ``None`` where none does."""
    told = [value for step in steps if (value := getattr(step, name)) is not None]
    return sum(told) if told else None


def uses(kind: str, milliseconds: float | None, tokens: float | None) -> str:
    """Return the time and tokens of the steps of a kind: ``model 200 ms and 48 tokens``.

    >>> uses("model", 200.0, 48), uses("tool", None, None)
    ('model 200 ms and 48 tokens', 'tool')
    """
    told = [] if milliseconds is None else [duration(milliseconds / 1000)]
    told += [] if tokens is None else [counted(round(tokens), "token")]
    return f"{kind} {' and '.join(told)}".strip()


def _used(steps: Sequence[Step]) -> tuple[float | None, float | None]:
    """Return the milliseconds and the tokens that steps take together, as far as they are known."""
    tokens = [
        each for name in ("input_tokens", "output_tokens") if (each := total_of(steps, name)) is not None
    ]
    return total_of(steps, "took_ms"), sum(tokens) if tokens else None


def median_uses(traces: Iterable[Trace]) -> str:
    """Return the median time and tokens of each kind of step; empty without any trace."""
    used: dict[str, list[tuple[float | None, float | None]]] = {}
    for trace in traces:
        for kind in STEP_KINDS:
            if steps := trace.of_kind(kind):
                used.setdefault(kind, []).append(_used(steps))
    told = []
    for kind in filter(used.__contains__, STEP_KINDS):
        times, tokens = ([each for each in one if each is not None] for one in zip(*used[kind], strict=True))
        told.append(uses(kind, _middle(times), _middle(tokens)))
    return ", ".join(told)


def _middle(values: Sequence[float]) -> float | None:
    ordered, half = sorted(values), len(values) // 2
    return (ordered[half] + ordered[-half - 1]) / 2 if ordered else None


# Which traces of many are looked at.

_CONDITION = re.compile(r"(?P<name>[^=\s]+)=(?P<value>.*)", re.DOTALL)


class TraceChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The traces to read, by start time, service and attributes; all conditions must be met.

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
