"""``rag-eval score --workers`` over real answers, by processes and by Ray: by the clock, and in CPU time.

On a machine with other work the clock says little. The CPU time of one worker over that of several, spread
over the cores, is a bound that is not reached: what the first process does alone is not taken away. Of
several tries, one number of workers after the other, the quickest counts. Systems are compared by processes
too: a system scores a text by its n-th nearest. Where Ray is installed, the same command joins a cluster that
runs already, and texts are embedded and searched there; its workers' CPU time is not seen, nor is that of
processes that go on to the next try. To join takes two seconds, so that nobody does for a small job: the work
there is four times as much.

Two cores of a shared machine are seldom twice as fast as one. What two processes do that know nothing of each
other, over what one does in the same time, is printed first: no number of workers gives more than that.
"""

from __future__ import annotations

import logging
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import islice, product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.scoring_commands import METRICS, samples
from rag_evaluation_framework.files.access import open_reading
from rag_evaluation_framework.files.strict_json import write_lines
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.results.comparison import compare_systems
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder, RememberingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore, Matrix, nearest
from rag_evaluation_framework.workers import Crew

SAMPLES, COUNTS, TRIES = 10_000, (1, 2), 3
OF_A_CLUSTER, TEXTS = 40_000, 100_000
SEARCHED, SYSTEMS, K = 20_000, 64, 20

Taken = tuple[float, float]
"""Seconds by the clock, and of CPU as far as it is seen."""


def main() -> None:
    """Print what each number of workers takes, and whether all of them write the same."""
    print(f"two processes that only count do {machine():.2f} times as much as one")
    records = list(samples(OF_A_CLUSTER))
    results: dict[str, set[bytes]] = {name: set() for name in METRICS}
    with tempfile.TemporaryDirectory() as folder:
        data, runs = Path(folder) / "answers.jsonl", Path(folder) / "runs"

        def scored(count: int, *options: str, named: str = "faithfulness") -> Taken:
            metrics = [part for metric in METRICS[named] for part in ("-m", metric)]
            taken = _scored(data, runs, *metrics, "--workers", str(count), *options)
            with open_reading(next(runs.glob("*/blame.jsonl.zst"))) as blames:
                results[named].add(b"".join(islice(blames, SAMPLES)))
            shutil.rmtree(runs)
            return taken

        write_lines(data, records[:SAMPLES])
        what = "answers with 5 contexts, faithfulness and blame"
        compare(f"{SAMPLES:,} {what}, processes", scored)
        compare("five usual metrics and blame, processes", partial(scored, named="five usual metrics"))
        texts = [text for record in records for text in record["contexts"]]
        texts = [f"{number} {texts[number % len(texts)]}" for number in range(TEXTS)]
        vectors = HashingEmbedder().embed(texts[:SEARCHED])
        systems, tested = _systems(vectors), list[Any]()
        what_is_tested = f"{SYSTEMS - 1} systems against one over {SEARCHED:,} texts, processes"
        compare(what_is_tested, lambda count: _compared(systems, count, tested))
        if find_spec("ray") is None:
            print("Ray is not installed: pip install 'rag-evaluation-framework[ray]'")
        else:
            address = _started()
            write_lines(data, records)
            compare(
                f"{OF_A_CLUSTER:,} {what}, Ray",
                lambda count: scored(count, "--engine", "ray", "--address", address),
            )
            compare(f"{TEXTS:,} texts hashed, Ray", lambda count: _embedded(texts, count, address))
            store, found = ExactVectorStore(), list[Any]()
            chunks = [PositionAwareChunk(text, text, text, 0, 1) for text in texts[:SEARCHED]]
            store.add(chunks, vectors)  # type: ignore[arg-type]  # an array is a list of lists to ours
            compare(
                f"the {K} nearest to each of {SEARCHED:,} texts among all of them, Ray",
                lambda count: _searched(store, vectors, Crew(count, "ray", address), found),
            )
            print(f"the same hits: {all(each == found[0] for each in found)}")
    print(f"the same bytes: {all(len(each) < 2 for each in results.values())}")
    print(f"the same tests: {all(each == tested[0] for each in tested)}")


def machine() -> float:
    """Return how much two processes do in the time in which one does its own, the median of several tries."""
    program = "import time; began, n = time.perf_counter(), 0\nfor each in range(30_000_000): n += each % 7"
    command = [sys.executable, "-c", f"{program}\nprint(time.perf_counter() - began)"]

    def seconds(count: int) -> float:
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
        return max(float(each.communicate()[0]) for each in running)

    return median(2 * seconds(1) / seconds(2) for _ in range(2 * TRIES + 1))


def compare(what: str, run: Callable[[int], Taken]) -> None:
    """Print the quickest of several tries for each number of workers."""
    print(f"{what}; load {os.getloadavg()[0]:.1f}", flush=True)
    taken: dict[int, list[Taken]] = {count: [] for count in COUNTS}
    for _, count in product(range(TRIES), COUNTS):
        taken[count].append(run(count))
    for count, tries in taken.items():
        (clock, cpu), (clock_of_one, cpu_of_one) = min(tries), min(taken[1])
        best = cpu_of_one / (cpu / min(count, os.cpu_count() or 1))
        figures = f"{clock:6.1f} s ({clock_of_one / clock:.2f}x)   {cpu:6.1f} s CPU, at best {best:.2f}x"
        print(f"  {count} workers   {figures}   all tries {', '.join(f'{each:.1f}' for each, _ in tries)}")


def _scored(data: Path, runs: Path, *options: str) -> Taken:
    """Return what one command takes, its worker processes included."""
    program = "from rag_evaluation_framework.cli.main import main; main()"
    command = [sys.executable, "-c", program, "score", str(data), *options, "--runs-dir", str(runs)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, cpu


def _started() -> str:
    """Start a Ray cluster that lasts as long as this process, and return its address."""
    import ray

    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.CRITICAL)
    return str(ray.get_runtime_context().gcs_address)


def _embedded(texts: list[str], count: int, address: str) -> Taken:
    embedder = RememberingEmbedder(HashingEmbedder())
    embedder.workers = Crew(count, "ray", address)
    began, cpu = time.perf_counter(), time.process_time()
    embedder.embed(texts)
    return time.perf_counter() - began, time.process_time() - cpu


def _searched(store: ExactVectorStore, vectors: Matrix, crew: Crew, found: list[Any]) -> Taken:
    began, cpu = time.perf_counter(), time.process_time()
    found.append(store.search_many(vectors, K, workers=crew))  # type: ignore[arg-type]
    return time.perf_counter() - began, time.process_time() - cpu


def _systems(vectors: Matrix) -> dict[str, dict[str, dict[str, float]]]:
    _, scores = nearest(vectors, vectors, SYSTEMS, tie_order=lambda: np.arange(len(vectors)))
    return {
        f"nearest {place}": {"mrr": {str(text): score for text, score in enumerate(of_one.tolist())}}
        for place, of_one in enumerate(scores.T)
    }


def _compared(systems: dict[str, Any], count: int, tested: list[Any]) -> Taken:
    began, cpu = time.perf_counter(), time.process_time()
    mrr = [parse_metric("mrr")]
    tested.append(compare_systems(systems, mrr, baseline="nearest 0", workers=lambda: Crew(count)))
    return time.perf_counter() - began, time.process_time() - cpu


if __name__ == "__main__":
    main()
