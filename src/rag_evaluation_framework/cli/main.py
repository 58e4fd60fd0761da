"""The command ``rag-eval``: the table of commands, and the one place where errors become exit codes.

Exit codes: 0 done, 1 a gate failed, 2 wrong usage or data, 3 the run is incomplete, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

import click

from rag_evaluation_framework.errors import RagEvalError, UnknownNameError
from rag_evaluation_framework.version import __version__

EXAMPLES = """\b
Examples:
  rag-eval rank qrels.trec bm25.run                    how good is a retrieval run?
  rag-eval rank qrels.trec old.run new.run -m ndcg@10  did the change help?
  rag-eval list metrics                                what can be measured?
  rag-eval COMMAND --help                              more on a command"""


class _Command(NamedTuple):
    """Where a command lives and what it does; the module is imported when the command is used."""

    module: str
    summary: str


GROUPS: dict[str, dict[str, _Command]] = {
    "Data": {
        "validate": _Command("validate", "Check files against their schema, for consistency and for quality."),
        "convert": _Command("convert", "Write a dataset in another dialect, losing nothing unasked."),
        "build": _Command("build", "Make the QA and summary splits from raw offline records."),
        "stats": _Command("stats", "Show what is in a dataset: counts, lengths, labels, coverage of documents."),
        "agreement": _Command("agreement", "Show how far annotators agree, and merge what they say."),
        "datasets": _Command("datasets", "List the datasets of a folder: id, version, size, what is broken."),
        "schema": _Command("schema", "Print the JSON Schema of a kind of file."),
    },
    "Evaluate": {
        "probe": _Command("probe", "Send one question to an agent and show what would be read."),
        "rank": _Command("rank", "Score retrieval runs against relevance judgements and compare them."),
        "score": _Command("score", "Score a saved run by other metrics, without asking anyone again."),
    },
    "Results": {
        "runs": _Command("runs", "List the runs and where each stands: complete, to be resumed, broken."),
    },
    "Setting up": {
        "init": _Command("init", "Start a project: folders, a small dataset, annotations, configurations."),
        "list": _Command("listing", "Show what can be used: metrics."),
    },
}
_COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


class _LazyGroup(click.Group):
    """A group that imports a command's module only when it is used, so that ``--help`` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        found = _COMMANDS.get(cmd_name)
        if found is None:
            return None
        module = import_module(f"rag_evaluation_framework.cli.{found.module}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            raise UnknownNameError("command", args[0], list(_COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, command.summary) for name, command in commands.items()])


@click.group(
    cls=_LazyGroup,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="rag-eval", message="%(prog)s %(version)s")
def program() -> None:
    """Know how good a retrieval-augmented assistant is, where it fails, and whether a change helped."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every foreseeable error is a clear line on standard error, not a traceback."""
    try:
        code = _exit_code(arguments)
    except BrokenPipeError:
        code = 0  # the reader went away, as with `| head`; nothing is left to say
        _drop_output()
    except OSError as error:
        # Files that refuse are errors of ours; what is left is a standard output that does, on a full disk.
        code = 2
        _say([f"cannot write the output: {error.strerror or error}"])
        _drop_output()
    sys.exit(code)


def _exit_code(arguments: Sequence[str] | None) -> int:
    try:
        code: Any = program.main(args=arguments, prog_name="rag-eval", standalone_mode=False)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except RagEvalError as error:
        _say(str(error).splitlines())
        return 2
    except (click.Abort, KeyboardInterrupt):
        _say(["interrupted"])
        return 130
    return code if isinstance(code, int) else 0


def _say(lines: Sequence[str]) -> None:
    """Write to standard error; if that refuses too, the exit code still tells how the command ended."""
    with suppress(OSError):
        for line in lines:
            click.echo(f"rag-eval: {line}", err=True)


def _drop_output() -> None:
    """Send what is still buffered nowhere, or Python would fail on it once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
