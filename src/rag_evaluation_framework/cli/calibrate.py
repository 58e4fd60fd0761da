"""``rag-eval calibrate``: how far the metrics of a run agree with people, and what the true figures are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rag_evaluation_framework.errors import Issue, UsageError, shown

if TYPE_CHECKING:
    from rag_evaluation_framework.datasets.annotators.human_labels import HumanLabel

_SHOWN_WARNINGS = 5
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)

EXAMPLES = """\b
Examples:
  rag-eval calibrate eval_run_20261115_001 --annotations answers.gt.json
  rag-eval calibrate judged.results.json --annotations anna.gt.json --annotations ben.gt.json --json
  rag-eval calibrate eval_run_20261115_001 --labels labels.csv --pair hallucination=hallucinated
  rag-eval calibrate eval_run_20261115_001 --annotations answers.gt.json \\
    --pair faithfulness=factual_correctness:fully_correct"""


@click.command(
    "calibrate",
    epilog=EXAMPLES,
    short_help="Check the metrics of a run against human labels, and correct its figures by them.",
)
@click.argument("run")
@click.option(
    "--annotations",
    type=_FILE,
    multiple=True,
    metavar="FILE.gt.json",
    help="Answer quality annotations; may be repeated, say one file for each annotator.",
)
@click.option(
    "--labels",
    "label_files",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="A table (CSV, JSON lines) with query_id and label, and perhaps annotator_id and answer_text.",
)
@click.option("-m", "--metric", "metrics", multiple=True, metavar="NAME", help="Only these metrics.")
@click.option("--label", metavar="FIELD", help="Hold every metric against this field.")
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="METRIC=FIELD",
    help="Hold a metric against a field; FIELD:word,word names the good words, -FIELD turns it round.",
)
@click.option("--positive-at", type=float, metavar="X", help="Labels from X on are yes.  [default: 0.5]")
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    metavar="METRIC=X",
    help="Cut a metric here.  [default: as the labels suggest]",
)
@click.option(
    "--rule",
    type=click.Choice(("youden", "f1")),
    default="youden",
    show_default=True,
    help="What a suggested threshold makes largest: recall + specificity, or F1.",
)
@click.option(
    "--runs-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="The folder that holds the runs.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option(
    "--resamples", type=click.IntRange(100, 10_000_000), default=10_000, show_default=True, help="Of answers."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same intervals."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def command(
    run: str,
    annotations: tuple[Path, ...],
    label_files: tuple[Path, ...],
    metrics: tuple[str, ...],
    label: str | None,
    pairs: tuple[str, ...],
    positive_at: float | None,
    thresholds: tuple[str, ...],
    rule: Literal["youden", "f1"],
    runs_dir: Path,
    confidence: float,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Hold the metrics of RUN (an id, a folder, or a results file) against what people say of its answers.

    For each metric: correlation and AUROC, agreement as yes and no with a threshold that fits, and what
    people would say of the whole run: the metric corrected by the labels, narrower than the labels alone.
    Labels are matched by query id and, where they name an answer, only if it is the run's. Fewer than 50
    labels never validate a metric.
    """
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.reports.calibration import calibration_text
    from rag_evaluation_framework.results.answered_runs import open_answered_run
    from rag_evaluation_framework.results.calibration import calibrate
    from rag_evaluation_framework.results.calibration_pairs import Pair
    from rag_evaluation_framework.results.metric_calibration import CalibrationSettings
    from rag_evaluation_framework.statistics.agreement_tables import Resampling

    cuts = dict(map(_threshold, thresholds))
    resampling = Resampling(confidence=confidence, resamples=resamples, seed=seed)
    report = calibrate(
        open_answered_run(run, runs_dir),
        _read_labels(annotations, label_files),
        metrics=metrics,
        label=label,
        pairs=[Pair.parse(text) for text in pairs],
        thresholds=cuts,
        settings=CalibrationSettings(positive_at=positive_at, rule=rule, resampling=resampling),
    )
    if as_json:
        click.echo(strict_json.encode(report.to_dict(), indent=2))
    else:
        click.echo(calibration_text(report, confidence=confidence))


def _read_labels(annotations: tuple[Path, ...], label_files: tuple[Path, ...]) -> list[HumanLabel]:
    from rag_evaluation_framework.datasets.annotators.annotations import read_annotation_files
    from rag_evaluation_framework.datasets.annotators.human_labels import labels_of_annotations, read_labels

    if not annotations and not label_files:
        raise UsageError("expected human labels: give --annotations FILE.gt.json or --labels FILE")
    warnings: list[Issue] = []
    labels: list[HumanLabel] = []
    if annotations:
        read = read_annotation_files(annotations, on_warning=warnings.append)
        labels += labels_of_annotations(read.annotations)
    for path in label_files:
        labels += read_labels(path, on_warning=warnings.append)
    for warning in warnings[:_SHOWN_WARNINGS]:
        click.echo(f"rag-eval: warning: {warning}", err=True)
    if len(warnings) > _SHOWN_WARNINGS:
        more = len(warnings) - _SHOWN_WARNINGS
        click.echo(f"rag-eval: {more} more warnings: rag-eval validate shows them all", err=True)
    return labels


def _threshold(text: str) -> tuple[str, float]:
    metric, _, value = text.rpartition("=")
    try:
        return metric, float(value)
    except ValueError:
        raise UsageError(f"--threshold: expected METRIC=NUMBER, got {shown(text)}") from None
