"""Workers of a Ray cluster, in the place of processes of this machine.

Each is an actor that is sent the work once, with all it holds (scorers, models, documents), and then batches.
One that dies, with its process, its machine or for want of memory, is replaced, and its batch is sent again,
a few times at most. Results come back to the process that asked: it alone writes, and in order.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any

from rag_evaluation_framework.adapters.extras import DEVICES_OF_WORKERS, GPU_MARK, LOADED_MODELS
from rag_evaluation_framework.errors import UsageError, WorkerError, shown
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.version import __version__
from rag_evaluation_framework.workers import Bench, Crew, all_but_one, results_in

_TRIES = 4
"""Maximum number of attempts for a batch."""
_LOCAL = "local"
_KNOCK_SECONDS = 10.0
_ENVIRONMENT: Mapping[str, str] = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is told to anybody
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
}
_LOCK = threading.Lock()
_joined: str | None = None
"""The cluster that this process has joined."""
_share = 0.0
"""Share of a GPU for each of the latest workers whose work has a model; it is the same for all."""
_stored: tuple[bytes, Any] | None = None
"""The latest work, and where it is in the cluster's store: one copy there serves all workers."""


def connected(crew: Crew) -> tuple[int, str]:
    """Join the cluster, or start one here, and return how many workers there are and of what kind."""
    global _share
    address = crew.address or os.environ.get("RAY_ADDRESS") or _LOCAL
    with _LOCK:
        ray = _joined_to(address)
    there = ray.cluster_resources()
    cores = (crew.count or all_but_one()) if address == _LOCAL else int(there.get("CPU", 0))
    if not cores:
        raise UsageError(f"address: the Ray cluster at {address} has no CPUs")
    count, gpus = min(crew.count or cores, cores), int(there.get("GPU", 0))
    _share = 10_000 // -(-count // gpus) / 10_000 if gpus else 0.0  # Ray counts in ten-thousandths
    return count, address


def _joined_to(address: str) -> Any:
    global _joined
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    ray = extra_module("ray", feature="the engine ray", extra="ray")
    if ray.is_initialized():
        if _joined not in (None, address):
            raise UsageError(
                f"address: this process has already joined the Ray cluster {_joined}, got {address}"
            )
        return ray  # the caller's own session serves as well
    local = {"include_dashboard": False, "num_cpus": os.cpu_count()} if address == _LOCAL else {}
    with _found_modules():
        try:
            host, colon, port = address.removeprefix("ray://").rpartition(":")
            if colon:  # in seconds, whether anybody answers: Ray tries for minutes
                socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK_SECONDS).close()
            _in_lasting_thread(
                lambda: ray.init(address=address, log_to_driver=False, logging_level="critical", **local)
            )
        except (OSError, RuntimeError, ValueError) as error:
            found = "".join(str(error).strip().splitlines()[:1]) or type(error).__name__
            if "InvalidAuthToken" in str(error.__cause__):
                found = "it needs a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN if no file has it"
            raise UsageError(
                f"address: cannot connect to a Ray cluster at {shown(address)} ({found})"
            ) from error
    _joined = address
    atexit.register(ray.shutdown)  # by itself, it would first wait for what workers print
    return ray


def _in_lasting_thread(call: Callable[[], Any]) -> None:
    """Make a call in a thread that stays as long as the process.

    What Ray starts ends with the thread that started it, and its handling of signals, which would take the
    place of a run's own, is the main thread's alone.
    """
    made: Future[None] = Future()

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            made.set_exception(error)
            return
        made.set_result(None)
        threading.Event().wait()

    threading.Thread(target=run, name="ray", daemon=True).start()
    made.result()


