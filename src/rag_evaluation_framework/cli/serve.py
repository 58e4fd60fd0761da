"""``rag-eval serve``: the reports of all that is stored, as pages in the browser."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.annotate import NO_OPEN, PORT, show
from rag_evaluation_framework.cli.options import EXISTING_FOLDER

if TYPE_CHECKING:
    from rag_evaluation_framework.adapters.local_server import Reply
    from rag_evaluation_framework.reports.stored_pages import StoredPages

EXAMPLES = """\b
Examples:
  rag-eval serve                     show the runs and results of this project
  rag-eval serve nightly/runs        show the runs of a folder
  rag-eval serve --no-open --port 8000"""


@click.command("serve", epilog=EXAMPLES)
@click.argument("folder", type=EXISTING_FOLDER, default=".", metavar="[DIR]")
@PORT
@NO_OPEN
def command(folder: Path, port: int, no_open: bool) -> None:
    """Show all runs and results of DIR, a project or a folder of runs, in the browser.

    You can search the results by figures and verdicts, read each report, compare two runs and follow running
    ones. The pages are read-only and served on 127.0.0.1 to everybody with the printed address. To stop the
    server, press Ctrl-C.
    """
    from rag_evaluation_framework.adapters.local_server import LocalServer
    from rag_evaluation_framework.reports.stored_pages import StoredPages
    from rag_evaluation_framework.results.run_store import DEFAULT_RUNS_DIRECTORY

    folder = folder.resolve()
    is_of_runs = any((each / "head.json").is_file() for each in folder.iterdir() if each.is_dir())
    # What a run records of its dataset, and where a project keeps its results, counts from the project.
    os.chdir(folder.parent if is_of_runs else folder)
    pages = StoredPages(Path(folder.name) if is_of_runs else DEFAULT_RUNS_DIRECTORY, title=folder.name)
    show(LocalServer(answers(pages), port=port), is_opened=not no_open)


def answers(pages: StoredPages) -> Any:
    """Return what answers the browser's requests."""
    from rag_evaluation_framework.adapters.local_server import Reply
    from rag_evaluation_framework.errors import UsageError

    def read(path: str, given: Mapping[str, str]) -> Reply | None:
        if path == "":
            return Reply.of_page(*pages.index())
        if path == "list":
            return Reply.of_json(pages.listed())
        if path == "state":
            return Reply.of_json(pages.state())
        if path == "run":
            return Reply.of_page(*pages.report(given.get("key", "")))
        if path == "compare":
            base, candidate = given.get("base", ""), given.get("candidate", "")
            try:
                return Reply.of_page(*pages.report(base, candidate, force=given.get("force") == "yes"))
            except UsageError as error:
                return Reply.of_page(*pages.refusal(str(error), base, candidate))
        return None

    return read
