"""Help of commands that have many options: the common ones first, the others by their groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.formatting import wrap_text

from rag_evaluation_framework.cli.options import flag
from rag_evaluation_framework.evaluation.option_table import DECLARED

HELP_ALL = "rag_evaluation_framework.help_all"
"""In the ``meta`` of a context: whether every option is to be explained."""

# Which options belong together beside those that are declared; others stand under "More".
_GROUPS: Mapping[str, tuple[str, ...]] = {
    title: (*(each.name for each in DECLARED.values() if each.group == title), *names)
    for title, names in {
        "Gate": ("thresholds", "baseline", "save_baseline", "force"),
        "Requests": (
            *("runs_dir", "resume", "ask_damaged", "allow_host", "history", "price_input", "price_output"),
        ),
        "Judge": (),
        "Traces": ("since", "until", "services", "where"),
        "Statistics": ("resamples", "test", "paired_test", "level", "blame"),
        "Files": (
            *("out", "output", "junit", "markdown", "as_json", "corpus", "glob", "format_", "config"),
            "configs",
        ),
        "Screen": ("details", "everything", "width", "color"),
    }.items()
}
_MORE = "More"
_HYPHEN = "\u2011"
"""Stands in a name while lines are broken, which is not done within a name."""


class LongCommand(click.Command):
    """A command of many options: ``--help`` explains the ``common`` ones, ``--help-all`` every one."""

    def __init__(self, *arguments: Any, common: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.common = common
        told = "Show all options with their descriptions, and exit."
        flag("--help-all", told, is_eager=True, expose_value=False, callback=_show_all)(self)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the common options in full, and the others by group: in full too, or their names."""
        given = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        options = {str(each.name): each for each in given if not {"--help", "--help-all"} & set(each.opts)}
        common = [options[name] for name in self.common if name in options]
        with formatter.section("Options"):
            formatter.write_dl(_explained(common, ctx))
        others = {
            title: rows
            for title, names in self._grouped(options).items()
            if (rows := [options[name] for name in names])
        }
        if ctx.meta.get(HELP_ALL):
            for title, rows in others.items():
                with formatter.section(title):
                    formatter.write_dl(_explained(rows, ctx))
            return
        formatter.write_paragraph()
        wide = max(map(len, others)) + 2
        for title, rows in others.items():
            names = " ".join(max(each.opts, key=len).replace("-", _HYPHEN) for each in rows)
            lines = wrap_text(names, formatter.width, title.ljust(wide), " " * wide)
            formatter.write(lines.replace(_HYPHEN, "-") + "\n")
        formatter.write(f"  For their descriptions: {ctx.command_path} --help-all\n")

    def _grouped(self, options: Mapping[str, click.Option]) -> dict[str, list[str]]:
        """Return the names of the options that are not common, under the titles of their groups."""
        left = [name for name in options if name not in self.common]
        grouped = {title: [name for name in names if name in left] for title, names in _GROUPS.items()}
        known = {name for names in grouped.values() for name in names}
        return {_MORE: [name for name in left if name not in known], **grouped}


def _explained(options: Iterable[click.Option], context: click.Context) -> list[tuple[str, str]]:
    return [record for each in options if (record := each.get_help_record(context)) is not None]


def _show_all(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta[HELP_ALL] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()
