"""How well a few verdicts tell the mean of all: coverage, bias, and the labels that are saved.

Labels by people stand in for the judge, and words for the cheap method. Of each set so many samples are drawn
and judged, 2,000 times; the intervals are held against the mean of all labels, and their width against that
of a plain random sample of the same size by the same kind of interval. Constants were set on simulated
populations. With the sets in view were chosen: one of two ways to cut strata, which differ little; into how
many parts each run of a pair is cut (two, out of two, three and five); and, for runs judged separately, the
size of the groups of pairs and by how much deviations from means are stretched (one of four ways, on three
pairs of RAGTruth). What no draw can beat is told beside: :func:`oracle`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from benchmarks import _answers, _begin, _ragtruth, _refusals, _wice
from benchmarks._answers import EVOUNA
from benchmarks._labelled_data import DATA
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport, screen_answer
from rag_evaluation_framework.statistics.intervals import normal_quantile
from rag_evaluation_framework.statistics.partly_judged import (
    Draw,
    Judging,
    PartlyJudgedDifference,
    PartlyJudgedMean,
    looks,
    mean_difference,
    pair_difference,
    strata_of,
)
from rag_evaluation_framework.statistics.resampling import Floats

DRAWS = 2_000
BUDGETS = (50, 100, 200, 500)
LARGEST_SHARE = 1 / 3
WITH_500 = EVOUNA


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """A labelled set: what people say of each sample, and what words do."""

    labels: Floats
    cheap: Floats

    def budgets(self, name: str) -> list[int]:
        """Return the budgets of at most a third of the set."""
        known = BUDGETS if name.startswith(WITH_500) else BUDGETS[:-1]
        return [each for each in known if each <= LARGEST_SHARE * len(self.labels)]


@dataclass(frozen=True, slots=True)
class Found:
    """What so many draws come to: how often intervals cover, the bias in points, and labels saved."""

    covered: float
    plain_covered: float
    bias: float
    width: float
    saved: float
    """How many labels a plain random sample needs for the same mean width, for each label here."""
    too_few: float = 0.0
    """The share of draws that have no interval: their verdicts are all alike."""


class _Drawn(Draw):
    """A draw that is made again and again, in orders of its own."""

    def again(self, numbers: Floats) -> _Drawn:
        places = np.argsort(numbers)
        self._order = [places[self.strata[places] == number] for number in range(len(self.sizes))]
        self._counts = np.zeros(len(self.sizes), dtype=np.int64)
        return self

    def judged(self, labels: Floats, budget: int) -> Judging:
        verdicts = np.full(len(labels), np.nan)
        for look in looks(budget, len(labels)):
            new = self.extend(verdicts, look)
            verdicts[new] = labels[new]
        return Judging(self.strata, ~np.isnan(verdicts), verdicts)


def _drawn(cheap: Floats, beside: Floats | None = None) -> _Drawn:
    return _Drawn([str(place) for place in range(len(cheap))], cheap, beside=beside)


def of_one_run(population: Population, budget: int, *, draws: int = DRAWS, seed: int = 1) -> Found:
    """Draw again and again from one set, and as often a plain random sample."""
    labels, truth = population.labels, float(population.labels.mean())
    ends: dict[bool, list[tuple[float, float, float]]] = {}
    for is_plain in (False, True):
        rng = np.random.default_rng([seed, budget])
        drawn = _drawn(np.zeros(len(labels)) if is_plain else population.cheap)
        for _ in range(draws):
            found = drawn.again(rng.random(len(labels))).judged(labels, budget).mean()
            ends.setdefault(is_plain, []).append(_ends(found))
    return _found(ends, truth, budget, len(labels))


def of_two_runs(
    first: Population,
    second: Population,
    budget: int,
    *,
    together: bool = True,
    draws: int = DRAWS,
    seed: int = 1,
) -> Found:
    """Draw from two systems over the same samples, pairs of both or each by itself.

    So many answers of each are judged; the plain sample is the same of both, and counts as pairs.
    """
    apart = second.labels - first.labels
    nothing = np.zeros(len(apart))
    ends: dict[bool, list[tuple[float, float, float]]] = {}
    plain, pairs = _drawn(nothing), _drawn(first.cheap, second.cheap)
    before, after = _drawn(first.cheap), _drawn(second.cheap)
    rng = np.random.default_rng([seed, budget])
    for _ in range(draws):
        numbers = rng.random(len(apart))
        ends.setdefault(True, []).append(_ends(pair_difference(plain.again(numbers).judged(apart, budget))))
        if together:
            found = pair_difference(pairs.again(numbers).judged(apart, budget))
        else:
            one = before.again(numbers).judged(first.labels, budget)
            found = mean_difference(after.again(numbers).judged(second.labels, budget), one)
        ends.setdefault(False, []).append(_ends(found))
    return _found(ends, float(apart.mean()), budget, len(apart))


def oracle(first: Population, second: Population, budget: int) -> float:
    """Return how many plain labels a label can stand for, if all verdicts were known before the draw.

    The variance of the best allocation to the strata of both runs, five of each, with the true spread of
    each stratum: (sum(W S))^2 / n - sum(W S^2) / N. The spread of a small stratum is that of these very
    samples, so that no real draw gets there.
    """
    apart = second.labels - first.labels
    strata = strata_of(first.cheap) * 10 + strata_of(second.cheap)
    parts = [apart[strata == each] for each in np.unique(strata)]
    shares = np.array([len(each) for each in parts]) / len(apart)
    spreads = np.array([each.std() for each in parts])
    best = max(float((shares @ spreads) ** 2 / budget - shares @ spreads**2 / len(apart)), 0.0)
    return 1 / (best / float(apart.var()) + 1 / len(apart)) / budget


def oracle_by_chance(first: Population, second: Population, budget: int, *, shuffles: int = 50) -> float:
    """Return the mean of the same bound where labels are shuffled, so that scores tell nothing about them."""
    rng, found = np.random.default_rng(0), []
    for _ in range(shuffles):
        places = rng.permutation(len(first.labels))
        one, other = (Population(each.labels[places], each.cheap) for each in (first, second))
        found.append(oracle(one, other, budget))
    return float(np.mean(found))


def until_narrow(
    population: Population, precision: float, *, draws: int = DRAWS, seed: int = 1
) -> tuple[float, float, float]:
    """Judge until the interval is ± this narrow: return how often it covers, the bias and the mean number."""
    labels, truth = population.labels, float(population.labels.mean())
    drawn, rng = _drawn(population.cheap), np.random.default_rng([seed, 0])
    found = []
    for _ in range(draws):
        drawn.again(rng.random(len(labels)))
        verdicts = np.full(len(labels), np.nan)
        for number, look in enumerate(looks(None, len(labels))):
            new = drawn.extend(verdicts, look)
            verdicts[new] = labels[new]
            mean = Judging(drawn.strata, ~np.isnan(verdicts), verdicts).mean()
            if number and mean and mean.interval and mean.interval.high - mean.interval.low <= 2 * precision:
                break
        found.append((*_ends(mean), np.isfinite(verdicts).sum()))
    values, lows, highs, judged = np.array(found).T
    covered = (lows <= truth + 1e-12) & (truth <= highs + 1e-12)
    return float(covered.mean()), 100 * float(values.mean() - truth), float(judged.mean())


def _ends(found: PartlyJudgedMean | PartlyJudgedDifference | None) -> tuple[float, float, float]:
    """Return value and ends; there are none where all verdicts are alike."""
    if found is None:
        raise AssertionError("expected a mean: there are verdicts enough")
    ends = (np.nan, np.nan) if found.interval is None else (found.interval.low, found.interval.high)
    return found.value, *ends


def _found(
    ends: Mapping[bool, list[tuple[float, float, float]]], truth: float, budget: int, size: int
) -> Found:
    (values, lows, highs), (_, plain_lows, plain_highs) = (np.array(ends[plain]).T for plain in (False, True))
    # Where either has no interval the answer is "too few", and there are no widths to compare.
    told = ~np.isnan(lows) & ~np.isnan(plain_lows)
    width, plain_width = (
        float((high - low)[told].mean()) for low, high in ((lows, highs), (plain_lows, plain_highs))
    )
    # A plain sample of m of N is as wide as sqrt(1 / m - 1 / N).
    here = (1 / budget - 1 / size) * (width / plain_width) ** 2
    covered, plain_covered = (
        float(((low <= truth + 1e-12) & (truth <= high + 1e-12))[~np.isnan(low)].mean())
        for low, high in ((lows, highs), (plain_lows, plain_highs))
    )
    bias = 100 * float(values.mean() - truth)
    too_few = float(np.isnan(lows).mean())
    return Found(covered, plain_covered, bias, width, 1 / (here + 1 / size) / budget, too_few)


def _ragtruth_set() -> Iterator[tuple[str, str, float, float]]:
    for task in _ragtruth.TASKS:
        for each in _ragtruth.answers(DATA, task):
            screened = screen_answer(each.answer, each.contexts, question=each.question)
            cheap = 1.0 - (screened.probability_unsupported or 0.0)
            yield each.system, f"{task} {each.source}", float(not each.spans), cheap


def _wice_set() -> Iterator[tuple[str, str, float, float]]:
    for each in _wice.claims(DATA):
        yield "", each.claim, float(each.label == "supported"), _wice.verdict_of(each).probability or 0.0


def _begin_set() -> Iterator[tuple[str, str, float, float]]:
    support = LexicalSupport()
    for part in _begin.PARTS:
        for knowledge, response, positive in _begin.answers(DATA, part):
            verdicts = support.decide(claims_of(response), [knowledge])
            share = sum(each.is_supported for each in verdicts) / len(verdicts) if verdicts else np.nan
            yield "", response, float(not positive), share


def _evouna_set() -> Iterator[tuple[str, str, float, float]]:
    score = _answers.by_metric("answer_correctness")
    asked = _answers.questions(DATA)
    for system in _answers.SYSTEMS:
        for row, answer, right in _answers.verdicts(asked, system):
            yield system, str(row["id"]), float(right), score(row["question"], answer, row["references"])


def _xstest_set() -> Iterator[tuple[str, str, float, float]]:
    for system in _refusals.SYSTEMS:
        for each in _refusals.completions(DATA, system, every=True):
            yield (
                system,
                each.source,
                float(each.labels[0] != _refusals.COMPLIANCE),
                float(each.kind == "refused"),
            )


SETS: Mapping[str, tuple[str, Callable[[], Iterator[tuple[str, str, float, float]]]]] = {
    "RAGTruth": ("ragtruth", _ragtruth_set),
    "WiCE": ("wice", _wice_set),
    "BEGIN": ("begin", _begin_set),
    EVOUNA: ("evouna", _evouna_set),
    "XSTest": ("xstest", _xstest_set),
}
PAIRS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "RAGTruth": (("gpt-3.5-turbo-0613", "gpt-4-0613"), ("llama-2-7b-chat", "llama-2-70b-chat")),
    EVOUNA: (("fid", "gpt4"), ("gpt35", "chatgpt"), ("chatgpt", "gpt4")),
    "XSTest": (("gpt4", "llama2new"),),
}


@cache
def _rows(name: str) -> list[tuple[str, str, float, float]]:
    folder, read = SETS[name]
    return list(read()) if (DATA / folder).exists() else []


def populations() -> dict[str, Population]:
    """Return the labelled sets that are there."""
    return {
        name: Population(np.array([row[2] for row in rows]), np.array([row[3] for row in rows]))
        for name in SETS
        if (rows := _rows(name))
    }


def paired(name: str, systems: tuple[str, str]) -> tuple[Population, Population]:
    """Return the answers of two systems to the same questions."""
    by_system = [{row[1]: row[2:] for row in _rows(name) if row[0] == system} for system in systems]
    shared = [each for each in by_system[0] if each in by_system[1]]
    first, second = (Population(*np.array([answers[each] for each in shared]).T) for answers in by_system)
    return first, second


def shown_from(half_width: float) -> float:
    """Return the smallest difference that an interval of this half width shows four times in five."""
    return half_width / normal_quantile(0.975) * (normal_quantile(0.975) + normal_quantile(0.8))


_ONE = ("set", "samples", "judged", "covered", "plain: covered", "bias, points", "±", "plain labels for each")
_TWO = ("two systems", *_ONE[1:], "shows a difference of", "judged separately", "bound")


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else DRAWS
    everything = populations()
    if not everything:
        print("no labelled data")
        return
    print(f"{draws:,} draws; labels of people stand in for the judge\n\n{_heading(_ONE)}")
    for name, population in everything.items():
        for budget in population.budgets(name):
            _tell(name, population, budget, of_one_run(population, budget, draws=draws))
    print(f"\n{_heading(_TWO)}")
    for name, pairs in PAIRS.items():
        for systems in pairs if name in everything else ():
            first, second = paired(name, systems)
            for budget in first.budgets(name):
                found = of_two_runs(first, second, budget, draws=draws)
                alone = of_two_runs(first, second, budget, together=False, draws=draws)
                more = (
                    f"{shown_from(found.width / 2):.3f}",
                    f"{alone.saved:.2f}, holds {alone.covered:.3f}, {alone.bias:+.2f}",
                    f"{oracle(first, second, budget):.2f}, by chance "
                    f"{oracle_by_chance(first, second, budget):.2f}",
                )
                _tell(f"{name}, {' and '.join(systems)}", first, budget, found, *more)
    if "RAGTruth" in everything:
        bounds = [
            [each(*paired("RAGTruth", two), BUDGETS[0]) for each in (oracle, oracle_by_chance)]
            for two in combinations(sorted({row[0] for row in _rows("RAGTruth")}), 2)
        ]
        (low, _), (mean, chance), (high, _) = (f(bounds, axis=0) for f in (np.min, np.mean, np.max))
        told = f"bound {mean:.2f} ({low:.2f} to {high:.2f}), by chance {chance:.2f}"
        print(f"\nRAGTruth, {len(bounds)} pairs of systems: {told}")
    print(f"\nuntil ±0.05\n\n{_heading(('set', 'samples', 'judged, mean', 'covered', 'bias, points'))}")
    for name, population in everything.items():
        covered, bias, judged = until_narrow(population, 0.05, draws=draws // 2)
        size = len(population.labels)
        print(f"| {name} | {size:,} | {judged:,.0f} | {covered:.3f} | {bias:+.2f} |", flush=True)


def _heading(names: Sequence[str]) -> str:
    return f"| {' | '.join(names)} |\n| --- |{' ---: |' * (len(names) - 1)}"


def _tell(name: str, population: Population, budget: int, found: Found, *more: str) -> None:
    cells = [
        name,
        f"{len(population.labels):,}",
        f"{budget}",
        f"{found.covered:.3f}" + (f" ({found.too_few:.1%} too few to tell)" if found.too_few else ""),
        f"{found.plain_covered:.3f}",
        f"{found.bias:+.2f}",
        f"{found.width / 2:.3f}",
        f"{found.saved:.2f}",
        *more,
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
