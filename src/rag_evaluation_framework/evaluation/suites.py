"""A plan carried out, dataset by dataset: one evaluation with a part for each of them.

Each dataset is a run of its own; the runs of one evaluation are tied together (``RunGroup``). The
first that does not complete ends the evaluation; what was planned and not reached is a part that was not
begun. Rows are read from the run's folder when asked for: only figures and scores are held in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import StorageError, UsageError
from rag_evaluation_framework.evaluation.blame import BLAMED_BY, are_blamed, blamed
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.evaluation.preflight import DatasetPlan, Plan
from rag_evaluation_framework.evaluation.rescoring import check_scored_alike, scored_as_wanted
from rag_evaluation_framework.evaluation.resources import ResourceMeter, RunSpending, judge_fields
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.metrics.declaration import PASS_RATE, without_parameters
from rag_evaluation_framework.metrics.safety import OVER_REFUSAL, REFUSAL_RECALL
from rag_evaluation_framework.records.responses import TURNS
from rag_evaluation_framework.records.runs import (
    OnProgress,
    RunHead,
    RunOutcome,
    RunSettings,
    SampleChoice,
    package_versions,
)
from rag_evaluation_framework.records.scores import Blame, Score
from rag_evaluation_framework.results.breakdowns import (
    BlameSummary,
    Refusals,
    RefusalTable,
    blame_of_all,
    blame_summary,
    read_blames,
    write_blames,
)
from rag_evaluation_framework.results.comparison import check_baseline, compare_with_baseline
from rag_evaluation_framework.results.evaluations import (
    Evaluation,
    Kind,
    Row,
    rows_of_folder,
    summed_up,
)
from rag_evaluation_framework.results.gate import (
    Gate,
    PassCounter,
    missed_bounds,
    sample_bounds,
    sample_passes,
    with_pass_rate,
)
from rag_evaluation_framework.results.results_documents import results_document
from rag_evaluation_framework.results.run_folder import (
    NEW_RUN,
    RESULTS_FILE,
    RunFolder,
    RunGroup,
    group_fields,
)
from rag_evaluation_framework.results.sample_list import check_unchanged, content_hash
from rag_evaluation_framework.results.summaries import (
    NO_COLUMNS,
    PERFORMANCE,
    TOTAL_TIME,
    Counts,
    Figure,
    Performance,
)

_NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A plan, and how it is carried out; the heads of its runs record the ``configuration``.

    ``methods`` are those of the plan: their judge and what it costs are recorded. ``metrics`` are those that
    take the place of a manifest's.
    """

    plan: Plan
    runs_directory: Path
    run: RunSettings
    choice: SampleChoice
    gate: Gate = field(default_factory=lambda: Gate(enabled=False))
    kind: Kind = "suite"
    methods: ScoringMethods = field(default_factory=ScoringMethods, hash=False)
    metrics: tuple[str, ...] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict, hash=False)
    resumed: RunGroup | None = None
    baseline: RunGroup | None = None
    shown_target: str | None = None
    missing: tuple[str, ...] = ()


def run_suite(suite: Suite, target: Target, *, on_progress: OnProgress | None = None) -> Evaluation:
    """Ask, score and sum up what was planned; what an earlier run has finished is not asked again."""
    plan, resumed = suite.plan, suite.resumed
    _check_target(target, resumed)
    if suite.baseline is not None:
        _check_baselines(plan, suite.baseline)
    parts: dict[str, Evaluation] = {}
    leader = resumed.leader.head if resumed else None
    for dataset in plan.datasets:
        folder = resumed.runs.get(dataset.name) if resumed else None
        if folder is not None:
            check_scored_alike(folder, dataset.scorers, suite.methods)
            folder = scored_as_wanted(folder, dataset.scorers, suite.methods)
        if folder is None:
            folder = RunFolder.create(suite.runs_directory, _head(dataset, suite, target, leader=leader))
        leader = leader or folder.head
        parts[dataset.name] = _evaluated(dataset, folder, target, suite, on_progress)
        if not parts[dataset.name].outcome.completed:
            break
    for dataset in plan.datasets[len(parts) :]:
        parts[dataset.name] = _not_begun(dataset, suite, target)
    whole = _whole(suite, parts)
    return replace(whole, verdict=suite.gate.decide(whole))


