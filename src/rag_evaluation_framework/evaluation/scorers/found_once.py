"""What is found out about an answer once, though several metrics ask for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample

_KEPT = 256  # more than are scored at the same time

T = TypeVar("T")


class found_once(Generic[T]):  # noqa: N801  # used as a decorator
    """A property that is found when first asked for and then kept, as ``functools.cached_property``.

    That one holds a lock for all objects at once before Python 3.12, so judges would be asked one by one. An
    answer is scored by one thread, so no lock is needed.
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self.__doc__ = find.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        found = owner.__dict__[self._find.__name__] = self._find(owner)
        return found


class LatestOf(Generic[T]):
    """What was found about the latest answers, by the very sample and response; threads may share it."""

    def __init__(self, find: Callable[[Sample, Response], T]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], tuple[Sample, Response, T]] = OrderedDict()

    def of(self, sample: Sample, response: Response) -> T:
        """Return what is found about an answer; the same object for the same sample and response."""
        key = id(sample), id(response)
        with self._lock:
            if key not in self._kept:
                # Sample and response are kept too, so that their ids cannot pass to others meanwhile.
                self._kept[key] = sample, response, self._find(sample, response)
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return self._kept[key][-1]
