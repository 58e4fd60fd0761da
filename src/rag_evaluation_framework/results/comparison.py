"""Did the change really help? Runs paired by sample, tested metric by metric, corrected together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework.errors import UnknownNameError, UsageError, shown
from rag_evaluation_framework.extensions import RENDERERS
from rag_evaluation_framework.metrics.declaration import BoundMetric, known_metric, without_parameters
from rag_evaluation_framework.records.runs import Run, RunHead, SampleResult
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.drawn_scores import PARTLY, paired_judgings
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
from rag_evaluation_framework.statistics.resampling import exact_mean, standard_deviation
from rag_evaluation_framework.structs import asdict

if TYPE_CHECKING:
    from rag_evaluation_framework.workers import Workforce

RULES = "rules"
"""What only the head of ranked runs has: the rules for ties, gaps and queries without relevant documents."""

Finding = Literal["better", "worse", "no difference shown"]
ComparisonVerdict = Literal["worse", "no worse", "better", "undecided", "not evaluated"]

Scores = Mapping[str, float]
"""One metric's values by query id."""


class _Pair(NamedTuple):
    """A metric, each of two systems by its name with its values, and whether higher ones are better.

    ``are_other`` says that the values are of different questions: two samples, and no pairs.
    """

    metric: str
    before: tuple[str, Scores]
    after: tuple[str, Scores]
    higher_is_better: bool
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
        """What may be claimed: a difference only where the corrected p-value is below alpha."""
        if self.p_adjusted is None or self.p_adjusted >= self.alpha or self.difference == 0:
            return "no difference shown"
        return "better" if (self.difference > 0) == self.higher_is_better else "worse"

    @property
    def finding(self) -> Literal["better", "worse", "undecided", "same"]:
        """What may be claimed, in a word; *same* where no sample differs."""
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
    """One or more runs against a baseline, paired by sample. ``warnings`` are overruled objections.

    ``moved`` are the samples that differ most, metric by metric, the greatest difference first;
    ``unshared_metrics`` those for which only one side has scores; ``answers`` has for each contender which
    answers got worse and better, where that was asked for.
    """

    baseline: str
    contenders: tuple[str, ...]
    metrics: tuple[MetricComparison, ...]
    moved: tuple[MovedSample, ...] = ()
    unshared_metrics: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    answers: tuple[AnswerChanges, ...] = ()
    methods: Mapping[str, str | None] = {}
    """How the baseline's scores of each metric were made."""

    @property
    def verdict(self) -> ComparisonVerdict:
        """What may be claimed of the contenders: by their answers, or by metrics where none was judged."""
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
            (baseline, scores[baseline][str(metric)]),
            (contender, scores[contender][str(metric)]),
            metric.metric.higher_is_better,
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
    if workers is None or sum(len(pair.after[1]) for pair in pairs) < _WORTH_SHARING:
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
    metric, (baseline, before), (contender, after), higher_is_better, are_other = pair
    names = {"metric": metric, "baseline": baseline, "contender": contender}
    told: dict[str, Any] = {**names, "higher_is_better": higher_is_better, "alpha": alpha}
    if are_other:
        return _compare_samples(list(before.values()), list(after.values()), told)
    shared = [query for query in before if query in after]
    if not shared:
        raise UsageError(f"{metric}: {baseline!r} and {contender!r} have no scored query in common")
    old = np.array([before[query] for query in shared])
    new = np.array([after[query] for query in shared])
    differences, n = new - old, len(shared)
    tested = paired_test(new, old, test=test, resamples=resamples, seed=seed)
    outcome = wins_ties_losses(new, old, higher_is_better=higher_is_better)
    return MetricComparison(
        **told,
        **msgspec.structs.asdict(outcome),
        n=n,
        n_unpaired=len(before) + len(after) - 2 * n,
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


def _compare_samples(old: list[float], new: list[float], told: dict[str, Any]) -> MetricComparison:
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
        test="Welch's t, different questions" if interval else "Welch's t: the values tell no spread",
    )


