"""Bootstrap and randomisation test of 10,000 values with 10,000 resamples, beside scipy's in the same run."""

# ruff: noqa: A005 (run as a module of this package, it hides nothing)

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.stats

from rag_evaluation_framework.statistics.intervals import bootstrap_interval
from rag_evaluation_framework.statistics.paired import paired_randomisation_test

VALUES = 10_000
RESAMPLES = 10_000
REPEATS = 3

# scipy's defaults hold all resamples at once; this many at a time is the kinder setting.
BATCH = 100


def cpu_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the least CPU time of several calls, which other work on the machine disturbs least."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def peak_megabytes(call: Callable[[], object]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def scipy_bootstrap(values: Any, batch: int | None) -> object:
    return scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=RESAMPLES, method="percentile", vectorized=True, batch=batch, rng=0
    )


def scipy_randomisation(a: Any, b: Any) -> object:
    return scipy.stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=BATCH,
        rng=0,
    )


def compare(
    name: str, ours: Callable[[], object], theirs: dict[str, Callable[[], object]], repeats: int
) -> None:
    own_time, own_memory = cpu_seconds(ours, REPEATS), peak_megabytes(ours)
    print(f"{name}\n  {'ours':<24}{own_time:>9.3f} s{own_memory:>10.1f} MB")
    for peer, call in theirs.items():
        taken, memory = cpu_seconds(call, repeats), peak_megabytes(call)
        print(f"  {peer:<24}{taken:>9.3f} s{memory:>10.1f} MB{taken / own_time:>9.1f}x")


def main() -> None:
    rng = np.random.default_rng(0)
    continuous, graded = rng.random(VALUES), rng.integers(0, 11, size=VALUES) / 10
    other = rng.random(VALUES)
    print(f"{VALUES:,} values, {RESAMPLES:,} resamples; CPU time, peak memory, times slower than ours")
    for name, values in (
        ("bootstrap, all values distinct", continuous),
        ("bootstrap, 11 distinct values", graded),
    ):
        compare(
            name,
            partial(bootstrap_interval, values, resamples=RESAMPLES),
            {
                "scipy": partial(scipy_bootstrap, values, None),
                f"scipy, batches of {BATCH}": partial(scipy_bootstrap, values, BATCH),
            },
            repeats=REPEATS,
        )
    compare(
        "paired randomisation test",
        lambda: paired_randomisation_test(continuous, other, resamples=RESAMPLES),
        {f"scipy, batches of {BATCH}": lambda: scipy_randomisation(continuous, other)},
        repeats=1,
    )


if __name__ == "__main__":
    main()
