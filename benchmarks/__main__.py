"""Run the benchmarks, or those named: ``python -m benchmarks ranking statistics``."""

from __future__ import annotations

import os
import platform
import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
# Run when named: what searches for faults at length, a quarter of an hour of embedding, what needs torch, and
# the two parts of ``datasets``.
WHEN_NAMED = {
    "chroma_report",
    "dataset_build",
    "dataset_validation",
    "devices",
    "fuzz",
    "guided_fuzz",
    "mutation",
    "soak",
    "traces",
}
# No benchmarks: they write files.
TOOLS = {"cards", "text_shifts"}


def processor() -> str:
    """Return the processor's name, as far as the system tells."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def main() -> None:
    known = sorted(
        path.stem for path in FOLDER.glob("*.py") if path.stem[0] != "_" and path.stem not in TOOLS
    )
    chosen = sys.argv[1:] or [name for name in known if name not in WHEN_NAMED]
    unknown = [name for name in chosen if name not in known]
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(known)}")
    print(f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for name in chosen:
        module = import_module(f"benchmarks.{name}")
        print(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}\n", flush=True)
        module.main()


if __name__ == "__main__":
    main()
