"""The splits of golden sets as one evaluation: refusals of all of them, and one results document.

Refusals are counted answer by answer, the turns of a conversation one by one: what should have been declined
in any split, and what should have been answered in each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.value_files import is_named_yaml, write_results
from rag_evaluation_framework.errors import StorageError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.metrics.declaration import PASS_RATE, without_parameters
from rag_evaluation_framework.metrics.safety import OVER_REFUSAL, REFUSAL_RECALL
from rag_evaluation_framework.records.responses import TURNS
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.results.documents import RunVerdicts, results_document
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.metric_sections import PERFORMANCE
from rag_evaluation_framework.results.performance import TOTAL_TIME
from rag_evaluation_framework.results.refusal_tables import Refusals, RefusalTable
from rag_evaluation_framework.results.run_evaluations import as_documented
from rag_evaluation_framework.results.run_groups import RESULTS_FILE
from rag_evaluation_framework.results.run_rows import RunRow
from rag_evaluation_framework.results.run_summaries import IntervalSettings, RunSummary, summarise_run
from rag_evaluation_framework.results.sample_verdicts import PassCounter
from rag_evaluation_framework.results.summaries import Figure


def golden_evaluation(suite: Evaluation, folder: Path) -> Evaluation:
    """Return the evaluation of a folder's splits with refusals; its results are written if complete."""
    whole = replace(suite, refusals=_refusals(suite))

    def document() -> dict[str, Any]:
        return golden_document(whole, folder=folder)

    def write(path: Path) -> None:
        """Write one results document of all splits, in the format that the name asks for; by default JSON."""
        if is_named_yaml(path) or plain_name(path).endswith((".csv", ".parquet")):
            write_results(document(), path)
        else:
            write_bytes_atomically(path, strict_json.encode(document(), indent=2) + b"\n")

    whole = replace(whole, document=document, write_document=write)
    if whole.outcome.completed and whole.folder is not None:
        try:
            write(whole.folder / RESULTS_FILE)
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
    rows = list(_rows(splits))
    document = results_document(
        _head(splits, folder),
        lambda: iter(rows),
        _summary(splits, rows),
        judge_usage=golden.performance.judge_usage,
        verdicts=RunVerdicts(pass_rate=pass_rate(golden), blame=golden.blame),
    )
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
        counts += PassCounter(
            passed=passed, failed=rate.n_scored - passed, unmeasured=rate.n_failed, undecided=rate.n_skipped
        )
    return counts.summary()


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


def _rows(splits: Mapping[str, Evaluation]) -> Iterator[RunRow]:
    for name, part in splits.items():
        for row in map(as_documented, part.rows):
            result = replace(row.result, sample_id=f"{name}/{row.result.sample_id}")
            yield replace(row, result=result, verdict={"split": name, **row.verdict})


def _summary(splits: Mapping[str, Evaluation], rows: list[RunRow]) -> RunSummary:
    parts = list(splits.values())
    summary = summarise_run(
        rows,
        total=sum(part.counts.total for part in parts),
        intervals=IntervalSettings(seed=parts[0].head.seed),
        directions={name: figure.higher_is_better for part in parts for name, figure in part.metrics.items()},
    )
    # The splits are run one after another, each on a clock of its own.
    seconds = sum(part.performance.figures.get(TOTAL_TIME, 0.0) for part in parts)
    whole_time = {TOTAL_TIME: round(seconds, 3)} if seconds else {}
    return replace(summary, performance={**summary.performance, **whole_time})


def _head(splits: Mapping[str, Evaluation], folder: Path) -> RunHead:
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
