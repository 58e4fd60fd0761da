"""The peak memory of a process of its own."""

from __future__ import annotations

from pathlib import Path


def peak_megabytes() -> float:
    """Return this process's peak; ``ru_maxrss`` survives ``exec`` and would start with the parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
