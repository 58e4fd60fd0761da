"""How far the metrics of a run agree with people, and what the run's true figures are.

Labels belong to an answer. They are matched by query id, and where a label names the answer it was given to,
that answer must be the run's; what does not match, on either side, is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rag_evaluation_framework.datasets.annotators.human_labels import (
    HumanLabel,
    fields_of,
    is_same_answer,
    merged_labels,
)
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.results.answered_runs import AnsweredRun
from rag_evaluation_framework.results.calibration_pairs import Pair, chosen_pairs
from rag_evaluation_framework.results.metric_calibration import (
    CalibrationSettings,
    MetricCalibration,
    calibrate_metric,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMatch:
    """Which labels belong to the answers of a run.

    Of ``n_annotated`` queries, ``n_matched`` are labelled for the run's answer, ``n_other_answer`` for
    another one only, and ``n_unknown`` are not in the run; ``n_unlabelled`` samples of the run have none.
    """

    n_samples: int
    n_annotated: int
    n_matched: int
    n_other_answer: int
    n_unknown: int
    n_unlabelled: int
    annotators: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Every metric of a run that has a human label to be held against."""

    run: str
    dataset_id: str | None
    match: LabelMatch
    metrics: tuple[MetricCalibration, ...]
    unpaired: tuple[str, ...]
    unlabelled: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The metrics that have a label to go with, and why none could be used."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for a JSON file."""
        return {
            "run": self.run,
            "dataset_id": self.dataset_id,
            "labels": asdict(self.match),
            "metrics": [metric.to_dict() for metric in self.metrics],
            "unpaired": list(self.unpaired),
            "unlabelled": dict(self.unlabelled),
        }


def calibrate(
    run: AnsweredRun,
    labels: Sequence[HumanLabel],
    *,
    metrics: Iterable[str] = (),
    label: str | None = None,
    pairs: Iterable[Pair] = (),
    thresholds: Mapping[str, float] | None = None,
    settings: CalibrationSettings | None = None,
) -> Calibration:
    """Hold the metrics of a run against human labels.

    ``metrics`` restricts to some; ``label`` is a field for all, ``pairs`` name a field for one each, and
    come first; otherwise a metric goes with the field that measures the same. ``thresholds`` cut metrics
    where they are to be cut; without, a threshold is suggested where the labels allow.
    """
    settings = settings or CalibrationSettings()
    chosen, unpaired = chosen_pairs(run.metrics, fields_of(labels), only=metrics, label=label, pairs=pairs)
    for name in thresholds or {}:
        if name not in {pair.metric for pair in chosen}:
            raise UsageError(f"threshold of {name}: expected a metric that is calibrated, got another")
    matched, match = match_labels(run, labels)
    if not matched:
        raise UsageError(_nothing_matched(match))
    done: list[MetricCalibration] = []
    unlabelled: dict[str, str] = {}
    for pair in chosen:
        merged = merged_labels(matched, pair.field)
        metric = run.metrics[pair.metric]
        if not any(query in metric.values for query in merged.values):
            unlabelled[pair.metric] = f"no sample has both a score and a label {pair.field.name!r}"
            continue
        done.append(
            calibrate_metric(
                pair.metric,
                metric,
                merged,
                pair.field,
                settings=settings,
                threshold=(thresholds or {}).get(pair.metric),
            )
        )
    return Calibration(
        run=run.name,
        dataset_id=run.dataset_id,
        match=match,
        metrics=tuple(done),
        unpaired=tuple(unpaired),
        unlabelled=unlabelled,
    )


def match_labels(run: AnsweredRun, labels: Sequence[HumanLabel]) -> tuple[list[HumanLabel], LabelMatch]:
    """Return the labels that belong to the run's answers, and the counts of all that does not match."""
    matched = [
        label
        for label in labels
        if label.query_id in run.answers and is_same_answer(label, run.answers[label.query_id])
    ]
    annotated = {label.query_id for label in labels}
    used = {label.query_id for label in matched}
    match = LabelMatch(
        n_samples=len(run.answers),
        n_annotated=len(annotated),
        n_matched=len(used),
        n_other_answer=len((annotated & run.answers.keys()) - used),
        n_unknown=len(annotated - run.answers.keys()),
        n_unlabelled=len(run.answers.keys() - used),
        annotators=tuple(sorted({label.annotator for label in matched})),
    )
    return matched, match


def _nothing_matched(match: LabelMatch) -> str:
    return (
        f"expected labels of the run's {match.n_samples:,} answers, got none: of {match.n_annotated:,} "
        f"annotated queries {match.n_unknown:,} are not in the run, {match.n_other_answer:,} are about "
        "another answer than the run's"
    )
