"""An event loop in a thread of its own, for plain functions that share connections.

They may be called from any thread, and from within another event loop.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

T = TypeVar("T")

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
        self._end: Callable[[], object] = _nothing

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
            self._loop, end, self._end = None, self._end, _nothing
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


def _nothing() -> None:
    """There is no loop to end."""