def _whole(suite: Suite, parts: Mapping[str, Evaluation]) -> Evaluation:
    """Return the parts as one; of a single dataset its figures are those of the whole."""
    first = next(iter(parts.values()))
    begun = [part for part in parts.values() if part.is_begun]
    stopped = next((part.outcome for part in parts.values() if not part.outcome.completed), None)
    counts = [part.counts for part in parts.values()]
    usages = [part.performance.judge_usage for part in begun if part.performance.judge_usage is not None]
    blames = [part.blame for part in begun if part.blame is not None]
    is_single = len(parts) == 1
    return Evaluation(
        kind=suite.kind,
        head=first.head,
        metrics=first.metrics if is_single else {},
        counts=Counts(
            total=sum(each.total for each in counts),
            finished=sum(each.finished for each in counts),
            failed=sum(each.failed for each in counts),
            errors=sum(each.errors for each in counts),
        ),
        outcome=stopped or first.outcome,
        columns=first.columns if is_single else NO_COLUMNS,
        parts=parts,
        parts_are="splits" if suite.kind == "golden" else "datasets",
        comparison=first.comparison if is_single else None,
        blame=blame_of_all(blames) if blames else None,
        performance=Performance(judge_usage=sum(usages[1:], usages[0]) if usages else None),
        warnings=suite.plan.warnings,
        target=suite.shown_target,
        missing=suite.missing,
        folder=first.folder,
    )


def _not_begun(dataset: DatasetPlan, suite: Suite, target: Target) -> Evaluation:
    total = len(dataset.selection)
    return Evaluation(
        kind="answers",
        head=RunHead(run_id=NEW_RUN, dataset_id=dataset.name, target=target.name, seed=suite.choice.seed),
        metrics={},
        counts=Counts(total=total, finished=0),
        outcome=RunOutcome(
            completed=False, interrupted=False, done=0, failed=0, remaining=total, reason=_NOT_BEGUN
        ),
        thresholds=dataset.thresholds,
        unmeasured=dataset.unmeasured,
        target=suite.shown_target,
    )


def _evaluated(
    dataset: DatasetPlan, folder: RunFolder, target: Target, suite: Suite, tell: OnProgress | None
) -> Evaluation:
    if tell is not None:
        tell(dataset.name, folder.counts.before_resuming(len(dataset.selection)))
    judged_by = suite.methods if dataset.judge_calls else ScoringMethods()
    with ResourceMeter() as meter, RunSpending(folder, judged_by) as spending:
        outcome = run_samples(
            dataset.selection,
            target,
            dataset.scorers,
            folder=folder,
            settings=suite.run,
            on_progress=None if tell is None else lambda progress: tell(dataset.name, progress),
        )
    performance = Performance(resources=meter.usage, judge_usage=spending.usage)
    evaluation = evaluation_of(dataset, folder, outcome, performance)
    if suite.baseline is not None and outcome.completed:
        compared = compare_with_baseline(
            suite.baseline.runs[dataset.name], folder, dataset.scorers, seed=folder.head.seed
        )
        evaluation = replace(evaluation, comparison=compared)
    evaluation = replace(evaluation, target=suite.shown_target)
    return _written(evaluation) if outcome.completed else evaluation


def _written(evaluation: Evaluation) -> Evaluation:
    """Write the results document into the run's folder; what was measured is reported all the same."""
    try:
        if evaluation.folder is not None:
            evaluation.save(evaluation.folder / "results.json")
    except StorageError as error:
        return replace(evaluation, outcome=replace(evaluation.outcome, completed=False, reason=str(error)))
    return evaluation


def evaluation_of(
    dataset: DatasetPlan, folder: RunFolder, outcome: RunOutcome, performance: Performance
) -> Evaluation:
    """Sum up one dataset's run."""
    passes = PassCounter(sample_bounds(dataset.thresholds, (scorer.name for scorer in dataset.scorers)))
    blame: BlameSummary | None = None

    def rows() -> Iterator[Row]:
        return _rows(dataset, folder, is_blamed=blame is not None)

    evaluation = summed_up(
        folder.head,
        passes.counted(rows_of_folder(folder)),
        kind="golden" if dataset.is_golden else "answers",
        outcome=outcome,
        rows=rows,
        total=len(dataset.selection),
        order=[scorer.name for scorer in dataset.scorers],
        directions={scorer.name: scorer.higher_is_better for scorer in dataset.scorers},
        performance=performance,
        thresholds=dataset.thresholds,
        unmeasured=dataset.unmeasured,
        folder=folder.path,
    )
    blame = _blamed(dataset, folder)
    return with_pass_rate(replace(evaluation, blame=blame), passes)


def evaluation_as_it_stands(dataset: DatasetPlan, folder: RunFolder, methods: ScoringMethods) -> Evaluation:
    """Sum up a run of the dataset's samples without asking anybody."""
    check_unchanged(dataset.selection, folder.samples_path)
    with RunSpending(folder, methods) as spending:
        outcome = folder.counts.outcome
    return evaluation_of(dataset, folder, outcome, Performance(judge_usage=spending.usage))


