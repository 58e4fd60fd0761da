"""A folder of golden sets as a plan: what each split is scored by, and the gate.

The plan is one like any other: the same engine runs it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS, SPLITS
from rag_evaluation_framework.datasets.recognition import is_named_for, recognise
from rag_evaluation_framework.datasets.validation import record_file_issues
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    Problems,
    RagEvalError,
    StorageError,
    UnknownNameError,
    UsageError,
    counted,
    shown,
)
from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest, read_manifest
from rag_evaluation_framework.evaluation.plan import (
    DatasetPlan,
    Plan,
    context_warnings,
    plan_evaluation,
    threshold_warnings,
)
from rag_evaluation_framework.judging.answer_verdicts import expects_refusal, may_be_declined
from rag_evaluation_framework.metrics.declaration import PASS_RATE, check_known, without_parameters
from rag_evaluation_framework.metrics.safety import OVER_REFUSAL, REFUSAL_RECALL, REFUSALS
from rag_evaluation_framework.records.responses import History
from rag_evaluation_framework.records.runs import RunHead, SampleChoice
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.evaluations import Evaluation, summed_up, unscored
from rag_evaluation_framework.results.gate import PassCounter
from rag_evaluation_framework.results.results_document import results_document, significance_tests
from rag_evaluation_framework.results.run_store import RESULTS_FILE
from rag_evaluation_framework.results.summaries import PERFORMANCE, TOTAL_TIME, Figure, Performance
from rag_evaluation_framework.results.verdicts import OF_ANSWERS, Operator, Threshold, read_thresholds

# The five golden sets, the splits of a golden run, and where a folder has them.
#
# A folder has ``evaluation/datasets/``, ``datasets/`` or the files themselves. A file that is called
# ``factual_qa.json`` and the like is the split of that name; any other is told by its content.

_PLACES = ("evaluation/datasets", "datasets", ".")
_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst")


def find_splits(folder: str | Path) -> dict[str, Path]:
    """Return the file of each split that a folder has, in the order of :data:`SPLITS`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(f"expected a folder of golden sets, got {folder}")
    for place in _PLACES:
        found = _splits_in(folder / place)
        if found:
            return {name: found[name] for name in SPLITS if name in found}
    files = ", ".join(split.file for split in SPLITS.values())
    raise UsageError(f"{folder} and its evaluation/datasets contain no golden sets; expected {files}")


