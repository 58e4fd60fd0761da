"""The front door of the engine: samples × target × scorers → a journal, with a plain call.

It runs an event loop of its own in a thread of its own, so it works in scripts, in notebooks and inside
a running loop alike. Ctrl-C works while it waits: no new samples are taken, those with the target get 3
s, and within 5 s it returns with everything finished safely on the disk.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import (
    JUDGE_BUDGET,
    MAX_COST,
    InputError,
    ModelOutageError,
    StorageError,
    UsageError,
    WorkerError,
    counted,
)
from rag_evaluation_framework.evaluation.attempts import Asked, Asker, Stopped, StopSign
from rag_evaluation_framework.evaluation.scored_answers import (
    AsTheyCome,
    Blaming,
    Scored,
    Scoring,
    ScoringThreads,
    check_scorers,
    scored_results,
    waits_to_score,
    writable_result,
)
from rag_evaluation_framework.extensions import Scorer, Target
from rag_evaluation_framework.judging.verdict import decide_result
from rag_evaluation_framework.records.responses import Response, may_be_mended
from rag_evaluation_framework.records.runs import Options, Progress, RunHead, RunOutcome, SampleResult, Timing
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.journal import (
    Journal,
    JournalEntry,
    JournalIndex,
    WrittenResult,
    written_entry,
)
from rag_evaluation_framework.results.run_data import Samples, check_unchanged, keep_samples
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.workers import Workers

if TYPE_CHECKING:
    from rag_evaluation_framework.models.spending import TargetSpending

# The loop of a run: workers that ask, score and write results, and a keeper that makes them durable.
#
# A line is written the moment its sample is finished, so a kill loses nothing that was written. The disk is
# synchronised for many at once (every 64 lines or 100 ms), and only then are the samples counted as done. A
# target that answers many at once (``answer_many``) is asked in batches, each scored and written as a whole.

SYNC_LINES = 64
SYNC_SECONDS = 0.1
BATCH_SIZE = 256
"""At most so many samples are put at once to a target that answers many, unless it has a ``batch_size``."""

# Cancelled work gets this long to let go, the target this long to close.
_FAREWELL = 1.0
# Somebody who watches sees that the run is alive, even when nothing finishes.
_TELL_SECONDS = 1.0
_LAST_CALLS = 60.0  # seconds for calls that were under way when the cap on what is spent was reached
_HOLD_SECONDS = 0.01
_LEAST_SENT = 0.0005  # seconds: an answer that is scored sooner is not worth sending as it comes


class OpenSample(msgspec.Struct, frozen=True):
    """A sample to ask, or one whose answer, or whose result, is there already and is to be scored."""

    place: int
    sample: Sample
    found: tuple[Response | SampleResult, Timing] | None = None


class _Finished(msgspec.Struct, frozen=True):
    """The journal entry of a finished sample; ``is_new`` if its answer is in no earlier line."""

    sample: Sample
    entry: JournalEntry
    is_new: bool
    written: WrittenResult | None = None


_Answered: TypeAlias = tuple[OpenSample, Response | SampleResult, Timing]
"""A sample with its answer, or with its result where only scores are missing."""


async def _scored(answered: Sequence[_Answered], scoring: Future[list[Scored]]) -> list[_Finished]:
    """Wait for the scores of a batch."""
    scored = await asyncio.wrap_future(scoring)
    return list(map(_finished, answered, scored))


def _finished(answered: _Answered, scored: Scored) -> _Finished:
    (each, found, timing), (scores, verdict, blame, written) = answered, scored
    response = found if isinstance(found, Response) else found.response
    result = SampleResult(each.sample.id, response, scores)
    entry = JournalEntry(each.place, result, timing, verdict, blame)
    return _Finished(each.sample, entry, isinstance(found, Response), written)


@dataclass(kw_only=True, eq=False)
class RunLoop:
    """One pass over the samples that are not in the journal yet, or not with all the scores they could have.

    All of them are counted as done when they are written. What a resume has left to do is counted beside it:
    ``rescorable`` were written with scores that failed because a judge's endpoint did, ``reaskable`` without
    an answer for a reason that says nothing about the sample.
    """

    samples: Iterator[OpenSample]
    target: Target
    scorers: Sequence[Scorer]
    head: RunHead
    journal: Journal
    index: JournalIndex
    stop: StopSign
    options: Options
    threads: int
    on_progress: Callable[[Progress], None] | None
    on_finished: Callable[[Sequence[JournalEntry]], None] | None
    spending: TargetSpending | None
    blaming: Blaming | None
    drawn: int

    def __post_init__(self) -> None:
        before, options = self.index.counts.before_resuming(), self.options
        self.done, self.failed = before.done - self.drawn, before.failed
        self.rescorable = self.reaskable = 0
        self.outage: ModelOutageError | None = None
        self._total = before.total
        self._asker = Asker(
            self.target, self.head.run_id, options=options, seed=self.head.seed, stop=self.stop
        )
        self._usage = self.index.usage
        self._finished: deque[_Finished] = deque()
        # Scorers that only compute gain nothing from a second thread; those that wait, as for a judge, do.
        self._waits_to_score = waits_to_score(self.scorers, options.crew)
        self._threads = self.threads if self._waits_to_score else 1
        self._scoring = ScoringThreads(self._threads)
        self._is_live = getattr(self.target, "is_live", True)
        # What a judge may yet score again is blamed at the end.
        self._score = Scoring(tuple(self.scorers), None if self._waits_to_score else self.blaming)
        crew, least = (1 if self._waits_to_score else options.crew), (_LEAST_SENT if self._is_live else 0.0)
        self._pool = Workers(self._score, crew, total=self._total - self.done, least_seconds=least)
        self._as_they_come = AsTheyCome(self._pool, self._scoring.run)
        self._written: list[_Finished] = []
        self._sync_now = asyncio.Event()
        self._ending = False
        self._began = self._told = time.monotonic()

    async def run(self) -> None:
        """Ask, score and write down until all is done or the stop sign is set."""
        if self.options.run_timeout is not None:
            reason = f"the run exceeded its limit of {self.options.run_timeout:g} s"
            asyncio.get_running_loop().call_later(self.options.run_timeout, self.stop.set, reason)
        keeper = asyncio.ensure_future(self._keep())
        keeper.add_done_callback(self._keeper_ended)
        # Those that wait for a slow scorer do not keep others from asking.
        more = self._threads if self._waits_to_score else 0
        workers = min(self.options.concurrency + more, self._total - self.done)
        try:
            with self._scoring, self._pool:
                if not self._is_live and not self._waits_to_score:
                    tasks = [asyncio.ensure_future(self._work_on_recorded())]
                elif hasattr(self.target, "answer_many"):
                    tasks = [asyncio.ensure_future(self._work_in_batches())]
                else:
                    tasks = [asyncio.ensure_future(self._work(self.samples)) for _ in range(workers)]
                await self._finish(tasks)
            if not self.stop.is_set:
                self._write_finished()
        finally:
            self._ending = True
            self._sync_now.set()
            await asyncio.wait((keeper,))
            await _closed(self.target)
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
            done = [worker for worker in workers if worker.done() and not worker.cancelled()]
            left = [worker for worker in workers if not worker.done()]
            for worker in left:
                worker.cancel()
            if left:  # they get a moment to let go
                await asyncio.wait(left, timeout=_FAREWELL)
        for worker in done:
            worker.result()

    async def _work(self, samples: Iterable[OpenSample]) -> None:
        for each in samples:
            if self.stop.is_set or not await self._is_finished(self._finished_result(each)):
                return

    async def _work_in_batches(self) -> None:
        size = getattr(self.target, "batch_size", BATCH_SIZE)
        while batch := list(islice(self.samples, size)):
            open_ones = [each for each in batch if each.found is None]
            left = [each for each in batch if each.found is not None]
            if self.stop.is_set or not await self._is_finished(self._finished_batch(open_ones, left)):
                return
            await self._work(left)

    async def _work_on_recorded(self) -> None:
        """Score answers that are recorded in their order, in several processes where that is worth it."""
        pool, waiting = self._pool, deque[tuple[list[_Answered], Future[list[Scored]]]]()
        while batch := list(islice(self.samples, pool.batch_size)):
            try:
                answered = [await self._answered(each) for each in batch]
            except Stopped:
                return
            waiting.append((answered, pool.submit([(each.sample, found) for each, found, _ in answered])))
            while len(waiting) > pool.in_flight or (waiting and waiting[0][1].done()):
                if not await self._is_finished(_scored(*waiting.popleft())):
                    return
        while waiting:
            if not await self._is_finished(_scored(*waiting.popleft())):
                return

    async def _answered(self, each: OpenSample) -> _Answered:
        if each.found is not None:
            return each, *each.found
        asked = await self._ask_within_cap(each.sample)
        return each, asked.response, asked.timing

    async def _is_finished(self, work: Awaitable[_Finished | list[_Finished]]) -> bool:
        """Wait for results and write them down; false where the run ends before they are made."""
        try:
            finished = await work
        except Stopped:
            return False
        except ModelOutageError as error:
            # Calls that are under way at the cap fit under it, and are waited for.
            is_capped = error.kind in (MAX_COST, JUDGE_BUDGET)
            self.outage = error
            self.stop.set(error.describe_role("judge"), grace=_LAST_CALLS if is_capped else 0.0)
            return False
        except (StorageError, WorkerError) as error:
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
        samples, responses = [each.sample for each, _ in answered], [each.response for _, each in answered]
        results = await self._scoring.run(partial(scored_results, samples, responses, self.scorers))
        entries = (
            JournalEntry(each.place, result, answer.timing, decide_result(each.sample, result))
            for (each, answer), result in zip(answered, results, strict=True)
        )
        return [_Finished(sample, entry, is_new=True) for sample, entry in zip(samples, entries, strict=True)]

    async def _finished_result(self, each: OpenSample) -> _Finished:
        answered = await self._answered(each)
        item = each.sample, answered[1]
        waited = self._scoring.run(partial(self._score, item)) if self._waits_to_score else None
        return _finished(answered, await (waited or self._as_they_come.done(item)))

    async def _ask_within_cap(self, sample: Sample) -> Asked:
        """Ask the target, once its answer fits under the cap on what is spent, if there is one."""
        if self.spending is None:
            return await self._asker.ask(sample)
        while (held := self.spending.hold()) is None:
            await self.stop.sleep(_HOLD_SECONDS)
        usage, is_answered = None, False
        try:
            asked = await self._asker.ask(sample)
            usage, is_answered = asked.response.usage, asked.response.failure is None
        finally:
            self.spending.settle(held, usage, is_answered=is_answered)
        return asked

    def _write_finished(self) -> None:
        elapsed = round(self.index.seconds + time.monotonic() - self._began, 3)
        lines: list[bytes] = []
        while self._finished:
            finished = self._finished.popleft()
            entry = finished.entry
            timing = replace(entry.timing, run_seconds=max(elapsed, entry.timing.run_seconds))
            entry = replace(entry, timing=timing)
            try:
                line, entry = written_entry(entry, finished.written)
            except InputError:
                result = writable_result(finished.sample, entry.result, self.scorers)
                verdict = decide_result(finished.sample, result)
                line, entry = written_entry(replace(entry, result=result, verdict=verdict, blame=None))
            lines.append(line)
            self._written.append(_Finished(finished.sample, entry, finished.is_new))
        try:
            self.journal.append(b"".join(lines))
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
                        await loop.run_in_executor(disk, self.journal.sync)
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
            self.stop.set("the journal could not be saved")

    def _count(self, durable: list[_Finished]) -> None:
        self.done += len(durable)
        if self.on_finished is not None:
            self.on_finished([finished.entry for finished in durable])
        for finished in durable:
            result = finished.entry.result
            self.rescorable += any(score.may_be_retried for score in result.scores)
            if finished.is_new:
                failure = result.response.failure
                self.failed += failure is not None
                self.reaskable += failure is not None and may_be_mended(failure.kind)
                self._usage = self._usage.plus(result.response.usage)

    def _tell(self) -> None:
        self._told = time.monotonic()
        if self.on_progress is not None:
            self.on_progress(
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


async def _closed(target: Target) -> None:
    """Close the target; nothing depends any more on whether that works."""
    closing = asyncio.ensure_future(target.close())
    await asyncio.wait((closing,), timeout=_FAREWELL)
    if closing.done() and not closing.cancelled():
        closing.exception()


_INTERRUPTED = "interrupted"
_GRACE = 3.0
# Together with the loop's own farewells this stays below 5 s.
_LONGEST_STOP = 4.7


def run_samples(
    samples: Samples,
    target: Target,
    scorers: Sequence[Scorer],
    *,
    folder: RunFolder,
    options: Options | None = None,
    threads: int = 16,
    on_progress: Callable[[Progress], None] | None = None,
    on_finished: Callable[[Sequence[JournalEntry]], None] | None = None,
    spending: TargetSpending | None = None,
    blaming: Blaming | None = None,
    are_unchanged: bool = False,
    drawn: Sequence[int] = (),
    answers: Callable[[], Iterator[JournalEntry]] = lambda: iter(()),
) -> RunOutcome:
    """Ask the target every sample that is not in the folder's journal yet, score it, and write it down.

    The same call begins a run and resumes it. An answer in the journal whose scores failed because a judge's
    endpoint did is scored again, not asked for again; a sample that failed because the target could not be
    reached or turned the caller away (a wrong key) is asked again. ``samples`` that are not in memory are
    asked as the folder keeps them. Anything that prevents the run (other data or metrics, a damaged journal,
    a folder that cannot be written, another process at work on it) is raised before the first request. What
    stops it later (the target gone, the disk full, Ctrl-C) is in the outcome, and the run can be resumed.

    Where the caller knows that the samples ``are_unchanged``, a run with nothing left to do reads its journal
    alone. ``threads`` bounds how many samples wait for a slow scorer at once, ``spending`` what answers cost.
    Samples at the places ``drawn`` are judged that were not before, in this order, by what scores now. Those
    of a run that begins may have ``answers`` already, in the order of the samples and with their times.

    ``on_progress`` is called in the run's thread, after each batch that became durable and at least once a
    second; ``on_finished`` too, with the entries that became durable, as they are read back; they have what
    ``blaming`` tells. The target is closed at the end; it must open what it needs when it is first asked.
    """
    check_scorers(scorers)
    with folder.lock():
        index = _prepared(samples, scorers, folder, are_unchanged=are_unchanged)
        open_ = [place for place in drawn if place in index.undrawn]
        left = len(index.offsets) - index.done + len(index.rescorable) + len(index.reaskable) + len(open_)
        if are_unchanged and not left and not index.torn_bytes:
            folder.finish()
            return _outcome(index.done, index.counts.failed, index.counts.total, None, (), interrupted=False)
        journal = Journal(folder.journal_path, end=index.end)
        cut = f"removed {index.torn_bytes:,} bytes of an unfinished line at the end of the journal"
        try:
            outcome = _run_in_thread(
                lambda stop: RunLoop(
                    samples=_open_samples(folder, index, open_, answers()),
                    target=target,
                    scorers=scorers,
                    head=folder.head,
                    journal=journal,
                    index=index,
                    stop=stop,
                    options=options or Options(),
                    threads=threads,
                    on_progress=on_progress,
                    on_finished=on_finished,
                    spending=spending,
                    blaming=blaming,
                    drawn=len(set(open_) - index.rescorable),
                ),
                folder,
                total=len(index.offsets),
                notes=(cut,) if index.torn_bytes else (),
            )
        finally:
            journal.close()
        if outcome.completed:
            folder.finish()
        return outcome


def _prepared(
    samples: Samples, scorers: Sequence[Scorer], folder: RunFolder, *, are_unchanged: bool
) -> JournalIndex:
    """Make sure that this run can begin or go on, and return what is in its journal."""
    if folder.samples_path.exists():
        if not are_unchanged:
            check_unchanged(samples, folder.samples_path)
    else:
        keep_samples(samples, folder.path)
    index = folder.index()
    if index.problems:
        raise InputError(index.problems)
    names = frozenset(scorer.name for scorer in scorers)
    if index.metrics is not None and index.metrics != names:
        began, now = (", ".join(sorted(metrics)) or "none" for metrics in (index.metrics, names))
        raise UsageError(f"cannot resume with other metrics: expected {began}, got {now}")
    return index


def _left_to_do(run: RunLoop) -> Iterator[str]:
    if run.rescorable:
        lacking = counted(run.rescorable, "sample lacks", "samples lack")
        yield f"{lacking} scores because a model's endpoint failed; resume the run to score them"
    if run.reaskable:
        samples = counted(run.reaskable, "sample was", "samples were")
        yield f"{samples} rejected or did not reach the agent; resume the run to ask again"


def _open_samples(
    folder: RunFolder, index: JournalIndex, drawn: Sequence[int], answers: Iterator[JournalEntry]
) -> Iterator[OpenSample]:
    def rescored(place: int, sample: Sample) -> OpenSample:
        entry = folder.entry_at(index.offsets[place])
        return OpenSample(place, sample, (entry.result, entry.timing))

    waiting: dict[int, Any] = dict.fromkeys(drawn)
    for place, sample in enumerate(folder.samples()):
        if not index.is_done(place) or place in index.reaskable:
            entry = next(answers, None)
            yield OpenSample(place, sample, None if entry is None else (entry.result.response, entry.timing))
        elif place in waiting:
            waiting[place] = sample
        elif place in index.rescorable:
            yield rescored(place, sample)
    for place, sample in waiting.items():
        yield rescored(place, sample)


def _run_in_thread(
    made: Callable[[StopSign], RunLoop], folder: RunFolder, *, total: int, notes: tuple[str, ...]
) -> RunOutcome:
    """Run in a thread with an event loop of its own; Ctrl-C while it is waited for stops it."""
    loop, stop = asyncio.new_event_loop(), StopSign()
    ended: Future[RunLoop] = Future()
    # A daemon: a target that blocks the thread for ever cannot keep the program from ending.
    thread = threading.Thread(target=_run_loop, args=(loop, made, stop, ended), name="run", daemon=True)
    interrupted = False
    try:
        thread.start()
        run = ended.result()
    except KeyboardInterrupt:
        interrupted = True
        with suppress(RuntimeError):  # a loop that has just closed has nothing left to stop
            loop.call_soon_threadsafe(lambda: stop.set(_INTERRUPTED, grace=_GRACE))
        try:
            run = ended.result(timeout=_LONGEST_STOP)
        except (KeyboardInterrupt, TimeoutError):
            # The thread does not come back, or somebody cannot wait: the journal has what is finished.
            kept = folder.counts.before_resuming(total)
            return _outcome(kept.done, kept.failed, total, _INTERRUPTED, notes, interrupted=True)
    notes = (*notes, *_left_to_do(run))
    outcome = _outcome(run.done, run.failed, total, stop.reason, notes, interrupted=interrupted)
    return replace(outcome, outage=run.outage)


def _outcome(
    done: int, failed: int, total: int, reason: str | None, notes: tuple[str, ...], *, interrupted: bool
) -> RunOutcome:
    return RunOutcome(
        completed=done == total,
        interrupted=interrupted,
        done=done,
        failed=failed,
        remaining=total - done,
        reason=None if done == total else reason,
        notes=notes,
    )


def _run_loop(
    loop: asyncio.AbstractEventLoop,
    made: Callable[[StopSign], RunLoop],
    stop: StopSign,
    ended: Future[RunLoop],
) -> None:
    async def all_of_it() -> RunLoop:
        run = made(stop)
        await run.run()
        return run

    try:
        try:
            run = loop.run_until_complete(all_of_it())
        finally:
            # Requests that were left behind because they ignored being cancelled are no news by now.
            loop.set_exception_handler(lambda _loop, _context: None)
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
    except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
        ended.set_exception(error)
    else:
        ended.set_result(run)
