"""Calls of components: retried, shared, from plain functions."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.attempts import (
    AdaptiveLimit,
    Attempts,
    RetryBudget,
    shows_congestion,
    was_reached,
)

# Calls that are tried again, by the same rules as samples: the one layer that retries for a component.

T = TypeVar("T")

MAX_ATTEMPTS = 4


def attempted(call: Callable[[], T], key: str) -> T:
    """Make a call until it succeeds, its failure is final, or enough attempts were made."""
    attempts = Attempts(key, max_attempts=MAX_ATTEMPTS, seed=0)
    while True:
        try:
            return call()
        except TargetError as error:
            time.sleep(_delay(attempts, error))


def _delay(attempts: Attempts, error: TargetError) -> float:
    """Return how long to wait for the next attempt, or raise the error when there is to be none."""
    attempts.failed(error)
    # A server that cannot be reached is not waited for: here is no sample with a deadline of its own.
    if attempts.made >= attempts.max_attempts or not attempts.may_go_on(error):
        raise error
    return attempts.delay(error)


# Many calls to one endpoint: slots that adapt to it, retries by the rules of samples, one budget for all.
#
# The rules are those of :mod:`rag_evaluation_framework.evaluation.attempts`; no other layer tries again.

_BUDGET_PAUSE = 0.5


class SharedAttempts:
    """The shared state of all calls to an endpoint; belongs to one event loop."""

    def __init__(self, *, concurrency: int, max_attempts: int) -> None:
        self.limit = AdaptiveLimit(concurrency)
        self.waiting = 0
        """Number of calls that wait for a retry."""
        self._max_attempts = max_attempts
        self._budget = RetryBudget(concurrency, clock=time.monotonic)

    async def attempt(self, call: Callable[[], Awaitable[T]], key: str) -> T:
        """Make a call until it succeeds, its failure is final, or enough attempts were made.

        ``key`` spreads the waits of calls that failed together.
        """
        attempts = Attempts(key, max_attempts=self._max_attempts, seed=0)
        self._budget.count_sample()
        while True:
            try:
                return await self._in_a_slot(call)
            except TargetError as error:
                self.waiting += 1
                try:
                    await self._wait(attempts, error)
                finally:
                    self.waiting -= 1

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
        seconds = _delay(attempts, error)
        while was_reached(error) and not self._budget.spend():
            if not error.throttled:
                raise error
            await asyncio.sleep(_BUDGET_PAUSE)
        await asyncio.sleep(seconds)


# An event loop in a thread of its own, for plain functions that share connections.
#
# They may be called from any thread, and from within another event loop.

_PATIENCE = 5.0


class BackgroundLoop:
    """Runs coroutines for whoever asks. Its thread starts with the first and ends with :meth:`close`.

    ``last`` is run as the loop ends, whether it is closed, forgotten, or the program ends; it must not refer
    to the owner of the loop, which could never be forgotten then.
    """

    def __init__(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._last = last
        self._lock = threading.Lock()
        self._process = 0
        self._ended = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] = lambda: None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return what it returns; ``CancelledError`` where the loop is closed."""
        with self._lock:
            if self._ended:
                work.close()
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except BaseException:  # whatever ends the wait, Ctrl-C too: raised again
            future.cancel()  # one that is done stays as it is
            raise

    def close(self, *, for_good: bool = False) -> None:
        """End the loop and what runs in it; the next :meth:`run` starts another, if not ``for_good``."""
        with self._lock:
            self._ended = self._ended or for_good
            self._loop, end, self._end = None, self._end, lambda: None
        end()

    def _started(self) -> asyncio.AbstractEventLoop:
        # After a fork the loop is still here and its thread is not.
        if self._loop is None or self._process != os.getpid():
            self._loop, self._process = asyncio.new_event_loop(), os.getpid()
            thread = threading.Thread(
                target=_run, args=(self._loop,), name="rag-eval language model", daemon=True
            )
            thread.start()
            self._end = weakref.finalize(self, _end, self._loop, thread, self._last)
        return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _end(
    loop: asyncio.AbstractEventLoop, thread: threading.Thread, last: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    if thread.is_alive() and not loop.is_closed():
        asyncio.run_coroutine_threadsafe(_wind_up(loop, last), loop)
        # Forgotten objects may be cleared away in any thread, in that of the loop too.
        if thread is not threading.current_thread():
            thread.join(_PATIENCE)


async def _wind_up(loop: asyncio.AbstractEventLoop, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await last()
    loop.call_soon(loop.stop)
