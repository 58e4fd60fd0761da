"""The settings of a run, its counts, its progress, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from rag_evaluation_framework.errors import UsageError, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The limits of a run. Times are in seconds; ``None`` means no limit.

    ``concurrency`` bounds the samples that are open at once; how many of them the target is given at a time
    adapts to how it copes. ``max_attempts`` counts the attempts that reached the target. ``scoring_threads``
    bounds how many samples wait for a slow scorer, such as a judge, at once.
    """

    concurrency: int = 16
    attempt_timeout: float = 60.0
    sample_timeout: float = 300.0
    run_timeout: float | None = None
    max_attempts: int = 5
    seed: int = 0
    scoring_threads: int = 16

    def __post_init__(self) -> None:
        for name in ("concurrency", "max_attempts", "scoring_threads"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise UsageError(f"{name}: expected a whole number of at least 1, got {shown(value)}")
        for name in ("attempt_timeout", "sample_timeout", "run_timeout"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name}: expected seconds above 0, got {shown(value)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is. Only samples that are safely on the disk count as ``done``, failed ones included.

    After a resume, ``done``, ``failed`` and the costs include what earlier parts of the run had finished.
    ``in_flight`` is what the target works on now, ``concurrency`` the most it would be given at this moment.
    Tokens and cost are ``None`` until a response reports any.
    """

    total: int
    done: int = 0
    failed: int = 0
    in_flight: int = 0
    concurrency: int = 0
    retries: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    elapsed: float = 0.0


OnProgress: TypeAlias = Callable[[str, Progress], None]
"""Called with a dataset's name and how far its run is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """How many samples a run has, how many are finished, and how many of those failed.

    ``rescorable`` samples are finished too, but lack scores that a resume may add. ``reaskable`` ones failed
    because the target could not be reached or turned the caller away: a resume asks them again.
    """

    total: int
    done: int
    failed: int
    rescorable: int
    reaskable: int

    @property
    def remaining(self) -> int:
        return self.total - self.done

    def before_resuming(self, total: int | None = None) -> Progress:
        """Return how far the run is without what a resume does again.

        A run that never began does not know its ``total``.
        """
        return Progress(
            total=self.total if total is None else total,
            done=self.done - self.rescorable - self.reaskable,
            failed=self.failed - self.reaskable,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended. ``done`` counts every sample in the journal, the failed included.

    A run that is not ``completed`` says why in ``reason`` and can be resumed; ``interrupted`` means that the
    user stopped it. ``notes`` list what was repaired on the way, such as a torn end that was cut off, and
    what a resume could still repair.
    """

    completed: bool
    interrupted: bool
    done: int
    failed: int
    remaining: int
    reason: str | None = None
    notes: tuple[str, ...] = ()
