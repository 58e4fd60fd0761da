"""Work beside the event loop of a run: threads that score, workers that score, and workers that answer."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, Generic, Self, TypeVar

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.attempts import called_target
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.startup import dataclass
from rag_evaluation_framework.workers import Workers, packed_work

T = TypeVar("T")
Item = TypeVar("Item")

# Threads that score while the event loop goes on reading replies: a loop that scored by itself would read
# every open reply late, and the delay would count as the target's.

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


class AsTheyCome(Generic[Item, T]):
    """Has single items worked on beside an event loop, in the order in which they come in.

    While all workers are busy, items wait, and go together, ``size`` at most, to the first that is free.
    ``call`` makes the calls that submit them, which may do the work.
    """

    def __init__(
        self,
        pool: Workers[Item, T],
        call: Callable[[Callable[[], Future[list[T]]]], Awaitable[Future[list[T]]]],
        *,
        size: Callable[[], int] | None = None,
    ) -> None:
        self._pool, self._call = pool, call
        self._size = size or (lambda: pool.batch_size)
        self._waiting: deque[tuple[Item, asyncio.Future[T]]] = deque()
        self._busy: set[asyncio.Task[Any] | None] = set()

    async def done(self, item: Item) -> T:
        """Return what is made of an item."""
        made: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, made))
        if len(self._busy) < max(1, self._pool.in_flight):
            self._busy.add(asyncio.ensure_future(self._work()))
        return await made

    async def _work(self) -> None:
        try:
            while self._waiting:
                size = self._size() if self._pool.in_flight else 1
                batch = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
                await self._do(batch)
        finally:  # at once: what comes in after the last look needs another
            self._busy.discard(asyncio.current_task())

    async def _do(self, batch: Sequence[tuple[Item, asyncio.Future[T]]]) -> None:
        try:
            making = await self._call(partial(self._pool.submit, [item for item, _ in batch]))
            results = making.result() if making.done() else await asyncio.wrap_future(making)
        except asyncio.CancelledError:
            for _, made in batch:
                made.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - raised again where the items are waited for
            for _, made in batch:
                if not made.done():
                    made.set_exception(error)
            return
        for (_, made), result in zip(batch, results, strict=True):
            if not made.done():
                made.set_result(result)


# A function under test that computes, such as a pipeline with its models, is asked where the workers of a
# cluster are. Each holds it once, and several questions are put to it at a time.


def asked_by_workers(target: Target, options: Options) -> Target:
    """Return a target that Ray's workers ask, where they are wanted and this one runs in this process."""
    is_local = getattr(target, "is_local", False) and not hasattr(target, "answer_many")
    if not is_local or options.crew.engine != "ray" or packed_work(_Asking(target)) is None:
        return target
    return _AskedByWorkers(target, options)


class _AskedByWorkers:
    """Fulfils ``extensions.Target``: what times out, or is asked again, is decided here as for any other."""

    def __init__(self, target: Target, options: Options) -> None:
        self.name, self._target = target.name, target
        self._pool = pool = Workers(_Asking(target), options.crew, at_once=True)
        self._asked = AsTheyCome(
            pool, asyncio.to_thread, size=lambda: max(1, options.concurrency // pool.in_flight)
        )

    async def answer(self, request: Request) -> Response:
        """Have a worker ask."""
        outcome = await self._asked.done(request)
        if isinstance(outcome, TargetError):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Let the workers go."""
        self._pool.__exit__()
        await self._target.close()


@dataclass(frozen=True, slots=True)
class _Asking:
    """Puts requests to a target, all of a batch at once."""

    target: Target

    def __call__(self, request: Request) -> Response | TargetError:
        return self.all_at_once([request])[0]

    def all_at_once(self, requests: Sequence[Request]) -> list[Response | TargetError]:
        """Return what becomes of each."""

        async def answered() -> list[Response | TargetError]:
            return await asyncio.gather(
                *(called_target(self.target, each, is_live=True) for each in requests)
            )

        return asyncio.run_coroutine_threadsafe(answered(), _lasting_loop()).result()


@cache
def _lasting_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that lasts as long as the process: what a target has opened belongs to it."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="asking", daemon=True).start()
    return loop