# What a comparison needs of a run, whatever it is read from: a run in memory, on the disk, or a document.
#
# Scores of time are left out: they differ between two runs of the same system.


class ScoredMetric(msgspec.Struct):
    """One metric's values by query id, and how they were made; ``None`` if the source does not say."""

    method: str | None
    version: int | None
    higher_is_better: bool
    values: dict[str, float] = {}
    draws: dict[str, int] | None = None
    """How the samples were drawn, where only some of them were judged."""


class ScoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as scores by metric and query, with what decides whether another one may be compared with it."""

    name: str
    dataset_id: str | None
    dataset_hash: str | None
    metrics: Mapping[str, ScoredMetric]

    def renamed(self, names: Mapping[str, str]) -> ScoredRun:
        """Return the run with its rows called by other names; rows of one name count as their mean."""
        return replace(self, metrics={metric: _renamed(each, names) for metric, each in self.metrics.items()})


def _renamed(metric: ScoredMetric, names: Mapping[str, str]) -> ScoredMetric:
    groups: dict[str, list[str]] = {}
    for row in metric.values if metric.draws is None else metric.draws:
        groups.setdefault(names.get(row, row), []).append(row)
    if metric.draws is not None:  # each stands for others: of repeats the first
        draws = {name: metric.draws[rows[0]] for name, rows in groups.items()}
        values = {name: metric.values[rows[0]] for name, rows in groups.items() if rows[0] in metric.values}
        return replace(metric, values=values, draws=draws)
    return replace(
        metric,
        values={name: exact_mean([metric.values[row] for row in rows]) for name, rows in groups.items()},
    )


EVALUATED_AS = "evaluated_as"
"""Where the ``metadata`` of results say what the run calls a dataset that has an id of its own."""
SAMPLE_SPAN_ACCURACY = "citation_span_accuracy"
"""The tolerance Jaccard of a sample among its ``individual_metrics``."""

RunSource: TypeAlias = Run | RunFolder | ScoredRun | Mapping[str, Any]


def scored_run(source: RunSource, name: str | None = None) -> ScoredRun:
    """Read what a comparison needs; ``name`` is shown in it, by default the run's id."""
    if isinstance(source, ScoredRun):
        return source
    if isinstance(source, Run):
        return _from_results(source.head, source.results, name)
    if isinstance(source, RunFolder):
        return _from_results(source.head, source.results(), name)
    if isinstance(source, Mapping):
        return _from_document(source, name)
    raise UsageError(f"expected a run, its folder or a results document, got {shown(source)}")


def _from_results(head: RunHead, results: Iterable[SampleResult], name: str | None) -> ScoredRun:
    metrics: dict[str, ScoredMetric] = {}
    methods: dict[str, set[str]] = {}
    for result in results:
        for score in result.scores:
            if score.method == TIMING_METHOD or score.value is None:
                continue
            if score.metric not in metrics:
                version = head.metric_versions.get(score.metric)
                higher = is_higher_better(score.metric, score.method)
                metrics[score.metric] = ScoredMetric(score.method, version, higher)
            metrics[score.metric].values[result.sample_id] = score.value
            methods.setdefault(score.metric, set()).add(score.method)
    for metric, found in metrics.items():
        found.method = " + ".join(sorted(methods[metric]))
    return ScoredRun(
        name=name or head.run_id, dataset_id=head.dataset_id, dataset_hash=head.dataset_hash, metrics=metrics
    )


def _from_document(document: Mapping[str, Any], name: str | None) -> ScoredRun:
    figures = dict(metric_figures(document))
    versions = as_mapping(as_mapping(document.get("metadata")).get("metric_versions"))
    metrics: dict[str, ScoredMetric] = {}
    for query_id, metric, value in _individual_scores(document):
        if "n_population" in figures.get(metric, {}):
            continue  # of the samples drawn alone: their mean is not that of the run
        if metric not in metrics:
            figure = figures.get(metric, {})
            written = figure.get("method")
            method = None if written is None else str(written)
            higher = is_higher_better(metric, str(method), figure.get("higher_is_better"))
            metrics[metric] = ScoredMetric(method, versions.get(metric), higher)
        metrics[metric].values[query_id] = value
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


