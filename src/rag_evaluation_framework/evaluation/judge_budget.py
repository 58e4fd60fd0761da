"""A judge's budget: a cheap method scores every sample, and the judge is asked about some of them.

First every answer is scored without the judge; what a judge is to score is written down as not drawn, with
what the cheap method gave: words or a local model, for most metrics. Then samples are drawn, judged and
written down again, look by look, until the calls are made or the intervals are narrow enough. The draw is
made of what the run holds, so that a resume makes the same one and asks nothing twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework.errors import StorageError, UsageError
from rag_evaluation_framework.evaluation.plan import DatasetPlan, Plan
from rag_evaluation_framework.evaluation.scoring import ONLY_RETRIEVED, MetricScorer, calls_each, scorer_for
from rag_evaluation_framework.extensions import Scorer
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.judging.methods import JudgeBudget, Methods
from rag_evaluation_framework.metrics.views import NOTHING_RETRIEVED
from rag_evaluation_framework.records.responses import NOT_TOLD_BY_TURN, Response
from rag_evaluation_framework.records.runs import JudgeUsage, RunOutcome, SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import CHEAP_SCORE, EMPTY, NO_CONTEXTS, NOT_DRAWN, Score
from rag_evaluation_framework.results.drawn_scores import CheapScores, Draws, estimated, screening_scores
from rag_evaluation_framework.results.run_store import JUDGE_BUDGET, RunFolder, read_value
from rag_evaluation_framework.results.summaries import declared_metric
from rag_evaluation_framework.statistics.partly_judged import Draw, looks

# What a sample or an answer lacks, whoever scores it: there is nothing to draw.
_SETTLED = frozenset(
    {EMPTY, ONLY_RETRIEVED, NO_CONTEXTS, NOTHING_RETRIEVED, NOT_TOLD_BY_TURN}
    | {"the sample expects a refusal", "the sample expects no text", "the sample has no reference contexts"}
)


# What only a judge can score is drawn by what words say of something near to it, where there is such.
_NEAR: Mapping[str, str] = {
    "relevance_grade": "context_precision",
    "judged_ndcg": "context_precision",
    **dict.fromkeys(
        ("nugget_recall", "nugget_recall_strict", "vital_nugget_recall", "vital_nugget_recall_strict"),
        "claim_recall",
    ),
}


class UnjudgedScorer:
    """Stands for a metric that a judge scores, before anybody is asked: each sample could yet be drawn.

    The cheap method is the one that scores without a judge. A metric that only a judge can score may have
    one near to it; else a plain random part of its samples is drawn.
    """

    def __init__(self, scorer: MetricScorer) -> None:
        self.name, self.method, self.version = scorer.name, scorer.method, scorer.version
        self.higher_is_better, self.scores_turns = scorer.higher_is_better, scorer.scores_turns
        self.asks_for_verdict, self.score_settled = scorer.asks_for_verdict, scorer.score_settled
        self.methods = scorer.methods
        own = scorer.without_judge
        self._settles = not own.needs_model
        self._cheap = own if self._settles else _near_to(scorer, own.methods)
        self.is_slow = self._cheap is not None and self._cheap.is_slow

    def score(self, sample: Sample, response: Response) -> Score:
        """Return that the sample was not drawn, with what the cheap method gives, or why it never is."""
        found = None if self._cheap is None else self._cheap.score(sample, response)
        if found is not None and self._settles and found.status == "skipped" and found.reason in _SETTLED:
            return replace(found, metric=self.name, method=self.method)
        cheap = None if found is None else found.value
        return Score.skipped(self.name, NOT_DRAWN, method=self.method, details={CHEAP_SCORE: cheap})


def _near_to(scorer: MetricScorer, methods: Methods) -> MetricScorer | None:
    near = _NEAR.get(scorer.metric.metric.name)
    return None if near is None else scorer_for(near, methods)


def unjudged(scorers: Iterable[MetricScorer]) -> list[Scorer]:
    """Return scorers that ask no judge: those that would, say that nothing was drawn."""
    return [UnjudgedScorer(each) if each.questions else each for each in scorers]


def within_budget(plan: Plan, budget: JudgeBudget) -> Plan:
    """Return a plan whose datasets share a budget of calls by what judging them whole would take.

    Samples that are asked several times have no draw: an answer is no sample of its own.
    """
    judged = [each for each in plan.datasets if each.judge_calls]
    if not judged:
        raise UsageError("--judge-budget and --precision: no metric uses the judge")
    if any(each.selection.repeats > 1 for each in judged):
        raise UsageError("--judge-budget and --precision cannot be combined with --repeats")
    whole = sum(each.judge_calls for each in judged)
    shared = []
    for each in plan.datasets:
        share = budget.calls and each.judge_calls * budget.calls // whole
        shared.append(replace(each, budget=replace(budget, calls=share)) if each.judge_calls else each)
    for each in shared:
        if each.budget is not None:
            samples_for(each.budget, each.scorers, each.methods)
    return replace(plan, datasets=tuple(shared))


def resumed_budget(folder: RunFolder, budget: JudgeBudget | None) -> RunFolder:
    """Return a run to go on with under a budget; another than it began with takes its place."""
    began = folder.head.configuration.get(JUDGE_BUDGET)
    now = None if budget is None else budget.head_fields
    if began == now:
        return folder
    if began is None and folder.counts.done:
        raise UsageError("cannot resume with a judge budget: the run started without one")
    if now is None and began is not None:
        said = " ".join(f"{_OPTIONS[name]} {value}" for name, value in began.items())
        raise UsageError(f"cannot resume without a judge budget: the run started with {said}")
    folder.judged_path.unlink(missing_ok=True)
    configuration = {**folder.head.configuration, JUDGE_BUDGET: now}
    return folder.amended(replace(folder.head, configuration=configuration))


_OPTIONS = {"calls": "--judge-budget", "precision": "--precision"}


class Draft:
    """Which samples the judge is asked about, out of results that were scored without it.

    :meth:`next` gives the places of those to judge now; :meth:`take` what came of one. Nothing is left when
    as many as the budget buys are drawn, or every judged metric is known precisely enough.
    """

    def __init__(
        self,
        results: Iterable[SampleResult],
        scorers: Sequence[MetricScorer],
        *,
        samples: int | None,
        precision: float | None,
        seed: int,
    ) -> None:
        self._metrics = [each for each in scorers if each.questions]
        self._cheap = {each.name: CheapScores() for each in self._metrics}
        ids: list[str] = []
        values: dict[str, dict[int, float]] = {each.name: {} for each in self._metrics}
        for place, result in enumerate(results):
            ids.append(result.sample_id)
            for score in result.scores:
                if score.metric in self._cheap:
                    self._cheap[score.metric].add(score, place=place)
                    if score.value is not None:
                        values[score.metric][place] = score.value
        for each in self._cheap.values():
            each.fill(len(ids))
        states = np.array([each.states for each in self._cheap.values()])
        self._population = np.flatnonzero((states > 0).any(axis=0))
        self._states = states[:, self._population]
        self._verdicts = np.full(self._states.shape, np.nan)
        for row, name in enumerate(self._cheap):
            known = values[name]
            self._verdicts[row] = [known.get(int(place), np.nan) for place in self._population]
        self._verdicts[self._states == 0] = np.nan
        self._places = {int(place): number for number, place in enumerate(self._population)}
        screened = screening_scores(
            [each.values[self._population] for each in self._cheap.values()],
            higher_is_better=[each.higher_is_better for each in self._metrics],
        )
        self._draw = Draw([ids[place] for place in self._population], screened, seed=seed)
        self._seen = np.zeros(len(self._population), dtype=bool)
        self._precision, self._looks, self._made = precision, _looks(samples, precision, len(ids)), 0

    @property
    def drawn_count(self) -> int:
        """Return the number of samples that were drawn so far."""
        return int(self._seen.sum())

    def next(self) -> list[int]:
        """Return the places of those to judge now, in a random order; none where it is enough."""
        for look in self._looks:
            if self._made > 1 and self.is_narrow:
                return []
            self._made += 1
            new = self._draw.extend(np.where(self._seen, self._verdicts, np.nan), look)
            self._seen[new] = True
            open_ = [number for number in new if (self._states[:, number] == 1).any()]
            if open_:
                return [int(self._population[number]) for number in open_]
        return []

    def take(self, place: int, result: SampleResult) -> None:
        """Take what came of one sample."""
        number = self._places[place]
        for row, name in enumerate(self._cheap):
            score = next((each for each in result.scores if each.metric == name), None)
            if score is not None and self._states[row, number]:
                self._states[row, number] = 1 if score.is_undrawn else 3 if score.status == "failed" else 2
                self._verdicts[row, number] = np.nan if score.value is None else score.value

    @property
    def is_narrow(self) -> bool:
        """Return True if the interval of every metric is as narrow as it is to be."""
        return self._precision is not None and all(
            self._is_precise(row, scorer, self._precision) for row, scorer in enumerate(self._metrics)
        )

    def _is_precise(self, row: int, scorer: MetricScorer, precision: float) -> bool:
        states, strata = self._states[row], self._draw.strata + 1
        if not states.any():
            return True
        draws: Draws = np.where(states == 0, 0, np.where(states == 2, strata, -strata)).astype(np.int8)
        declared = declared_metric(scorer.name)
        is_share = declared is None or declared.metric.is_share
        found, _ = estimated(draws, self._verdicts[row], is_share=is_share, confidence=0.95)
        if found is None or found.interval is None:
            return False
        return found.interval.high - found.interval.low <= 2.0 * precision


def _looks(samples: int | None, precision: float | None, total: int) -> Iterator[int]:
    if precision is None:
        return iter(looks(samples, total))
    most = total if samples is None else min(samples, total)
    return iter([each for each in looks(None, total) if each < most] + [most])


def samples_for(budget: JudgeBudget, scorers: Iterable[MetricScorer], methods: Methods) -> int | None:
    """Return how many samples a budget of calls buys, as it is planned; ``None`` where there is no such."""
    if budget.calls is None:
        return None
    each = calls_each(scorers, methods)
    if not each:
        raise UsageError("--judge-budget and --precision: no metric uses the judge")
    if budget.calls < each:
        got = f"a sample needs about {each:g}, got {budget.calls}"
        raise UsageError(f"--judge-budget: expected enough calls for one sample: {got}")
    return math.floor(budget.calls / each + 1e-9)


def judged_in_part(
    run: Callable[..., RunOutcome], dataset: DatasetPlan, folder: RunFolder, *, seed: int
) -> RunOutcome:
    """Score a dataset without the judge, then draw and judge; ``run`` is the engine's, but for the scorers.

    It ends where nothing is left to be drawn, or where no call is left.
    """
    budget = dataset.budget
    if budget is None or budget.made is None:
        raise UsageError("the judge budget is missing")
    outcome = run(unjudged(dataset.scorers))
    if not outcome.completed or not folder.awaits_judge:
        return outcome
    calls = budget.made
    before = read_value(folder.judge_usage_path, JudgeUsage)
    calls.left = None if budget.calls is None else max(budget.calls - (before.calls if before else 0), 0)
    draft = Draft(
        folder.results(),
        dataset.scorers,
        samples=samples_for(budget, dataset.scorers, dataset.methods),
        precision=budget.precision,
        seed=seed,
    )
    while places := draft.next():
        outcome = run(dataset.scorers, drawn=places, are_unchanged=True)
        index = folder.index()
        for place in places:
            draft.take(place, folder.entry_at(index.offsets[place]).result)
        is_spent = calls.left is not None and calls.left < 1
        if not outcome.completed and (outcome.interrupted or not is_spent):
            return outcome
        if is_spent:
            break
    _keep(folder, {"drawn": draft.drawn_count, "is_narrow": draft.is_narrow})
    total = outcome.done + outcome.remaining
    return replace(outcome, completed=True, done=total, remaining=0, reason=None)


def _keep(folder: RunFolder, told: Mapping[str, Any]) -> None:
    try:
        write_bytes_atomically(folder.judged_path, strict_json.encode(told) + b"\n")
    except StorageError as error:
        raise StorageError(f"{error}; finished judgments are saved, and you can resume the run") from None
