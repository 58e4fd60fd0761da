"""The sentences of a calibration: matching labels, and the reliability of each metric."""

from __future__ import annotations

from collections.abc import Iterator

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.results.calibration import Calibration, LabelMatch
from rag_evaluation_framework.results.metric_calibration import MetricCalibration
from rag_evaluation_framework.statistics.agreement import Estimate

_NAMED_ANNOTATORS = 5


def matching(match: LabelMatch) -> str:
    names = ", ".join(map(blocks.one_line, match.annotators[:_NAMED_ANNOTATORS]))
    names += ", …" if len(match.annotators) > _NAMED_ANNOTATORS else ""
    text = (
        f"{counted(match.n_matched, 'answer')} of {match.n_samples:,} labeled "
        f"by {counted(len(match.annotators), 'annotator')} ({names})"
    )
    if match.n_other_answer:
        text += f"; {match.n_other_answer:,} labeled for an answer that is not in the run"
    if match.n_unknown:
        text += f"; {match.n_unknown:,} labeled that are not in the run"
        text += f" (all splits are in {match.whole_results})" if match.whole_results else ""
    return text


def notes(report: Calibration) -> Iterator[str]:
    for metric in report.metrics:
        yield f"{metric.metric}: {metric.verdict}; {_details(metric)}"
        if metric.against is not None:
            yield f"{metric.metric}: {metric.against}"
        if metric.no_suggestion is not None:
            yield f"{metric.metric}: no threshold suggested: {metric.no_suggestion}"
        if metric.not_random is not None:
            yield f"{metric.metric}: {metric.not_random}"
    for name, reason in report.unlabelled.items():
        yield f"{name}: not calibrated: {reason}"
    if report.unpaired:
        yield f"no human label matches {', '.join(report.unpaired)}. Set one with --pair METRIC=FIELD"
    yield (
        "corrected: prediction-powered inference (PPI++), for labels sampled at random from the run; 95% CI: "
        "Wilson for shares, Student's t for means. Other intervals: Wilson for shares, else bootstrap over "
        "answers"
    )


def _details(metric: MetricCalibration) -> str:
    parts = [metric.merging, f"{metric.n_yes:,} of {metric.n_labels:,} are yes"]
    if metric.is_turned_round:
        parts.append("a lower metric means a higher label")
    if metric.n_unscored_labels:
        unscored = counted(metric.n_unscored_labels, "labeled answer has", "labeled answers have")
        parts.append(f"{unscored} no score")
    if metric.n_undecided:
        parts.append(f"{metric.n_undecided:,} tied, not counted")
    if metric.reliability is not None:
        error = metric.reliability.expected_calibration_error
        parts.append(f"as a probability: expected calibration error {error:.2f}")
    if metric.rogan_gladen is not None:
        rate = estimate_text(Estimate(metric.rogan_gladen.value, metric.rogan_gladen.interval))
        parts.append(f"share by sensitivity and specificity (Rogan–Gladen) {rate}")
    if metric.people is not None:
        people = metric.people
        shared = counted(people.n_queries, "answer")
        parts.append(f"agreement of annotators, {people.measure} {blocks.figure(people.value)} on {shared}")
    return "; ".join(parts)


def estimate_text(estimate: Estimate) -> str:
    if estimate.value is None:
        return "–"
    interval = estimate.interval
    ends = "" if interval is None else f" [{interval.low:.2f}, {interval.high:.2f}]"
    return f"{estimate.value:.2f}{ends}"
