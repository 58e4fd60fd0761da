"""Did the change really help? Runs paired by sample, tested metric by metric, corrected together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework.errors import UnknownNameError, UsageError, shown
from rag_evaluation_framework.extensions import RENDERERS
from rag_evaluation_framework.metrics.declaration import BoundMetric, known_metric, without_parameters
from rag_evaluation_framework.records.runs import Run, RunHead, SampleResult
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.drawn_scores import PARTLY, JoinedDraws, paired_judgings
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.results.summaries import PERFORMANCE, SPAN_METRICS, is_higher_better
from rag_evaluation_framework.results.verdicts import AnswerChanges
from rag_evaluation_framework.statistics.intervals import Interval, welch_difference
from rag_evaluation_framework.statistics.paired import (
    PAIRED_TESTS,
    PairedTest,
    cohens_d,
    difference_interval,
    holm,
    paired_test,
    smallest_detectable_difference,
    wins_ties_losses,
)
from rag_evaluation_framework.statistics.partly_judged import mean_difference
from rag_evaluation_framework.statistics.resampling import Bools, Floats, exact_mean, standard_deviation
from rag_evaluation_framework.structs import asdict

if TYPE_CHECKING:
    from rag_evaluation_framework.workers import Workforce

RULES = "rules"
"""Key that only heads of ranked runs have: rules for ties, gaps and queries without relevant documents."""

Finding = Literal["better", "worse", "no difference shown"]
ComparisonVerdict = Literal["worse", "no worse", "better", "undecided", "not evaluated"]

Scores = Mapping[str, float]
"""One metric's values by query id."""


class ScoredMetric(msgspec.Struct, dict=True):
    """One metric's values, NaN where there is none, and how they were made; ``None`` if that is not said.

    ``draws`` say how the samples were drawn, where only some of them were judged.
    """

    method: str | None
    version: int | None
    higher_is_better: bool
    ids: Sequence[str]
    values: Floats
    draws: JoinedDraws | None = None

    @classmethod
    def of(
        cls, scores: Scores, higher_is_better: bool, method: str | None = None, version: int | None = None
    ) -> ScoredMetric:
        """Return the metric with these values."""
        values = np.fromiter(scores.values(), np.float64, len(scores))
        return cls(method, version, higher_is_better, tuple(scores), values)

    @cached_property
    def by_id(self) -> Scores:
        """The values by query id, where there are any."""
        return {name: each for name, each in zip(self.ids, self.values.tolist(), strict=True) if each == each}

    def beside(self, other: ScoredMetric) -> tuple[ScoredMetric, Bools]:
        """Return the other metric with the queries of this one, and tell which have values in both."""
        if self.ids != other.ids:
            places = {name: place for place, name in enumerate(other.ids)}
            found = np.array([places.get(name, -1) for name in self.ids], dtype=np.int64)
            draws = None if other.draws is None else np.append(other.draws, 0)[found]
            values = np.append(other.values, np.nan)[found]
            other = replace(other, ids=self.ids, values=values, draws=draws)
        return other, ~(np.isnan(self.values) | np.isnan(other.values))


class _Pair(NamedTuple):
    """A metric of two systems, each by its name; ``are_other``: two samples of different questions."""

    metric: str
    before: tuple[str, ScoredMetric]
    after: tuple[str, ScoredMetric]
    are_other: bool = False


CalledWorkers: TypeAlias = "Callable[[], Workforce]"
"""Says who shares the tests; asked where there are so many that it is worth while to look who is there."""

# To test two values of a query takes some 5 µs: less than half a second is nothing to share.
_WORTH_SHARING = 100_000


class MetricComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One contender against the baseline on one metric, over the queries both have."""

    metric: str
    baseline: str
    contender: str
    n: int
    n_unpaired: int
    baseline_mean: float
    contender_mean: float
    difference: float
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None = None
    test: str
    effect_size: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    smallest_detectable: float | None = None
    higher_is_better: bool
    alpha: float

    @property
    def verdict(self) -> Finding:
        """The claim that the test supports: a difference only where the corrected p-value is below alpha."""
        if self.p_adjusted is None or self.p_adjusted >= self.alpha or self.difference == 0:
            return "no difference shown"
        return "better" if (self.difference > 0) == self.higher_is_better else "worse"

    @property
    def finding(self) -> Literal["better", "worse", "undecided", "same"]:
        """The claim that the test supports, in a word; *same* where no sample differs."""
        if self.verdict != "no difference shown":
            return self.verdict
        return "same" if self.ties and not (self.wins or self.losses) else "undecided"

    @property
    def visible_from(self) -> float | None:
        """The smallest difference that would be shown; ``None`` if none that the metric can have would be."""
        known = known_metric(self.metric)
        is_beyond = known is not None and known.is_share and (self.smallest_detectable or 0) > 1
        return None if is_beyond else self.smallest_detectable

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, verdict included."""
        return {**msgspec.to_builtins(self), "verdict": self.verdict}

    def significance_test(self) -> dict[str, Any]:
        """Return the test as results files store it."""
        return {
            "baseline": self.baseline,
            "current": self.contender,
            "baseline_mean": self.baseline_mean,
            "current_mean": self.contender_mean,
            "difference": self.difference,
            "confidence_interval": None if self.interval is None else [self.interval.low, self.interval.high],
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "significant": self.verdict != "no difference shown",
            "effect_size": self.effect_size,
            "test": self.test,
            "n": self.n,
        }


class MovedSample(msgspec.Struct, frozen=True):
    """A sample on which two runs differ in a metric."""

    metric: str
    query_id: str
    baseline: float
    contender: float

    @property
    def difference(self) -> float:
        return self.contender - self.baseline


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A paired comparison of one or more runs with a baseline.

    Attributes:
        baseline: Name of the baseline.
        contenders: Names of the candidates.
        metrics: The tested difference of each metric.
        moved: The samples that differ most by metric, the greatest difference first.
        unshared_metrics: Metrics for which only one side has scores.
        warnings: Objections that ``force`` overruled.
        answers: For each candidate the answers that got worse and better, if they were compared.

    Example:
        >>> from rag_evaluation_framework import compare, evaluate
        >>> rows = [{"question": f"What is {n} + 0?", "reference": str(n)} for n in range(10, 50)]
        >>> right = evaluate(rows, lambda question: question.split()[2], ["exact_match"])
        >>> compare(right, right, force=True).metrics[0].difference
        0.0
    """

    baseline: str
    contenders: tuple[str, ...]
    metrics: tuple[MetricComparison, ...]
    moved: tuple[MovedSample, ...] = ()
    unshared_metrics: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    answers: tuple[AnswerChanges, ...] = ()
    methods: Mapping[str, str | None] = {}
    """The method of the baseline's scores by metric."""

    @property
    def verdict(self) -> ComparisonVerdict:
        """The claim about the contenders: by their answers, or by metrics where none was judged."""
        by_answers = [each for each in self.answers if each.is_tested or each.shares]
        if not self.metrics and not by_answers:
            return "not evaluated"
        found: set[str] = {each.finding for each in by_answers}
        if not by_answers:
            found = {each.verdict for each in self.metrics}
            fell = (
                each.difference < 0 if each.higher_is_better else each.difference > 0 for each in self.metrics
            )
            found |= {"undecided"} if any(fell) else set()
        order: tuple[ComparisonVerdict, ...] = ("worse", "better", "undecided")
        return next((word for word in order if word in found), "no worse")

    def significance_tests(self) -> dict[str, dict[str, Any]]:
        """Return the tests by metric as results files store them; of several contenders by both."""
        several = len(self.contenders) > 1 or len({each.baseline for each in self.metrics}) > 1
        return {
            f"{each.metric}: {each.contender} against {each.baseline}" if several else each.metric: (
                each.significance_test()
            )
            for each in self.metrics
        }

    def render(self, format: str = "terminal", **wish: Any) -> str:  # noqa: A002  # as the door calls it
        """Render it by the name of a renderer: ``terminal``, ``json`` …"""
        return RENDERERS.get(format)(self, **wish)

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return self.render("notebook", as_text=True)

    def _repr_html_(self) -> str:
        return self.render("notebook")

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return {
            "baseline": self.baseline,
            **({"contender": self.contenders[0]} if len(self.contenders) == 1 else {}),
            "contenders": list(self.contenders),
            "metrics": [each.to_dict() for each in self.metrics],
            "answers": [each.to_dict() for each in self.answers],
            "moved": [{**asdict(sample), "difference": sample.difference} for sample in self.moved],
            "unshared_metrics": list(self.unshared_metrics),
            "warnings": list(self.warnings),
            "verdict": self.verdict,
        }


