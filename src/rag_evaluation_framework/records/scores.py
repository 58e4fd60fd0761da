"""A score: a number, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Literal, get_args

from rag_evaluation_framework.errors import invalid

Status = Literal["scored", "skipped", "failed"]

ENDPOINT_ERROR = "endpoint_error"
"""The key under which a failed score's details name the endpoint error that was the reason, if one was."""

TIMING_METHOD = "timing"
"""The method of scores that measure time, such as the latency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The outcome of one metric on one sample.

    *scored* has a finite value; *skipped* (the metric does not apply) and *failed* (it broke) have a
    reason instead. There is no fourth case: neither a zero nor a NaN ever stands for "unknown". Build one
    with :meth:`scored`, :meth:`skipped` or :meth:`failed`.
    """

    metric: str
    method: str
    status: Status
    value: float | None = None
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.status not in ("scored", "skipped", "failed"):
            raise invalid("status", "'scored', 'skipped' or 'failed'", self.status)
        if self.status == "scored":
            if self.value is None or not isfinite(self.value):
                raise invalid("value", "a finite number for a scored sample", self.value)
            if self.reason is not None:
                raise invalid("reason", "none for a scored sample", self.reason)
        else:
            if self.value is not None:
                raise invalid("value", f"none for a {self.status} sample", self.value)
            if not self.reason:
                raise invalid("reason", f"why the sample was {self.status}", self.reason)

    @property
    def may_be_retried(self) -> bool:
        """Whether it failed only because a model's endpoint did: scored later, it may have a value."""
        return self.status == "failed" and ENDPOINT_ERROR in self.details

    @classmethod
    def scored(
        cls, metric: str, value: float, *, method: str, details: Mapping[str, Any] | None = None
    ) -> Score:
        """Return a score that has a value."""
        return cls(metric=metric, method=method, status="scored", value=float(value), details=details or {})

    @classmethod
    def skipped(cls, metric: str, reason: str, *, method: str) -> Score:
        """Return the score of a sample to which the metric does not apply."""
        return cls(metric=metric, method=method, status="skipped", reason=reason)

    @classmethod
    def failed(
        cls, metric: str, reason: str, *, method: str, details: Mapping[str, Any] | None = None
    ) -> Score:
        """Return the score of a sample on which the metric broke."""
        return cls(metric=metric, method=method, status="failed", reason=reason, details=details or {})


BlameKind = Literal[
    "ok",
    "retrieval_missed",
    "not_used",
    "contradicted",
    "wrong_citation",
    "refused_wrongly",
    "answered_wrongly",
    "unknown",
]


BLAME_KINDS: tuple[BlameKind, ...] = get_args(BlameKind)


@dataclass(frozen=True, slots=True)
class BlameEvidence:
    """A claim that shows it, or a relevant text that is missing, and the passage it was held against."""

    claim: str
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class Blame:
    """Where one answer failed, how that is known, and what shows it.

    A conversation has in ``turns`` the blame of each turn that expects something, by its number. There are
    none where the target does not report its answers turn by turn.
    """

    kind: BlameKind
    why: str
    evidence: tuple[BlameEvidence, ...] = ()
    turns: Mapping[int, Blame] = field(default_factory=dict, hash=False)

    @property
    def answers(self) -> tuple[Blame, ...]:
        """The blame of every single answer: one for each turn of a conversation, else this one."""
        return tuple(self.turns.values()) or (self,)

    def to_dict(self) -> dict[str, Any]:
        """Return the blame as results hold it; turns are listed there with what else is known of them."""
        return {"kind": self.kind, "why": self.why, "evidence": [asdict(each) for each in self.evidence]}
