"""A plan carried out, dataset by dataset: one evaluation with a part for each of them.

Each dataset is a run of its own; the runs of one evaluation are tied together (``RunGroup``). The
first that does not complete ends the evaluation; what was planned and not reached is a part that was not
begun. Rows are read from the run's folder when asked for: only figures and scores are held in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from rag_evaluation_framework.errors import StorageError, UsageError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.evaluation.golden_runs import golden_evaluation
from rag_evaluation_framework.evaluation.judge_budget import judged_in_part, resumed_budget
from rag_evaluation_framework.evaluation.plan import DatasetPlan, Plan
from rag_evaluation_framework.evaluation.scored_answers import waits_to_score
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.extensions import Scorer, Target
from rag_evaluation_framework.judging.methods import Methods, beyond_reach
from rag_evaluation_framework.judging.verdict import AnswerCounts, AnswerVerdict, original_sample_id
from rag_evaluation_framework.metrics.views import LOCATED
from rag_evaluation_framework.models.chat import endpoint_of, endpoints_in_words
from rag_evaluation_framework.records.runs import (
    JudgeUsage,
    OnProgress,
    Progress,
    RunHead,
    RunOutcome,
    evaluation_environment,
    package_versions,
)
from rag_evaluation_framework.records.samples import Usage
from rag_evaluation_framework.results.baselines import Baseline, compared, demand_of, with_old_answers
from rag_evaluation_framework.results.breakdowns import FoundBlames, write_blames
from rag_evaluation_framework.results.evaluations import Evaluation, rows_of_folder
from rag_evaluation_framework.results.evaluations import suite as suite_of
from rag_evaluation_framework.results.movements import ask_again, digits_of
from rag_evaluation_framework.results.paired_answers import Demand
from rag_evaluation_framework.results.resources import ResourceMeter
from rag_evaluation_framework.results.run_data import (
    check_unchanged,
    content_hash,
    keep_documents,
    named_documents,
    needed_documents,
)
from rag_evaluation_framework.results.run_evaluations import evaluation_of_run, keep_verdict, write_results
from rag_evaluation_framework.results.run_store import (
    ASKINGS_FILE,
    COUNTED_FILE,
    JUDGE_BUDGET,
    NEW_RUN,
    UNSTABLE_FILE,
    RunFolder,
    RunGroup,
    group_fields,
    keep_value,
    read_figures,
    read_value,
)
from rag_evaluation_framework.results.summaries import Counts, Performance
from rag_evaluation_framework.results.verdicts import Regressions
from rag_evaluation_framework.structs import asdict
from rag_evaluation_framework.workers import Workforce, in_order

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.blame import Blaming
    from rag_evaluation_framework.models.spending import TargetSpending

_NOT_BEGUN = "not started"
READING = "reading"
"""The key of the fields read from plain rows; the screen of those shows it first."""


def run(plan: Plan, on_progress: OnProgress | None = None) -> Evaluation:
    """Ask, score, decide the gate and sum up; what an earlier run has finished is not asked again."""
    _check_target(plan.target, plan.resumed)
    demanded: dict[str, Demand] = {}
    if plan.baseline is not None:
        demanded = {each.name: demand_of(each.scorers, each.thresholds) for each in plan.datasets}
        for dataset in plan.datasets:
            used = [each for each in dataset.scorers if each.name in demanded[dataset.name].metrics]
            plan.baseline.check_scored_by(dataset.name, used)
    parts = _evaluated_parts(plan, on_progress)
    whole = _whole(plan, parts)
    if plan.baseline is not None and whole.outcome.completed:
        whole = _compared(plan, plan.baseline, parts, demanded, whole)
    verdict = plan.gate.decide(whole)
    # What was met could be reached here, whatever was measured elsewhere.
    reached = {beyond_reach(each, each.method) for each in verdict.checks if each.status == "met"}
    warnings = tuple(warning for warning in whole.warnings if warning not in reached)
    whole = replace(whole, verdict=verdict, warnings=warnings)
    if plan.manifest.kind == "golden":
        whole = golden_evaluation(whole, Path(str(plan.manifest.configuration["golden"])))
    keep_verdict(whole)
    if plan.kept is not None:
        parts = {name: replace(part, kept=plan.kept) for name, part in whole.parts.items()}
        whole = replace(whole, parts=parts, kept=plan.kept)
    return whole


def _evaluated_parts(plan: Plan, on_progress: OnProgress | None) -> dict[str, Evaluation]:
    """Evaluate one dataset after another; the first that does not complete is the last to begin."""
    parts: dict[str, Evaluation] = {}
    resumed = plan.resumed.runs if plan.resumed else {}
    charge_earlier(plan, resumed.values())
    if any(waits_to_score(dataset.scorers, plan.options.crew) for dataset in plan.datasets):
        plan.methods.load()  # where workers score, they load their own
    leader = plan.resumed.leader.head if plan.resumed else None
    for dataset in plan.datasets:
        folder = resumed.get(dataset.name)
        if folder is not None:
            check_scored_alike(folder, dataset.scorers, plan.methods)
            folder = resumable_run(folder, dataset.scorers, plan.methods)
            folder = resumed_budget(folder, dataset.budget)
        if folder is None:
            folder = RunFolder.create(plan.runs_directory, _head(dataset, plan, leader=leader))
            if dataset.counted.of is not None:
                keep_value(folder.path / COUNTED_FILE, dataset.counted)
        leader = leader or folder.head
        parts[dataset.name] = _evaluated(dataset, folder, plan, on_progress)
        if not parts[dataset.name].outcome.completed:
            break
    left = plan.datasets[len(parts) :]
    return parts | {dataset.name: _unstarted_evaluation(dataset, plan) for dataset in left}


def _compared(
    plan: Plan,
    baseline: Baseline,
    parts: dict[str, Evaluation],
    demanded: Mapping[str, Demand],
    whole: Evaluation,
) -> Evaluation:
    """Return the evaluation held against a baseline; questions that got worse are asked again before."""
    both = baseline.pair_with(whole, demanded)
    found = compared(baseline, both, head=whole.head, seed=plan.choice.seed)
    if _is_worth_asking_again(plan, found):
        again = AskingAgain(plan, parts, _capped(plan))
        found = again.settle(found)
        if again.outcome is not None:
            parts = {name: replace(part, outcome=again.outcome) for name, part in parts.items()}
    found = with_old_answers(found, both)
    # Results have the tests that were made, so they are written again.
    parts = {
        name: write_results(replace(part, regressions=found, answers=_with_unstable(part, found)))
        for name, part in parts.items()
    }
    return replace(_whole(plan, parts), regressions=found)


def _with_unstable(part: Evaluation, moved: Regressions) -> AnswerCounts:
    return part.answers.with_unstable(sample for dataset, sample in moved.unstable if dataset == part.name)


def _is_worth_asking_again(plan: Plan, moved: Regressions) -> bool:
    """Return True if more questions got worse than may, and the agent can be asked them again."""
    is_live, gate = getattr(plan.target, "is_live", True), plan.gate
    is_once = plan.choice.repeats == 1 and gate.ask_again > 0
    return is_live and is_once and len(moved.worse) + len(moved.unconfirmed) > gate.max_regressions


def _whole(plan: Plan, parts: Mapping[str, Evaluation]) -> Evaluation:
    """Return the parts as one."""
    first = next(iter(parts.values()))
    usages = [usage for part in parts.values() if (usage := part.performance.judge_usage) is not None]
    return suite_of(
        first.head,
        parts,
        kind=plan.manifest.kind,
        parts_are="splits" if plan.manifest.kind == "golden" else "datasets",
        performance=Performance(judge_usage=sum(usages[1:], usages[0]) if usages else None),
        warnings=plan.warnings,
        left_out=plan.left_out,
        target=plan.shown_target,
        missing=plan.manifest.missing,
        folder=first.folder,
    )


def _unstarted_evaluation(dataset: DatasetPlan, plan: Plan) -> Evaluation:
    total = len(dataset.selection)
    return Evaluation(
        kind="answers",
        head=RunHead(run_id=NEW_RUN, dataset_id=dataset.name, target=plan.target.name, seed=plan.choice.seed),
        metrics={},
        counts=Counts(total=total, finished=0),
        outcome=RunOutcome(
            completed=False, interrupted=False, done=0, failed=0, remaining=total, reason=_NOT_BEGUN
        ),
        thresholds=dataset.thresholds,
        unmeasured=dataset.unmeasured,
        target=plan.shown_target,
    )


def score_dataset(
    dataset: DatasetPlan, folder: RunFolder, plan: Plan, tell: OnProgress | None, **more: Any
) -> tuple[RunOutcome, Performance]:
    """Ask and score what a run over a dataset has left to do, and tell where its answers fail; ``more`` is
    that of :func:`run_samples`. Return how it ended and what it took.
    """
    if tell is not None:
        tell(dataset.name, folder.counts.before_resuming(len(dataset.selection)))
    judged_by = plan.methods if dataset.judge_calls else Methods()
    # What is judged later may change where an answer fails, so that is told at the end.
    is_blamed = dataset.is_blamed and dataset.budget is None
    blames = FoundBlames(folder.path) if is_blamed else None
    with ResourceMeter() as meter, RunSpending(folder, judged_by) as spending:

        def pass_over(scorers: Sequence[Scorer], **wish: Any) -> RunOutcome:
            return run_samples(
                dataset.selection,
                _wrap_target(plan),
                scorers,
                folder=folder,
                options=plan.options,
                threads=plan.methods.threads,
                on_progress=spending.kept_by(None if tell is None else partial(tell, dataset.name)),
                on_finished=None if blames is None else blames.add,
                spending=_capped(plan),
                blaming=_blaming(dataset) if is_blamed else None,
                **{"are_unchanged": dataset.is_as_it_was, **more, **wish},
            )

        if dataset.budget is None:
            outcome = pass_over(dataset.scorers)
        else:
            outcome = judged_in_part(pass_over, dataset, folder, seed=plan.choice.seed)
    _blame(dataset, folder, plan.options.crew, blames)
    return outcome, Performance(resources=meter.usage, judge_usage=spending.usage)


def _evaluated(dataset: DatasetPlan, folder: RunFolder, plan: Plan, tell: OnProgress | None) -> Evaluation:
    outcome, spent = score_dataset(dataset, folder, plan, tell)
    folder = _with_device(folder, plan.methods)
    dataset = _without_misnamed(dataset, folder, plan.gate.min_resolved)
    evaluation = evaluation_of(dataset, folder, outcome, spent)
    evaluation = replace(evaluation, target=plan.shown_target)
    if not outcome.completed:
        return evaluation
    _keep_documents(dataset, folder)
    return write_results(evaluation)


def _without_misnamed(dataset: DatasetPlan, folder: RunFolder, min_resolved: float) -> DatasetPlan:
    """Return a dataset's plan with the metrics that the names of what was retrieved leave unmeasured."""
    # Other files than those that golden contexts name may be retrieved.
    of_hits = [each for each in dataset.scorers if each.reads_hits and LOCATED not in each.needs]
    if not of_hits:
        return dataset
    from rag_evaluation_framework.evaluation.hit_views import find_misnamed

    misnamed = find_misnamed(
        of_hits, dataset.selection, lambda: (each.response for each in folder.results()), min_resolved
    )
    return replace(dataset, unmeasured={**dataset.unmeasured, **misnamed})