def compare_systems(
    scores: Mapping[str, Mapping[str, Scores]],
    metrics: Sequence[BoundMetric],
    *,
    baseline: str,
    test: PairedTest = "randomisation",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    workers: CalledWorkers | None = None,
) -> list[MetricComparison]:
    """Compare every other system with the baseline on every metric.

    ``scores`` is value by query by metric by system. A test that cannot be made (a single shared query)
    leaves its p-value empty rather than guessing one.
    """
    if baseline not in scores:
        raise UnknownNameError("baseline", baseline, list(scores))
    if test not in PAIRED_TESTS:
        raise UnknownNameError("paired test", str(test), PAIRED_TESTS)
    pairs = [
        _Pair(
            str(metric),
            (baseline, ScoredMetric.of(scores[baseline][str(metric)], metric.metric.higher_is_better)),
            (contender, ScoredMetric.of(scores[contender][str(metric)], metric.metric.higher_is_better)),
        )
        for metric in metrics
        for contender in scores
        if contender != baseline
    ]
    wish = {"test": test, "alpha": alpha, "resamples": resamples, "seed": seed}
    return corrected_together(list(_compared(pairs, workers, **wish)))


def corrected_together(comparisons: Sequence[MetricComparison]) -> list[MetricComparison]:
    """Correct the p-values of several comparisons as one family, by Holm's method."""
    adjusted = iter(holm([each.p_value for each in comparisons if each.p_value is not None]))
    return [
        each if each.p_value is None else replace(each, p_adjusted=next(adjusted)) for each in comparisons
    ]


def _compared(
    pairs: Sequence[_Pair], workers: CalledWorkers | None, **wish: Any
) -> Iterator[MetricComparison]:
    """Compare each pair, by itself and with the same seed: whoever does so finds the same."""
    compare = partial(_compare, **wish)
    if workers is None or sum(len(pair.after[1].ids) for pair in pairs) < _WORTH_SHARING:
        return map(compare, pairs)
    from rag_evaluation_framework.workers import in_order

    return in_order(compare, pairs, workers=workers(), total=len(pairs))


