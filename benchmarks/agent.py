"""Runs against an agent over HTTP: throughput, CPU and memory, journal and scoring included; and peers.

``--memory`` adds a run of 100,000 samples. ``--peers FOLDER`` adds inspect_ai, promptfoo and deepeval on the
same agent; they are installed into that folder where they are not there yet.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._agent_peers import PEERS, peer_seconds
from benchmarks._instant_agent import running_agent


def main() -> None:
    """Print what runs take, each in a process of its own."""
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
    ideal, samples = 400.0, 12_000
    with running_agent(delay=1.0) as url:
        took = _run(url, samples=samples, concurrency=400)
    rate = samples / took["seconds"]
    print(f"answers after 1 s, 400 in flight, {samples:,} samples, the careful start included")
    print(f"  {rate:6.1f} samples/s of {ideal:.0f} ideal: {rate / ideal:.1%}\n")


def _cpu() -> None:
    print("answers at once, 5,000 samples      samples/s   client CPU ms a sample")
    with running_agent() as url:
        for concurrency in (16, 64, 256):
            took = _run(url, samples=5_000, concurrency=concurrency)
            each = 1000 * took["run_cpu_seconds"] / 5_000
            print(
                f"  {concurrency:>4} in flight                 {5_000 / took['seconds']:10.0f}   {each:10.2f}"
            )
    print()


def _memory() -> None:
    print("memory of the process, MB")
    with running_agent() as url:
        for samples in (1_000, 10_000, 100_000):
            took = _run(url, samples=samples, concurrency=64)
            print(f"  {samples:>7,} samples   {took['megabytes']:6.0f}   {took['seconds']:6.1f} s")
    print()


def _peers(folder: Path) -> None:
    samples, concurrency = 1_000, 40
    print(f"{samples:,} samples, {concurrency} in flight; whole programs, start included")
    for delay in (0.0, 0.1):
        floor = samples / concurrency * delay
        print(f"  answers after {delay} s: the floor is {floor:.1f} s")
        with running_agent(delay=delay) as url:
            ours = _run(url, samples=samples, concurrency=concurrency)["whole_seconds"]
            print(f"    {'rag-eval':12} {ours:6.1f} s", flush=True)
            for peer in PEERS:
                seconds = peer_seconds(peer, folder, url=url, samples=samples, concurrency=concurrency)
                if isinstance(seconds, str):
                    print(f"    {peer:12} not measured: {seconds}", flush=True)
                else:
                    print(f"    {peer:12} {seconds:6.1f} s   {seconds / ours:5.1f}x", flush=True)
    print()


def _run(url: str, *, samples: int, concurrency: int) -> dict[str, Any]:
    """Make one run in a fresh process, and return what it took."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks._agent_run", url, str(samples), str(concurrency), folder],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(done.stderr)
    took: dict[str, Any] = json.loads(done.stdout)
    return took


if __name__ == "__main__":
    main()
