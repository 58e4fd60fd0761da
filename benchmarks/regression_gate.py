"""How often the baseline gate fails an agent that did not change, and finds one that got worse.

Each cell simulates pairs of runs: every question is answered correctly with a probability of its own, once
before and once now, and what got worse is asked again. Prints the share of pairs whose exit code is not 0,
and how many answers asking again took. Six pairs of the first cell run through the command as a check.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rag_evaluation_framework.judging.verdict import AnswerVerdict
from rag_evaluation_framework.results.movements import REGRESSIONS, ask_again, movement_between

CORRECT, WRONG = AnswerVerdict("correct"), AnswerVerdict("wrong")
PAIRS, DROP, THROUGH_THE_COMMAND = 2_000, 0.1, 6
PROFILES: Mapping[str, Callable[[random.Random], float]] = {
    "20% of the questions correct 7 times in 10": lambda draw: 0.7 if draw.random() < 0.2 else 1.0,
    "10% of the questions correct 5 times in 10": lambda draw: 0.5 if draw.random() < 0.1 else 1.0,
    "every question correct 19 times in 20": lambda _: 0.95,
}


def simulate_pair(
    n: int, profile: Callable[[random.Random], float], drop: float, seed: int
) -> tuple[bool, int]:
    """Return whether the gate's exit code is not 0 for one pair of runs, and what asking again took."""
    draw = random.Random(seed)
    shares = [profile(draw) for _ in range(n)]
    now = list(shares)
    for place in draw.sample(range(n), round(drop * n)):
        now[place] = 0.0

    def answer(share: float) -> AnswerVerdict:
        return CORRECT if draw.random() < share else WRONG

    def ask(places: Collection[int], times: int) -> Mapping[int, Sequence[AnswerVerdict]]:
        return {place: [answer(now[place]) for _ in range(times)] for place in places}

    before, after = [answer(share) for share in shares], [answer(share) for share in now]
    worse = {
        place: after[place]
        for place in range(n)
        if movement_between([before[place]], [after[place]]) in REGRESSIONS
    }
    found = ask_again(worse, ask)
    return bool(found.became_wrong or found.unconfirmed), found.calls


# Of 40 questions 8 are answered correctly 7 times in 10; each call leaves a line.
_AGENT = """
import random

def answer(question):
    number = int(question.split()[-1].rstrip("?"))
    with open("calls.txt", "a") as calls:
        calls.write(f"{number}\\n")
    is_correct = number % 5 or random.random() < 0.7
    return f"Room {100 + number}." if is_correct else f"Room {500 + number}."
"""
_MANIFEST = """
spec:
  evaluation:
    datasets: [{name: rooms, path: "$file:rooms.jsonl"}]
    metrics: [string_match]
    ciGate: true
    thresholds: {string_match: 0.0}
"""


def pair_through_the_command(folder: Path) -> tuple[int, int]:
    """Return the exit code of a run against its own baseline, and how many calls asking again took."""
    rooms = [{"input": f"Which room has number {n}?", "expected": f"Room {100 + n}."} for n in range(40)]
    (folder / "rooms.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rooms), encoding="utf-8")
    (folder / "noisy.py").write_text(_AGENT, encoding="utf-8")
    (folder / "agent.yaml").write_text(_MANIFEST, encoding="utf-8")
    command = [sys.executable, "-m", "rag_evaluation_framework", "evaluate", "agent.yaml"]
    command += ["--target", "noisy:answer"]
    for options in (["--save-baseline", "main"], ["--baseline", "main"]):
        ended = subprocess.run([*command, *options], cwd=folder, capture_output=True, check=False)
    calls = len((folder / "calls.txt").read_text(encoding="utf-8").splitlines())
    return ended.returncode, calls - 2 * len(rooms)


def main(pairs: int = PAIRS) -> None:
    """Print a line for each profile, number of questions and drop."""
    for name, profile in PROFILES.items():
        for n in (40, 120):
            for drop in (0.0, DROP):
                results = [simulate_pair(n, profile, drop, seed) for seed in range(pairs)]
                share = sum(fails for fails, _ in results) / pairs
                calls = sum(calls for _, calls in results) / pairs
                change = "unchanged" if not drop else f"{drop:.0%} always wrong"
                print(f"{name}; {n} questions; {change}: not passed {share:.3f}, {calls:.1f} calls")
    for number in range(THROUGH_THE_COMMAND):
        with TemporaryDirectory() as folder:
            code, asked_again = pair_through_the_command(Path(folder))
        print(f"pair {number + 1} through the command: exit code {code}, {asked_again} calls")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