def _with_device(folder: RunFolder, methods: Methods) -> RunFolder:
    """Return a run whose head says where its local model worked, which is known once it has."""
    head = replace(folder.head, configuration={**folder.head.configuration, **methods.local_model})
    if head != folder.head:
        with suppress(StorageError):  # what was measured is reported all the same
            return folder.amended(head)
    return folder


def _wrap_target(plan: Plan) -> Target:
    if plan.options.crew.engine != "ray":
        return plan.target
    from rag_evaluation_framework.evaluation.remote_targets import asked_by_workers

    return asked_by_workers(plan.target, plan.options)


def _keep_documents(dataset: DatasetPlan, folder: RunFolder) -> None:
    """Keep the documents that the samples need or that were retrieved, if any are at hand."""
    corpus, given = dataset.methods.corpus, dataset.entry.dataset
    documents = corpus.documents if corpus is not None else given.documents if given is not None else ()
    if dataset.is_golden:
        from rag_evaluation_framework.datasets.golden_contexts import with_sources

        documents = with_sources(documents, list(dataset.selection()))
    retrieved = (name for result in folder.results() for name in named_documents(result.response))
    with suppress(StorageError):  # what was measured is reported all the same
        if documents:
            keep_documents(documents, chain(needed_documents(dataset.selection()), retrieved), folder.path)


