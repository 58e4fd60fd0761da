"""How often intervals cover the truth; bootstrap and randomisation test beside scipy's; a million values."""

# ruff: noqa: A005 (run as a module of this package, it hides nothing)

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats

from rag_evaluation_framework.statistics.agreement import (
    Estimate,
    Resampling,
    alpha_of_moments,
    cohens_kappa,
    kappa_of_tables,
    krippendorff_alpha,
)
from rag_evaluation_framework.statistics.classification import auroc, confusion, kappa, pearson, spearman
from rag_evaluation_framework.statistics.intervals import mean_interval
from rag_evaluation_framework.statistics.paired import (
    flips_p_value,
    paired_randomisation_test,
    repeated_flips_p_value,
    wilcoxon_test,
)

VALUES = 10_000
MANY = 1_000_000
# Of 1,000 and more nothing is drawn.
DRAWN_FROM = 900
RESAMPLES = 10_000
REPEATS = 3

# scipy's defaults hold all resamples at once; this many at a time is the kinder setting.
BATCH = 100


# The simulation of coverage: sizes of samples, samples of each size, resamples of a bootstrap.
SIZES = (5, 8, 10, 15, 20, 30, 50, 100, 300, 1_000)
SAMPLES = 2_000
RESAMPLES_OF_ONE = 1_000
CLUSTER = 5
ICC = 0.3

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shape:
    """A distribution of scores: how n of them are drawn, and their true mean."""

    draw: Callable[[np.random.Generator, int], Array]
    mean: float
    clustered: bool = False


def mixed(zeros: float, ones: float) -> Shape:
    """Return zeros and ones with these shares; the rest is uniform between them."""
    rest = 1.0 - zeros - ones
    return Shape(lambda rng, n: np.clip((rng.random(n) - zeros) / rest, 0.0, 1.0), mean=ones + rest / 2)


def graded(ones: float) -> Shape:
    """Return grades 0, 0.5 and 1, with this share of ones and as many halves as zeros."""
    shares = [(1 - ones) / 2, (1 - ones) / 2, ones]
    return Shape(lambda rng, n: rng.choice([0.0, 0.5, 1.0], p=shares, size=n), mean=ones + (1 - ones) / 4)


def clustered(rng: np.random.Generator, n: int) -> Array:
    """Return normal values of n clusters of 5, whose members correlate."""
    values: Array = rng.normal(size=(n, 1)) * np.sqrt(ICC) + rng.normal(size=(n, CLUSTER)) * np.sqrt(1 - ICC)
    return values.ravel()


def correct(rng: np.random.Generator, n: int) -> Array:
    """Return right and wrong answers in n clusters of 5, 85 % right."""
    scale = (1 - ICC) / ICC
    shares = rng.beta(0.85 * scale, 0.15 * scale, size=(n, 1))
    is_right: Array = (rng.random((n, CLUSTER)) < shares).astype(np.float64).ravel()
    return is_right


SHAPES: Mapping[str, Shape] = {
    "normal": Shape(lambda rng, n: rng.normal(size=n), mean=0.0),
    "exponential": Shape(lambda rng, n: rng.exponential(size=n), mean=1.0),
    "Beta(8, 1)": Shape(lambda rng, n: rng.beta(8, 1, size=n), mean=8 / 9),
    "20 % zeros, 40 % ones": mixed(0.2, 0.4),
    "5 % zeros, 70 % ones": mixed(0.05, 0.7),
    "grades, 85 % ones": graded(0.85),
    "grades, 90 % ones": graded(0.9),
    "clusters of 5, normal": Shape(clustered, mean=0.0, clustered=True),
    "clusters of 5, 85 % right": Shape(correct, mean=0.85, clustered=True),
}


def coverage(
    shape: Shape, n: int, *, samples: int, resamples: int = RESAMPLES_OF_ONE, seed: int = 0
) -> tuple[float, float]:
    """Return the share of intervals that hold the true mean, and the share of samples that have one."""
    rng = np.random.default_rng([seed, n])
    clusters = np.repeat(np.arange(n), CLUSTER) if shape.clustered else None
    made = [
        mean_interval(shape.draw(rng, n), resamples=resamples, seed=number, clusters=clusters)
        for number in range(samples)
    ]
    told = [interval for interval in made if interval is not None]
    return sum(interval.low <= shape.mean <= interval.high for interval in told) / len(told), len(
        told
    ) / samples


def print_coverage() -> None:
    """Print the table of docs/explanation/statistics.md."""
    print("| n | " + " | ".join(map(str, SIZES)) + " |")
    print("| --- |" + " ---: |" * len(SIZES))
    for name, shape in SHAPES.items():
        found = [coverage(shape, n, samples=SAMPLES) for n in SIZES]
        cells = [f"{covered:.3f}" + ("" if told == 1 else f" ({told:.1%})") for covered, told in found]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


@dataclass(frozen=True, slots=True)
class Related:
    """Two measurements of the same items: how n of them are drawn, what is told of them, and the truth."""

    draw: Callable[[np.random.Generator, int], tuple[Array, Array]]
    figure: Callable[..., Estimate]
    truth: float


def apart(positives: float) -> Callable[[np.random.Generator, int], tuple[Array, Array]]:
    """Return normal scores, those of positives one standard deviation higher, and which are positive."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        positive = (np.arange(n) < positives * n).astype(np.float64)
        return rng.normal(positive, 1.0), positive

    return draw


def normal_pairs(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Return pairs of normal values that correlate by a half."""
    first = rng.normal(size=n)
    return first, 0.5 * first + np.sqrt(0.75) * rng.normal(size=n)


