"""How often ``compare`` and A/B experiments err, and how often they find what is there: simulated.

Two runs over the same questions: scores vary between questions and, less, between runs. Where thresholds
decide, an answer is right if its first score is above 0.5, and two more metrics follow the first with noise.
Experiments give each unit to one of two systems, whose answers are right at a rate, and are looked at daily.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework import Comparison
from rag_evaluation_framework.results.comparison import ScoredMetric, ScoredRun, compare_scored
from rag_evaluation_framework.results.verdicts import AnswerChanges, ChangedAnswer
from rag_evaluation_framework.statistics.intervals import normal_two_sided
from rag_evaluation_framework.statistics.paired import flips_p_value, smallest_detectable_difference
from rag_evaluation_framework.statistics.sequential import always_valid_p, guarded_variance, sequential_size

REPETITIONS = 5_000
SIZES = (20, 50, 100, 300)
NOISE = 0.1
SPREAD = NOISE * 2**0.5
"""The standard deviation of a difference of two runs' scores."""
LEAST_UNITS = 20


def compared(
    rng: np.random.Generator, n: int, effect: float, *, metrics: int, thresholds: bool
) -> Comparison:
    """Compare two simulated runs, the second of which is better by an effect, as the command does."""
    difficulty = rng.normal(0.5, 0.3, n)
    before, after = (difficulty + shift + rng.normal(0.0, NOISE, n) for shift in (0.0, effect))
    names = [str(place) for place in range(n)]
    runs = []
    for name, scores in (("old", before), ("new", after)):
        values = [scores, *(scores + rng.normal(0.0, NOISE, n) for _ in range(metrics - 1))]
        found = {
            f"m{place}": ScoredMetric("exact", 1, True, names, each) for place, each in enumerate(values)
        }
        runs.append(ScoredRun(name=name, dataset_id="d", dataset_hash="h", metrics=found))
    comparison = compare_scored(runs, resamples=1_000, seed=int(rng.integers(2**31)))
    if not thresholds:
        return comparison
    passed, passes = before >= 0.5, after >= 0.5
    worse, better = int((passed & ~passes).sum()), int((passes & ~passed).sum())
    p_worse = flips_p_value(worse, better)
    answer = ChangedAnswer(dataset="d", id="q", question="q")
    changes = AnswerChanges(
        baseline="old",
        contender="new",
        worse=(answer,) * worse,
        better=(answer,) * better,
        same=n - worse - better,
        p_value=2 * min(p_worse, 1 - p_worse),
        is_tested=True,
    )
    return replace(comparison, answers=(changes,))


def claims(
    n: int, effect: float, *, metrics: int = 1, thresholds: bool = False, repetitions: int, seed: int = 1
) -> Iterator[str]:
    """Yield the verdict of each repetition; *no worse* and *undecided* claim nothing."""
    rng = np.random.default_rng([seed, n, metrics, int(thresholds), round(1e6 * effect)])
    for _ in range(repetitions):
        yield compared(rng, n, effect, metrics=metrics, thresholds=thresholds).verdict


def false_claims(verdicts: Sequence[str]) -> float:
    """Return the share of repetitions that claim a difference, either way."""
    return sum(each in ("worse", "better") for each in verdicts) / len(verdicts)


def peeking(
    rng: np.random.Generator,
    rate: float,
    effect: float,
    *,
    scale: float,
    days: int,
    a_day: int,
    naive: bool = False,
) -> bool:
    """Tell whether an experiment looked at daily ever shows a difference; ``naive``: tested anew each day."""
    total = days * a_day
    treated = rng.random(total) < 0.5
    right = rng.random(total) < np.where(treated, rate + effect, rate)
    for day in range(1, days + 1):
        arms = [right[: day * a_day][treated[: day * a_day] == side].astype(float) for side in (False, True)]
        if min(map(len, arms)) < LEAST_UNITS:
            continue
        variance = sum((guarded_variance(each, is_share=True) or 0.0) / len(each) for each in arms)
        difference = float(arms[1].mean() - arms[0].mean())
        p = always_valid_p(difference, variance, scale=scale)
        if naive:
            p = normal_two_sided(difference / math.sqrt(variance))
        if p <= 0.05:
            return True
    return False


def main() -> None:
    """Print the tables; a number given is that of repetitions."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdecimal() else REPETITIONS
    print(f"Claims without an effect, of {repetitions:,} comparisons\n")
    print("| answers | one metric | thresholds, one metric | thresholds, three metrics |")
    print("| ---: | ---: | ---: | ---: |")
    for n in SIZES:
        shares = [
            false_claims(
                list(claims(n, 0.0, metrics=metrics, thresholds=thresholds, repetitions=repetitions))
            )
            for metrics, thresholds in ((1, False), (1, True), (3, True))
        ]
        print(f"| {n:,} | " + " | ".join(f"{each:.4f}" for each in shares) + " |", flush=True)
    print("\n| answers | half of what is visible: better | worse | what is visible: better | worse |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    few = min(repetitions, 1_000)
    for n in SIZES:
        visible = smallest_detectable_difference(SPREAD, n)
        row = []
        for share in (0.5, 1.0):
            found = list(claims(n, share * visible, repetitions=few))
            row += [found.count("better") / few, found.count("worse") / few]
        print(f"| {n:,} | " + " | ".join(f"{each:.3f}" for each in row) + " |", flush=True)
    rng = np.random.default_rng(1)
    print(
        "\n| right | 30 days, 20 a day | 60 days, 100 a day | anew each day, 60 days | planned difference |"
    )
    print("| ---: | ---: | ---: | ---: | ---: |")
    for rate in (0.5, 0.9):
        a_day = sequential_size(0.05, math.sqrt(rate * (1 - rate))) // 30 + 1
        cells = [
            np.mean([peeking(rng, rate, 0.0, scale=0.05, days=30, a_day=20) for _ in range(few)]),
            np.mean([peeking(rng, rate, 0.0, scale=0.05, days=60, a_day=100) for _ in range(few)]),
            np.mean(
                [peeking(rng, rate, 0.0, scale=0.05, days=60, a_day=100, naive=True) for _ in range(few)]
            ),
            np.mean([peeking(rng, rate, 0.05, scale=0.05, days=30, a_day=a_day) for _ in range(few)]),
        ]
        print(f"| {rate} | " + " | ".join(f"{each:.3f}" for each in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
