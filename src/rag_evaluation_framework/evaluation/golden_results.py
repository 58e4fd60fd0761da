"""A golden run in figures: the splits, a two-by-two table of refusals, and one results document for all.

The document has the shape of any other. Its metrics are taken over the samples of all splits that have them;
``golden`` has the figures of each split, what was missing, the table of refusals, and the verdict of the
gate. Each sample has its split, its blame, and whether it passes by the thresholds of its split; a
conversation has its turns. Sample ids begin with their split: ``facts/fact_001``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.value_files import is_named_yaml, write_results
from rag_evaluation_framework.evaluation.dataset_evaluations import DatasetEvaluation
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.metrics.declaration import without_parameters
from rag_evaluation_framework.metrics.safety import OVER_REFUSAL, REFUSAL_RECALL
from rag_evaluation_framework.records.responses import TURNS
from rag_evaluation_framework.records.runs import JudgeUsage, RunHead
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.results.blame_summaries import BlameSummary, blame_of_all
from rag_evaluation_framework.results.documents import RunVerdicts, results_document
from rag_evaluation_framework.results.gate import Verdict
from rag_evaluation_framework.results.metric_sections import PERFORMANCE
from rag_evaluation_framework.results.performance import TOTAL_TIME
from rag_evaluation_framework.results.refusal_tables import Refusals, RefusalTable
from rag_evaluation_framework.results.run_rows import RunRow, rows_of_folder
from rag_evaluation_framework.results.run_summaries import IntervalSettings, RunSummary, summarise_run
from rag_evaluation_framework.results.sample_verdicts import PassCounter
from rag_evaluation_framework.results.summaries import MetricSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenEvaluation:
    """The splits that were evaluated, those that are missing, and the refusals of all."""

    evaluations: tuple[DatasetEvaluation, ...]
    missing: tuple[str, ...]
    refusals: RefusalTable
    unscored: Mapping[str, Mapping[str, str]] = field(hash=False)
    """By split and metric, the commonest reason why a metric has no score at all."""
    warnings: tuple[str, ...] = ()
    """What there was to warn about before anything was asked."""

    @property
    def blame(self) -> BlameSummary | None:
        """Where the answers of all splits fail, turns of conversations counted one by one."""
        return blame_of_all(each.blame for each in self.evaluations if each.blame is not None)

    @property
    def pass_rate(self) -> MetricSummary:
        """The share of all samples that pass, each by the thresholds of its split."""
        return sum((each.passes for each in self.evaluations), PassCounter()).summary()

    @property
    def judge_usage(self) -> JudgeUsage | None:
        """What the judge has cost in all splits."""
        usages = [each.judge_usage for each in self.evaluations if each.judge_usage is not None]
        return sum(usages[1:], usages[0]) if usages else None

    def metrics(self, evaluation: DatasetEvaluation) -> tuple[MetricSummary, ...]:
        """Return the figures of one split, without those for which nothing was scored."""
        return tuple(each for each in evaluation.metrics if each.n_scored or each.n_failed)


def golden_evaluation(
    evaluations: Sequence[DatasetEvaluation], missing: Sequence[str] = (), warnings: Sequence[str] = ()
) -> GoldenEvaluation:
    """Sum up what was evaluated; each journal is read once."""
    should_refuse = Refusals()
    by_split: dict[str, Refusals] = {}
    methods: set[str] = set()
    unscored: dict[str, dict[str, str]] = {}
    for each in evaluations:
        reasons: dict[str, Counter[str]] = {}
        for row in rows_of_folder(each.folder):
            for score in row.result.scores:
                name = without_parameters(score.metric)
                if name in (REFUSAL_RECALL, OVER_REFUSAL) and (counts := _declined(score)).total:
                    methods.add(score.method)
                    if name == REFUSAL_RECALL:
                        should_refuse += counts
                    else:
                        by_split[each.plan.name] = by_split.get(each.plan.name, Refusals()) + counts
                if score.status == "skipped":
                    reasons.setdefault(score.metric, Counter())[score.reason or ""] += 1
        unscored[each.plan.name] = dict(each.plan.unmeasured) | {
            summary.metric: reasons[summary.metric].most_common(1)[0][0]
            for summary in each.metrics
            if not summary.n_scored and not summary.n_failed and summary.metric in reasons
        }
    table = RefusalTable(should_refuse=should_refuse, by_split=by_split, methods=tuple(sorted(methods)))
    return GoldenEvaluation(
        evaluations=tuple(evaluations),
        missing=tuple(missing),
        refusals=table,
        unscored=unscored,
        warnings=tuple(warnings),
    )


def write_golden_results(golden: GoldenEvaluation, path: Path, *, folder: Path, verdict: Verdict) -> None:
    """Write one results document of all splits, in the format that the name asks for; by default JSON."""
    document = golden_document(golden, folder=folder, verdict=verdict)
    if is_named_yaml(path) or plain_name(path).endswith((".csv", ".parquet")):
        write_results(document, path)
    else:
        write_bytes_atomically(path, strict_json.encode(document, indent=2) + b"\n")


def golden_document(golden: GoldenEvaluation, *, folder: Path, verdict: Verdict) -> dict[str, Any]:
    """Return the results of all splits, and the verdict of the gate, as one document of plain values."""
    rows = list(_rows(golden.evaluations))
    document = results_document(
        _head(golden, folder),
        lambda: iter(rows),
        _summary(golden, rows),
        judge_usage=golden.judge_usage,
        verdicts=RunVerdicts(pass_rate=golden.pass_rate, blame=golden.blame),
    )
    if by_split := _judge_usage_by_split(golden):
        document[PERFORMANCE]["judge_usage_by_split"] = by_split
    document["golden"] = {
        "splits": {each.plan.name: _split(golden, each) for each in golden.evaluations},
        "missing_splits": list(golden.missing),
        "refusals": golden.refusals.to_dict(),
        "gate": verdict.to_dict(),
        "warnings": list(golden.warnings),
    }
    return document


def _declined(score: Score) -> Refusals:
    """Count the answers behind a score: the turns that have a value, else its own."""
    turns = score.details.get(TURNS)
    own = [] if score.value is None else [score.value]
    values = [turn["value"] for turn in turns] if isinstance(turns, list) else own
    refused = sum(value == 1 for value in values)
    return Refusals(refused, len(values) - refused)


def _rows(evaluations: Sequence[DatasetEvaluation]) -> Iterator[RunRow]:
    for each in evaluations:
        for row in each.rows():
            result = replace(row.result, sample_id=f"{each.plan.name}/{row.result.sample_id}")
            yield replace(row, result=result, verdict={"split": each.plan.name, **row.verdict})


def _summary(golden: GoldenEvaluation, rows: Sequence[RunRow]) -> RunSummary:
    scorers = [scorer for each in golden.evaluations for scorer in each.plan.scorers]
    summary = summarise_run(
        rows,
        total=sum(each.summary.total for each in golden.evaluations),
        intervals=IntervalSettings(seed=golden.evaluations[0].folder.head.seed),
        directions={scorer.name: scorer.higher_is_better for scorer in scorers},
    )
    # The splits are run one after another, each on a clock of its own.
    seconds = sum(each.summary.performance.get(TOTAL_TIME, 0.0) for each in golden.evaluations)
    whole_time = {TOTAL_TIME: round(seconds, 3)} if seconds else {}
    return replace(summary, performance={**summary.performance, **whole_time})


def _head(golden: GoldenEvaluation, folder: Path) -> RunHead:
    """Return the head of the first run, changed to speak for all of them."""
    heads = {each.plan.name: each.folder.head for each in golden.evaluations}
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


def _split(golden: GoldenEvaluation, evaluation: DatasetEvaluation) -> dict[str, Any]:
    return {
        "run_id": evaluation.folder.head.run_id,
        "total": evaluation.summary.total,
        "finished": evaluation.summary.finished,
        "errors": evaluation.errors,
        "metrics": {each.metric: each.to_dict() for each in evaluation.metrics},
        "not_scored": dict(golden.unscored.get(evaluation.plan.name, {})),
        "blame": None if evaluation.blame is None else evaluation.blame.to_dict(),
    }


def _judge_usage_by_split(golden: GoldenEvaluation) -> dict[str, Any]:
    usages = {each.plan.name: each.judge_usage for each in golden.evaluations}
    return {split: usage.to_dict() for split, usage in usages.items() if usage is not None}
