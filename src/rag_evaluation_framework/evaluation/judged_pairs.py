"""Two stored runs, compared by a judge who is asked about some pairs of their answers.

A cheap method scores the answers of both runs; pairs are drawn where it tells little about the difference,
and both answers of a pair are judged. Answers that are alike in both runs differ by nothing, regardless of
the verdicts: a few of them are judged for the means. Nobody but the judge is asked, and no run changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework.errors import JUDGE_BUDGET, ModelOutageError, UsageError, counted
from rag_evaluation_framework.evaluation.judge_budget import unjudged
from rag_evaluation_framework.evaluation.scored_answers import scored_result
from rag_evaluation_framework.evaluation.scoring import MetricScorer, calls_each, scorers_for
from rag_evaluation_framework.judging.methods import JudgeLike, Methods, Scoring, opened_methods
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.runs import OnProgress, Progress
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import CHEAP_SCORE, Score
from rag_evaluation_framework.results.changes import by_run, compare_evaluations
from rag_evaluation_framework.results.comparison import (
    Comparison,
    MetricComparison,
    MovedSample,
    compare_systems,
    corrected_together,
)
from rag_evaluation_framework.results.drawn_scores import PARTLY, screening_scores
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.paired_answers import PairedAnswers
from rag_evaluation_framework.statistics.paired import PairedTest, wins_ties_losses
from rag_evaluation_framework.statistics.partly_judged import (
    Draw,
    Judging,
    PartlyJudgedDifference,
    looks,
    pair_difference,
)
from rag_evaluation_framework.statistics.resampling import Floats

# Of answers that are alike, so much of a plain share is judged: they tell the means and no difference.
_ALIKE_SHARE = 0.25
_ALPHA = 0.05


class Pair(msgspec.Struct, frozen=True):
    """The answers of two runs to the same sample."""

    id: str
    sample: Sample
    before: Response
    after: Response

    @property
    def is_alike(self) -> bool:
        """Return True if a judge would be shown the same twice."""
        return all(
            getattr(self.before, name) == getattr(self.after, name)
            for name in ("text", "contexts", "citations", "hits")
        )


def compare(
    first: Evaluation,
    *others: Evaluation,
    metrics: str | Sequence[str] = (),
    judge: JudgeLike | Mapping[str, Any] | None = None,
    judge_budget: int | None = None,
    precision: float | None = None,
    max_cost: float | None = None,
    test: PairedTest = "randomisation",
    force: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare evaluations with the first, answer by answer and metric by metric, and return the comparison.

    Args:
        first: The baseline.
        *others: The candidates.
        metrics: Names of the metrics to test; by default all that both have.
        judge: A judge that scores pairs of answers of two runs by ``metrics``.
        judge_budget: Maximum number of judge calls; the pairs are drawn at random.
        precision: Half width of the difference's interval at which judging stops.
        max_cost: Cap on the judge's cost, in US dollars.
        test: ``randomisation``, ``t`` or ``wilcoxon``; all are paired and corrected for several comparisons.
        force: True to compare runs of different data, methods or versions; the reasons become ``warnings``.
        seed: Seed of the test and of the drawn pairs.

    Returns:
        The comparison: its ``verdict``, the tested ``metrics``, and the ``answers`` that got worse or better.

    Raises:
        UsageError: The evaluations cannot be compared; the error has the reasons.

    Example:
        >>> from rag_evaluation_framework import compare, evaluate
        >>> rows = [{"question": f"What is {n} + 0?", "reference": str(n)} for n in range(10, 50)]
        >>> right = evaluate(rows, lambda question: question.split()[2], ["exact_match"])
        >>> wrong = evaluate(rows, lambda question: "no", ["exact_match"])
        >>> compare(wrong, right).metrics[0].verdict
        'better'
    """
    systems = by_run((first, *others))
    wanted = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    settings = {"budget": judge_budget, "precision": precision}
    settings = {name: value for name, value in settings.items() if value is not None}
    if judge is None and max_cost is not None:
        raise UsageError("compare: max_cost needs a judge")
    if judge is None and not settings:
        return compare_evaluations(systems, metrics=wanted, test=test, force=force, seed=seed)
    if not wanted:
        raise UsageError("compare: metrics is missing. Pass e.g. metrics=['faithfulness'].")
    with opened_methods(Scoring(judge=judge, settings=settings, max_cost=max_cost)) as methods:
        return compare_judged(systems, wanted, methods, seed=seed)


