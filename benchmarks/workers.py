"""``rag-eval score --workers`` over real answers: the time by the clock, and the CPU time of all processes.

On a machine with other work the clock says little. The CPU time of one worker over that of several, spread
over the cores, is a bound that is not reached: what the first process does alone is not taken away.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.scoring_commands import samples
from rag_evaluation_framework.files.strict_json import write_lines

SAMPLES, COUNTS = 10_000, (1, 2)


def main() -> None:
    """Print what each number of workers takes, and whether all of them write the same."""
    cores = os.cpu_count() or 1
    print(f"{SAMPLES:,} answers with 5 contexts, faithfulness and blame; load {os.getloadavg()[0]:.1f}")
    taken: dict[int, tuple[float, float]] = {}
    results: set[bytes] = set()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "answers.jsonl"
        write_lines(data, samples(SAMPLES))
        for count in COUNTS:
            runs = Path(folder) / str(count)
            clock, cpu = _scored(data, count, runs)
            taken[count] = clock, cpu
            results.add(next(runs.glob("*/blame.jsonl")).read_bytes())
            best = taken[1][1] / (cpu / min(count, cores))
            print(f"  {count} workers   {clock:6.1f} s   {cpu:6.1f} s CPU   at best {best:.2f}x by CPU time")
    print(f"  the same bytes: {len(results) == 1}")


def _scored(data: Path, workers: int, runs: Path) -> tuple[float, float]:
    """Return the seconds by the clock and the CPU seconds, those of workers included, of one command."""
    program = "from rag_evaluation_framework.cli.main import main; main()"
    command = [sys.executable, "-c", program, "score", str(data), "-m", "faithfulness"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*command, "--workers", str(workers), "--runs-dir", str(runs), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu


if __name__ == "__main__":
    main()
