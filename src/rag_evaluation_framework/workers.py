"""Work beside the caller: in processes by one ordered map over items, and in a thread beside an event loop.

::

    for result in in_order(work, items, workers=4):
        ...

``work`` is any object that is called with an item and can be pickled; it goes to each process once, with all
it holds (scorers, documents, a chunker), and items follow in batches. A batch is sized by the time that it
takes, not by a count, and only a few are under way, so that memory does not grow with the items. Results come
in the order of the items.

A small job stays in this process: others are started once the work left is worth their start. What cannot be
sent to another process, such as a class that a script or a notebook defines itself, is done in this one too.
The processes run this package and not the caller's script, so nothing has to be guarded by ``__main__``. They
end with whoever started them, however that ends; Ctrl-C is not theirs to answer.

A :class:`Crew` says who works where a number does not say enough: workers of a Ray cluster take the place of
processes (``adapters/ray_workers.py``), and nothing else changes.
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import msgspec

from rag_evaluation_framework.errors import MissingExtraError, UsageError, WorkerError, checked_count, shown
from rag_evaluation_framework.startup import collect_seldom
from rag_evaluation_framework.version import __version__

Item = TypeVar("Item")
Result = TypeVar("Result")

# A process takes 0.3 to 0.5 s of CPU to start with what scores answers.
_WORTH_SECONDS = 1.0
"""Processes are started where what is left would take this one at least so long."""
_LOOK_SECONDS = 0.05
"""Time of the sample from which the remaining work is estimated."""
_BATCH_SECONDS = 0.05
_LARGEST_BATCH = 4096
_BEGUN = 2  # how many batches a worker has at a time: the one that it works on, and the next
_FAREWELL_SECONDS = 0.5
# A sweep goes back and forth between searching by words, by vectors, and reranking.
_WORKS_KEPT = 3
_PROCESSES = "processes"
_RAY = "ray"
_RAY_MODULE = "rag_evaluation_framework.adapters.ray_workers"


def all_but_one() -> int:
    """Return how many workers there are unless somebody says otherwise: one a core less one."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable - 1)


def counted_workers(workers: object) -> int:
    """Return how many workers are meant, by ``None`` all but one; refuse anything but a number from 1."""
    return all_but_one() if workers is None else checked_count("workers", workers, at_least=1)


class Crew(msgspec.Struct, frozen=True):
    """The workers of a run: their number, and the engine, processes of this machine or a Ray cluster.

    ``count`` is ``None`` for all cores but one, or for as many as a cluster at ``address`` has. Without an
    address, and without ``RAY_ADDRESS`` in the environment, Ray is started on this machine.
    """

    count: int | None = None
    engine: str = _PROCESSES
    address: str | None = None

    def __post_init__(self) -> None:
        if self.count is not None:
            counted_workers(self.count)
        if self.engine not in (_PROCESSES, _RAY):
            raise UsageError(f"engine: expected {_PROCESSES} or {_RAY}, got {shown(self.engine)}")
        if self.engine == _RAY and find_spec("ray") is None:
            raise MissingExtraError("the engine ray", "ray")
        if self.address is not None and self.engine != _RAY:
            raise UsageError(f"address: only engine={_RAY} takes an address, got engine={self.engine}")

    @property
    def is_alone(self) -> bool:
        """Return True if the caller's own process does all the work."""
        return self.engine == _PROCESSES and counted_workers(self.count) == 1

    def reach(self) -> None:
        """Make sure that the cluster whose address is given answers, before anything is begun."""
        if self.address is not None:
            import_module(_RAY_MODULE).connected(self)

    def called(self) -> list[Worker]:
        """Return the workers, those first that rest."""
        if self.engine == _PROCESSES:
            count, kind, made = counted_workers(self.count), "", _Process
        else:
            ray_workers = import_module(_RAY_MODULE)
            count, kind = ray_workers.connected(self)
            made = ray_workers.RayWorker
        return [_awake(kind) or made(kind) for _ in range(count)]


Workforce: TypeAlias = int | Crew | None
"""Number of worker processes, ``None`` for all cores but one, or a crew of workers."""


def crew_of(workers: Workforce) -> Crew:
    """Return who works."""
    return workers if isinstance(workers, Crew) else Crew(counted_workers(workers))


def crew_for(part: object, workers: Workforce) -> Crew:
    """Return who does a part's work: the workers, where it names their engine among its ``engines``."""
    crew = crew_of(workers)
    return crew if crew.engine in getattr(part, "engines", ()) else Crew(1)


