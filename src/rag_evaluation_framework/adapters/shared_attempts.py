"""Many calls to one endpoint: slots that adapt to it, retries by the rules of samples, one budget for all.

The rules are those of :mod:`rag_evaluation_framework.evaluation.runs.retries`; no other layer tries again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.runs.concurrency import AdaptiveLimit
from rag_evaluation_framework.evaluation.runs.retries import (
    Attempts,
    RetryBudget,
    shows_congestion,
    was_reached,
)

T = TypeVar("T")

_BUDGET_PAUSE = 0.5


class SharedAttempts:
    """What all calls to an endpoint share; belongs to one event loop."""

    def __init__(self, *, concurrency: int, max_attempts: int) -> None:
        self.limit = AdaptiveLimit(concurrency)
        self.retries = 0
        self.waiting = 0
        """How many calls wait at this moment to be made again."""
        self._max_attempts = max_attempts
        self._budget = RetryBudget(concurrency, clock=time.monotonic)

    async def attempt(self, call: Callable[[], Awaitable[T]], key: str) -> T:
        """Make a call until it succeeds, its failure is final, or enough attempts were made.

        ``key`` spreads the waits of calls that failed together.
        """
        attempts = Attempts(key, max_attempts=self._max_attempts, seed=0)
        self._budget.sample_begun()
        while True:
            try:
                return await self._in_a_slot(call)
            except TargetError as error:
                attempts.failed(error)
                self.waiting += 1
                try:
                    await self._wait(attempts, error)
                finally:
                    self.waiting -= 1
                self.retries += 1

    async def _in_a_slot(self, call: Callable[[], Awaitable[T]]) -> T:
        await self.limit.acquire()
        try:
            value = await call()
            self.limit.replied(congested=False)
        except TargetError as error:
            self.limit.replied(congested=shows_congestion(error))
            raise
        finally:
            self.limit.give_back()
        return value

    async def _wait(self, attempts: Attempts, error: TargetError) -> None:
        """Wait before the next attempt, or raise the error where there is to be none."""
        # An endpoint that cannot be reached is not waited for: here is no sample with a deadline of its own.
        if attempts.made >= attempts.max_attempts or not attempts.may_go_on(error):
            raise error
        while was_reached(error) and not self._budget.spend():
            if not error.throttled:
                raise error
            await asyncio.sleep(_BUDGET_PAUSE)
        await asyncio.sleep(attempts.delay(error))