def evaluation_of(
    dataset: DatasetPlan, folder: RunFolder, outcome: RunOutcome, performance: Performance
) -> Evaluation:
    """Sum up one dataset's run."""
    return evaluation_of_run(
        folder,
        thresholds=dataset.thresholds,
        outcome=outcome,
        kind="golden" if dataset.is_golden else "answers",
        total=len(dataset.selection),
        metrics=tuple(scorer.name for scorer in dataset.scorers),
        directions={scorer.name: scorer.higher_is_better for scorer in dataset.scorers},
        performance=performance,
        unmeasured=dataset.unmeasured,
    )


def evaluation_as_it_stands(dataset: DatasetPlan, folder: RunFolder, methods: Methods) -> Evaluation:
    """Sum up a run of the dataset's samples without asking anybody."""
    check_unchanged(dataset.selection, folder.samples_path)
    with RunSpending(folder, methods) as spending:
        outcome = folder.counts.outcome
    _blame(dataset, folder, 1, None)
    return evaluation_of(dataset, folder, outcome, Performance(judge_usage=spending.usage))


def _blame(dataset: DatasetPlan, folder: RunFolder, workers: Workforce, found: FoundBlames | None) -> None:
    """Blame every answer once, without asking a judge; the run's folder keeps what was found."""
    if not dataset.is_blamed or read_figures(folder.path) is not None:
        return
    lines = None if found is None else found.of_all(len(dataset.selection))
    with suppress(StorageError):  # a run that was stopped by a full disk is reported all the same
        write_blames(folder.blame_path, lines or _blames(dataset, folder, workers))


