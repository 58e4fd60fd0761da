"""``rag-eval calibrate``: metrics of a run against human labels."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.output import print_warnings, tell
from rag_evaluation_framework.datasets.annotations import read_annotation_files
from rag_evaluation_framework.datasets.human_labels import (
    HumanLabel,
    LabelField,
    labels_of_annotations,
    read_labels,
)
from rag_evaluation_framework.errors import Issue, Problems, UsageError, shown

EXAMPLES = """\b
Examples:
  rag-eval calibrate eval_run_20261115_001
  rag-eval calibrate eval_run_20261115_001 --annotations answers.gt.json
  rag-eval calibrate judged.results.json --annotations anna.gt.json \\
    --annotations ben.gt.json --json
  rag-eval calibrate eval_run_20261115_001 --labels labels.csv \\
    --pair hallucination=hallucinated
  rag-eval calibrate eval_run_20261115_001 --annotations answers.gt.json \\
    --pair faithfulness=factual_correctness:fully_correct"""


_COMMON = (
    *("annotations", "label_files", "metrics", "pairs", "label", "positive_at", "thresholds", "rule"),
    *("drawn", "as_json"),
)


@click.command("calibrate", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@click.argument("run", required=False)
@options.repeated(
    "--annotations FILE.gt.json",
    "Annotations of answer quality; may be repeated.  [default: those of the dataset, else labels]",
    type=options.EXISTING_FILE,
)
@options.repeated(
    "--labels FILE",
    "CSV or JSON lines with query_id and label (annotator_id, answer_text optional); may be repeated.",
    called="label_files",
    type=options.EXISTING_FILE,
)
@options.metrics_option("Calibrate only this metric; may be repeated.")
@options.option("--label FIELD", "Field of the labels to compare every metric with.")
@options.repeated(
    "--pair METRIC=FIELD",
    "Metric and label field to compare; FIELD:word,word counts as yes, -FIELD reverses; may be repeated.",
    called="pairs",
)
@options.option("--positive-at X", "Lowest label that counts as yes.  [default: 0.5]", type=options.Amount())
@options.repeated(
    "--threshold METRIC=X",
    "Threshold of a metric; may be repeated.  [default: fitted to the labels]",
    called="thresholds",
)
@options.option(
    "--rule",
    "Target of a fitted threshold: recall + specificity (youden), or F1.",
    type=click.Choice(("youden", "f1")),
    default="youden",
)
@options.flag("--drawn", "Correct the figures for the draw of annotate --draw.")
@options.RUNS_DIR
@options.CONFIDENCE
@options.RESAMPLES
@options.SEED
@options.AS_JSON
def command(run: str | None, runs_dir: Path, **given: Any) -> None:
    """Compare the metrics of RUN (id, folder or results file; default: the latest) with human labels.

    Shows the correlation and AUROC of each metric, its agreement at a fitted threshold, and the estimated
    human rating of the whole run: the metric corrected by the labels, with a narrower interval than the
    labels alone give. Labels are matched by query id and, if they name an answer, by the answer of the run.
    Fewer than 50 labels never validate a metric.
    """
    # Imported here, not above: numpy and what stands on it should not slow down --help.
    from msgspec.structs import replace

    from rag_evaluation_framework.datasets.human_labels import LABEL, LabelField
    from rag_evaluation_framework.reports.calibration_blocks import describe_calibration
    from rag_evaluation_framework.results.calibration import LabelPair, calibrate, open_answered_run
    from rag_evaluation_framework.results.metric_calibration import CalibrationSettings
    from rag_evaluation_framework.results.model_calibration import calibrate_model, labels_of_people
    from rag_evaluation_framework.results.run_store import RunFolder, latest_run
    from rag_evaluation_framework.results.stored_runs import load_run
    from rag_evaluation_framework.statistics.agreement import Resampling

    problems = Problems()
    cuts = dict(problems.each(_threshold, given["thresholds"]))
    named = problems.each(LabelPair.parse, given["pairs"])
    problems.raise_all()
    label, tables = given["label"], given["label_files"]
    wanted = [pair.field for pair in named]
    wanted += [LabelField.parse(label or LABEL)] if label or not named else []
    run = run or str(latest_run(runs_dir).path)
    annotations = given["annotations"] or (() if tables else annotations_of(run, runs_dir))
    evaluation = None if Path(run).is_file() else load_run(RunFolder.open(run, runs_dir))
    people = [] if evaluation is None or annotations or tables else labels_of_people(evaluation)
    resampling = Resampling(**{name: given[name] for name in ("confidence", "resamples", "seed")})
    chosen = {name: given[name] for name in ("positive_at", "rule", "drawn")}
    report = calibrate(
        open_answered_run(run, runs_dir),
        people or labels_in(annotations, tables, wanted),
        metrics=given["metrics"],
        label=label,
        pairs=named,
        thresholds=cuts,
        settings=CalibrationSettings(resampling=resampling, **chosen),
    )
    report = report if evaluation is None else replace(report, model=calibrate_model(evaluation))
    confidence, as_json = given["confidence"], given["as_json"]
    tell(report.to_dict(), describe_calibration(report, confidence=confidence), as_json=as_json)


def _threshold(text: str) -> tuple[str, float]:
    metric, _, written = text.rpartition("=")
    try:
        value = float(written)
    except ValueError:
        value = nan
    if not metric.strip() or not isfinite(value):
        raise UsageError(f"--threshold: expected METRIC=NUMBER, got {shown(text)}")
    return metric, value


# The human labels that ``rag-eval calibrate`` is given: annotations, and tables.


def annotations_of(run: str, runs_dir: Path) -> tuple[Path, ...]:
    """Return the files of those who annotated the dataset of a run; none of a results file."""
    from rag_evaluation_framework.datasets.recognition import annotations_of_run
    from rag_evaluation_framework.results.run_store import RunFolder

    if Path(run).is_file():
        return ()
    folder = RunFolder.open(run, runs_dir)
    files = annotations_of_run(
        folder.head.configuration.get("dataset_path"), folder.path, folder.head.dataset_id
    )
    return tuple(files.annotators.values())


def labels_in(
    annotations: tuple[Path, ...], label_files: tuple[Path, ...], wanted: Sequence[LabelField]
) -> list[HumanLabel]:
    """Read all labels; every problem of every file is in one error."""
    if not annotations and not label_files:
        raise UsageError(
            "The run has no human labels. Label it with rag-eval label RUN or rag-eval annotate RUN, "
            "or pass --annotations FILE.gt.json or --labels FILE."
        )
    problems = Problems()
    warnings: list[Issue] = []
    labels: list[HumanLabel] = []
    with problems.collected():
        read = read_annotation_files(annotations, on_warning=warnings.append)
        labels += labels_of_annotations(read.annotations)
    for path in label_files:
        with problems.collected():
            labels += read_labels(path, wanted=wanted, on_warning=warnings.append)
    problems.raise_all()
    print_warnings(warnings)
    return labels