def _rows(dataset: DatasetPlan, folder: RunFolder, *, is_blamed: bool) -> Iterator[Row]:
    """Yield the finished samples in the order of the dataset."""
    bounds = sample_bounds(dataset.thresholds, (scorer.name for scorer in dataset.scorers))
    blames = read_blames(folder.blame_path) if is_blamed else iter(())
    for row in rows_of_folder(folder, dataset.selection):
        yield replace(
            row,
            passes=sample_passes(row.result, bounds),
            misses=missed_bounds(row.result, bounds),
            blame=next((found for sample_id, found in blames if sample_id == row.id), None),
        )


def _blamed(dataset: DatasetPlan, folder: RunFolder) -> BlameSummary | None:
    """Blame every answer once, without asking a judge; the run's folder keeps what was found."""
    if not are_blamed(dataset.scorers, is_golden=dataset.is_golden):
        return None
    try:
        write_blames(folder.blame_path, _blames(dataset, folder))
    except StorageError:  # a run that was stopped by a full disk is reported all the same
        return None
    written = read_blames(folder.blame_path)
    return blame_summary((each for _, found in written for each in found.answers), method=BLAMED_BY)


def _blames(dataset: DatasetPlan, folder: RunFolder) -> Iterator[tuple[str, Blame]]:
    for row in rows_of_folder(folder, dataset.selection):
        if row.sample is not None:
            yield row.id, blamed(row.sample, row.result.response, dataset.documents)


def _head(dataset: DatasetPlan, suite: Suite, target: Target, *, leader: RunHead | None) -> RunHead:
    plan = suite.plan
    group = group_fields(
        suite.choice,
        datasets=tuple(each.name for each in plan.datasets),
        metrics=suite.metrics,
        leader=leader,
    )
    return RunHead(
        run_id=NEW_RUN,
        dataset_id=dataset.name,
        dataset_version=dataset.entry.version,
        dataset_hash=content_hash(dataset.selection),
        target=target.name,
        configuration={
            **suite.configuration,
            "dataset_path": None if dataset.entry.path is None else str(dataset.entry.path),
            "metrics": {scorer.name: scorer.method for scorer in dataset.scorers},
            "thresholds": list(map(str, dataset.thresholds)),
            **(judge_fields(suite.methods) if plan.judge_calls else {}),
            **group,
        },
        metric_versions={scorer.name: scorer.version for scorer in dataset.scorers},
        seed=suite.choice.seed,
        packages=package_versions(),
    )


def _check_target(target: Target, resumed: RunGroup | None) -> None:
    if resumed is not None and resumed.leader.head.target != target.name:
        began = resumed.leader.head.target
        raise UsageError(f"cannot resume with another target: expected {began}, got {target.name}")


def _check_baselines(plan: Plan, baseline: RunGroup) -> None:
    for dataset in plan.datasets:
        if dataset.name not in baseline.runs:
            known = ", ".join(baseline.runs)
            raise UsageError(f"baseline: expected a run of dataset {dataset.name}, got runs of {known}")
        check_baseline(baseline.runs[dataset.name], dataset.scorers)


# The splits of golden sets as one evaluation: refusals of all of them, and one results document.
#
# Refusals are counted answer by answer, the turns of a conversation one by one: what should have been
# declined in any split, and what should have been answered in each.


def golden_evaluation(suite: Evaluation, folder: Path) -> Evaluation:
    """Return the evaluation of a folder's splits with refusals; its results are written if complete."""
    whole = replace(suite, refusals=_refusals(suite))
    whole = replace(whole, document=golden_document(whole, folder=folder))
    if whole.outcome.completed and whole.folder is not None:
        try:
            whole.save(whole.folder / RESULTS_FILE)
        except StorageError as error:
            return replace(whole, outcome=replace(whole.outcome, completed=False, reason=str(error)))
    return whole


def unscored(evaluation: Evaluation) -> dict[str, dict[str, str]]:
    """Return by split and metric the commonest reason why a metric has no score at all."""
    return {
        split: dict(part.unmeasured)
        | {
            each.metric: each.reasons[0].reason
            for each in part.metrics.values()
            if not each.n_scored and not each.n_failed and each.reasons
        }
        for split, part in evaluation.parts.items()
        if part.is_begun
    }


