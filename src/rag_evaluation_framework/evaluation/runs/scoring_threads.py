"""Threads that score while the event loop goes on reading replies.

A loop that scored by itself would read every open reply late, and the delay would count as the target's.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Self, TypeVar

T = TypeVar("T")

# A scorer computes with the interpreter lock held, and the loop needs the lock again after every system call.
# With Python's own 5 ms, answers of 45 ms were measured as 61 to 69 ms; with 0.5 ms, as 49 to 52 ms.
_SWITCH_SECONDS = 0.0005
# What takes less is made at once: to hand it to a thread would take about as long.
_QUICK_SECONDS = 0.001


class ScoringThreads:
    """Makes calls in threads, in the order in which they come in.

    One thread alone is for calls that only compute: as long as the last of them was quick, they are made
    without it. The threads are daemons: a scorer that hangs does not keep the program from ending, as in a
    pool it would.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._switch_seconds = sys.getswitchinterval()
        self._is_quick = False

    def __enter__(self) -> Self:
        sys.setswitchinterval(min(self._switch_seconds, _SWITCH_SECONDS))
        for _ in range(self._count):
            threading.Thread(target=self._work, name="scoring", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        sys.setswitchinterval(self._switch_seconds)
        for _thread in range(self._count):
            self._calls.put(None)

    async def run(self, call: Callable[[], T]) -> T:
        """Return what a call returns; one that is cancelled before its turn is never made."""
        if self._is_quick:
            return self._timed(call)
        made: Future[T] = Future()
        self._calls.put((made, call))
        return await asyncio.wrap_future(made)

    def _work(self) -> None:
        while (waiting := self._calls.get()) is not None:
            made, call = waiting
            if made.set_running_or_notify_cancel():
                try:
                    made.set_result(self._timed(call))
                except BaseException as error:  # noqa: BLE001 - raised again where the call is awaited
                    made.set_exception(error)

    def _timed(self, call: Callable[[], T]) -> T:
        began = time.perf_counter()
        try:
            return call()
        finally:
            self._is_quick = self._count == 1 and time.perf_counter() - began < _QUICK_SECONDS
