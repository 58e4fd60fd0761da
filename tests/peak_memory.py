"""The peak memory of a process of its own."""

from __future__ import annotations

import inspect


def peak_kib() -> int:
    """Return this process's peak in KiB.

    ``ru_maxrss`` survives ``exec``: a child of a large test process would start with its peak. The
    kernel's ``VmHWM`` starts anew.
    """
    with open("/proc/self/status") as status:  # noqa: PTH123 - needs no import in a child
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


PEAK_SOURCE = inspect.getsource(peak_kib)
"""The function's source, to stand at the top of a child's program."""
