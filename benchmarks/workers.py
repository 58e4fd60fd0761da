"""``rag-eval score --workers`` over real answers: the time by the clock, and the CPU time of all processes.

On a machine with other work the clock says little. The CPU time of one worker over that of several, spread
over the cores, is a bound that is not reached: what the first process does alone is not taken away. Of
several tries, one number of workers after the other, the quickest counts.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from benchmarks.scoring_commands import samples
from rag_evaluation_framework.files.strict_json import write_lines

SAMPLES, COUNTS, TRIES = 10_000, (1, 2), 3


def main() -> None:
    """Print what each number of workers takes, and whether all of them write the same."""
    cores = os.cpu_count() or 1
    print(f"{SAMPLES:,} answers with 5 contexts, faithfulness and blame; load {os.getloadavg()[0]:.1f}")
    taken: dict[int, list[tuple[float, float]]] = {count: [] for count in COUNTS}
    results: set[bytes] = set()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "answers.jsonl"
        write_lines(data, samples(SAMPLES))
        for number, count in product(range(TRIES), COUNTS):
            runs = Path(folder) / f"{number}-{count}"
            taken[count].append(_scored(data, count, runs))
            results.add(next(runs.glob("*/blame.jsonl")).read_bytes())
            shutil.rmtree(runs)
    for count, tries in taken.items():
        (clock, cpu), (clock_of_one, cpu_of_one) = min(tries), min(taken[1])
        best = cpu_of_one / (cpu / min(count, cores))
        figures = f"{clock:6.1f} s ({clock_of_one / clock:.2f}x)   {cpu:6.1f} s CPU, at best {best:.2f}x"
        print(f"  {count} workers   {figures}   all tries {', '.join(f'{each:.1f}' for each, _ in tries)}")
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
