"""The memory and processor time of the evaluation itself, measured from a thread beside it.

Memory is what the process holds resident; the processor's share is in percent of one core. The system under
test is not part of it, unless it runs in this very process.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from pathlib import Path

from rag_evaluation_framework.records.runs import ResourceUsage, Spread

_INTERVAL = 0.5
_STATM = Path("/proc/self/statm")


class ResourceMeter:
    """Measures for as long as its ``with`` block lasts; ``usage`` is there afterwards."""

    def __init__(self, *, interval: float = _INTERVAL) -> None:
        self._interval = interval
        self._memory: list[float] = []
        self._cpu: list[float] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._measure, name="resources", daemon=True)

    def __enter__(self) -> ResourceMeter:
        self._last = (time.perf_counter(), time.process_time())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._take()

    @property
    def usage(self) -> ResourceUsage:
        """The measured usage; available once the block has ended."""
        return ResourceUsage(_spread(self._memory) if self._memory else None, _spread(self._cpu))

    def _measure(self) -> None:
        while not self._ended.wait(self._interval):
            self._take()

    def _take(self) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        passed, spent = wall - self._last[0], cpu - self._last[1]
        self._last = (wall, cpu)
        self._cpu.append(100 * spent / passed if passed > 0 else 0.0)
        if (resident := _resident_megabytes()) is not None:
            self._memory.append(resident)


def _resident_megabytes() -> float | None:
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (AttributeError, OSError):  # only Linux tells it this way
        return None


def _spread(values: list[float]) -> Spread:
    return Spread(
        round(statistics.fmean(values), 1), round(max(values), 1), round(statistics.pstdev(values), 1)
    )