def _compare(
    pair: _Pair,
    *,
    test: PairedTest = "randomisation",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> MetricComparison:
    """Compare the values of the second with those of the first."""
    metric, (baseline, before), (contender, other), are_other = pair
    names = {"metric": metric, "baseline": baseline, "contender": contender}
    told: dict[str, Any] = {**names, "higher_is_better": before.higher_is_better, "alpha": alpha}
    known = [each.values[~np.isnan(each.values)] for each in (before, other)]
    if are_other:
        return _compare_samples(known[0], known[1], told)
    after, are_shared = before.beside(other)
    old, new = before.values[are_shared], after.values[are_shared]
    if not len(old):
        raise UsageError(f"{metric}: {baseline!r} and {contender!r} have no scored query in common")
    differences, n = new - old, len(old)
    tested = paired_test(new, old, test=test, resamples=resamples, seed=seed)
    outcome = wins_ties_losses(new, old, higher_is_better=before.higher_is_better)
    found = MetricComparison(
        **told,
        **msgspec.structs.asdict(outcome),
        n=n,
        n_unpaired=sum(map(len, known)) - 2 * n,
        baseline_mean=exact_mean(old),
        contender_mean=exact_mean(new),
        difference=exact_mean(differences),
        interval=difference_interval(new, old, confidence=1 - alpha, resamples=resamples, seed=seed),
        p_value=tested.p_value if tested else None,
        test=tested.method if tested else f"{test}: needs at least two queries",
        effect_size=cohens_d(new, old),
        smallest_detectable=None
        if n < 2
        else smallest_detectable_difference(standard_deviation(differences), n, alpha=alpha),
    )
    return found if before.draws is after.draws is None else _of_all(found, before, after)


def _compare_samples(old: Floats, new: Floats, told: dict[str, Any]) -> MetricComparison:
    """Compare the means of two samples of different questions, by Welch's test."""
    interval, p_value = welch_difference(new, old, confidence=1 - told["alpha"]) or (None, None)
    before, after = exact_mean(old), exact_mean(new)
    return MetricComparison(
        **told,
        n=min(len(old), len(new)),
        n_unpaired=0,  # all count
        baseline_mean=before,
        contender_mean=after,
        difference=after - before,
        interval=interval,
        p_value=p_value,
        test="Welch's t, different questions" if interval else "Welch's t: the values have no spread",
    )


# What a comparison needs of a run, whatever it is read from: a run in memory, on the disk, or a document.
#
# Scores of time are left out: they differ between two runs of the same system.


class ScoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as scores by metric and query, with what decides whether another one may be compared with it."""

    name: str
    dataset_id: str | None
    dataset_hash: str | None
    metrics: Mapping[str, ScoredMetric]


EVALUATED_AS = "evaluated_as"
"""The key in the ``metadata`` of results for the run's name of a dataset that has an id of its own."""
SAMPLE_SPAN_ACCURACY = "citation_span_accuracy"
"""The tolerance Jaccard of a sample among its ``individual_metrics``."""

RunSource: TypeAlias = Run | RunFolder | Mapping[str, Any]


def scored_run(source: RunSource, name: str | None = None) -> ScoredRun:
    """Read what a comparison needs; ``name`` is shown in it, by default the run's id."""
    if isinstance(source, Run):
        return _from_results(source.head, source.results, name)
    if isinstance(source, RunFolder):
        return _from_results(source.head, source.results(), name)
    if isinstance(source, Mapping):
        return _from_document(source, name)
    raise UsageError(f"expected a run, its folder or a results document, got {shown(source)}")


def _from_results(head: RunHead, results: Iterable[SampleResult], name: str | None) -> ScoredRun:
    scores: dict[str, dict[str, float]] = {}
    methods: dict[str, dict[str, None]] = {}
    for result in results:
        for score in result.scores:
            if score.method != TIMING_METHOD and score.value is not None:
                scores.setdefault(score.metric, {})[result.sample_id] = score.value
                methods.setdefault(score.metric, {})[score.method] = None
    metrics = {
        metric: ScoredMetric.of(
            values,
            is_higher_better(metric, next(iter(methods[metric]))),
            " + ".join(sorted(methods[metric])),
            head.metric_versions.get(metric),
        )
        for metric, values in scores.items()
    }
    return ScoredRun(
        name=name or head.run_id, dataset_id=head.dataset_id, dataset_hash=head.dataset_hash, metrics=metrics
    )


def _from_document(document: Mapping[str, Any], name: str | None) -> ScoredRun:
    figures = dict(metric_figures(document))
    versions = as_mapping(as_mapping(document.get("metadata")).get("metric_versions"))
    scores: dict[str, dict[str, float]] = {}
    for query_id, metric, value in _individual_scores(document):
        if "n_population" not in figures.get(metric, {}):  # the mean of those drawn is not that of the run
            scores.setdefault(metric, {})[query_id] = value
    metrics = {}
    for metric, values in scores.items():
        figure = figures.get(metric, {})
        method = None if figure.get("method") is None else str(figure["method"])
        higher = is_higher_better(metric, str(method), figure.get("higher_is_better"))
        metrics[metric] = ScoredMetric.of(values, higher, method, versions.get(metric))
    return ScoredRun(
        name=name or str(document.get("evaluation_id")),
        dataset_id=evaluated_dataset(document),
        dataset_hash=as_mapping(document.get("metadata")).get("dataset_hash"),
        metrics=metrics,
    )


def evaluated_dataset(document: Mapping[str, Any]) -> str | None:
    """Return what a run calls its dataset, which may have another id of its own."""
    name = as_mapping(document.get("metadata")).get(EVALUATED_AS) or document.get("dataset_id")
    return None if name is None else str(name)


def query_scores(query: Any) -> Mapping[str, Any]:
    """Return the scores of one of the ``query_results``, each once.

    A sample's span accuracy is another name for what is behind a metric of cited spans, where there is one.
    """
    scores = as_mapping(as_mapping(query).get("individual_metrics"))
    if not any(without_parameters(name) in SPAN_METRICS for name in scores):
        return scores
    return {name: value for name, value in scores.items() if name != SAMPLE_SPAN_ACCURACY}


def metric_sections(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the sections of a document that hold metrics, including those of other tools' documents."""
    for name, section in document.items():
        if name.endswith("_metrics") and name != PERFORMANCE and isinstance(section, Mapping):
            yield name, section


def metric_figures(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each metric of a document that has more than a bare number."""
    for _, section in metric_sections(document):
        for metric, figure in section.items():
            if isinstance(figure, Mapping):
                yield metric, figure


def _individual_scores(document: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    queries = document.get("query_results")
    for query in queries if isinstance(queries, list) else []:
        for metric, score in query_scores(query).items():
            value = score.get("value") if isinstance(score, Mapping) else score
            if isinstance(value, int | float) and not isinstance(value, bool) and "query_id" in query:
                yield str(query["query_id"]), metric, float(value)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return what a document has as an object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


# Whether one run is better than another: the same methods, paired by query or as two samples, corrected.
#
# Figures made by different methods are not comparable, however alike their names are, nor are documents over
# different data: comparing them is refused with the reasons, unless it is forced.

_MOVED = 10


ScoredPair: TypeAlias = tuple[ScoredRun, ScoredRun, bool]
"""The baseline and a contender with the same queries, and whether they were asked different questions."""


def compare_scored(
    runs: Sequence[ScoredRun],
    *,
    force: bool = False,
    test: PairedTest = "randomisation",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    workers: CalledWorkers | None = None,
    sides: Sequence[ScoredPair] = (),
) -> Comparison:
    """Compare runs with the first of them, on every metric that both have and some sample has in both.

    ``sides`` has for each of the others how its rows pair, by default by their ids. Different datasets,
    content hashes, methods or metric versions are a :class:`UsageError` that names them; with ``force`` they
    become warnings.
    """
    baseline, *contenders = runs
    reasons = [
        f"{contender.name}: {reason}"
        for contender in contenders
        for reason in reasons_against(baseline, contender)
    ]
    if reasons and not force:
        raise UsageError(f"cannot compare with {baseline.name}: {'; '.join(reasons)}")
    wish = {"test": test, "alpha": alpha, "resamples": resamples, "seed": seed}
    sides = sides or [(baseline, each, False) for each in contenders]
    pairs = [
        pair
        for metric in baseline.metrics
        for before, after, are_other in sides
        if metric in before.metrics
        and metric in after.metrics
        and _is_comparable(pair := _pair_of(before, after, metric, are_other=are_other))
    ]
    compared = list(_compared(pairs, workers, **wish))
    return Comparison(
        baseline=baseline.name,
        contenders=tuple(contender.name for contender in contenders),
        metrics=tuple(corrected_together(compared)),
        moved=tuple(
            sample
            for _, contender, are_other in sides
            for pair in pairs
            if pair.after[0] == contender.name and not are_other
            for sample in _moved_samples(pair)
        ),
        unshared_metrics=tuple(
            sorted({name for each in contenders for name in baseline.metrics.keys() ^ each.metrics.keys()})
        ),
        warnings=tuple(reasons),
        methods={metric: found.method for metric, found in baseline.metrics.items()},
    )


def compare_metric(baseline: ScoredRun, contender: ScoredRun, metric: str, **wish: Any) -> MetricComparison:
    """Compare two runs on one metric, even if they are not comparable; ``wish`` says how it is tested."""
    return _compare(_pair_of(baseline, contender, metric), **wish)


def _pair_of(baseline: ScoredRun, contender: ScoredRun, metric: str, *, are_other: bool = False) -> _Pair:
    before, after = ((each.name, each.metrics[metric]) for each in (baseline, contender))
    return _Pair(metric, before, after, are_other)


def _is_comparable(pair: _Pair) -> bool:
    """Return True if a metric can be compared; one judged in part only over the same questions."""
    before, after = pair.before[1], pair.after[1]
    return before.draws is after.draws is None if pair.are_other else bool(before.beside(after)[1].any())


def _of_all(plain: MetricComparison, before: ScoredMetric, after: ScoredMetric) -> MetricComparison:
    """Return the comparison of runs that were judged in part: the means are those of all their samples."""
    first, second = paired_judgings((before.values, before.draws), (after.values, after.draws))
    found = mean_difference(second, first, confidence=1 - plain.alpha)
    return replace(
        plain,
        n_unpaired=0,  # those judged once count too
        baseline_mean=first.value,
        contender_mean=second.value,
        difference=second.value - first.value,
        interval=None if found is None else found.interval,
        p_value=None if found is None else found.p_value,
        test="t, stratified and paired: judged in part",
        effect_size=None,
        smallest_detectable=None if found is None else found.shown_from,
    )


def have_queries_in_common(baseline: ScoredRun, contender: ScoredRun, metric: str) -> bool:
    """Return True if any query has a value of a metric in both runs."""
    return bool(baseline.metrics[metric].beside(contender.metrics[metric])[1].any())


def shared_metrics(baseline: ScoredRun, contender: ScoredRun) -> list[str]:
    """Return the metrics for which both runs have scores, in the baseline's order."""
    return [name for name in baseline.metrics if name in contender.metrics]


def reasons_against(baseline: ScoredRun, contender: ScoredRun) -> Iterator[str]:
    """Yield what makes the figures of two runs incomparable."""
    yield from data_differences(baseline, contender)
    for name in shared_metrics(baseline, contender):
        yield from method_differences(baseline, contender, name)


def data_differences(baseline: ScoredRun, contender: ScoredRun) -> Iterator[str]:
    """Yield how the data of two runs differ; what is unknown does not count as different."""
    before, after = baseline.dataset_id, contender.dataset_id
    if before and after and before != after:
        yield f"different datasets ({before} and {after})"
    elif baseline.dataset_hash and contender.dataset_hash and baseline.dataset_hash != contender.dataset_hash:
        yield f"the content of the dataset {before or ''} differs (different hash)"


def method_differences(baseline: ScoredRun, contender: ScoredRun, metric: str) -> Iterator[str]:
    """Yield how one metric's scores were made differently."""
    before, after = baseline.metrics[metric], contender.metrics[metric]
    then, now = ((each.method or "").removesuffix(PARTLY) for each in (before, after))
    if then and now and then != now:
        yield f"{metric} was scored by different methods ({then} and {now})"
    elif before.version and after.version and before.version != after.version:
        yield f"{metric} was scored by different versions ({before.version} and {after.version})"


def _moved_samples(pair: _Pair) -> list[MovedSample]:
    """Return the samples that differ most in a metric, the greatest difference first."""
    before = pair.before[1]
    after, are_shared = before.beside(pair.after[1])
    moved = [
        MovedSample(pair.metric, before.ids[place], float(before.values[place]), float(after.values[place]))
        for place in np.flatnonzero(are_shared & (before.values != after.values)).tolist()
    ]
    return nsmallest(_MOVED, moved, key=lambda query: (-abs(query.difference), query.query_id))
