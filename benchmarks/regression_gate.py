"""How often the baseline gate fails an agent that did not change, and finds one that got worse.

Each cell simulates pairs of runs: every question is answered correctly with a probability of its own, once
before and once now, and what got worse is asked again. Prints the share of pairs whose exit code is not 0,
and how many answers asking again took.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Collection, Mapping, Sequence

from rag_evaluation_framework.judging.verdict import AnswerVerdict
from rag_evaluation_framework.results.movements import REGRESSIONS, ask_again, movement_between

CORRECT, WRONG = AnswerVerdict("correct"), AnswerVerdict("wrong")
PAIRS, DROP = 2_000, 0.1
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


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
