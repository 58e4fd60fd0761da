"""The loop of a run: workers that ask, score and write results, and a keeper that makes them durable.

A line is written the moment its sample is finished, so a kill loses nothing that was written. The disk is
synchronised for many at once (every 64 lines or 100 ms), and only then are the samples counted as done.

A target that answers many at once (``answer_many``) is asked in batches: each is scored, written and
synchronised as a whole.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from rag_evaluation_framework.errors import InputError, ModelOutageError, StorageError
from rag_evaluation_framework.evaluation.runs.asking import Asker
from rag_evaluation_framework.evaluation.runs.scoring import (
    rescored_result,
    scored_result,
    scored_results,
    writable_result,
)
from rag_evaluation_framework.evaluation.runs.scoring_threads import ScoringThreads
from rag_evaluation_framework.evaluation.runs.stopping import Stopped, StopSign
from rag_evaluation_framework.extensions import Scorer, Target
from rag_evaluation_framework.records.responses import may_be_mended
from rag_evaluation_framework.records.runs import Progress, RunSettings
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.journal import Journal, JournalEntry, JournalIndex, line_of

SYNC_LINES = 64
SYNC_SECONDS = 0.1
BATCH_SIZE = 256
"""At most so many samples are put at once to a target that answers many, unless it has a ``batch_size``."""

# Cancelled work gets this long to let go, the target this long to close.
_FAREWELL = 1.0
# Somebody who watches sees that the run is alive, even when nothing finishes.
_TELL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class OpenSample:
    """A sample to ask, or one whose ``answered`` entry in the journal is to be scored again."""

    place: int
    sample: Sample
    answered: JournalEntry | None = None


@dataclass(frozen=True, slots=True)
class _Finished:
    """What is written for a sample; ``is_new`` if its answer is in no earlier line."""

    sample: Sample
    entry: JournalEntry
    is_new: bool


class RunLoop:
    """One pass over the samples that are not in the journal yet, or not with all the scores they could have.

    All of them are counted as done when they are written. What a resume has left to do is counted beside it:
    ``rescorable`` were written with scores that failed because a judge's endpoint did, ``reaskable`` without
    an answer for a reason that says nothing about the sample.
    """

    def __init__(
        self,
        samples: Iterator[OpenSample],
        target: Target,
        scorers: Sequence[Scorer],
        *,
        run_id: str,
        journal: Journal,
        index: JournalIndex,
        stop: StopSign,
        settings: RunSettings,
        on_progress: Callable[[Progress], None] | None,
        on_finished: Callable[[Sequence[JournalEntry]], None] | None = None,
    ) -> None:
        self.stop = stop
        before = index.counts.before_resuming()
        self.done, self.failed = before.done, before.failed
        self.rescorable = self.reaskable = 0
        self._total = before.total
        self._samples = samples
        self._target = target
        self._scorers = scorers
        self._journal = journal
        self._settings = settings
        self._on_progress, self._on_finished = on_progress, on_finished
        self._asker = Asker(target, run_id, settings=settings, stop=self.stop)
        self._usage = replace(index.usage)
        self._finished: deque[_Finished] = deque()
        # Scorers that only compute gain nothing from a second thread; those that wait, as for a judge, do.
        self._waits_to_score = any(getattr(scorer, "is_slow", False) for scorer in scorers)
        self._scoring = ScoringThreads(settings.scoring_threads if self._waits_to_score else 1)
        self._written: list[_Finished] = []
        self._sync_now = asyncio.Event()
        self._ending = False
        self._began = self._told = time.monotonic()
        self._seconds_before = index.seconds

    async def run(self) -> None:
        """Ask, score and write down until all is done or the stop sign is set."""
        if self._settings.run_timeout is not None:
            reason = f"the run's deadline of {self._settings.run_timeout:g} s has passed"
            asyncio.get_running_loop().call_later(self._settings.run_timeout, self.stop.set, reason)
        keeper = asyncio.ensure_future(self._keep())
        keeper.add_done_callback(self._keeper_ended)
        # Those that wait for a slow scorer do not keep others from asking.
        more = self._settings.scoring_threads if self._waits_to_score else 0
        workers = min(self._settings.concurrency + more, self._total - self.done)
        try:
            with self._scoring:
                if hasattr(self._target, "answer_many"):
                    tasks = [asyncio.ensure_future(self._work_in_batches())]
                else:
                    tasks = [asyncio.ensure_future(self._work(self._samples)) for _ in range(workers)]
                await self._finish(tasks)
            if not self.stop.is_set:
                self._write_finished()
        finally:
            self._ending = True
            self._sync_now.set()
            await asyncio.wait((keeper,))
            await _closed(self._target)
        keeper.result()

    async def _finish(self, workers: Sequence[asyncio.Future[None]]) -> None:
        if not workers:
            return
        stopped = asyncio.ensure_future(self.stop.wait())
        working = asyncio.ensure_future(asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION))
        try:
            await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
            if self.stop.is_set:
                await asyncio.wait(workers, timeout=self.stop.grace)
        finally:
            stopped.cancel()
            working.cancel()
            broken = [worker for worker in workers if _has_broken(worker)]
            await _let_go([worker for worker in workers if not worker.done()])
        for worker in broken:
            worker.result()

    async def _work(self, samples: Iterable[OpenSample]) -> None:
        for each in samples:
            if self.stop.is_set or not await self._is_finished(self._finished_result(each)):
                return

    async def _work_in_batches(self) -> None:
        size = getattr(self._target, "batch_size", BATCH_SIZE)
        while batch := list(islice(self._samples, size)):
            open_ones = [each for each in batch if each.answered is None]
            left = [each for each in batch if each.answered is not None]
            if self.stop.is_set or not await self._is_finished(self._finished_batch(open_ones, left)):
                return
            await self._work(left)

    async def _is_finished(self, work: Awaitable[_Finished | list[_Finished]]) -> bool:
        """Wait for results and write them down; false where the run ends before they are made."""
        try:
            finished = await work
        except Stopped:
            return False
        except ModelOutageError as error:
            self.stop.set(f"the judge cannot be asked ({error})")
            return False
        except StorageError as error:
            self.stop.set(str(error))
            return False
        self._finished.extend(finished if isinstance(finished, list) else [finished])
        # Samples that are in doubt wait: if the target turns everyone away, they are asked on a resume.
        if not self._asker.in_doubt:
            self._write_finished()
        return True

    async def _finished_batch(self, batch: Sequence[OpenSample], left: list[OpenSample]) -> list[_Finished]:
        """Ask and score a batch; what is to be asked by itself is added to ``left``."""
        if not batch:
            return []
        asked = await self._asker.ask_many([each.sample for each in batch])
        left += [each for each, answer in zip(batch, asked, strict=True) if answer is None]
        answered = [(each, answer) for each, answer in zip(batch, asked, strict=True) if answer is not None]
        results = await self._scoring.run(
            lambda: scored_results(
                [each.sample for each, _ in answered],
                [answer.response for _, answer in answered],
                self._scorers,
            )
        )
        return [
            _Finished(each.sample, JournalEntry(each.place, result, answer.timing), is_new=True)
            for (each, answer), result in zip(answered, results, strict=True)
        ]

    async def _finished_result(self, each: OpenSample) -> _Finished:
        sample, answered = each.sample, each.answered
        if answered is not None:
            result = await self._scoring.run(lambda: rescored_result(sample, answered.result, self._scorers))
            return _Finished(sample, replace(answered, result=result), is_new=False)
        asked = await self._asker.ask(sample)
        result = await self._scoring.run(lambda: scored_result(sample, asked.response, self._scorers))
        return _Finished(sample, JournalEntry(each.place, result, asked.timing), is_new=True)

    def _write_finished(self) -> None:
        seconds = round(self._seconds_before + time.monotonic() - self._began, 3)
        lines: list[bytes] = []
        while self._finished:
            finished = self._finished.popleft()
            try:
                lines.append(line_of(finished.entry, run_seconds=seconds))
            except InputError:
                result = writable_result(finished.sample, finished.entry.result, self._scorers)
                finished = replace(finished, entry=replace(finished.entry, result=result))
                lines.append(line_of(finished.entry, run_seconds=seconds))
            self._written.append(finished)
        try:
            self._journal.append(b"".join(lines))
        except StorageError as error:
            del self._written[len(self._written) - len(lines) :]
            self.stop.set(str(error))
        if len(self._written) >= SYNC_LINES:
            self._sync_now.set()

    async def _keep(self) -> None:
        """Synchronise the journal, then count and tell, until the run ends."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="journal") as disk:
            while not self._ending or self._written:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._sync_now.wait(), SYNC_SECONDS)
                self._sync_now.clear()
                written, self._written = self._written, []
                if written:
                    try:
                        await loop.run_in_executor(disk, self._journal.sync)
                    except StorageError as error:
                        self.stop.set(str(error))
                        return
                    self._count(written)
                if written or time.monotonic() - self._told >= _TELL_SECONDS:
                    self._tell()
        self._tell()

    def _keeper_ended(self, _keeper: asyncio.Future[None]) -> None:
        """End the run with its keeper, which a callback that raises may have ended."""
        if not self._ending:
            self.stop.set("the journal could not be kept")

    def _count(self, durable: list[_Finished]) -> None:
        self.done += len(durable)
        if self._on_finished is not None:
            self._on_finished([finished.entry for finished in durable])
        for finished in durable:
            result = finished.entry.result
            self.rescorable += any(score.may_be_retried for score in result.scores)
            if finished.is_new:
                failure = result.response.failure
                self.failed += failure is not None
                self.reaskable += failure is not None and may_be_mended(failure.kind)
                self._usage.add(result.response.usage)

    def _tell(self) -> None:
        self._told = time.monotonic()
        if self._on_progress is not None:
            self._on_progress(
                Progress(
                    total=self._total,
                    done=self.done,
                    failed=self.failed,
                    in_flight=self._asker.limit.in_flight,
                    concurrency=self._asker.limit.limit,
                    retries=self._asker.retries,
                    input_tokens=self._usage.input_tokens,
                    output_tokens=self._usage.output_tokens,
                    cost_usd=self._usage.cost_usd,
                    elapsed=self._told - self._began,
                )
            )


def _has_broken(worker: asyncio.Future[None]) -> bool:
    return worker.done() and not worker.cancelled() and worker.exception() is not None


async def _let_go(tasks: list[asyncio.Future[None]]) -> None:
    """Cancel tasks, and wait for them only a moment."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_FAREWELL)


async def _closed(target: Target) -> None:
    """Close the target; nothing depends any more on whether that works."""
    closing = asyncio.ensure_future(target.close())
    await asyncio.wait((closing,), timeout=_FAREWELL)
    if closing.done() and not closing.cancelled():
        closing.exception()
