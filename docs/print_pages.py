"""Print what comes from the code and its tables (`make docs`): pages, and the stub of the front door."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import click

import rag_evaluation_framework as front_door
from rag_evaluation_framework.cli.main import program
from rag_evaluation_framework.cli.options import HELP_ALL
from rag_evaluation_framework.metrics.declaration import all_metrics
from rag_evaluation_framework.reports.lists import metric_list_markdown

FOLDER = Path(__file__).parent / "reference"
SEEDS = Path(__file__).parents[1] / "tests" / "seeds" / "promises.py"
STUB = Path(front_door.__file__).with_suffix(".pyi")

COMMANDS_HEAD = """# Commands

Printed from the program by `make docs`. Exit codes: 0 done, 1 a gate failed, 2 wrong usage or data, 3 the
run is incomplete, 130 interrupted."""


def metrics_page() -> str:
    return metric_list_markdown(all_metrics()) + "\n"


def commands_page() -> str:
    parts = [COMMANDS_HEAD]
    _describe(program, ["rag-eval"], parts)
    return "\n\n".join(parts) + "\n"


def _describe(command: click.Command, path: list[str], parts: list[str]) -> None:
    """Add a command's help, then its subcommands'."""
    settings = {**program.context_settings, "max_content_width": 100, "terminal_width": 100}
    with click.Context(command, info_name=" ".join(path), **settings) as context:
        context.meta[HELP_ALL] = True
        parts.append(f"## `{' '.join(path)}`\n\n```text\n{command.get_help(context).strip()}\n```")
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                member = command.get_command(context, name)
                if member is not None:
                    _describe(member, [*path, name], parts)


def seeds_page() -> str:
    """Return the page of what the seed documents promise, from the tables that the tests run."""
    return str(runpy.run_path(str(SEEDS), run_name="promises")["page"]())


def stub() -> str:
    """Return what type checkers read in place of the front door, which loads its names lazily."""
    homes = [("version", "__version__"), *((home, name) for name, home in front_door._HOME_OF.items())]
    lines = sorted(f"from rag_evaluation_framework.{home} import {name} as {name}" for home, name in homes)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the files; with ``--check``, only say which of them are not what would be written."""
    printed = {
        STUB: stub(),
        FOLDER / "metrics.md": metrics_page(),
        FOLDER / "commands.md": commands_page(),
        FOLDER / "seeds.md": seeds_page(),
    }
    if "--check" in sys.argv:
        stale = [path.name for path, text in printed.items() if path.read_text(encoding="utf-8") != text]
        sys.exit(f"out of date, run `make docs`: {', '.join(stale)}" if stale else 0)
    for path, text in printed.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
