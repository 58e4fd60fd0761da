"""``rag-eval redecide``: saved runs decided again by the present rules."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.cli.options import AS_JSON, RUNS_DIR
from rag_evaluation_framework.cli.output import print_json

_EXAMPLES = """\b
Examples:
  rag-eval redecide 003
  rag-eval redecide 001 002 003 --json"""


@click.command("redecide", epilog=_EXAMPLES)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@RUNS_DIR
@AS_JSON
def command(runs: tuple[str, ...], runs_dir: Path, as_json: bool) -> None:
    """Apply the current verdict rules to the answers of each RUN, and show the changed counts.

    No agent or judge is asked. Changed verdicts are added to the run, its scores stay the same, and its gate
    decides again.
    """
    from rag_evaluation_framework.judging.verdict import GRADES, name_of_state
    from rag_evaluation_framework.results.run_store import RunFolder
    from rag_evaluation_framework.results.stored_runs import redecide

    folders = [RunFolder.open(run, runs_dir) for run in runs]
    decided = [redecide(folder) for folder in folders]
    if as_json:
        print_json(
            [
                {
                    "run": after.head.run_id,
                    "before": before.answers.to_dict(),
                    "after": after.answers.to_dict(),
                    "gate": None if after.verdict is None else after.verdict.word,
                }
                for before, after in decided
            ]
        )
        return
    for before, after in decided:
        counts = ", ".join(
            f"{name_of_state(grade)} {before.answers.count(grade):,} → {after.answers.count(grade):,}"
            for grade in GRADES
        )
        gate = "" if after.verdict is None else f"; gate: {after.verdict.word}"
        click.echo(f"{after.head.run_id}: {counts}{gate}")
