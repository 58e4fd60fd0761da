"""Evaluate, score, load, merge and resume for as long as one likes: nothing grows, nothing is lost.

``python -m benchmarks.soak [SECONDS] [SEED]`` (``make soak``) runs for ten minutes unless told otherwise. One
process goes through all of it again and again, and its memory, open files, threads and children are watched.
In between a command is killed outright at a moment drawn at random, as often as it takes, and resumed: its
journal must in the end hold the same scores as that of a command that nobody killed.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from rag_evaluation_framework import Evaluation, Options, evaluate, load

SECONDS = 600
SAMPLES = 300
_WARM_ROUNDS = 5
"""What is loaded and cached in the first rounds does not count as growth."""
_MOST_GROWTH_MB = 12.0
_PROGRAM = "from rag_evaluation_framework.cli.main import main; main()"
_METRICS = ("string_match", "token_f1", "faithfulness", "context_recall")
_TARGET = """
import time

def slowly(request):
    time.sleep(0.002)
    return {"text": f"The fare is {len(request.question)} pounds.", "contexts": ["The fare is 9 pounds."]}
"""


def rows() -> list[dict[str, Any]]:
    """Return answers to questions of which each is another."""
    return [
        {
            "id": f"s{number}",
            "question": f"What is the fare to pier {number}?",
            "answer": f"The fare to pier {number} is {number % 7} pounds. It left at {number % 24}:00.",
            "reference": f"{number % 5} pounds",
            "contexts": [
                f"Pier {number}: single {number % 5} pounds.",
                f"The boat left at {number % 24}:00.",
            ],
        }
        for number in range(SAMPLES)
    ]


def held() -> dict[str, float]:
    """Return what this process holds: memory in MB, open files, threads, and processes it started."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    memory = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return {
        "memory in MB": memory,
        "open files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "threads": threading.active_count(),
        "processes": len(children),
    }


def _once(folder: Path, data: list[dict[str, Any]], expected: list[Any]) -> None:
    """Go through everything once; each way to the scores gives the same."""
    runs = folder / "runs"
    options = Options(workers=1)
    whole = evaluate(data, metrics=_METRICS, runs_directory=runs, options=options)
    assert _scores(whole) == expected, "evaluated otherwise than before"
    assert whole.folder is not None
    again = load(whole.folder)
    assert isinstance(again, Evaluation)
    assert _scores(again) == expected, "loaded otherwise than it was evaluated"
    resumed = evaluate(data, metrics=_METRICS, runs_directory=runs, resume=whole.head.run_id, options=options)
    assert _scores(resumed) == expected, "resumed otherwise than it was evaluated"
    rescored = evaluate(again, metrics=_METRICS[:2], options=options)
    assert rescored.counts.finished == len(expected)
    halves = [evaluate(half, metrics=_METRICS[:2], options=options) for half in (data[::2], data[1::2])]
    assert halves[0].merge(halves[1]).counts.finished == len(expected)
    again.save(folder / "page.html")
    shutil.rmtree(runs)


def _scores(evaluation: Evaluation) -> list[Any]:
    return [
        (row.id, [(each.metric, each.status, each.value) for each in row.result.scores])
        for row in evaluation.rows
    ]


def _command(folder: Path, runs: Path, *more: str) -> subprocess.Popen[bytes]:
    arguments = ["evaluate", "agent.yaml", "--target", "slow_target:slowly", "--runs-dir", str(runs), *more]
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _written(runs: Path) -> dict[str, Any]:
    """Return the scores that the only run of a folder keeps, by sample."""
    (head,) = runs.glob("*/head.json")
    evaluation = load(head.parent)
    assert isinstance(evaluation, Evaluation)
    return dict(_scores(evaluation))


def _killed_and_resumed(folder: Path, number: int, chance: random.Random, calm: float) -> int:
    """Kill a command, which takes ``calm`` seconds, until it gets to its end; return how often."""
    runs = folder / f"killed{number}"
    kills = 0
    while True:
        # A kill before a run has begun leaves nothing to resume.
        begun = any(runs.glob("*/head.json"))
        process = _command(folder, runs, *(("--resume",) if begun else ()))
        patience = calm * (0.2 + chance.random() * (1.0 + kills / 4))
        try:
            code = process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        said = process.communicate()[1].decode()
        assert code in (0, 1), f"ended with {code}: {said[-2000:]}"
        break
    expected = _written(folder / "calm")
    found = _written(runs)
    assert found == expected, f"{len(expected)} samples were expected, {len(found)} found, or others"
    shutil.rmtree(runs)
    return kills


def _project(folder: Path, data: list[dict[str, Any]]) -> float:
    """Write what a command evaluates, and return the seconds it takes if nobody kills it."""
    samples = [
        {"id": each["id"], "input": each["question"], "expected": each["reference"]} for each in data[:100]
    ]
    (folder / "samples.jsonl").write_text("".join(json.dumps(each) + "\n" for each in samples))
    (folder / "slow_target.py").write_text(_TARGET)
    (folder / "agent.yaml").write_text(
        "apiVersion: agentspec.io/v1\nkind: AgentSpec\nmetadata: {name: soak, version: 1.0.0}\n"
        "spec:\n  evaluation:\n    framework: custom\n    metrics: [string_match, token_f1]\n"
        '    datasets: [{name: fares, path: "$file:samples.jsonl"}]\n'
    )
    began = time.monotonic()
    calm = _command(folder, folder / "calm")
    said = calm.communicate()[1].decode()
    assert calm.returncode in (0, 1), said
    return time.monotonic() - began


def main(seconds: int = SECONDS, seed: int = 0) -> int:
    """Print what is held every half minute; return how many things grew."""
    chance, data = random.Random(seed), rows()
    began = told = time.monotonic()
    rounds = kills = 0
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calm = _project(folder, data)
        expected = _scores(evaluate(data, metrics=_METRICS, options=Options(workers=1)))
        while time.monotonic() - began < seconds or rounds <= _WARM_ROUNDS:
            _once(folder, data, expected)
            rounds += 1
            if rounds % 3 == 0:
                kills += _killed_and_resumed(folder, rounds, chance, calm)
            if rounds == _WARM_ROUNDS:
                first = held()
            if time.monotonic() - told > 30:
                told = time.monotonic()
                seen = f"{told - began:5.0f} s  {rounds} rounds  {kills} kills"
                print(f"  {seen}  {_worded(held())}", flush=True)
        last = held()
    print(f"{rounds} rounds of {SAMPLES} answers, {kills} kills; at first {_worded(first)}")
    print(f"at the end {_worded(last)}")
    allowed = {"memory in MB": _MOST_GROWTH_MB}
    grown = [what for what in last if last[what] > first[what] + allowed.get(what, 0)]
    for what in grown:
        print(f"GROWN {what}: from {first[what]:.0f} to {last[what]:.0f}")
    if not kills:
        print("NOTHING KILLED: every command was at its end before")
    return len(grown) + (not kills)


def _worded(found: dict[str, float]) -> str:
    return ", ".join(f"{what} {value:.0f}" for what, value in found.items())


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
