"""``rag-eval score``: score a saved run anew, without asking anyone again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.options import (
    AS_JSON,
    DETAILS,
    DIALECT,
    FILE,
    RUNS_DIR,
    SEED,
    metrics_option,
    new_screen,
    scoring_of,
    scoring_options,
    show,
)
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import counted

if TYPE_CHECKING:
    from rag_evaluation_framework.results.evaluations import Evaluation

INCOMPLETE = 3

EXAMPLES = """\b
Examples:
  rag-eval score eval_run_20261115_001 -m token_f1 -m exact_match
  rag-eval score eval_run_20261115_001 -m faithfulness --judge-model gpt-4o-mini
  rag-eval score eval_run_20261115_001 -m rouge --dataset evals/rag.jsonl --json
  rag-eval score runs/eval_run_20261115_001 -m chrf --out chrf.results.json"""


@click.command("score", epilog=EXAMPLES)
@click.argument("run", required=False)
@metrics_option(help="Score by this metric; may be repeated.", required=True)
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
@DETAILS
@AS_JSON
@scoring_options
def command(
    run: str | None,
    metrics: tuple[str, ...],
    dataset: Path | None,
    format_: str | None,
    runs_dir: Path,
    out: Path | None,
    seed: int,
    as_json: bool,
    details: bool,
    **scoring: Any,
) -> int:
    """Score the answers in the journal of RUN: its id or any end of it, its path; without it, the latest.

    The run itself is not changed. What is expected of each sample is read from the dataset, which may have
    grown since, but must still contain the samples of the run as they were.

    Exit code 0: scored; 2: wrong usage or data; 3: the run is incomplete, or a metric has no score because
    scoring failed; 130: interrupted.
    """
    from rag_evaluation_framework.cli.evaluation_output import progress_told
    from rag_evaluation_framework.evaluation.preflight import check_writable
    from rag_evaluation_framework.evaluation.rescoring import scored_again
    from rag_evaluation_framework.judging.methods import opened_methods
    from rag_evaluation_framework.results.run_folder import RunFolder
    from rag_evaluation_framework.results.run_groups import latest_run

    if out is not None:
        check_writable([out.parent])
    with (
        opened_methods(**scoring_of(scoring)) as methods,
        progress_told(methods, silent=as_json) as progress,
    ):
        evaluation = scored_again(
            latest_run(runs_dir) if run is None else RunFolder.open(run, runs_dir),
            metrics,
            methods,
            dataset=dataset,
            format=format_,
            seed=seed,
            on_progress=progress,
        )
    _show(evaluation, as_json=as_json, details=details)
    if out is not None:  # after the figures are shown: a full disk must not hide them
        out.parent.mkdir(parents=True, exist_ok=True)
        evaluation.save(out, format="results")
    counts = evaluation.counts
    return INCOMPLETE if counts.unfinished or not counts.total or evaluation.not_measured else 0


def _show(evaluation: Evaluation, *, as_json: bool, details: bool) -> None:
    from rag_evaluation_framework.reports.json_report import scored_document
    from rag_evaluation_framework.reports.terminal import unmeasured_lines

    if as_json:
        print_json(scored_document(evaluation))
        return
    screen = new_screen()
    evaluation.render(samples=False, screen=screen, details=details)
    show(screen)
    if evaluation.counts.unfinished:
        unasked = counted(evaluation.counts.unfinished, "sample was", "samples were")
        click.echo(f"\nThe run is incomplete: {unasked} not asked yet.", err=True)
    for line in unmeasured_lines(evaluation):
        click.echo(f"warning: {line}", err=True)