class ScoredPair(NamedTuple):
    """The baseline and a contender, their rows called alike where they pair.

    ``are_other`` says that the runs asked different questions, and nothing is paired.
    """

    before: ScoredRun
    after: ScoredRun
    are_other: bool = False

    def has(self, metric: str) -> bool:
        """Tell whether a metric can be compared; one judged in part only over the same questions."""
        if metric not in self.after.metrics:
            return False
        if self.are_other:
            return all(each.metrics[metric].draws is None for each in (self.before, self.after))
        return have_queries_in_common(self.before, self.after, metric)


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
    sides = sides or [ScoredPair(baseline, each) for each in contenders]
    paired = [(side, metric) for metric in baseline.metrics for side in sides if side.has(metric)]
    pairs = [_pair_of(side.before, side.after, metric, side.are_other) for side, metric in paired]
    compared = [
        found if side.are_other else _of_all(found, side.before.metrics[metric], side.after.metrics[metric])
        for (side, metric), found in zip(paired, _compared(pairs, workers, **wish), strict=True)
    ]
    return Comparison(
        baseline=baseline.name,
        contenders=tuple(contender.name for contender in contenders),
        metrics=tuple(corrected_together(compared)),
        moved=tuple(
            sample
            for side in sides
            for other, metric in paired
            if other is side and not side.are_other
            for sample in moved_samples(side.before, side.after, metric)
        ),
        unshared_metrics=tuple(
            sorted({name for each in contenders for name in baseline.metrics.keys() ^ each.metrics.keys()})
        ),
        warnings=tuple(reasons),
        methods={metric: found.method for metric, found in baseline.metrics.items()},
    )


def compare_metric(baseline: ScoredRun, contender: ScoredRun, metric: str, **wish: Any) -> MetricComparison:
    """Compare two runs on one metric, even if they are not comparable; ``wish`` says how it is tested."""
    plain = _compare(_pair_of(baseline, contender, metric), **wish)
    return _of_all(plain, baseline.metrics[metric], contender.metrics[metric])


def _pair_of(baseline: ScoredRun, contender: ScoredRun, metric: str, are_other: bool = False) -> _Pair:
    before, after = baseline.metrics[metric], contender.metrics[metric]
    first, second = (baseline.name, before.values), (contender.name, after.values)
    return _Pair(metric, first, second, before.higher_is_better, are_other)


def _of_all(plain: MetricComparison, before: ScoredMetric, after: ScoredMetric) -> MetricComparison:
    """Return the comparison; of runs that were judged in part, the means are those of all their samples."""
    if before.draws is None and after.draws is None:
        return plain
    first, second = paired_judgings(
        before.values, after.values, first_draws=before.draws, second_draws=after.draws
    )
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
    """Tell whether any query has a value of a metric in both runs."""
    return not baseline.metrics[metric].values.keys().isdisjoint(contender.metrics[metric].values)


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
        yield f"the content of the dataset {before or ''} differs (its hash is another)"


def method_differences(baseline: ScoredRun, contender: ScoredRun, metric: str) -> Iterator[str]:
    """Yield how one metric's scores were made differently."""
    before, after = baseline.metrics[metric], contender.metrics[metric]
    then, now = ((each.method or "").removesuffix(PARTLY) for each in (before, after))
    if then and now and then != now:
        yield f"{metric} was scored by different methods ({then} and {now})"
    elif before.version and after.version and before.version != after.version:
        yield f"{metric} was scored by different versions ({before.version} and {after.version})"


def moved_samples(baseline: ScoredRun, contender: ScoredRun, metric: str) -> list[MovedSample]:
    """Return the samples that differ most in a metric, the greatest difference first."""
    before, after = baseline.metrics[metric].values, contender.metrics[metric].values
    moved = [
        MovedSample(metric, query, before[query], after[query])
        for query in before
        if query in after and before[query] != after[query]
    ]
    return sorted(moved, key=lambda query: (-abs(query.difference), query.query_id))[:_MOVED]
