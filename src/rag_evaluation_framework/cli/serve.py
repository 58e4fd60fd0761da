"""``rag-eval serve``: the reports of all that is stored, as pages in the browser."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.annotate import show
from rag_evaluation_framework.cli.options import EXISTING_FOLDER

if TYPE_CHECKING:
    from rag_evaluation_framework.adapters.local_server import Reply
    from rag_evaluation_framework.reports.stored_pages import StoredPages

EXAMPLES = """\b
Examples:
  rag-eval serve                     the runs and results of this project
  rag-eval serve nightly/runs        the runs of a folder
  rag-eval serve --no-open --port 8000"""


@click.command("serve", epilog=EXAMPLES)
@click.argument("folder", type=EXISTING_FOLDER, default=".", metavar="[DIR]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: a free one]")
@click.option("--no-open", is_flag=True, help="Do not open the page in a browser.")
def command(folder: Path, port: int, no_open: bool) -> None:
    """Show all that is stored in DIR, a project or a folder of runs, as pages in the browser.

    A list of the results with their figures and verdicts, which can be searched; the report of each; any two
    compared by choosing them; and how far the runs have come that are running now. Nothing can be changed on
    these pages. They are served on 127.0.0.1 to whoever has the printed address. Ctrl-C ends it.
    """
    from rag_evaluation_framework.adapters.local_server import LocalServer
    from rag_evaluation_framework.reports.stored_pages import StoredPages

    is_runs = any((each / "head.json").is_file() for each in folder.iterdir() if each.is_dir())
    os.chdir(folder.parent if is_runs else folder)
    pages = StoredPages(Path(folder.resolve().name) if is_runs else Path("runs"), title=str(folder))
    show(LocalServer(answers(pages), port=port), is_opened=not no_open)


def answers(pages: StoredPages) -> Any:
    """Return what answers the browser's requests."""
    from rag_evaluation_framework.adapters.local_server import HTML, Reply
    from rag_evaluation_framework.errors import UsageError
    from rag_evaluation_framework.reports.page import FilledPage

    def shown(page: FilledPage) -> Reply:
        return Reply(page.text.encode("utf-8", "replace"), HTML, f"{page.policy}; frame-ancestors 'none'")

    def read(path: str, given: Mapping[str, str]) -> Reply | None:
        if path == "":
            return shown(pages.index())
        if path == "list":
            return Reply.of_json(pages.listed())
        if path == "state":
            return Reply.of_json(pages.state())
        if path == "run":
            return shown(pages.report(given.get("key", "")))
        if path == "compare":
            base, candidate = given.get("base", ""), given.get("candidate", "")
            try:
                return shown(pages.comparison(base, candidate, force=given.get("force") == "yes"))
            except UsageError as error:
                return shown(pages.refusal(str(error), base, candidate))
        return None

    return read