_Reply: TypeAlias = Callable[[], tuple[list[Any], float] | None]
"""Returns the results of a batch and how long they took; ``None`` where it cannot be unpacked."""


class Worker(Protocol):
    """Works on batches beside this process, one at a time; a thread of this process waits for it."""

    kind: str
    """Workers of one kind can stand in for each other."""
    batch_seconds: float

    def stand_by(self) -> None:
        """Be there, where that may take its time; nothing is handed to it before."""

    def is_ready_for(self, packed: bytes) -> bool:
        """Take what is to be done; false if it cannot."""

    def begin(self, batch: Sequence[Any]) -> _Reply:
        """Hand it a batch, and return who waits for its reply; replies come in the order of the batches."""

    @property
    def is_there(self) -> bool:
        """Return True if the worker can take more work."""

    def end(self) -> None:
        """End it; nobody waits for what it is working on."""


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], *, workers: Workforce, total: int | None = None
) -> Iterator[Result]:
    """Yield the result of each item, in order; who works changes the time and nothing else.

    ``total`` is how many items there are, where that is known: it tells whether processes are worth starting.
    """
    if crew_of(workers).is_alone:
        yield from map(work, items)
        return
    left = iter(items)
    with Workers(work, workers, total=total) as pool:
        waiting: deque[Future[list[Result]]] = deque()
        while batch := list(islice(left, pool.batch_size)):
            waiting.append(pool.submit(batch))
            while len(waiting) > pool.in_flight or (waiting and waiting[0].done()):
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def packed_work(work: object) -> bytes | None:
    """Return work as it is sent; ``None`` where it cannot be, or only a script or notebook knows it."""
    from multiprocessing.reduction import ForkingPickler

    try:
        packed = bytes(ForkingPickler.dumps(work))
    except Exception:  # noqa: BLE001 - whatever a plug-in holds may refuse to be sent: it is used here
        return None
    return None if b"__main__" in packed else packed


