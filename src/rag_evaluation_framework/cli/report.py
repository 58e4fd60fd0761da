"""``rag-eval report``: a run, a sweep or several runs compared as one page that needs nothing but itself."""

from __future__ import annotations

from pathlib import Path

import click

from rag_evaluation_framework.cli.options import FILE, RUNS_DIR, flag, option

EXAMPLES = """\b
Examples:
  rag-eval report                          write report.html of the latest run
  rag-eval report 001 003 -o change.html   compare two runs
  rag-eval report runs/eval_run_20261115_001 --badge badge.svg
  rag-eval report results/nightly.results.json"""


@click.command("report", epilog=EXAMPLES)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@option("-o, --out FILE", "HTML file to write.", type=FILE, default=Path("report.html"), show_default=True)
@option("--badge FILE", "Write the verdict of the last RUN as an SVG badge to FILE.", type=FILE)
@flag("--force", "Allow runs scored by different methods.")
@RUNS_DIR
def command(runs: tuple[str, ...], out: Path, badge: Path | None, force: bool, runs_dir: Path) -> None:
    """Write RUN as one HTML page: verdict, figures, slices, and all samples with their passages.

    RUN is the id of a run or the end of its id, a folder, a results file or a branch (default: the latest
    run). Several runs are compared with the first. The page of a sweep shows recall against characters per
    question. You can open the page offline.
    """
    from rag_evaluation_framework.files.atomic import write_text_atomically
    from rag_evaluation_framework.reports import page as pages
    from rag_evaluation_framework.results.stored_runs import find_evaluation, latest_evaluations

    found = [find_evaluation(each, runs_directory=runs_dir) for each in runs]
    found = found or latest_evaluations(1, runs_directory=runs_dir)
    write_text_atomically(out, pages.page(found, force=force))
    if badge is not None:
        write_text_atomically(badge, pages.badge(found[-1]))
    click.echo(f"wrote {out}" + ("" if badge is None else f" and {badge}"))
