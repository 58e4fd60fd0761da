"""``rag-eval evaluate`` against an agent over HTTP: whole commands, from start to exit; and peers.

The questions are real ones (MTRAG's) where the labelled data is there, and come round again. ``--memory``
adds a run of 100,000 samples. ``--peers FOLDER`` adds inspect_ai, promptfoo and deepeval on the same agent;
they are installed into that folder where they are not there yet.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks._agent_peers import PEERS, peer_seconds
from benchmarks._instant_agent import running_agent
from benchmarks._labelled_data import DATA
from benchmarks.scoring_commands import RAG_EVAL

TRIES = 5


class Took(NamedTuple):
    """What a whole command took."""

    seconds: float
    cpu_seconds: float
    megabytes: float


def questions(count: int) -> list[str]:
    """Return so many questions, each with its number, so that none comes twice."""
    files = sorted(DATA.glob("mtrag/retrieval_*_questions.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    known = [json.loads(line)["text"].rpartition("|user|: ")[2] for line in lines] or [
        "what is the capital of France?"
    ]
    return [f"Question {number}: {known[number % len(known)]}" for number in range(count)]


def evaluated(url: str, *, samples: int, concurrency: int) -> Took:
    """Put samples to the agent by the command, in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        rows = ({"id": f"{n}", "question": q, "reference": "Paris"} for n, q in enumerate(questions(samples)))
        path = Path(folder) / "asked.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        command = [*RAG_EVAL, "evaluate", path.name, "--url", f"{url}/v1/chat/completions"]
        command += ["-m", "string_match", "--concurrency", f"{concurrency}"]
        with (Path(folder) / "told").open("w+") as told:
            began = time.perf_counter()
            with subprocess.Popen(command, cwd=folder, stdout=told, stderr=told) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.perf_counter() - began
            told.seek(0)
            shown = told.read()
    if process.returncode or "1.000" not in shown:
        sys.exit(shown)
    return Took(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> None:
    """Print what commands take."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peers", type=Path)
    options, _ = parser.parse_known_args()
    _throughput()
    _cpu()
    if options.memory:
        _memory()
    if options.peers:
        _peers(options.peers)


def _throughput() -> None:
    ideal, samples = 400.0, 10_000
    with running_agent(delay=1.0) as url:
        took = evaluated(url, samples=samples, concurrency=400)
    share = samples / took.seconds / ideal
    print(f"answers after 1 s, 400 in flight, {samples:,} samples, the whole command")
    print(f"  {took.seconds:.1f} s, ideal {samples / ideal:.1f} s: {share:.1%} of it, 85 % asked for\n")


def _cpu() -> None:
    samples = 5_000
    print(f"answers at once, {samples:,} samples      samples/s   CPU ms a sample, the whole command")
    with running_agent() as url:
        for concurrency in (16, 64, 256):
            took = evaluated(url, samples=samples, concurrency=concurrency)
            each = 1000 * took.cpu_seconds / samples
            print(f"  {concurrency:>4} in flight{samples / took.seconds:27.0f}{each:13.2f}", flush=True)
    print()


def _memory() -> None:
    print("memory of the command, MB")
    with running_agent() as url:
        for samples in (1_000, 10_000, 100_000):
            took = evaluated(url, samples=samples, concurrency=64)
            print(f"  {samples:>7,} samples   {took.megabytes:6.0f}   {took.seconds:6.1f} s", flush=True)
    print()


def _peers(folder: Path) -> None:
    samples, concurrency = 1_000, 40
    print(f"{samples:,} samples, {concurrency} in flight; whole programs, the median of {TRIES} in turn")
    for delay in (0.0, 0.1):
        print(f"  answers after {delay} s: the floor is {samples / concurrency * delay:.1f} s")
        taken: dict[str, list[float]] = {name: [] for name in ("rag-eval", *PEERS)}
        failed: dict[str, str] = {}
        with running_agent(delay=delay) as url:
            for _ in range(TRIES):
                taken["rag-eval"].append(evaluated(url, samples=samples, concurrency=concurrency).seconds)
                for peer in PEERS:
                    seconds = peer_seconds(peer, folder, url=url, samples=samples, concurrency=concurrency)
                    if isinstance(seconds, str):
                        failed[peer] = seconds
                    else:
                        taken[peer].append(seconds)
        ours = statistics.median(taken["rag-eval"])
        for name, times in taken.items():
            took = statistics.median(times) if times else 0.0
            told = f"{took:6.2f} s   {took / ours:5.1f}x" if times else failed[name]
            print(f"    {name:12} {told}", flush=True)
    print()


if __name__ == "__main__":
    main()
