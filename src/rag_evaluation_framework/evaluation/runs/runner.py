"""The front door of the engine: samples × target × scorers → a journal, with a plain call.

It runs an event loop of its own in a thread of its own, so it works in scripts, in notebooks and inside a
running loop alike. Ctrl-C works while it waits: no new samples are taken, those with the target get 3 s, and
within 5 s it returns with everything finished safely on the disk.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress

from rag_evaluation_framework.errors import InputError, UsageError, counted
from rag_evaluation_framework.evaluation.runs.run_loop import OpenSample, RunLoop
from rag_evaluation_framework.evaluation.runs.scoring import check_scorers
from rag_evaluation_framework.evaluation.runs.stopping import StopSign
from rag_evaluation_framework.extensions import Scorer, Target
from rag_evaluation_framework.records.runs import Progress, RunOutcome, RunSettings
from rag_evaluation_framework.results.journal import Journal, JournalEntry, JournalIndex
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.sample_list import Samples, check_unchanged, placed, write_list

__all__ = ["Progress", "RunOutcome", "RunSettings", "Samples", "run_samples"]

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
    settings: RunSettings,
    on_progress: Callable[[Progress], None] | None = None,
    on_finished: Callable[[Sequence[JournalEntry]], None] | None = None,
) -> RunOutcome:
    """Ask the target every sample that is not in the folder's journal yet, score it, and write it down.

    The same call begins a run and resumes it. An answer in the journal whose scores failed because a judge's
    endpoint did is scored again, not asked for again; a sample that failed because the target could not be
    reached or turned the caller away (a wrong key) is asked again. ``samples`` are read twice: once to check
    that they are those the run began with, once to ask. Anything that prevents the run (other data, other
    metrics, a damaged journal, a folder that cannot be written, another process at work on it) is raised
    before the first request. What stops it later (the target gone, the disk full, a deadline, Ctrl-C) is in
    the outcome, and the run can be resumed.

    ``on_progress`` is called in the run's thread, after each batch that became durable and at least once a
    second; ``on_finished`` is called there too, with the entries that became durable. The target is closed at
    the end; it must open what it needs when it is first asked.
    """
    check_scorers(scorers)
    with folder.held():
        index = _prepared(samples, scorers, folder)
        journal = Journal(folder.journal_path, end=index.end)
        try:
            return _run_in_thread(
                lambda stop: RunLoop(
                    _open_samples(samples, folder, index),
                    target,
                    scorers,
                    run_id=folder.head.run_id,
                    journal=journal,
                    index=index,
                    stop=stop,
                    settings=settings,
                    on_progress=on_progress,
                    on_finished=on_finished,
                ),
                folder,
                total=len(index.offsets),
                notes=_notes(index),
            )
        finally:
            journal.close()


def _prepared(samples: Samples, scorers: Sequence[Scorer], folder: RunFolder) -> JournalIndex:
    """Make sure that this run can begin or go on, and return what is in its journal."""
    if folder.samples_path.exists():
        check_unchanged(samples, folder.samples_path)
    else:
        write_list(samples, folder.samples_path)
    index = folder.index()
    if index.problems:
        raise InputError(index.problems)
    names = frozenset(scorer.name for scorer in scorers)
    if index.metrics is not None and index.metrics != names:
        began, now = (", ".join(sorted(metrics)) or "none" for metrics in (index.metrics, names))
        raise UsageError(f"cannot resume with other metrics: expected {began}, got {now}")
    return index


def _notes(index: JournalIndex) -> tuple[str, ...]:
    if not index.torn_bytes:
        return ()
    return (f"cut {index.torn_bytes:,} bytes of an unfinished line off the end of the journal",)


def _left_to_do(run: RunLoop) -> Iterator[str]:
    if run.rescorable:
        lacking = counted(run.rescorable, "sample lacks", "samples lack")
        yield f"{lacking} scores because a model's endpoint failed; a resume makes them again"
    if run.reaskable:
        samples = counted(run.reaskable, "sample was", "samples were")
        yield f"{samples} turned away or did not reach the target; a resume asks again"


def _open_samples(samples: Samples, folder: RunFolder, index: JournalIndex) -> Iterator[OpenSample]:
    for place, sample in placed(samples, folder.samples_path):
        if not index.is_done(place) or place in index.reaskable:
            yield OpenSample(place, sample)
        elif place in index.rescorable:
            yield OpenSample(place, sample, folder.entry_at(index.offsets[place]))


def _run_in_thread(
    made: Callable[[StopSign], RunLoop], folder: RunFolder, *, total: int, notes: tuple[str, ...]
) -> RunOutcome:
    thread = _RunThread(made)
    interrupted = False
    try:
        thread.start()
        run = thread.ended.result()
    except KeyboardInterrupt:
        interrupted = True
        thread.interrupt()
        try:
            run = thread.ended.result(timeout=_LONGEST_STOP)
        except (KeyboardInterrupt, TimeoutError):
            # The thread does not come back, or somebody cannot wait: the journal has what is finished.
            kept = folder.counts.before_resuming(total)
            return _outcome(
                kept.done, kept.failed, total=total, reason=_INTERRUPTED, interrupted=True, notes=notes
            )
    reason = run.stop.reason
    notes = (*notes, *_left_to_do(run))
    return _outcome(run.done, run.failed, total=total, reason=reason, interrupted=interrupted, notes=notes)


def _outcome(
    done: int, failed: int, *, total: int, reason: str | None, interrupted: bool, notes: tuple[str, ...]
) -> RunOutcome:
    completed = done == total
    return RunOutcome(
        completed=completed,
        interrupted=interrupted,
        done=done,
        failed=failed,
        remaining=total - done,
        reason=None if completed else reason,
        notes=notes,
    )


class _RunThread:
    """A run in a thread with an event loop of its own, and the way to stop it from outside."""

    def __init__(self, made: Callable[[StopSign], RunLoop]) -> None:
        self.ended: Future[RunLoop] = Future()
        self._made = made
        self._stop = StopSign()
        self._loop = asyncio.new_event_loop()
        # A daemon: a target that blocks the thread for ever cannot keep the program from ending.
        self._thread = threading.Thread(target=self._main, name="run", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def interrupt(self) -> None:
        """Ask the run to stop as after Ctrl-C."""
        # A loop that has just closed has nothing left to stop.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(lambda: self._stop.set(_INTERRUPTED, grace=_GRACE))

    def _main(self) -> None:
        try:
            try:
                run = self._loop.run_until_complete(self._all())
            finally:
                self._close()
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            self.ended.set_exception(error)
        else:
            self.ended.set_result(run)

    async def _all(self) -> RunLoop:
        run = self._made(self._stop)
        await run.run()
        return run

    def _close(self) -> None:
        # Requests that were left behind because they ignored being cancelled are no news by now.
        self._loop.set_exception_handler(lambda _loop, _context: None)
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