RELATED: Mapping[str, Related] = {
    "AUROC, 30 % positive": Related(apart(0.3), auroc, float(scipy.stats.norm.cdf(np.sqrt(0.5)))),
    "AUROC, 1 % positive": Related(apart(0.01), auroc, float(scipy.stats.norm.cdf(np.sqrt(0.5)))),
    "Pearson": Related(normal_pairs, pearson, 0.5),
    "Spearman": Related(normal_pairs, spearman, float(6 / np.pi * np.arcsin(0.25))),
}
# Drawn item by item, as sums over items, and as groups of items.
RELATED_SIZES = (1_999, 2_000, 40_000)
RELATED_SAMPLES = 1_000


def print_related_coverage() -> None:
    """Print how often the intervals of AUROC and correlations hold the truth on either side of each leap."""
    print("| items | " + " | ".join(f"{size:,}" for size in RELATED_SIZES) + " |")
    print("| --- |" + " ---: |" * len(RELATED_SIZES))
    for name, related in RELATED.items():
        cells = []
        for size in RELATED_SIZES:
            rng, held = np.random.default_rng([1, size]), 0
            for number in range(RELATED_SAMPLES):
                settings = Resampling(resamples=RESAMPLES_OF_ONE, seed=number)
                found = related.figure(*related.draw(rng, size), resampling=settings).interval
                held += found is not None and found.low <= related.truth <= found.high
            cells.append(f"{held / RELATED_SAMPLES:.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def print_many() -> None:
    """Print what a million values take, of every family."""
    rng = np.random.default_rng(0)
    x, y = normal_pairs(rng, MANY)
    scores, truths = apart(0.3)(rng, MANY)
    shares, others = rng.random(MANY), rng.random(MANY)
    tails = rng.standard_cauchy(MANY)
    labels = rng.integers(0, 3, size=(2, MANY // 2))
    words = np.array(["yes", "no", "partly"])[labels].tolist()
    grades = rng.random((2, MANY // 2))
    squares, gaps = (grades**2).sum(axis=0), 2.0 * (grades[0] - grades[1]) ** 2
    moments = list(np.column_stack([np.full(MANY // 2, 2.0), grades.sum(axis=0), squares, gaps]))
    tables = list(np.eye(9)[3 * labels[0] + labels[1]].reshape(-1, 3, 3))
    asked = list(zip(*rng.integers(0, 4, size=(2, MANY)).tolist(), strict=True))
    calls: dict[str, Callable[[], object]] = {
        "mean interval": lambda: mean_interval(shares),
        "mean interval, long tails": lambda: mean_interval(tails),
        "clustered interval, clusters of 5": lambda: mean_interval(
            shares, clusters=np.repeat(np.arange(MANY // 5), 5)
        ),
        "clustered interval, clusters of 1": lambda: mean_interval(shares, clusters=np.arange(MANY)),
        "paired randomisation": lambda: paired_randomisation_test(shares, others),
        "paired randomisation, long tails": lambda: paired_randomisation_test(tails, np.zeros(MANY)),
        "Wilcoxon": lambda: wilcoxon_test(shares, others),
        "flips": lambda: flips_p_value(MANY // 2 + 500, MANY // 2 - 500),
        "repeated flips": lambda: repeated_flips_p_value([(a, 3, b, 3) for a, b in asked]),
        "AUROC with interval": lambda: auroc(scores, truths),
        "AUROC with interval, 20 positive": lambda: auroc(scores, np.arange(MANY) < 20),
        "Pearson with interval": lambda: pearson(x, y),
        "Spearman with interval": lambda: spearman(x, y),
        "kappa with interval, from counts": lambda: kappa(confusion(scores > 0.5, truths)),
        "kappa with interval, from clusters": lambda: kappa_of_tables(tables, Resampling()),
        "kappa of two raters": lambda: cohens_kappa(*words),
        "alpha of two raters, nominal": lambda: krippendorff_alpha(words),
        "alpha of two raters, interval": lambda: krippendorff_alpha(grades.tolist(), level="interval"),
        "alpha with interval, from clusters": lambda: alpha_of_moments(moments, Resampling()),
    }
    print(f"\n{MANY:,} values; CPU time, peak memory beyond the values")
    for name, call in calls.items():
        print(f"  {name:<36}{cpu_seconds(call, 1):>9.3f} s{peak_megabytes(call):>10.1f} MB", flush=True)


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
    if "coverage" in sys.argv[1:]:
        print_coverage()
        print_related_coverage()
        return
    if "million" in sys.argv[1:]:
        print_many()
        return
    rng = np.random.default_rng(0)
    continuous, graded = rng.random(VALUES), rng.integers(0, 11, size=DRAWN_FROM) / 10
    other = rng.random(VALUES)
    print(f"{RESAMPLES:,} resamples; CPU time, peak memory, times slower than ours")
    for name, values in (
        (f"bootstrap, {DRAWN_FROM:,} values, all distinct", continuous[:DRAWN_FROM]),
        (f"bootstrap, {DRAWN_FROM:,} values, 11 distinct", graded),
        (f"bootstrap, {VALUES:,} values", continuous),
    ):
        compare(
            name,
            partial(mean_interval, values, method="bootstrap", resamples=RESAMPLES),
            {
                "scipy": partial(scipy_bootstrap, values, None),
                f"scipy, batches of {BATCH}": partial(scipy_bootstrap, values, BATCH),
            },
            repeats=REPEATS,
        )
    compare(
        f"paired randomisation test, {VALUES:,} pairs",
        lambda: paired_randomisation_test(continuous, other, resamples=RESAMPLES),
        {f"scipy, batches of {BATCH}": lambda: scipy_randomisation(continuous, other)},
        repeats=1,
    )
    print_many()


if __name__ == "__main__":
    main()
