"""``rag-eval score``: score a saved run anew, without asking anyone again."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.json_output import print_json
from rag_evaluation_framework.cli.judge_notices import spending_told, waiting_notice
from rag_evaluation_framework.cli.scoring_options import ScoringOptions, scoring_options
from rag_evaluation_framework.cli.shared_options import AS_JSON, DIALECT, FILE, RUNS_DIR, SEED, metrics_option
from rag_evaluation_framework.errors import UsageError, counted

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.rescoring import RescoredRows
    from rag_evaluation_framework.judging.methods import ScoringMethods
    from rag_evaluation_framework.records.runs import JudgeUsage
    from rag_evaluation_framework.results.blame_summaries import BlameSummary
    from rag_evaluation_framework.results.run_folder import RunFolder
    from rag_evaluation_framework.results.run_summaries import RunSummary

INCOMPLETE = 3

EXAMPLES = """\b
Examples:
  rag-eval score eval_run_20261115_001 -m token_f1 -m exact_match
  rag-eval score eval_run_20261115_001 -m faithfulness --judge-model gpt-4o-mini
  rag-eval score eval_run_20261115_001 -m rouge --dataset evals/rag.jsonl --json
  rag-eval score runs/eval_run_20261115_001 -m chrf --out chrf.results.json"""


@click.command("score", epilog=EXAMPLES)
@click.argument("run")
@metrics_option("Score by this metric; may be repeated.", required=True)
@click.option(
    "--dataset",
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="Dataset of the run.  [default: the file recorded in the run]",
)
@DIALECT
@RUNS_DIR
@click.option(
    "--out",
    type=FILE,
    metavar="FILE",
    help="Write the results of every sample to this .json, .yaml, .csv or .parquet file.",
)
@SEED
@AS_JSON
@scoring_options
def command(
    run: str,
    metrics: tuple[str, ...],
    dataset: Path | None,
    format_: str | None,
    runs_dir: Path,
    out: Path | None,
    seed: int,
    as_json: bool,
    **scoring: Any,
) -> int:
    """Score the answers in the journal of RUN (its id, or the path of its folder).

    The run itself is not changed. What is expected of each sample is read from the dataset, which may have
    grown since, but must still contain the samples of the run as they were.

    Exit code 0: scored; 2: wrong usage or data; 3: the run is incomplete, or a metric has no score because
    scoring failed; 130: interrupted.
    """
    from tempfile import TemporaryFile

    from rag_evaluation_framework.evaluation.manifests.preflight import check_writable
    from rag_evaluation_framework.evaluation.rescoring import RescoredRows, Rescoring
    from rag_evaluation_framework.evaluation.resources import judge_usage
    from rag_evaluation_framework.results.documents import RunVerdicts, write_results_document
    from rag_evaluation_framework.results.run_folder import RunFolder

    if out is not None:
        check_writable([out.parent])
    methods = ScoringOptions.taken_from(scoring).methods()
    folder = RunFolder.open(run, runs_dir)
    path = dataset or _recorded_dataset(folder)
    rescoring = Rescoring.planned(folder, path, metrics=metrics, methods=methods, format=format_)
    with TemporaryFile() as kept:
        rows = RescoredRows(rescoring, kept=kept)
        summary = _scored(rows, rescoring.methods, seed=seed, is_silent=as_json)
        usage, blame = judge_usage(rescoring.methods), rows.blame()
        _show(folder, summary, usage, blame, as_json=as_json)
        if out is not None:  # after the figures are shown: a full disk must not hide them
            out.parent.mkdir(parents=True, exist_ok=True)
            verdicts = RunVerdicts(blame=blame)
            write_results_document(out, rescoring.head, rows, summary, judge_usage=usage, verdicts=verdicts)
    return INCOMPLETE if summary.unfinished or not summary.total or summary.unmeasured else 0


def _recorded_dataset(folder: RunFolder) -> Path:
    recorded = folder.head.configuration.get("dataset_path")
    if not isinstance(recorded, str):
        raise UsageError(
            f"run {folder.head.run_id} does not record where its dataset is: give it with --dataset FILE"
        )
    path = Path(recorded)
    if not path.exists():
        raise UsageError(
            f"no dataset at {path}, where run {folder.head.run_id} had it: give it with --dataset FILE"
        )
    return path


def _scored(rows: RescoredRows, methods: ScoringMethods, *, seed: int, is_silent: bool) -> RunSummary:
    """Score the rows; how far that is and what the judge cost is told on standard error."""
    from rag_evaluation_framework.reports.progress import ProgressLine
    from rag_evaluation_framework.results.run_summaries import IntervalSettings

    progress = None
    if not is_silent:
        progress = ProgressLine(sys.stderr, live=sys.stderr.isatty(), notice=lambda: waiting_notice(methods))
    with spending_told(methods, progress):
        return rows.summary(IntervalSettings(seed=seed), on_progress=progress)


def _show(
    folder: RunFolder,
    summary: RunSummary,
    usage: JudgeUsage | None,
    blame: BlameSummary | None,
    *,
    as_json: bool,
) -> None:
    from rag_evaluation_framework.reports.blame import blame_text
    from rag_evaluation_framework.reports.metric_figures import run_figures_text
    from rag_evaluation_framework.reports.unscored import unmeasured_lines

    if as_json:
        figures: dict[str, Any] = {
            "run_id": folder.head.run_id,
            "dataset_id": folder.head.dataset_id,
            "total": summary.total,
            "finished": summary.finished,
            "failed": summary.failed,
            "unread": {each.part: each.to_dict() for each in summary.unread},
            "metrics": {metric.metric: metric.to_dict() for metric in summary.metrics},
            "not_scored": {name: list(map(asdict, told)) for name, told in summary.unscored.items()},
            "blame": None if blame is None else blame.to_dict(),
            "judge_usage": None if usage is None else usage.to_dict(),
        }
        print_json(figures)
        return
    click.echo(run_figures_text(folder.head.run_id, summary))
    if blame is not None and blame.told:
        click.echo(f"\n{blame_text(blame)}")
    if summary.unfinished:
        unasked = counted(summary.unfinished, "sample was", "samples were")
        click.echo(f"\nThe run is incomplete: {unasked} not asked yet.", err=True)
    for line in unmeasured_lines(summary):
        click.echo(f"warning: {line}", err=True)
