"""Calls that are tried again, by the same rules as samples: the one layer that retries for a component."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.runs.retries import Attempts

T = TypeVar("T")

MAX_ATTEMPTS = 4


def attempted(call: Callable[[], T], key: str, *, max_attempts: int = MAX_ATTEMPTS) -> T:
    """Make a call until it succeeds, its failure is final, or enough attempts were made."""
    attempts = Attempts(key, max_attempts=max_attempts, seed=0)
    while True:
        try:
            return call()
        except TargetError as error:
            time.sleep(_delay(attempts, error))


async def attempted_async(
    call: Callable[[], Awaitable[T]], key: str, *, max_attempts: int = MAX_ATTEMPTS
) -> T:
    """Make a call as :func:`attempted` does, in an event loop."""
    attempts = Attempts(key, max_attempts=max_attempts, seed=0)
    while True:
        try:
            return await call()
        except TargetError as error:
            await asyncio.sleep(_delay(attempts, error))


def _delay(attempts: Attempts, error: TargetError) -> float:
    """Return how long to wait for the next attempt, or raise the error when there is to be none."""
    attempts.failed(error)
    # A server that cannot be reached is not waited for: here is no sample with a deadline of its own.
    if attempts.made >= attempts.max_attempts or not attempts.may_go_on(error):
        raise error
    return attempts.delay(error)