@contextmanager
def _found_modules() -> Iterator[None]:
    """Let a cluster that is started here import all modules that this process can import."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


class _Actor(Bench):
    """A bench in the cluster, which also tells where the models work that were sent to it."""

    def reply_to(self, packed: bytes) -> Any:
        reply = super().reply_to(packed)
        return reply, {name: told for name, each in LOADED_MODELS.items() if (told := each.device)}


class RayWorker:
    """One actor of the cluster at an address, which is its ``kind``; a new one where it dies."""

    batch_seconds = 0.25  # a batch travels for some milliseconds

    def __init__(self, kind: str) -> None:
        import ray

        self.kind, self._ray = kind, ray
        self._actor: Any = None
        self._packed: Any = None
        self._is_over = False
        self._gpus = 0.0
        self._lock = threading.Lock()

    def stand_by(self) -> None:
        """Wait until the cluster has a place for the actor: what is handed to it would wait as long."""
        with suppress(WorkerError, self._ray.exceptions.RayError):  # told when it has something to do
            self._start()

    def is_ready_for(self, packed: bytes) -> bool:
        """Send what is to be done, to an actor with its part of a GPU; false if it cannot be done there."""
        global _stored
        gpus = _share if GPU_MARK.encode() in packed else self._gpus
        if gpus != self._gpus:
            with self._lock:
                self._drop()
                self._gpus = gpus
        with _LOCK:
            if _stored is None or _stored[0] is not packed:
                _stored = packed, self._ray.put(packed)
            self._packed = _stored[1]
        return self._get_reply(None) is not None

    def begin(self, batch: Sequence[Any]) -> Callable[[], tuple[list[Any], float] | None]:
        """Send a batch, and return who waits for its reply; one that is lost is sent again."""
        from multiprocessing.reduction import ForkingPickler

        packed = bytes(ForkingPickler.dumps(list(batch)))
        actor = self._actor
        sent = None if actor is None else (actor, actor.reply_to.remote(packed))
        return lambda: results_in(self._get_reply(packed, sent))

    @property
    def is_there(self) -> bool:
        return self._actor is not None and not self._is_over and self._ray.is_initialized()

    def end(self) -> None:
        """End the actor; nobody waits for what it is working on."""
        global _stored
        with _LOCK:
            _stored = None  # those that still work have it themselves
        with self._lock:
            self._is_over, self._packed = True, None
            self._drop()

    def _get_reply(self, batch: bytes | None, sent: tuple[Any, Any] | None = None) -> Any:
        """Return the reply to a batch or to ``sent``; a new actor receives the work first."""
        errors, lost = self._ray.exceptions, None
        for _ in range(_TRIES):
            try:
                if sent is None:
                    if self._start() and batch is not None:
                        self._ray.get(self._actor.reply_to.remote(self._packed))
                    actor = self._actor
                    sent = actor, actor.reply_to.remote(self._packed if batch is None else batch)
                reply, devices = self._ray.get(sent[1])
                for model, device in devices.items():
                    DEVICES_OF_WORKERS.setdefault(model, set()).add(device)
                return reply
            except errors.RayTaskError as error:
                told = (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
                raise WorkerError(f"a worker of the Ray cluster failed: {told}") from error
            except errors.RayError as error:
                with self._lock:
                    if sent is None or sent[0] is self._actor:  # nobody has replaced it meanwhile
                        self._drop()
                lost, sent = error, None
        raise WorkerError(
            f"a worker of the Ray cluster ended {_TRIES} times before it finished; it may have run out of "
            "memory. To use this machine alone, add --engine processes"
        ) from lost

    def _start(self) -> bool:
        """Make sure that there is an actor; true if it is a new one."""
        with self._lock:
            if self._is_over:
                raise WorkerError("the work was canceled")
            if self._actor is not None:
                return False
            # On this machine it is the caller who says how many work; a cluster counts its cores, or GPUs.
            needs = {"num_cpus": 0 if self.kind == _LOCAL or self._gpus else 1, "num_gpus": self._gpus}
            made: Any = self._ray.remote(_Actor).options(**needs, max_restarts=0)
            self._actor = actor = made.remote()
        found = self._ray.get(actor.version.remote())
        if found != __version__:
            raise WorkerError(
                f"the Ray cluster: expected rag-evaluation-framework {__version__}, got {found}"
            )
        return True

    def _drop(self) -> None:
        actor, self._actor = self._actor, None
        if actor is not None:
            with suppress(Exception):  # it is gone already, or the whole cluster is
                self._ray.kill(actor)