def _splits_in(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() or not path.name.endswith(_SUFFIXES):
            continue
        name = _split_of(path)
        if name is not None and name in found:
            raise UsageError(f"expected one file of {name}, got {found[name]} and {path}")
        if name is not None:
            found[name] = path
    return found


def _split_of(path: Path) -> str | None:
    for name, split in SPLITS.items():
        if is_named_for(path, split.dialect):  # if it is broken, planning says what is wrong
            return name
    try:
        dialect = recognise(path).name
    except RagEvalError:
        return None
    return next((name for name, split in SPLITS.items() if split.dialect == dialect), None)


# How a golden run is gated and what it is scored by: from the command line, and from a YAML file.
#
# ::
#
#     spec:
#       evaluation:
#         datasets:                       # only for splits with other metrics than usual
#           - name: facts
#             metrics: [entity_coverage, token_f1]
#         thresholds: {entity_coverage: 0.8, over_refusal: {max: 0.05}}
#         ciGate: true
#         judge: {model: gpt-4o-mini}
#       api: …                            # as in any manifest
#
# On the command line a threshold is ``entity_coverage=0.8``, ``over_refusal<=0.05`` or, for one split
# alone, ``facts:token_f1>=0.5``; one that is given switches the gate on.

_THRESHOLD = re.compile(
    r"\s*(?:(?P<split>[a-z]+):)?(?P<metric>[^()<>=]+(?:\(.*\)[^()<>=]*)?)"
    r"(?P<operator>>=|<=|=)\s*(?P<bound>\S+)\s*"
)


def parse_thresholds(written: Iterable[str]) -> tuple[Threshold, ...]:
    """Return thresholds as the command line writes them."""
    problems = Problems()
    found: list[Threshold] = []
    texts: dict[tuple[str | None, str, Operator], str] = {}
    for text in dict.fromkeys(written):
        with problems.collected():
            threshold = _parse_threshold(text)
            first = texts.setdefault((threshold.dataset, threshold.metric, threshold.operator), text)
            if first != text:
                told = f"expected one threshold of {threshold.metric}, got also {shown(first)}"
                raise UsageError(f"--threshold {shown(text)}: {told}")
            found.append(threshold)
    problems.raise_all()
    return tuple(found)


def _parse_threshold(text: str) -> Threshold:
    match = _THRESHOLD.fullmatch(text)
    metric = "" if match is None else match["metric"].strip()
    bound: float | str | None = None
    with suppress(ValueError):
        bound = None if match is None else _read_bound(match["bound"], is_limit=metric in OF_ANSWERS)
    if match is None or bound is None:
        raise UsageError(f"--threshold: expected METRIC=NUMBER, got {shown(text)}")
    side = {">=": "min", "<=": "max"}.get(match["operator"])
    try:
        if match["split"] not in (None, *SPLITS):
            raise UnknownNameError("split", match["split"], list(SPLITS))
        check_known(metric, OF_ANSWERS)
        (threshold,) = read_thresholds(metric, bound if side is None else {side: bound})
        return replace(threshold, dataset=match["split"])
    except (InputError, UnknownNameError) as error:
        raise UsageError(f"--threshold {shown(text)}: {error}") from None


def _read_bound(text: str, *, is_limit: bool) -> float | str:
    """Return a number; of a limit of answers a whole one stays whole, and a percentage is left to read."""
    if is_limit and (text.isdecimal() or text.endswith("%")):
        return int(text) if text.isdecimal() else text
    return float(text)


def golden_manifest(
    folder: str | Path,
    *,
    config: str | Path | None = None,
    thresholds: Iterable[str] = (),
    history: History = "own",
) -> Manifest:
    """Return the manifest that a folder of golden sets stands for; its datasets are the splits.

    Settings may stand in the file ``config``; ``thresholds`` are written as on the command line, and switch
    the gate on. All that is wrong with either is in one error.
    """
    settings, problems = Manifest(file=Path(folder), datasets=()), Problems()
    bounds: tuple[Threshold, ...] = ()
    with problems.collected():
        settings = settings if config is None else read_manifest(config, splits=SPLITS)
    with problems.collected():
        bounds = parse_thresholds(thresholds)
    problems.raise_all()
    found = find_splits(folder)
    _check_splits(settings, bounds, found)
    listed = {entry.name: entry for entry in settings.datasets}
    plain = {name: DatasetEntry(name=name, path=None, metrics=SPLITS[name].metrics) for name in found}
    entries = ({**plain, **listed}[name] for name in found)
    return replace(
        settings,
        datasets=tuple(
            replace(entry, path=found[entry.name], metrics=_with_refusals(entry.metrics)) for entry in entries
        ),
        thresholds=(*settings.thresholds, *bounds),
        ci_gate=settings.ci_gate or bool(bounds),
        kind="golden",
        missing=tuple(name for name in SPLITS if name not in found),
        configuration={"golden": str(folder), "history": history},
    )


def plan_golden(manifest: Manifest, *, choice: SampleChoice | None = None, **wish: Any) -> Plan:
    """Plan a run over the splits named, or all of them; all problems are in one error, and ``wish`` is that
    of :func:`plan_evaluation`.

    A split is scored by those metrics of refusals that apply to its samples, and by span metrics if golden
    contexts can be located; those that cannot are warned about. In conversations every turn is scored by
    itself.
    """
    # What the files lack (contexts, above all) the system may return; if it does not, that is counted.
    tolerant = replace(choice or SampleChoice(), allow_missing=True)
    plan = plan_evaluation(manifest, choice=tolerant, **wish)
    fitted = tuple(map(_fitted, plan.datasets))
    _check_thresholds(manifest.thresholds, fitted)
    warnings = threshold_warnings(manifest)
    for dataset in plan.datasets:
        warnings += (*_doubts(dataset), *context_warnings([dataset]))
    return replace(plan, datasets=fitted, warnings=tuple(warnings))


def _check_splits(settings: Manifest, bounds: Sequence[Threshold], found: Mapping[str, Path]) -> None:
    """Raise :class:`InputError` for settings of splits that the folder does not have."""
    expected = f"a split in the folder ({', '.join(found)})"
    absent = [
        Issue("missing-split", expected, shown(entry.name), file=str(settings.file), line=entry.line)
        for entry in settings.datasets
        if entry.name not in found
    ]
    absent += [
        Issue("missing-split", expected, shown(each.dataset), f"threshold {each}")
        for each in bounds
        if each.dataset is not None and each.dataset not in found
    ]
    if absent:
        raise InputError(absent)


def _with_refusals(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a split is scored by: always by its refusals too, for the table of all splits."""
    there = {without_parameters(name) for name in metrics}
    return (*metrics, *(name for name in REFUSALS if name not in there))


def _check_thresholds(thresholds: Iterable[Threshold], datasets: Sequence[DatasetPlan]) -> None:
    """Raise :class:`UsageError` for thresholds of a split that is not asked, or not scored by the metric."""
    known = {
        dataset.name: [*(scorer.name for scorer in dataset.scorers), *dataset.unmeasured, PASS_RATE]
        for dataset in datasets
    }
    own = [each for each in thresholds if each.dataset is not None and each.dataset not in known]
    problems = [f"{each}: expected a split of this run ({', '.join(known)})" for each in own]
    problems += [
        f"{each}: expected a metric of the split ({', '.join(known[dataset.name])})"
        for dataset in datasets
        for each in dataset.thresholds
        if each.dataset is not None and each.metric not in (*known[dataset.name], *OF_ANSWERS)
    ]
    if problems:
        raise UsageError("\n".join(f"threshold {problem}" for problem in problems))


def _fitted(dataset: DatasetPlan) -> DatasetPlan:
    """Return a planned split with the scorers that fit its samples."""
    unmeasured = {} if dataset.located is None else dataset.located.unmeasured(dataset.scorers)
    unused = {*_unused_refusals(list(dataset.selection())), *unmeasured}
    used = [scorer for scorer in dataset.scorers if without_parameters(scorer.name) not in unused]
    return replace(dataset, scorers=tuple(used), unmeasured=unmeasured)


def _doubts(dataset: DatasetPlan) -> Iterator[str]:
    """Yield what there is to warn about in the records of a split, in a line."""
    dialect = GOLDEN_DIALECTS[SPLITS[dataset.name].dialect]
    path = dataset.entry.path
    if path is None:
        return
    doubts = [issue.located(str(path)) for issue in record_file_issues(path, dialect)]
    if doubts:
        yield (
            f"{dataset.name}: {counted(len(doubts), 'warning')} (list all with rag-eval validate): "
            f"{doubts[0]}"
        )


def _unused_refusals(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield the metrics of refusals that apply to no sample, nor to any turn of a conversation."""
    asked = [each for sample in samples for each in _by_turn(sample)]
    if not any(map(expects_refusal, asked)):
        yield REFUSAL_RECALL
    if all(expects_refusal(each) or may_be_declined(each) for each in asked):
        yield OVER_REFUSAL


def _by_turn(sample: Sample) -> Sequence[Sample]:
    """Return each of the assistant's turns as a sample of its own, or one without turns as it is."""
    turns = [
        replace(sample, turns=(asked,), reference=turn.reference, expectation=turn.expectation)
        for asked, turn in pairwise(sample.turns)
        if turn.role == "assistant"
    ]
    return turns or [sample]


# The splits of golden sets as one evaluation with one results document.


def golden_evaluation(suite: Evaluation, folder: Path) -> Evaluation:
    """Return the evaluation of a folder's splits; its results are written if complete."""
    whole = replace(suite, document=golden_document(suite, folder=folder))
    if whole.outcome.completed and whole.folder is not None:
        try:
            whole.save(whole.folder / RESULTS_FILE)
        except StorageError as error:
            return replace(whole, outcome=replace(whole.outcome, completed=False, reason=str(error)))
    return whole


def golden_document(golden: Evaluation, *, folder: Path) -> dict[str, Any]:
    """Return the results of all splits, and the verdict of the gate, as one document of plain values."""
    splits = {part.name: part for part in golden.runs}
    document = results_document(_summed_up(golden, splits, folder))
    usages = {name: part.performance.judge_usage for name, part in splits.items()}
    if by_split := {name: usage.to_dict() for name, usage in usages.items() if usage is not None}:
        document[PERFORMANCE]["judge_usage_by_split"] = by_split
    if tests := significance_tests(golden):
        document["statistical_analysis"] = {"significance_tests": tests, **document["statistical_analysis"]}
    reasons = unscored(golden)
    document["golden"] = {
        "splits": {name: _split(part, reasons.get(name, {})) for name, part in splits.items()},
        "slices": {
            kind: {
                value: {name: figure.to_dict() for name, figure in figures.items() if figure.n_scored}
                for value, figures in values.items()
            }
            for kind, values in golden.slices.items()
        },
        "missing_splits": list(golden.missing),
        "refusals": golden.answers.refusals,
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


def _summed_up(golden: Evaluation, splits: Mapping[str, Evaluation], folder: Path) -> Evaluation:
    """Return the splits as one run, whose samples are named after their split."""
    parts = list(splits.values())
    rows = [
        replace(row, result=replace(row.result, sample_id=f"{name}/{row.id}"), split=name)
        for name, part in splits.items()
        for row in part.rows
    ]
    whole = summed_up(
        _golden_head(splits, folder),
        rows,
        kind="golden",
        outcome=golden.outcome,
        rows=lambda: rows,
        total=sum(part.counts.total for part in parts),
        directions={name: figure.higher_is_better for part in parts for name, figure in part.metrics.items()},
        performance=Performance(judge_usage=golden.performance.judge_usage),
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
    }