def _blames(dataset: DatasetPlan, folder: RunFolder, workers: Workforce) -> Iterator[bytes]:
    items = ((sample, entry.result) for entry, sample in folder.answers())
    return in_order(_blaming(dataset), items, workers=workers, total=len(dataset.selection))


def _blaming(dataset: DatasetPlan) -> Blaming:
    from rag_evaluation_framework.evaluation.blame import Blaming

    return Blaming(dataset.methods.without_judge)


def _head(dataset: DatasetPlan, plan: Plan, *, leader: RunHead | None) -> RunHead:
    roles = getattr(plan.target, "embedding_roles", None)
    given = {"options": list(map(plan.secrets.mask, plan.given))} if plan.given else {}
    group = group_fields(
        plan.choice,
        datasets=tuple(each.name for each in plan.datasets),
        chosen=plan.options.datasets,
        metrics=plan.metrics,
        leader=leader,
    )
    return RunHead(
        run_id=NEW_RUN,
        dataset_id=dataset.name,
        dataset_version=dataset.entry.version or dataset.about.get("version"),
        dataset_hash=dataset.counted.content or content_hash(dataset.selection),
        target=plan.target.name,
        configuration={
            **plan.manifest.configuration,
            **({"system_version": version} if (version := getattr(plan.target, "version", None)) else {}),
            "dataset_path": None if dataset.entry.path is None else str(dataset.entry.path),
            **({"dataset": dict(dataset.about)} if dataset.about else {}),
            **(dataset.entry.source.configuration if dataset.entry.source else {}),
            **({} if dataset.reading is None else {READING: dataset.reading.to_dict()}),
            **({"annotations": list(map(str, marked))} if (marked := dataset.source.annotations) else {}),
            "metrics": {scorer.name: scorer.method for scorer in dataset.scorers},
            **({} if dataset.tells_blame else {"blame": False}),
            "thresholds": list(map(str, dataset.thresholds)),
            **plan.repository,
            **(judge_fields(plan.methods) if plan.judge_calls else {}),
            **({} if dataset.budget is None else {JUDGE_BUDGET: dataset.budget.head_fields}),
            **({"embedding_roles": roles} if roles else {}),
            **group,
        },
        metric_versions={scorer.name: scorer.version for scorer in dataset.scorers},
        seed=plan.choice.seed,
        packages=package_versions(),
        parameters={**plan.options.parameters, **_prices(plan), **given},
        environment=evaluation_environment(),
    )


