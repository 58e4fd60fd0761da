"""Whether and when a sample is asked again: the only layer that retries.

The target says which failures may be retried (``TargetError.retry``); this module, how often and when.

- *Attempts*: at most ``max_attempts`` that reached the target; after ``malformed-json`` one more only. An
  attempt that did not reach it says nothing about the sample: it is not counted, and repeated until the
  sample's deadline.
- *Wait before attempt n*: half to all of 0.5 s · 2^(n-2), at most 30 s, drawn by seed and sample. A longer
  Retry-After is waited for, up to 60 s. A wait that would pass the sample's deadline ends the sample.
- *Budget*: 0.7 retries for each sample begun, plus 2 a second; at most 100 or twice the concurrency,
  whichever is more, are saved up. Without budget a throttled sample waits; any other one ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.records.responses import NOT_REACHED

FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
LONGEST_RETRY_AFTER = 60.0

_RETRIED_ONCE = frozenset({"malformed-json"})
"""The kinds of failure of requests that did not reach the target."""

# Under 30 % faults an ideal client needs 0.43 retries a sample; the cap leaves room for bad luck and stays
# below 1.8 attempts a sample whatever the target does.
_BUDGET_PER_SAMPLE = 0.7
_BUDGET_PER_SECOND = 2.0
_BUDGET_CAP = 100.0


def was_reached(error: TargetError) -> bool:
    """Tell whether the request reached the target."""
    return error.kind not in NOT_REACHED


def shows_congestion(error: TargetError) -> bool:
    """Tell whether the failure asks for fewer requests at once."""
    return error.throttled or error.kind == "timeout" or not was_reached(error)


@dataclass(slots=True)
class Attempts:
    """The attempts at one sample so far."""

    key: str
    max_attempts: int
    seed: int
    made: int = 0
    reached: int = 0
    _failed_kinds: tuple[str, ...] = ()
    _generator: random.Random | None = None

    def failed(self, error: TargetError) -> None:
        """Count an attempt that failed."""
        self.made += 1
        self.reached += was_reached(error)
        self._failed_kinds += (error.kind,) if error.kind in _RETRIED_ONCE else ()

    def may_go_on(self, error: TargetError) -> bool:
        """Tell whether another attempt is worth it after this failure, budget and deadline aside."""
        if not error.retry or self.reached >= self.max_attempts:
            return False
        return self._failed_kinds.count(error.kind) < 2

    def delay(self, error: TargetError) -> float:
        """Return how many seconds to wait before the next attempt."""
        if self._generator is None:
            self._generator = random.Random(f"{self.seed} {self.key}")  # noqa: S311  # spreads load, guards nothing
        longest = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(self.made - 1, 16))
        backoff = longest * self._generator.uniform(0.5, 1.0)
        return max(backoff, min(error.retry_after or 0.0, LONGEST_RETRY_AFTER))


class RetryBudget:
    """Keeps retries a bounded share of all requests, so that a target in trouble is not flooded."""

    def __init__(self, concurrency: int, *, clock: Callable[[], float]) -> None:
        self._cap = max(_BUDGET_CAP, 2.0 * concurrency)
        self._clock = clock
        self._filled_at = clock()
        self._saved = _BUDGET_CAP / 10

    def sample_begun(self) -> None:
        """Pay in for a sample that is asked for the first time."""
        self._saved = min(self._cap, self._saved + _BUDGET_PER_SAMPLE)

    def spend(self) -> bool:
        """Take one retry out, if there is one."""
        now = self._clock()
        self._saved = min(self._cap, self._saved + (now - self._filled_at) * _BUDGET_PER_SECOND)
        self._filled_at = now
        if self._saved < 1:
            return False
        self._saved -= 1
        return True
