"""Agreement of metrics with people, and the corrected figures, as text for a terminal."""

from __future__ import annotations

from math import ceil, floor

from rag_evaluation_framework.datasets.annotator_agreement import AgreementFigure
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import known_metric
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.messages.calibration_sentences import estimate_text, matching, notes
from rag_evaluation_framework.results.calibration import Calibration
from rag_evaluation_framework.results.metric_calibration import MetricCalibration
from rag_evaluation_framework.results.model_calibration import ModelBand
from rag_evaluation_framework.statistics.agreement import Estimate
from rag_evaluation_framework.statistics.prediction_powered import CorrectedEstimate

_SOURCES = {
    "given": "given",
    "yes or no": "binary metric",
    "half": "0.5 (too few labels)",
    "suggested": "suggested by {rule}, cross-validated",
}


def describe_calibration(report: Calibration, *, confidence: float = 0.95) -> blocks.Blocks:
    """Add what matched, the agreement, the thresholds, the corrected figures, and what to make of them."""
    yield blocks.prose(f"{blocks.one_line(report.run)}: {matching(report.match)}", hang=2)
    yield blocks.GAP
    yield blocks.prose("Agreement with human labels")
    yield from _agreement(report)
    if any(metric.threshold for metric in report.metrics):
        yield blocks.GAP
        yield blocks.prose("Agreement of yes and no")
        yield from _thresholds(report)
    yield blocks.GAP
    yield blocks.prose("Estimated human rating of the whole run")
    yield from _corrected(report, confidence)
    yield blocks.GAP
    for note in notes(report):
        yield blocks.prose(note, hang=2)
    yield blocks.GAP
    yield from _describe_manifest_lines(report)
    if report.model is not None:
        yield blocks.GAP
        yield from _describe_model_lines(report.model)


def _describe_manifest_lines(report: Calibration) -> blocks.Blocks:
    """Add the lines of a manifest that hold later runs to what people said of this one."""
    validated = [metric for metric in report.metrics if metric.is_validated]
    if not validated:
        yield blocks.prose("With these labels, no metric is reliable enough for a threshold in agent.yaml.")
        return
    yield blocks.prose("To require this level of later runs, add these lines to agent.yaml:")
    yield blocks.prose("spec:", indent=2)
    yield blocks.prose("evaluation:", indent=4)
    yield blocks.prose("thresholds:", indent=6)
    for metric in validated:
        known = known_metric(metric.metric)
        is_floor = not metric.is_turned_round if known is None else known.higher_is_better
        side, bound = ("min", floor) if is_floor else ("max", ceil)
        level = bound(round(metric.metric_mean * 100, 6)) / 100
        rated = blocks.figure((metric.mean or metric.share).value)
        yield blocks.prose(f"{metric.metric}: {{{side}: {level:.2f}}}  # people: {rated}", indent=8)


def _describe_model_lines(model: ModelBand) -> blocks.Blocks:
    """Add when a local model decides like people, and the line of a manifest that lets it."""
    if model.low is None or model.high is None:
        yield blocks.prose(
            f"{model.labeled:,} labeled answers are too few to calibrate {model.model}; at least 50 are "
            "required."
        )
        return
    share = f"{model.decided:,} of {counted(model.labeled, 'labeled answer')}"
    yield blocks.prose(
        f"{model.model} decides {share}, and at most 10% of those differently from human labels (95% bound)."
    )
    yield blocks.prose("To let it decide answers, add this line to spec.evaluation in agent.yaml:")
    yield blocks.prose(f"support: entailment(path=…, low={model.low:g}, high={model.high:g})", indent=2)


def _agreement(report: Calibration) -> blocks.Blocks:
    yield blocks.table(
        [
            ("metric", metric.metric),
            (
                blocks.Column("method", leaves=blocks.BY),
                blocks.by(metric.method) if metric.method else blocks.NOTHING,
            ),
            (blocks.Column("label", leaves=blocks.COUNT), metric.field),
            (blocks.right("labels", leaves=blocks.COUNT), f"{metric.n_labels:,}"),
            ("Spearman", estimate_text(metric.spearman)),
            (blocks.Column("Pearson", leaves=blocks.SIZE), estimate_text(metric.pearson)),
            ("AUROC", estimate_text(metric.auroc)),
            ("kappa", "–" if metric.threshold is None else estimate_text(metric.threshold.kappa)),
            (blocks.Column("annotators", leaves=blocks.DIFFERENCE), _people(metric.people_on_yes)),
        ]
        for metric in report.metrics
    )


def _thresholds(report: Calibration) -> blocks.Blocks:
    rows: list[list[blocks.Cell]] = []
    for metric in report.metrics:
        found = metric.threshold
        if found is None:
            continue
        counts, figures = found.counts, found.figures
        source = _SOURCES[found.threshold.source].format(rule=found.threshold.rule)
        called_yes = f"{counts.true_positives}/{counts.false_positives}"
        called_no = f"{counts.false_negatives}/{counts.true_negatives}"
        rows.append(
            [
                ("metric", metric.metric),
                ("yes if", str(found.threshold)),
                (blocks.right("yes: TP/FP", leaves=blocks.COUNT), called_yes),
                (blocks.right("no: FN/TN", leaves=blocks.COUNT), called_no),
                ("precision", estimate_text(figures.precision)),
                ("recall", estimate_text(figures.recall)),
                (blocks.Column("F1", leaves=blocks.BY), estimate_text(figures.f1)),
                (
                    blocks.Column("balanced", leaves=blocks.DIFFERENCE),
                    estimate_text(figures.balanced_accuracy),
                ),
                (blocks.Column("threshold", leaves=blocks.SIZE), source),
            ]
        )
    yield blocks.table(rows)


def _corrected(report: Calibration, confidence: float) -> blocks.Blocks:
    rows: list[list[blocks.Cell]] = []
    header = blocks.interval_header(confidence)
    for metric in report.metrics:
        name = metric.field.removeprefix("-").partition(":")[0]
        rows.append(_corrected_row(metric, _share_of(metric, name), metric.share, header))
        if metric.mean is not None:
            rows.append(_corrected_row(metric, f"mean {name}", metric.mean, header))
    yield blocks.table(rows)


def _share_of(metric: MetricCalibration, name: str) -> str:
    words = metric.field.partition(":")[2]
    if words:
        return f"share {words.replace(',', ' or ')}"
    return f"share with {name} = 1" if metric.mean is None else f"share with {name} >= {metric.positive_at:g}"


def _corrected_row(
    metric: MetricCalibration, what: str, estimate: CorrectedEstimate, header: str
) -> list[blocks.Cell]:
    says = "1 − " * (metric.is_turned_round and metric.is_share) + blocks.figure(metric.metric_mean)
    of_labels = blocks.interval_text(estimate.labels_interval, estimate.labels_value)
    return [
        ("metric", metric.metric),
        (blocks.Column("figure", flexible=True), what),
        (blocks.right("metric value", leaves=blocks.BY), says),
        (blocks.right("corrected"), blocks.figure(estimate.value, estimate.interval)),
        (header, blocks.interval_text(estimate.interval, estimate.value)),
        (blocks.right("labels only", leaves=blocks.COUNT), blocks.figure(estimate.labels_value)),
        (blocks.Column(header, leaves=blocks.COUNT), of_labels),
        (blocks.right("effective n", leaves=blocks.SIZE), counted(round(estimate.effective_labels), "label")),
    ]


def _people(agreement: AgreementFigure | None) -> str:
    return "–" if agreement is None else estimate_text(Estimate(agreement.value, agreement.interval))