def _prices(plan: Plan) -> dict[str, Any]:
    """Return what a million tokens of each model cost, where that was said, and the most to be spent."""
    judge, spending = plan.methods.judge, plan.methods.spending
    models = () if judge is None else judge.models
    priced = {model.name: prices for model in models if (prices := getattr(model, "prices", None))}
    priced |= {} if plan.prices is None else {plan.target.name: plan.prices}
    cap = {} if spending is None or spending.cap is None else {"max_cost_usd": spending.cap}
    if not priced:
        return cap
    return cap | {"prices_usd_per_million_tokens": {name: asdict(each) for name, each in priced.items()}}


def charge_earlier(plan: Plan, folders: Iterable[RunFolder]) -> None:
    """Count what earlier parts of the same runs have cost towards the cap, if there is one."""
    spending = plan.methods.spending
    if spending is None or spending.cap is None:
        return
    for folder in folders:
        judge, answers = read_value(folder.judge_usage_path, JudgeUsage), folder.index().usage
        cost = answers.cost_usd if plan.prices is None else plan.prices.cost(answers)
        spending.charge(((judge and judge.cost_usd) or 0.0) + (cost or 0.0), once=folder.head.run_id)


def _capped(plan: Plan) -> TargetSpending | None:
    spending = plan.methods.spending
    if spending is None or spending.cap is None or not getattr(plan.target, "is_live", True):
        return None
    return spending.of_target(plan.prices)


def _check_target(target: Target, resumed: RunGroup | None) -> None:
    if resumed is not None and resumed.leader.head.target != target.name:
        began = resumed.leader.head.target
        raise UsageError(f"cannot resume with a different target: expected {began}, got {target.name}")


# The judge of a run: which endpoints it asks, so that a resume asks the same ones, and what it costs.

JUDGE = "judge"
"""Where the configuration of a head lists the endpoints of the judge."""


def judge_usage(methods: Methods) -> JudgeUsage | None:
    """Return what the judge has cost since it was set up; ``None`` if there is none, or none is counted."""
    judge, spending = methods.judge, methods.spending
    if judge is None or spending is None:
        return None
    usage = spending.usage or Usage()
    told: Any = {"failed_votes": judge.failed_votes, "decided": getattr(methods.support, "decided", {})}
    return JudgeUsage(judge=judge.name, calls=spending.calls, **asdict(usage), **told)


