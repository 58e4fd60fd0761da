"""``rag-eval runs``: list the runs and their states."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.cli.options import AS_JSON, RUNS_DIR
from rag_evaluation_framework.cli.output import print_json

EXAMPLES = """\b
Examples:
  rag-eval runs
  rag-eval runs --runs-dir nightly --json"""


@click.command("runs", epilog=EXAMPLES)
@RUNS_DIR
@AS_JSON
def command(runs_dir: Path, as_json: bool) -> None:
    """List the runs of a folder: state, dataset, target, samples done and failed, time of the start.

    A run is running while a process works on it, complete when every sample is in its journal, incomplete
    when it can be resumed, and broken when one of its files cannot be read, for the reason below the table.
    There too is the command that continues each run in which something is left to do.
    """
    from rag_evaluation_framework.reports.lists import run_list_text, run_rows
    from rag_evaluation_framework.results.run_folder import list_runs

    rows = run_rows(list_runs(runs_dir))
    if as_json:
        print_json(rows)
    else:
        click.echo(run_list_text(runs_dir, rows))
