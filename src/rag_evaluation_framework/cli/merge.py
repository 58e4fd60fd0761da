"""``rag-eval merge`` and ``rag-eval export``: kept runs as one file, or as a file of another program."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.cli.options import AS_JSON, FILE, RUNS_DIR, option
from rag_evaluation_framework.cli.output import print_json

MERGE_EXAMPLES = """\b
Examples:
  rag-eval merge 001 002 003 --out nightly.results.json
  rag-eval merge shard-a.results.json shard-b.results.json \\
    --out whole.results.json
  rag-eval merge answers.shards --out whole.results.parquet"""


@click.command("merge", epilog=MERGE_EXAMPLES)
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@option("--out FILE", "Results file to write: .json, .yaml, .csv or .parquet.", type=FILE, required=True)
@RUNS_DIR
@AS_JSON
def merge_command(runs: tuple[str, ...], out: Path, runs_dir: Path, as_json: bool) -> int:
    """Join shards: runs, sweeps, results files, folders of them, rankings, over parts of the samples.

    The figures are those of one run over all samples, to the last digit. Runs of another system, by other
    methods or with a sample in common are refused, with all the reasons. If the shards had a gate, it decides
    on the whole, and the exit code says how.
    """
    from rag_evaluation_framework.results.results_document import shard_at
    from rag_evaluation_framework.results.shards import merge_evaluations
    from rag_evaluation_framework.results.stored_runs import find_evaluation

    parts = [each for run in runs for each in sorted(Path(run).glob("part-*.results.parquet")) or [Path(run)]]
    shards = (shard_at(part) or find_evaluation(part, runs_directory=runs_dir) for part in parts)
    whole = merge_evaluations(*shards)
    whole.save(out, format="results" if len(whole.runs) == 1 else None)
    if as_json:
        print_json(whole.to_dict())
    else:
        click.echo(whole.render(samples=False))
        click.echo(f"\nkept in {out}")
    return 0 if whole.verdict is None else whole.verdict.exit_code


EXPORT_EXAMPLES = """\b
Examples:
  rag-eval export --to csv          the latest run, every answer a row
  rag-eval export 003 --to xlsx -o answers.xlsx
  rag-eval export nightly.results.json --to latex
  rag-eval export 003 --to mlflow   figures, answers and page in MLflow
  rag-eval export 003 --to opentelemetry -o http://localhost:4318"""


@click.command("export", epilog=EXPORT_EXAMPLES)
@click.argument("run", required=False)
@option(
    "--to FORMAT|TRACKER",
    "One of csv, parquet, shards, xlsx, latex, qrels, junit, markdown, html, mlflow, wandb, langsmith, "
    "opentelemetry.",
    required=True,
)
@option(
    "-o, --out FILE|PLACE",
    "File to write, or place of a tracker.  [default: the run's id with the ending; the tracker's own]",
)
@RUNS_DIR
def export_command(run: str | None, to: str, out: str | None, runs_dir: Path) -> None:
    """Write RUN (an id or the end of it, a folder, a results file; by default the latest) for others to use.

    csv and parquet have a row for each answer, xlsx a sheet of answers and one of figures, latex a table of
    figures, qrels the grades of relevance_grade; junit, markdown and html are the reports. Spreadsheets never
    take a text for a formula. shards are a folder of Parquet results files of 20,000 answers each, which
    merge joins to the whole again.

    mlflow and wandb get a run with the figures, a table of the answers and the page; PLACE is a tracking URI
    or a folder, and wandb stays offline unless WANDB_MODE=online. langsmith gets the samples as a dataset
    named PLACE and an experiment with feedback. opentelemetry gets an event for each score, on the span that
    was scored where samples come from traces; PLACE is a collector's URL or a file.
    """
    from rag_evaluation_framework.results.stored_runs import find_evaluation, latest_evaluations

    if run is None:
        (evaluation,) = latest_evaluations(1, runs_directory=runs_dir)
    else:
        evaluation = find_evaluation(run, runs_directory=runs_dir)
    click.echo(evaluation.export(to, out))