class RunSpending:
    """Counts in a ``with`` block what the judge costs in a part of a run; ``usage`` is that of all its parts.

    The run's folder keeps the sum. While a part is under way it says *at least*, and keeps saying so if the
    part was killed.
    """

    def __init__(self, folder: RunFolder, methods: Methods) -> None:
        self.usage: JudgeUsage | None = None
        self._folder, self._methods = folder, methods
        self._before: JudgeUsage | None = None
        self._earlier: JudgeUsage | None = None
        self._told = time.monotonic()

    def kept_by(self, tell: Callable[[Progress], None] | None) -> Callable[[Progress], None] | None:
        """Return what also keeps the sum, once a second under a cap or a budget: a resume knows it then."""
        spending = self._methods.spending
        is_limited = spending is not None and (spending.cap is not None or self._methods.budget is not None)
        if self._before is None or not is_limited:
            return tell

        def save_and_tell(progress: Progress) -> None:
            if time.monotonic() - self._told >= 1:
                self._told = time.monotonic()
                self._keep(self._so_far(), at_least=True)
            if tell is not None:
                tell(progress)

        return save_and_tell

    def _keep(self, usage: JudgeUsage, *, at_least: bool) -> None:
        keep_value(self._folder.judge_usage_path, replace(usage, at_least=at_least).to_dict())

    def _so_far(self) -> JudgeUsage:
        spent = judge_usage(self._methods) - self._before  # type: ignore[operator]  # there is a judge
        return spent if self._earlier is None else spent + self._earlier

    def __enter__(self) -> Self:
        self._before = judge_usage(self._methods)
        if self._before is not None:
            self._earlier = read_value(self._folder.judge_usage_path, JudgeUsage)
            so_far = self._earlier or self._before - self._before
            self._keep(so_far, at_least=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            self.usage = self._so_far()
            self._keep(self.usage, at_least=self.usage.at_least)


def judge_fields(methods: Methods) -> dict[str, Any]:
    """Return what the configuration of a head says about the judge: each model's endpoint and settings."""
    judge, card = methods.judge, methods.judge_card
    return {} if judge is None else {JUDGE: list(map(endpoint_of, judge.models)), **card}


def other_judge_warnings(plan: Plan, baseline: Baseline | None, methods: Methods) -> Iterator[str]:
    """Yield a warning for each baseline that a judge of the same name, but another endpoint, has judged."""
    for dataset in plan.datasets if baseline is not None else ():
        run = baseline.runs.get(dataset.name) if baseline is not None else None
        changed = judge_change(run.head, methods) if run and dataset.judge_calls else None
        if run is not None and changed is not None:
            then, now = changed
            yield f"baseline {run.head.run_id} was judged by {then}, this run by {now}"


def judge_change(head: RunHead, methods: Methods) -> tuple[str, str] | None:
    """Name the endpoint of a run's judge that has changed, as it was and as it is; ``None`` if none has.

    Settings that a head does not name have their defaults.
    """
    began, now = head.configuration.get(JUDGE), judge_fields(methods).get(JUDGE)
    if began is None or now is None or began == now:
        return None
    pairs = zip(began, now, strict=False)
    different = [([then], [is_now]) for then, is_now in pairs if then != is_now]
    then, is_now = different[0] if different else (began, now)
    return endpoints_in_words(then), endpoints_in_words(is_now)


def rescored_head(folder: RunFolder, scorers: Sequence[MetricScorer], methods: Methods | None) -> RunHead:
    """Return the head of a run with the metrics it is scored by now, their methods and versions, and with the
    judge of ``methods`` in place of the one it had.
    """
    left_out, methods = (JUDGE, JUDGE_BUDGET, READING, "support", "judge_card"), methods or Methods()
    before = {name: value for name, value in folder.head.configuration.items() if name not in left_out}
    metrics = {scorer.name: scorer.method for scorer in scorers}
    return replace(
        folder.head,
        configuration={
            **before,
            "metrics": metrics,
            **judge_fields(methods),
            **({} if methods.budget is None else {JUDGE_BUDGET: methods.budget.head_fields}),
        },
        metric_versions={scorer.name: scorer.version for scorer in scorers},
    )


# How a resumed run is scored: as it began or, while it has no answers, as is wanted now.


def check_scored_alike(folder: RunFolder, scorers: Sequence[MetricScorer], methods: Methods) -> None:
    """Raise :class:`UsageError` if a run that has answers would go on with scores made in another way."""
    if not folder.counts.done:
        return
    began = folder.head.configuration.get("metrics", {})
    for scorer in scorers:
        if began.get(scorer.name, scorer.method) != scorer.method:
            raise UsageError(
                f"cannot resume with a different method: expected {scorer.name} by {began[scorer.name]}, "
                f"got {scorer.method}"
            )
    if changed := judge_change(folder.head, methods):
        raise UsageError(f"cannot resume with a different judge: expected {changed[0]}, got {changed[1]}")


def resumable_run(folder: RunFolder, scorers: Sequence[MetricScorer], methods: Methods) -> RunFolder:
    """Return a run to go on with. One that has no answers yet, because the judge's address was wrong for
    example, takes today's methods and judge.
    """
    if folder.counts.done:
        return folder
    has_judge = any(scorer.questions for scorer in scorers)
    head = rescored_head(folder, scorers, methods if has_judge else None)
    return folder if head == folder.head else folder.amended(head)


# Questions that got worse since a baseline, put to the agent again in folders beside their run.

_ASKED_AGAIN = "asked_again"
Key = tuple[str, str]
"""A question: its dataset and its id."""


class AskingAgain:
    """Asks questions of a finished evaluation again; what was asked before a kill is not asked twice.

    ``outcome`` is that of an asking that did not complete, if there is one.
    """

    def __init__(self, plan: Plan, parts: Mapping[str, Evaluation], spending: TargetSpending | None) -> None:
        self._plan, self._parts, self._spending, self._asked = plan, parts, spending, 0
        self._digits: dict[Key, str] = {}
        self.outcome: RunOutcome | None = None

    def settle(self, moved: Regressions) -> Regressions:
        """Return what is left of the regressions once their questions were asked again."""
        wanted = (*moved.worse, *moved.unconfirmed)
        verdicts = {
            (part.name, row.id): row.verdict
            for part in self._parts.values()
            for row in part.rows
            if (part.name, row.id) in wanted
        }
        first = {key: verdict for key in wanted if (verdict := verdicts.get(key)) is not None}
        if not first:  # only retrieval was measured
            return moved
        found = ask_again(first, self.ask, self._plan.gate.ask_again, moved.partly_before)
        for name, part in self._parts.items():
            unstable = [sample for dataset, sample in found.unstable if dataset == name]
            if part.folder is not None:
                keep_value(part.folder / UNSTABLE_FILE, sorted(unstable))
                askings = {
                    sample: digits for (dataset, sample), digits in self._digits.items() if dataset == name
                }
                keep_value(part.folder / ASKINGS_FILE, askings)
        return replace(
            moved,
            word="not worse",
            worse=found.became_wrong,
            unconfirmed=found.unconfirmed,
            unstable=(*moved.unstable, *found.unstable),
            asked_again=found.calls,
            was_asked_again=True,
            were_judged=found.were_judged,
        ).settled()

    def ask(self, keys: Collection[Key], times: int) -> dict[Key, Sequence[AnswerVerdict]]:
        """Ask each question a number of times, and return the verdicts on its answers."""
        found: dict[Key, list[AnswerVerdict]] = {}
        for dataset in self._plan.datasets:
            names = {sample for name, sample in keys if name == dataset.name}
            run = self._parts[dataset.name]
            if not names or run.folder is None or self.outcome is not None:
                continue
            samples = tuple(
                replace(sample, id=f"{sample.id}~{number}")
                for sample in dataset.selection()
                if sample.id in names
                for number in range(self._asked + 2, self._asked + 2 + times)
            )
            name = f"after_{self._asked}"
            place = run.folder / _ASKED_AGAIN
            folder = (
                RunFolder.at(place / name)
                if (place / name / "head.json").is_file()
                else RunFolder.create(place, replace(run.head, run_id=name, started_at=None))
            )
            outcome = run_samples(
                samples,
                self._plan.target,
                dataset.scorers,
                folder=folder,
                options=self._plan.options,
                threads=self._plan.methods.threads,
                spending=self._spending,
            )
            self.outcome = None if outcome.completed else outcome
            for row in rows_of_folder(folder, samples):
                if row.verdict is not None:
                    key = dataset.name, original_sample_id(row.id)
                    found.setdefault(key, []).append(row.verdict)
                    self._digits[key] = self._digits.get(key, "") + digits_of([row.verdict])
        self._asked += times
        return dict(found)
