"""What commands print: screens, JSON, and warnings about data; and the options that say how screens look."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.errors import Issue, counted

if TYPE_CHECKING:
    from rag_evaluation_framework.reports.screen import Screen

# How screens look is asked of every command; the answer is in the context's ``meta``.

_LOOK = "rag_evaluation_framework.cli.output"


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_LOOK, {})[parameter.name] = value


def with_look(command: click.Command) -> click.Command:
    """Give a command, and those below it, the options that say how wide and how coloured its screens are."""
    if not any(each.name == "width" for each in command.params):
        command.params += [
            click.Option(
                ["--width"],
                type=click.IntRange(40, 1000),
                metavar="N",
                expose_value=False,
                callback=_remember,
                help="Number of columns to print.  [default: the terminal's, 80 to 140; 100 in a pipe]",
            ),
            click.Option(
                ["--color"],
                type=click.Choice(["auto", "always", "never"]),
                default="auto",
                expose_value=False,
                callback=_remember,
                help="Whether to print in colour; auto: on a terminal, without NO_COLOR.",
            ),
        ]
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        with_look(each)
    return command


def new_screen(mask: Callable[[str], str] = str) -> Screen:
    """Return the screen to fill, as wide and coloured as standard output allows or the user asks."""
    from rag_evaluation_framework.reports.screen import terminal_screen

    context = click.get_current_context(silent=True)
    look = {} if context is None else context.meta.get(_LOOK, {})
    return terminal_screen(
        is_terminal=sys.stdout.isatty(),
        columns=shutil.get_terminal_size().columns,
        encoding=sys.stdout.encoding,
        width=look.get("width"),
        color=look.get("color", "auto"),
        mask=mask,
    )


def show(screen: Screen) -> None:
    """Print a screen; what standard output cannot write becomes a question mark."""
    encoding = sys.stdout.encoding or "utf-8"
    text = str(screen).encode(encoding, "replace").decode(encoding)
    click.echo(text, color=screen.color or None)


def print_json(document: Any) -> None:
    """Print a document as JSON that people can read too."""
    from rag_evaluation_framework.files import strict_json

    click.echo(strict_json.encode(document, indent=2))


_SHOWN = 5


def print_warnings(warnings: Sequence[Issue]) -> None:
    """Print the first few warnings, and how many more there are."""
    for warning in warnings[:_SHOWN]:
        click.echo(f"rag-eval: warning: {warning}", err=True)
    if len(warnings) > _SHOWN:
        more = counted(len(warnings) - _SHOWN, "more warning")
        click.echo(f"rag-eval: {more}: rag-eval validate shows them all", err=True)
