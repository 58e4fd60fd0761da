"""Keeps the last verdicts of a judge, since several metrics ask the same question about the same sample."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

Kept = TypeVar("Kept")

_FAILURES: ContextVar[dict[tuple[int, bytes], Exception] | None] = ContextVar("failures", default=None)


@contextmanager
def scoring_one_answer() -> Iterator[None]:
    """Within it, what failed once has failed for all who ask: the metrics of an answer share their verdicts.

    An endpoint may answer a moment later, and then one metric would have a score and another none.
    """
    token = _FAILURES.set({})
    try:
        yield
    finally:
        _FAILURES.reset(token)


class Memory(Generic[Kept]):
    """The last ``size`` results by key; whoever asks for one that is being made waits for it.

    A failure is raised for everyone who waits. It is kept like a result if ``keeps`` says so, and otherwise
    as long as one answer is scored.
    """

    def __init__(self, size: int, *, keeps: Callable[[BaseException], bool] = lambda _: False) -> None:
        self._size = size
        self._keeps = keeps
        self._lock = threading.Lock()
        self._futures: OrderedDict[bytes, Future[Kept]] = OrderedDict()

    def recall(self, key: bytes, make: Callable[[], Kept]) -> tuple[Kept, bool]:
        """Return the result for a key, made now if it is not known, and whether it was known."""
        failures, place = _FAILURES.get(), (id(self), key)
        if failures and place in failures:
            raise failures[place].with_traceback(None)
        try:
            return self._recalled(key, make)
        except Exception as error:  # whatever it is: raised again
            if failures is not None:
                failures[place] = error
            raise

    def _recalled(self, key: bytes, make: Callable[[], Kept]) -> tuple[Kept, bool]:
        with self._lock:
            known = self._futures.get(key)
            if known is not None:
                self._futures.move_to_end(key)
            future = known or self._futures.setdefault(key, Future())
        if known is not None:
            return known.result(), True
        try:
            future.set_result(make())
        except BaseException as error:  # whatever it is: raised again, here and where others wait
            future.set_exception(error)
            if not self._keeps(error):
                with self._lock:
                    self._futures.pop(key, None)
            raise
        finally:
            self._drop_oldest()
        return future.result(), False

    def _drop_oldest(self) -> None:
        with self._lock:
            while len(self._futures) > self._size:
                self._futures.popitem(last=False)