def golden_document(golden: Evaluation, *, folder: Path) -> dict[str, Any]:
    """Return the results of all splits, and the verdict of the gate, as one document of plain values."""
    splits = {part.name: part for part in golden.runs}
    rows = list(_golden_rows(splits))
    whole = _summed_up(golden, splits, rows, folder)
    document = results_document(whole)
    usages = {name: part.performance.judge_usage for name, part in splits.items()}
    if by_split := {name: usage.to_dict() for name, usage in usages.items() if usage is not None}:
        document[PERFORMANCE]["judge_usage_by_split"] = by_split
    reasons = unscored(golden)
    document["golden"] = {
        "splits": {name: _split(part, reasons.get(name, {})) for name, part in splits.items()},
        "missing_splits": list(golden.missing),
        "refusals": None if golden.refusals is None else golden.refusals.to_dict(),
        "gate": None if golden.verdict is None else golden.verdict.to_dict(),
        "warnings": list(golden.warnings),
    }
    return document


def pass_rate(golden: Evaluation) -> Figure:
    """Return the share of all samples that pass, each by the thresholds of its split."""
    counts = PassCounter()
    for part in golden.runs:
        rate = part.metrics[PASS_RATE]
        passed = round((rate.value or 0) * rate.n_scored)
        counts.passed += passed
        counts.failed += rate.n_scored - passed
        counts.unmeasured += rate.n_failed
        counts.undecided += rate.n_skipped
    return counts.rate()


def _refusals(suite: Evaluation) -> RefusalTable:
    should_refuse = Refusals()
    by_split: dict[str, Refusals] = {}
    methods: set[str] = set()
    for part in suite.runs:
        for row in part.rows:
            for score in row.scores:
                name = without_parameters(score.metric)
                if name not in (REFUSAL_RECALL, OVER_REFUSAL) or not (counts := _declined(score)).total:
                    continue
                methods.add(score.method)
                if name == REFUSAL_RECALL:
                    should_refuse += counts
                else:
                    by_split[part.name] = by_split.get(part.name, Refusals()) + counts
    return RefusalTable(should_refuse=should_refuse, by_split=by_split, methods=tuple(sorted(methods)))


def _declined(score: Score) -> Refusals:
    """Count the answers behind a score: the turns that have a value, else its own."""
    turns = score.details.get(TURNS)
    own = [] if score.value is None else [score.value]
    values = [turn["value"] for turn in turns] if isinstance(turns, list) else own
    refused = sum(value == 1 for value in values)
    return Refusals(refused, len(values) - refused)


def _golden_rows(splits: Mapping[str, Evaluation]) -> Iterator[Row]:
    for name, part in splits.items():
        for row in part.rows:
            yield replace(row, result=replace(row.result, sample_id=f"{name}/{row.id}"), split=name)


def _summed_up(
    golden: Evaluation, splits: Mapping[str, Evaluation], rows: list[Row], folder: Path
) -> Evaluation:
    parts = list(splits.values())
    whole = summed_up(
        _golden_head(splits, folder),
        rows,
        kind="golden",
        outcome=golden.outcome,
        rows=lambda: rows,
        total=sum(part.counts.total for part in parts),
        directions={name: figure.higher_is_better for part in parts for name, figure in part.metrics.items()},
        performance=Performance(judge_usage=golden.performance.judge_usage),
        blame=golden.blame,
    )
    # The splits are run one after another, each on a clock of its own.
    seconds = sum(part.performance.figures.get(TOTAL_TIME, 0.0) for part in parts)
    whole_time = {TOTAL_TIME: round(seconds, 3)} if seconds else {}
    return replace(
        whole,
        metrics={**whole.metrics, PASS_RATE: pass_rate(golden)},
        performance=replace(whole.performance, figures={**whole.performance.figures, **whole_time}),
    )


def _golden_head(splits: Mapping[str, Evaluation], folder: Path) -> RunHead:
    """Return the head of the first run, changed to speak for all of them."""
    heads = {name: part.head for name, part in splits.items()}
    first = next(iter(heads.values()))
    hashes = "".join(f"{name} {head.dataset_hash}\n" for name, head in heads.items())
    of_one = ("dataset_path", "metrics", "thresholds")
    common = {name: value for name, value in first.configuration.items() if name not in of_one}
    own = {split: {name: head.configuration.get(name) for name in of_one} for split, head in heads.items()}
    return replace(
        first,
        dataset_id=folder.resolve().name,
        dataset_hash=f"sha256:{hashlib.sha256(hashes.encode()).hexdigest()}",
        configuration={**common, "splits": own},
        metric_versions={name: n for head in heads.values() for name, n in head.metric_versions.items()},
    )


def _split(part: Evaluation, reasons: Mapping[str, str]) -> dict[str, Any]:
    return {
        "run_id": part.head.run_id,
        "total": part.counts.total,
        "finished": part.counts.finished,
        "errors": part.counts.errors,
        "metrics": {name: figure.to_dict() for name, figure in part.metrics.items()},
        "not_scored": dict(reasons),
        "blame": None if part.blame is None else part.blame.to_dict(),
    }