def compare_judged(
    systems: Mapping[str, Evaluation],
    metrics: Sequence[str],
    methods: Methods,
    *,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Compare two stored runs by metrics that a judge scores, within the budget of the methods.

    Without a budget every pair is judged.
    """
    if len(systems) != 2:
        raise UsageError(f"compare: expected two runs for a judge, got {len(systems)}")
    scorers = scorers_for(metrics, replace(methods, judges_all=True))
    if plain := [each.name for each in scorers if not each.questions]:
        raise UsageError(f"{plain[0]}: expected a judged metric. Compare it without a judge.")
    (baseline, first), (contender, second) = systems.items()
    pairs, left = pairs_of(first, second)
    if not pairs:
        raise UsageError("no sample has an answer in both runs")
    judged = _Judged(pairs, scorers, methods, seed=seed)
    judged.judge_all(_teller(on_progress, first.head.dataset_id))
    if judged.is_whole:
        bound = [each.metric for row, each in enumerate(scorers) if judged.has_verdicts(row)]
        compared = compare_systems(judged.scores((baseline, contender)), bound, baseline=baseline, seed=seed)
    else:
        compared = [
            judged.comparison(row, (baseline, contender), n_unpaired=left)
            for row in range(len(scorers))
            if judged.has_verdicts(row)
        ]
    return Comparison(
        baseline=baseline,
        contenders=(contender,),
        metrics=tuple(corrected_together(compared)),
        moved=tuple(judged.changed_pairs()),
        warnings=(f"judging failed for {counted(judged.failed, 'pair')}",) if judged.failed else (),
        methods={each.name: each.method + ("" if judged.is_whole else PARTLY) for each in scorers},
    )


def pairs_of(first: Evaluation, second: Evaluation) -> tuple[list[Pair], int]:
    """Return the answers of two runs to the same samples, and how many have none beside them."""
    pairs = [
        Pair(
            f"{part}/{row.id}" if len(second.parts) > 1 else row.id, row.sample, before.response, row.response
        )
        for part, before, row in PairedAnswers(first, second).rows()
        if row.sample is not None and before.response.failure is row.response.failure is None
    ]
    answered = [sum(row.response.failure is None for row in each.rows) for each in (first, second)]
    return pairs, sum(answered) - 2 * len(pairs)


def _teller(on_progress: OnProgress | None, dataset: str) -> Any:
    began = time.monotonic()

    def tell(done: int, total: int) -> None:
        if on_progress is not None:
            elapsed = time.monotonic() - began
            on_progress(dataset, Progress(total=total, done=done, failed=0, elapsed=elapsed))

    return tell


class _Judged:
    """Pairs, what a cheap method gives to both answers of each, and the verdicts so far."""

    def __init__(
        self, pairs: Sequence[Pair], scorers: Sequence[MetricScorer], methods: Methods, *, seed: int
    ) -> None:
        self.pairs, self.scorers, self.methods = pairs, scorers, methods
        cheap = np.array(list(_cheap_scores(pairs, scorers)))
        self.alike = np.array([pair.is_alike for pair in pairs])
        self.apart = np.flatnonzero(~self.alike)
        self.applies = ~np.isinf(cheap).any(axis=1)  # by metric: whether there is anything to judge
        cheap[np.isinf(cheap)] = np.nan
        ids = [pair.id for pair in pairs]
        higher = [each.higher_is_better for each in scorers]
        before, after = (screening_scores(list(cheap[:, run].T), higher_is_better=higher) for run in (0, 1))
        self.draw = Draw(
            [ids[at] for at in self.apart], before[self.apart], beside=after[self.apart], seed=seed
        )
        self.same = np.flatnonzero(self.alike)
        self.draw_of_same = Draw([ids[at] for at in self.same], np.zeros(len(self.same)), seed=seed)
        self.verdicts: Floats = np.full((len(scorers), 2, len(pairs)), np.nan)
        self.drawn = np.zeros(len(pairs), dtype=bool)
        self.failed = 0
        """Number of pairs drawn that have no verdict, since judging one of the answers failed."""

    @property
    def is_whole(self) -> bool:
        """Return True if every answer was judged."""
        return bool(self.drawn.all())

    def judge_all(self, tell: Any) -> None:
        """Draw and judge look by look, until the calls are made or the intervals are narrow enough."""
        budget = self.methods.budget
        most = self._affordable()
        wanted = [most] if budget is None or budget.precision is None else looks(None, len(self.apart))
        wanted = looks(most, len(self.apart)) if budget and budget.precision is None and most else wanted
        if budget is not None and budget.made is not None:
            budget.made.left = budget.calls
        for number, look in enumerate(min(each, most) for each in wanted):
            differences = (
                self._differences()[:, self.apart] if number else np.full((1, len(self.apart)), np.nan)
            )
            new = self.apart[self.draw.extend(differences, look)]
            self._judge([*new, *self.same[self._more_of_same(look)]], tell)
            if budget is not None and budget.precision and number and self._is_narrow(budget.precision):
                break

    def _affordable(self) -> int:
        """Return how many pairs the budget buys; those that are alike take half the calls."""
        budget = self.methods.budget
        if budget is None or budget.calls is None:
            return len(self.apart)
        each = calls_each(self.scorers, self.methods)
        alike = _ALIKE_SHARE * len(self.same) / max(len(self.apart), 1)
        found = int(budget.calls / each / (2.0 + alike) + 1e-9)
        if not found and len(self.apart):
            got = f"a pair needs about {2 * each:g}, got {budget.calls}"
            raise UsageError(f"--judge-budget: expected enough calls for one pair: {got}")
        return min(found, len(self.apart))

    def _more_of_same(self, look: int) -> Any:
        share = look / len(self.apart) if len(self.apart) else 1.0
        part = 1.0 if self.methods.budget is None else _ALIKE_SHARE
        wanted = min(round(part * share * len(self.same)), len(self.same))
        return self.draw_of_same.extend(np.full(len(self.same), np.nan), wanted)

    def _judge(self, places: Sequence[int], tell: Any) -> None:
        before = int(self.drawn.sum())
        with ThreadPoolExecutor(self.methods.threads, thread_name_prefix="judging") as pool:
            for number, (place, found) in enumerate(
                zip(places, pool.map(self._both, places), strict=True), 1
            ):
                if found is not None:
                    self.verdicts[:, :, place] = found
                    self.drawn[place] = True
                tell(before + number, before + len(places))

    def _both(self, place: int) -> Floats | None:
        """Return the verdicts on both answers, by metric; ``None`` if judging failed or no call is left."""
        pair = self.pairs[place]
        try:
            both = [
                scored_result(pair.sample, each, self.scorers).scores
                for each in ((pair.before,) if pair.is_alike else (pair.before, pair.after))
            ]
        except ModelOutageError as error:
            if error.kind != JUDGE_BUDGET:
                raise
            return None
        if any(score.status == "failed" for scores in both for score in scores):
            self.failed += 1
            return None
        values = [[np.nan if score.value is None else score.value for score in scores] for scores in both]
        return np.array([values[0], values[-1]]).T

    def _differences(self) -> Floats:
        found: Floats = self.verdicts[:, 1] - self.verdicts[:, 0]
        return found

    def has_verdicts(self, row: int) -> bool:
        return bool((~np.isnan(self._differences()[row])).any())

    def _estimate_difference(self, row: int) -> PartlyJudgedDifference | None:
        inside = self.applies[self.apart, row]
        apart = self.apart[inside]
        same = int(self.applies[self.same, row].sum())
        if not len(apart):
            return PartlyJudgedDifference(value=0.0, interval=None, p_value=None, n_both=0)
        of_pairs = Judging(self.draw.strata[inside], self.drawn[apart], self._differences()[row, apart])
        return pair_difference(of_pairs, same=same, confidence=1 - _ALPHA)

    def _is_narrow(self, precision: float) -> bool:
        found = [self._estimate_difference(row) for row in range(len(self.scorers)) if self.has_verdicts(row)]
        ends = [None if each is None else each.interval for each in found]
        return all(each is not None and each.high - each.low <= 2 * precision for each in ends)

    def comparison(self, row: int, names: tuple[str, str], *, n_unpaired: int) -> MetricComparison:
        """Return the comparison by one metric: means and difference of all pairs."""
        scorer, found = self.scorers[row], self._estimate_difference(row)
        value = 0.0 if found is None else found.value
        known = ~np.isnan(self._differences()[row])
        old, new = (self.verdicts[row, run, known] for run in (0, 1))
        outcome = wins_ties_losses(new, old, higher_is_better=scorer.higher_is_better)
        strata = np.zeros(len(self.pairs), dtype=np.int64)
        strata[self.apart] = self.draw.strata + 1
        inside = self.applies[:, row]
        mean = Judging(strata[inside], self.drawn[inside], self.verdicts[row, 0, inside]).value
        return MetricComparison(
            metric=scorer.name,
            baseline=names[0],
            contender=names[1],
            n=int(inside.sum()),
            n_unpaired=n_unpaired,
            baseline_mean=mean,
            contender_mean=mean + value,
            difference=value,
            interval=None if found is None else found.interval,
            p_value=None if found is None else found.p_value,
            test=f"t, {int(known.sum()):,} of {int(inside.sum()):,} pairs judged",
            **msgspec.structs.asdict(outcome),
            smallest_detectable=None if found is None else found.shown_from,
            higher_is_better=scorer.higher_is_better,
            alpha=_ALPHA,
        )

    def scores(self, names: tuple[str, str]) -> dict[str, dict[str, dict[str, float]]]:
        """Return the verdicts by run, metric and sample, of samples that have them in both."""
        known = ~np.isnan(self._differences())
        return {
            name: {
                scorer.name: {
                    self.pairs[at].id: float(self.verdicts[row, run, at])
                    for at in np.flatnonzero(known[row]).tolist()
                }
                for row, scorer in enumerate(self.scorers)
            }
            for run, name in enumerate(names)
        }

    def changed_pairs(self) -> Iterable[MovedSample]:
        """Return the pairs whose verdicts differ, the greatest difference first, metric by metric."""
        for row, scorer in enumerate(self.scorers):
            differences = self._differences()[row]
            places = [int(at) for at in np.flatnonzero(np.nan_to_num(differences))]
            for at in sorted(places, key=lambda each: (-abs(differences[each]), self.pairs[each].id)):
                before, after = (float(each) for each in self.verdicts[row, :, at])
                yield MovedSample(scorer.name, self.pairs[at].id, before, after)


def _cheap_scores(pairs: Iterable[Pair], scorers: Sequence[MetricScorer]) -> Iterator[list[list[float]]]:
    """Yield of each pair, for either run, what the cheap method gives by each metric.

    NaN where it gives nothing, infinite where there is nothing to judge.
    """
    cheap = unjudged(scorers)
    for pair in pairs:
        scored = (scored_result(pair.sample, each, cheap).scores for each in (pair.before, pair.after))
        yield [[_cheap_of(score) for score in scores] for scores in scored]


def _cheap_of(score: Score) -> float:
    if not score.is_undrawn:
        return np.inf
    cheap = score.details[CHEAP_SCORE]
    return np.nan if cheap is None else float(cheap)