class Workers(Generic[Item, Result]):
    """A pool that does the same work for batches: in this process, and in others if that saves time.

    Who submits keeps the order by taking the results in the order of submission, and memory bounded by having
    no more than ``in_flight`` batches of ``batch_size`` under way. An item that takes less than
    ``least_seconds`` is not worth sending. With ``at_once`` the workers are called for any amount of work.
    """

    def __init__(
        self,
        work: Callable[[Item], Result],
        workers: Workforce,
        *,
        total: int | None = None,
        least_seconds: float = 0.0,
        at_once: bool = False,
    ) -> None:
        self._work, self._crew, self._total = work, crew_of(workers), total
        self._crew.reach()
        self._least_seconds, self._at_once = least_seconds, at_once
        self.batch_size = 1
        self.in_flight = 0
        self._seconds, self._done, self._submitted = 0.0, 0, 0
        self._jobs: SimpleQueue[tuple[Future[list[Result]], Sequence[Item]] | None] = SimpleQueue()
        self._processes: list[Worker] = []
        self._is_alone = self._crew.is_alone
        self._batch_seconds = _BATCH_SECONDS
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        is_done = self._done == self._submitted
        for _process in self._processes:
            self._jobs.put(None)
        for process in self._processes:
            if is_done:
                _rest(process)
            else:
                process.end()

    def submit(self, batch: Sequence[Item]) -> Future[list[Result]]:
        """Have a batch worked on; what is done in this process is done when this returns."""
        made: Future[list[Result]] = Future()
        with self._lock:
            if not self._processes and not self._is_alone and self._is_worth_it():
                self._start()
            self._submitted += len(batch)
        if self._processes:
            self._jobs.put((made, batch))
        else:
            self._do_here(made, batch)
        return made

    def _is_worth_it(self) -> bool:
        if self._at_once:
            return True
        if not self._done or self._seconds < max(_LOOK_SECONDS, self._done * self._least_seconds):
            return False
        if self._total is None:  # nobody knows what comes: as much again, at least
            return self._seconds >= _WORTH_SECONDS
        return self._seconds / self._done * (self._total - self._done) >= _WORTH_SECONDS

    def _start(self) -> None:
        packed = packed_work(self._work)
        if packed is None or (os.name == "nt" and self._crew.engine == _PROCESSES):
            self._is_alone = True  # there, a child inherits no descriptor
            return
        self._processes = self._crew.called()
        atexit.unregister(_end_all)
        atexit.register(_end_all)  # after a cluster was joined: Ray may crash where it is left first
        self._batch_seconds = self._processes[0].batch_seconds
        self.in_flight = 2 * len(self._processes)
        for process in self._processes:
            threading.Thread(target=self._serve, args=(process, packed), name="worker", daemon=True).start()

    def _serve(self, process: Worker, packed: bytes) -> None:
        """Hand one process its batches, in a thread of this one."""
        with suppress(AttributeError, ValueError):  # so that the process inherits it: Ctrl-C is not its own
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        process.stand_by()
        begun: deque[tuple[Future[list[Result]], Sequence[Item], _Reply]] = deque()
        is_ready, is_over = None, False
        while begun or not is_over:
            job = None
            with suppress(Empty):  # the next batch travels while the process works on one
                if not is_over and len(begun) < _BEGUN:
                    job = self._jobs.get(block=not begun)
                    is_over = job is None
            if job is None and begun:
                self._take(*begun.popleft())
            elif job is not None and job[0].set_running_or_notify_cancel():
                try:
                    is_ready = process.is_ready_for(packed) if is_ready is None else is_ready
                    begun.append((*job, process.begin(job[1]) if is_ready else lambda: None))
                except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
                    job[0].set_exception(error)

    def _take(self, made: Future[list[Result]], batch: Sequence[Item], reply: _Reply) -> None:
        try:
            done = reply()
        except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
            made.set_exception(error)
            return
        if done is None:
            self._do_here(made, batch)
        else:
            self._take_note(done[1], len(batch))
            made.set_result(done[0])

    def _do_here(self, made: Future[list[Result]], batch: Sequence[Item]) -> None:
        began = time.perf_counter()
        try:
            results = _all_done(self._work, batch)
        except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
            made.set_exception(error)
            return
        self._take_note(time.perf_counter() - began, len(batch))
        made.set_result(results)

    def _take_note(self, seconds: float, count: int) -> None:
        """Size the next batches by the time that the latest took."""
        with self._lock:
            self._seconds += seconds
            self._done += count
            fits = int(count * self._batch_seconds / max(seconds, 1e-6))
            if self._total is not None and self.in_flight:  # the last are small: all end at the same time
                fits = min(fits, (self._total - self._submitted) // self.in_flight)
            # Neither one slow item nor one quick one decides alone.
            self.batch_size = max(1, min(fits, 2 * self.batch_size, _LARGEST_BATCH))


def _all_done(work: Callable[[Item], Result], batch: Sequence[Item]) -> list[Result]:
    """Work on every item of a batch; an error says at which it happened."""
    if all_at_once := getattr(work, "all_at_once", None):
        found: list[Result] = all_at_once(batch)
        return found
    results: list[Result] = []
    for item in batch:
        try:
            results.append(work(item))
        except Exception as error:  # whoever's mistake it is, it says where
            if name := getattr(work, "name_of", None):
                error.add_note(f"at {name(item)}")
            raise
    return results


class _Process:
    """A process of its own that works on batches, at the other end of a connection."""

    batch_seconds = 0.25  # neighbours share contexts, which every process prepares for itself

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self._child: subprocess.Popen[bytes] | None = None
        self._connection: Any = None
        self._lock = threading.Lock()
        self._is_over = False

    def stand_by(self) -> None:
        """Start with the first batch: there may be none."""

    def is_ready_for(self, packed: bytes) -> bool:
        """Start the process if it is not there yet, and send it what is to be done; false if it cannot."""
        try:
            if self._connection is None:
                self._start()
            self._connection.send_bytes(packed)
            return self._connection.recv() is not None
        except (EOFError, OSError) as error:
            raise self._ended() from error

    def begin(self, batch: Sequence[Any]) -> _Reply:
        """Send a batch, and return who waits for its reply."""
        try:
            self._connection.send(batch)
        except OSError as lost:
            raise self._ended() from lost
        return self._reply

    def _reply(self) -> tuple[list[Any], float] | None:
        try:
            reply = self._connection.recv()
        except (EOFError, OSError) as lost:
            raise self._ended() from lost
        return results_in(reply)

    @property
    def is_there(self) -> bool:
        return self._child is not None and not self._is_over and self._child.poll() is None

    def end(self) -> None:
        """End the process; nobody waits for what it is working on."""
        with self._lock:
            self._is_over = True
            if self._child is None:
                return
            if self._child.poll() is None:
                self._child.terminate()
        try:
            self._child.wait(_FAREWELL_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if self._connection is not None:
            self._connection.close()

    def _start(self) -> None:
        from multiprocessing.connection import Pipe

        ours, theirs = Pipe()
        program = f"from {__name__} import _serve_batches; _serve_batches({theirs.fileno()})"
        with self._lock:
            if self._is_over:
                raise WorkerError("the work was canceled")
            self._child = subprocess.Popen(  # noqa: S603 - this package, by this interpreter
                [sys.executable, *_interpreter_flags(), "-c", program],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                # Each has a core: products of matrices that use all of them would only wait for each other.
                env={
                    "OMP_NUM_THREADS": "1",
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        theirs.close()
        self._connection = ours

    def _ended(self) -> WorkerError:
        code = None if self._child is None else self._child.wait()
        how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
        return WorkerError(
            f"a worker process ended {how} before it finished; it may have run out of memory. "
            "To use one process, add --workers 1"
        )


# Processes that have nothing to do wait a little for the next work: one run scores after another, and a
# sweep cuts its documents by one chunker after the other.

_RESTING: list[Worker] = []
_REST_SECONDS = 10.0


def _awake(kind: str) -> Worker | None:
    """Return a worker of a kind that rests, if there is one."""
    for process in [each for each in _RESTING if each.kind == kind]:
        with suppress(ValueError):  # its time is up, and somebody ends it
            _RESTING.remove(process)
            if process.is_there:
                return process
            process.end()
    return None


def _rest(process: Worker) -> None:
    if not process.is_there:
        process.end()
        return
    _RESTING.append(process)
    later = threading.Timer(_REST_SECONDS, _end_resting, [process])
    later.daemon = True
    later.start()


def _end_resting(process: Worker) -> None:
    with suppress(ValueError):  # it is at work again
        _RESTING.remove(process)
        process.end()


def _end_all() -> None:
    while _RESTING:
        _RESTING.pop().end()


def _interpreter_flags() -> list[str]:
    flags = ["-X", "utf8"] if sys.flags.utf8_mode else []
    return [*flags, *(f"-W{each}" for each in sys.warnoptions)]


def _serve_batches(descriptor: int) -> None:
    """Be the process at the other end: take work, then batches of it, until nobody sends any more."""
    from multiprocessing.connection import Connection

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection: Any = Connection(descriptor)
    bench = Bench(clock=time.process_time)  # what else the machine does makes no batch smaller
    received: SimpleQueue[bytes | None] = SimpleQueue()

    def receive() -> None:
        with suppress(EOFError, OSError):  # whoever started this has ended, or wants nothing any more
            while True:
                received.put(connection.recv_bytes())
        received.put(None)

    threading.Thread(target=receive, daemon=True).start()
    with suppress(OSError):
        while (packed := received.get()) is not None:
            connection.send(bench.reply_to(packed))


class Bench:
    """The working side of a worker: in another process, or on a machine of a cluster."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        collect_seldom()
        self._work: Any = None
        self._clock = clock
        self._known: dict[bytes, Any] = {}
        """The latest work by the hash of its bytes: what it has loaded since, as a model, stays with it."""

    def version(self) -> str:
        """Return the version of this package that works here."""
        return __version__

    def reply_to(self, packed: bytes) -> Any:
        """Take what is to be done, or do a batch of it; ``None`` where that cannot be unpacked here."""
        from multiprocessing.reduction import ForkingPickler

        digest = hashlib.sha256(packed).digest()
        if digest in self._known:
            self._work = self._known[digest] = self._known.pop(digest)
            return True
        try:
            received = ForkingPickler.loads(packed)
        except Exception:  # noqa: BLE001 - what cannot be unpacked here is done where it was made
            return None
        if not isinstance(received, list):
            self._work = self._known[digest] = received
            if len(self._known) > _WORKS_KEPT:
                del self._known[next(iter(self._known))]
            return True
        results, error, began = None, None, self._clock()
        try:
            results = _all_done(self._work, received)
        except Exception as raised:  # noqa: BLE001 - raised again in the process that asked
            error = raised
        seconds = self._clock() - began
        return results, seconds, None if error is None else _sendable(error), getattr(error, "__notes__", [])


def results_in(reply: Any) -> tuple[list[Any], float] | None:
    """Return what a bench replied to a batch; an error that happened there is raised here."""
    if reply is None:
        return None
    results, seconds, error, notes = reply
    if error is None:
        return results, seconds
    for note in notes:
        error.add_note(note)
    raise error


def _sendable(error: Exception) -> Exception:
    """Return the error, or one that says the same where it does not survive being sent."""
    from multiprocessing.reduction import ForkingPickler

    try:
        again = ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:  # noqa: BLE001 - an error of a plug-in may hold anything
        again = None
    if type(again) is type(error) and str(again) == str(error):
        again.__notes__ = []
        return again
    return RuntimeError(f"{type(error).__name__}: {error}")


# A thread beside an event loop.

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
