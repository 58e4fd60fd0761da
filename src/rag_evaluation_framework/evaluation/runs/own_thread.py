"""Runs a call that blocks in a thread of its own."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_own_thread(call: Callable[[], T], *, name: str) -> T:
    """Return what a call returns; its thread, unlike a pool's, keeps neither a run nor Python from ending."""
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    made: Future[T] = Future()
    ended = asyncio.Event()

    def run() -> None:
        try:
            made.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - raised again where the call is awaited
            made.set_exception(error)
        # A loop that has closed meanwhile wants no answer any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=run, name=name, daemon=True).start()
    await ended.wait()
    return made.result()
