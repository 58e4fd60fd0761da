"""``rag-eval runs``: the runs there are, and where each stands."""

from __future__ import annotations

from pathlib import Path

import click

EXAMPLES = """\b
Examples:
  rag-eval runs
  rag-eval runs --runs-dir nightly --json"""


@click.command(
    "runs",
    epilog=EXAMPLES,
    short_help="List the runs and where each stands: complete, to be resumed, broken.",
)
@click.option(
    "--runs-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="The folder that holds the runs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def command(runs_dir: Path, as_json: bool) -> None:
    """List the runs of a folder: state, dataset, target, samples done and failed, when it began.

    A run is running while a process works on it, complete when every sample is in its journal, incomplete
    when it can be resumed, and broken when a file of it cannot be read; the reason stands below the table.
    """
    from rag_evaluation_framework.evaluation.runs.run_folder import list_runs
    from rag_evaluation_framework.files import strict_json
    from rag_evaluation_framework.reports.run_list import run_list_text, run_rows

    rows = run_rows(list_runs(runs_dir))
    if as_json:
        click.echo(strict_json.encode(rows, indent=2))
    else:
        click.echo(run_list_text(runs_dir, rows))
