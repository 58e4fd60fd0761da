"""``rag-eval score``: score a saved run anew, without asking anyone again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.judge_options import (
    judge_options,
    methods_of,
    spending_told,
    waiting_notice,
)
from rag_evaluation_framework.errors import UsageError

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder
    from rag_evaluation_framework.reports.progress import ProgressLine
    from rag_evaluation_framework.results.run_judges import JudgeUsage
    from rag_evaluation_framework.results.run_summaries import RunSummary

INCOMPLETE = 3
_FILE = click.Path(dir_okay=False, path_type=Path)

EXAMPLES = """\b
Examples:
  rag-eval score eval_run_20261115_001 -m token_f1 -m exact_match
  rag-eval score eval_run_20261115_001 -m faithfulness --judge-model gpt-4o-mini
  rag-eval score eval_run_20261115_001 -m rouge --dataset evals/rag.jsonl --json
  rag-eval score runs/eval_run_20261115_001 -m chrf --out chrf.results.json"""


@click.command(
    "score", epilog=EXAMPLES, short_help="Score a saved run by other metrics, without asking anyone again."
)
@click.argument("run")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    required=True,
    metavar="NAME",
    help="A metric; may be repeated.",
)
@click.option(
    "--dataset",
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE",
    help="The dataset of the run.  [default: the file that the run's head names]",
)
@click.option("--format", "format_", metavar="DIALECT", help="Its dialect.  [default: told from the content]")
@click.option(
    "--runs-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="The folder that holds the runs.",
)
@click.option(
    "--out", type=_FILE, metavar="FILE", help="Write results with every sample: .json, .yaml, .csv, .parquet."
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same intervals."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
@judge_options
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

    The run itself stays as it is. What is expected of each sample is read from the dataset, which may have
    grown since, but must hold the samples of the run as they were. Exits with 3 if the run is incomplete.
    """
    from tempfile import TemporaryFile

    from rag_evaluation_framework.datasets.dialects.recognition import recognise
    from rag_evaluation_framework.evaluation.runs.run_folder import RunFolder
    from rag_evaluation_framework.evaluation.scorers.named_scorers import scorers_for
    from rag_evaluation_framework.evaluation.scorers.scoring_methods import with_documents
    from rag_evaluation_framework.results.documents import write_results_document
    from rag_evaluation_framework.results.rescoring import RescoredRows, rescored_head
    from rag_evaluation_framework.results.run_judges import judge_usage
    from rag_evaluation_framework.results.run_summaries import IntervalSettings, summarise_run

    methods = methods_of(scoring)
    scorers_for(metrics, methods)  # a metric that cannot be used is told before any file is read
    folder = RunFolder.open(run, runs_dir)
    path = dataset or _recorded_dataset(folder)
    dialect = recognise(path, format=format_)
    methods = with_documents(methods, metrics, dialect=dialect, path=path)
    scorers = scorers_for(metrics, methods)

    progress = None if as_json else _progress(lambda: waiting_notice(methods))
    with TemporaryFile() as kept, spending_told(methods, after=progress.finish if progress else lambda: None):
        rows = RescoredRows(
            folder,
            lambda: dialect.stream(path),
            scorers,
            kept=kept,
            threads=methods.threads,
            on_progress=None if progress is None else lambda done: progress(folder.head.dataset_id, done),
        )
        summary = summarise_run(
            rows(),
            total=folder.counts.total,
            intervals=IntervalSettings(seed=seed),
            directions={scorer.name: scorer.higher_is_better for scorer in scorers},
        )
        usage = judge_usage(methods)
        if out is not None:
            head = rescored_head(folder, scorers, methods)
            write_results_document(out, head, rows, summary, judge_usage=usage)
    _show(folder, summary, usage, as_json=as_json)
    return INCOMPLETE if summary.unfinished else 0


def _recorded_dataset(folder: RunFolder) -> Path:
    recorded = folder.head.configuration.get("dataset_path")
    if not isinstance(recorded, str):
        raise UsageError(
            f"run {folder.head.run_id} does not tell where its dataset is: say so with --dataset FILE"
        )
    path = Path(recorded)
    if not path.exists():
        raise UsageError(
            f"no dataset at {path}, where run {folder.head.run_id} had it: give it with --dataset FILE"
        )
    return path


def _progress(notice: Callable[[], str]) -> ProgressLine:
    from rag_evaluation_framework.reports.progress import ProgressLine

    return ProgressLine(sys.stderr, live=sys.stderr.isatty(), notice=notice)


def _show(folder: RunFolder, summary: RunSummary, usage: JudgeUsage | None, *, as_json: bool) -> None:
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.reports.metric_figures import run_figures_text

    if as_json:
        figures: dict[str, Any] = {
            "run_id": folder.head.run_id,
            "dataset_id": folder.head.dataset_id,
            "total": summary.total,
            "finished": summary.finished,
            "failed": summary.failed,
            "metrics": {metric.metric: metric.to_dict() for metric in summary.metrics},
            "not_scored": {name: list(map(asdict, told)) for name, told in summary.unscored.items()},
            "judge_usage": None if usage is None else usage.to_dict(),
        }
        click.echo(strict_json.encode(figures, indent=2))
        return
    click.echo(run_figures_text(folder.head.run_id, summary))
    if summary.unfinished:
        click.echo(f"\nThe run is incomplete: {summary.unfinished:,} samples were not asked yet.", err=True)
