"""Who scores while a run goes on: a thread beside the event loop, or other processes.

Answers that somebody has to be asked for are scored in threads, as they come in. Answers that are recorded
already come in order, and are scored and blamed by workers (``workers.py``): these are sent a
:class:`Scoring` or a :class:`Blaming` once, and then samples with their answers.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Self, TypeVar

from rag_evaluation_framework.evaluation.scoring import BLAME, rescored_result, scored_result
from rag_evaluation_framework.extensions import Scorer
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Blame, Score

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scoring:
    """Scores an answer, or makes those scores of a result again that an endpoint failed at."""

    scorers: tuple[Scorer, ...]

    def __call__(self, item: tuple[Sample, Response | SampleResult]) -> tuple[Score, ...]:
        sample, given = item
        if isinstance(given, SampleResult):
            return rescored_result(sample, given, self.scorers).scores
        return scored_result(sample, given, self.scorers).scores

    def name_of(self, item: tuple[Sample, object]) -> str:
        """Say which item it is."""
        return f"sample {item[0].id}"


@dataclass(frozen=True, slots=True)
class Blaming:
    """Tells where an answer failed."""

    methods: Methods

    def __call__(self, item: tuple[Sample, SampleResult]) -> tuple[str, Blame]:
        documents = None if self.methods.corpus is None else self.methods.documents.texts
        return item[1].sample_id, BLAME.get("blamed")(*item, documents)

    def name_of(self, item: tuple[Sample, object]) -> str:
        """Say which item it is."""
        return f"sample {item[0].id}"


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


# Threads that score while the event loop goes on reading replies.
#
# A loop that scored by itself would read every open reply late, and the delay would count as the
# target's.

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
