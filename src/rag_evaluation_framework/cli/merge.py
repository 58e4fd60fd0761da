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
@option("--out FILE", "Results file to write (.json, .yaml, .csv or .parquet).", type=FILE, required=True)
@RUNS_DIR
@AS_JSON
def merge_command(runs: tuple[str, ...], out: Path, runs_dir: Path, as_json: bool) -> int:
    """Merge shards of a run: runs, sweeps, results files, folders of them, or rankings.

    The figures equal those of one run over all samples. Shards of different systems or methods, or with
    samples in common, are rejected with all reasons. If the shards had a gate, it decides on the merged run
    and sets the exit code.
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
        click.echo(f"\nsaved in {out}")
    return 0 if whole.verdict is None else whole.verdict.exit_code


EXPORT_EXAMPLES = """\b
Examples:
  rag-eval export --to csv          export the latest run, one answer per row
  rag-eval export 003 --to xlsx -o answers.xlsx
  rag-eval export nightly.results.json --to latex
  rag-eval export 003 --to mlflow   record figures, answers and page in MLflow
  rag-eval export 003 --to opentelemetry -o http://localhost:4318"""


@click.command("export", epilog=EXPORT_EXAMPLES)
@click.argument("run", required=False)
@option(
    "--to FORMAT|TRACKER",
    "Format or tracker: csv, parquet, shards, xlsx, latex, qrels, junit, markdown, html, mlflow, "
    "wandb, langsmith, opentelemetry.",
    required=True,
)
@option(
    "-o, --out FILE|PLACE",
    "File to write, or location of the tracker.  [default: the run's id; the tracker's default]",
)
@RUNS_DIR
def export_command(run: str | None, to: str, out: str | None, runs_dir: Path) -> None:
    """Export RUN (id, end of an id, folder or results file; default: the latest) for other tools.

    csv and parquet have one row per answer, xlsx a sheet of answers and a sheet of figures, latex a table of
    figures, qrels the grades of relevance_grade; junit, markdown and html are reports. Spreadsheets escape
    text that starts like a formula. shards is a folder of Parquet results files of 20,000 answers each, for
    `rag-eval merge`.

    mlflow and wandb record a run with the figures, a table of the answers and the page; PLACE is a tracking
    URI or a folder; wandb is offline unless WANDB_MODE=online. langsmith records the samples as a dataset
    named PLACE and an experiment with feedback. opentelemetry records one event per score, on the scored span
    if the samples come from traces; PLACE is a collector's URL or a file.
    """
    from rag_evaluation_framework.results.stored_runs import find_evaluation, latest_evaluations

    if run is None:
        (evaluation,) = latest_evaluations(1, runs_directory=runs_dir)
    else:
        evaluation = find_evaluation(run, runs_directory=runs_dir)
    click.echo(evaluation.export(to, out))
