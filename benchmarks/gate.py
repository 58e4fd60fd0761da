"""How often the gate calls a run worse that is not, and how often one that is: simulated, by its own rules.

Both runs are drawn from a noisy agent: each answer fails by itself with 5 %, and the first metric is 0 then;
the others are graded, below 0.5 for an answer that fails and above it for one that does not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework import Threshold
from rag_evaluation_framework.results.regressions import FLIPS_LEVEL, Side, Standing, regressions
from rag_evaluation_framework.statistics.intervals import normal_quantile
from rag_evaluation_framework.statistics.paired import flips_p_value

SIZES = (18, 100, 1_000)
METRICS = (1, 3)
DATASETS = (1, 3)
REPETITIONS = 5_000
FAILING = 0.05
DROPS = (0.10, 0.20, 0.30)
"""The shares of answers that fail in the second run, where it is worse."""
BOUND = 0.5
AT_ONCE = 250
COMPARED_WHOLE = 50
"""In every so many repetitions the comparison is made though it cannot come to anything."""

Array = npt.NDArray[np.float64]
_flips = cache(flips_p_value)


def answers(rng: np.random.Generator, shape: tuple[int, ...], metrics: int, failing: float) -> Array:
    """Draw scores: ``shape`` answers with so many metrics each."""
    fails = rng.random(shape) < failing
    graded = np.where(fails[..., None], 0.0, 0.5) + rng.random((*shape, metrics)) / 2
    graded[..., 0] = ~fails
    return graded


def is_worse(before: Array, after: Array) -> bool:
    """Tell whether the gate's comparison of two runs, dataset by answer by metric, says *worse*."""
    names = {f"m{number}": True for number in range(before.shape[2])}
    thresholds = [Threshold(name, ">=", BOUND) for name in names]
    sides = [
        Side(
            dataset=str(place),
            before=_standings(before[place], names),
            after=_standings(after[place], names),
            metrics=names,
            thresholds=thresholds,
        )
        for place in range(before.shape[0])
    ]
    return regressions("before", sides, min_paired=0.9).word == "worse"


def _standings(scores: Array, names: dict[str, bool]) -> dict[str, Standing]:
    passes: list[bool] = np.all(scores >= BOUND, axis=1).tolist()
    return {
        str(place): Standing(True, is_passing, dict(zip(names, values, strict=True)))
        for place, (is_passing, values) in enumerate(zip(passes, scores.tolist(), strict=True))
    }


def alarms(n: int, metrics: int, datasets: int, *, worse: float, repetitions: int) -> Iterator[bool]:
    """Yield for each repetition whether the second run, whose answers fail with ``worse``, is called worse.

    Where the flips decide, no test is made; nor where no metric fell far enough to be tested, but in every so
    many, which must agree.
    """
    rng = np.random.default_rng([n, metrics, datasets, round(1000 * worse)])
    # Far enough: half as far as Holm's first step asks for, by the normal approximation.
    far = normal_quantile((0.02 if n > 100 else 0.05) / (metrics * datasets))
    for begun in range(0, repetitions, AT_ONCE):
        shape = (min(AT_ONCE, repetitions - begun), datasets, n)
        before, after = answers(rng, shape, metrics, FAILING), answers(rng, shape, metrics, worse)
        passed, passes = (before >= BOUND).all(axis=3), (after >= BOUND).all(axis=3)
        lost, won = (passed & ~passes).sum(axis=(1, 2)), (passes & ~passed).sum(axis=(1, 2))
        differences = after - before
        spread = differences.std(axis=2, ddof=1)
        falls = differences.mean(axis=2) * np.sqrt(n) / np.where(spread > 0, spread, np.inf)
        for place, (down, up) in enumerate(zip(lost.tolist(), won.tolist(), strict=True)):
            flipped = down > 0 and _flips(down, up) <= FLIPS_LEVEL
            can_show = flipped or bool((falls[place] < far).any())
            if flipped and place % COMPARED_WHOLE:
                yield True
            elif can_show or not place % COMPARED_WHOLE:
                found = is_worse(before[place], after[place])
                assert found or not flipped, "flips that are significant fail"
                assert can_show or not found, "a metric that did not fall far is not worse"
                yield found
            else:
                yield False


def share(found: Iterator[bool]) -> float:
    """Return the share of repetitions that were called worse."""
    listed = list(found)
    return sum(listed) / len(listed)


def main() -> None:
    """Print both tables; a number given is that of repetitions."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdecimal() else REPETITIONS
    error = (0.05 * 0.95 / repetitions) ** 0.5
    print(f"Called worse of {repetitions:,} (standard error at .05: {error:.4f})\n")
    print("| answers a dataset | metrics | datasets | same agent |")
    print("| ---: | ---: | ---: | ---: |")
    for n, metrics, datasets in product(SIZES, METRICS, DATASETS):
        rate = share(alarms(n, metrics, datasets, worse=FAILING, repetitions=repetitions))
        print(f"| {n:,} | {metrics} | {datasets} | {rate:.4f} |", flush=True)
    print("\n| answers, one dataset, one metric | " + " | ".join(f"{drop:.0%} fail" for drop in DROPS) + " |")
    print("| ---: |" + " ---: |" * len(DROPS))
    for n in SIZES:
        rates = [share(alarms(n, 1, 1, worse=drop, repetitions=min(repetitions, 2_000))) for drop in DROPS]
        print(f"| {n:,} | " + " | ".join(f"{rate:.2f}" for rate in rates) + " |", flush=True)


if __name__ == "__main__":
    main()
