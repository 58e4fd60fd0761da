"""A function under test that computes, such as a pipeline with its models, asked where Ray's workers are.

Each worker holds it once, and several questions are put to it at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import cache

import msgspec

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.attempts import Outcome, called_target
from rag_evaluation_framework.evaluation.scored_answers import AsTheyCome
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.runs import Options
from rag_evaluation_framework.workers import Workers, packed_work


def asked_by_workers(target: Target, options: Options) -> Target:
    """Return a target that workers ask, in place of one that runs in this process, if it can be sent."""
    is_local = getattr(target, "is_local", False) and not hasattr(target, "answer_many")
    if not is_local or packed_work(_Asking(target)) is None:
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


class _Asking(msgspec.Struct, frozen=True):
    """Puts requests to a target, all of a batch at once."""

    target: Target

    def __call__(self, request: Request) -> Outcome:
        return self.all_at_once([request])[0]

    def all_at_once(self, requests: Sequence[Request]) -> list[Outcome]:
        """Return what becomes of each."""

        async def answered() -> list[Outcome]:
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
