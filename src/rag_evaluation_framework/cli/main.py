"""The command ``rag-eval``: the table of commands."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import click

from rag_evaluation_framework.cli.exit_codes import run_program
from rag_evaluation_framework.cli.options import CONTEXT
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.version import __version__

EXAMPLES = """\b
Examples:
  rag-eval rank qrels.trec bm25.run old.run -m ndcg@10      which retrieval run is better?
  rag-eval evaluate agent.yaml --url http://localhost:4000  how good is an agent, and may it ship?
  rag-eval validate evals/                                  is the data sound?
  rag-eval list metrics                                     what can be measured?
  rag-eval COMMAND --help                                   more on a command"""


class _Command(NamedTuple):
    """Where a command lives and what it does; the module is imported when the command is used."""

    module: str
    summary: str


GROUPS: dict[str, dict[str, _Command]] = {
    "Data": {
        "validate": _Command(
            "validate", "Check files against their schema, for consistency and for quality."
        ),
        "convert": _Command(
            "convert", "Convert a dataset to another dialect, losing nothing unless allowed."
        ),
        "build": _Command("build", "Make the QA and summary splits from raw offline records."),
        "stats": _Command(
            "stats", "Show what is in a dataset: counts, lengths, labels, coverage of documents."
        ),
        "agreement": _Command("agreement", "Show how well annotators agree, and merge their annotations."),
        "datasets": _Command("datasets", "List the datasets of a folder: id, version, size, what is broken."),
        "generate": _Command(
            "generate", "Make questions with exact ground truth from a folder of documents."
        ),
        "schema": _Command("schema", "Print the JSON Schema of a kind of file."),
    },
    "Evaluate": {
        "evaluate": _Command("evaluate", "Evaluate an agent on a manifest's datasets and decide the gate."),
        "probe": _Command("probe", "Send one question to an agent and show what a run would read."),
        "golden": _Command("golden", "Evaluate a system on golden sets: facts, relations, conversations …"),
        "rank": _Command("rank", "Score retrieval runs against relevance judgements and compare them."),
        "retrieval": _Command(
            "retrieval", "Compare chunkers, embedders, stores and rerankers over a corpus."
        ),
        "score": _Command("score", "Score a saved run by other metrics, without asking anyone again."),
        "calibrate": _Command(
            "calibrate", "Check the metrics of a run against human labels, and correct its figures."
        ),
    },
    "Results": {
        "runs": _Command("runs", "List the runs and their states: running, complete, incomplete, broken."),
    },
    "Setting up": {
        "init": _Command("init", "Start a project: folders, a small dataset, annotations, configurations."),
        "list": _Command("listing", "Show what can be used: metrics, offline methods."),
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


@click.group(cls=_LazyGroup, epilog=EXAMPLES, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="rag-eval", message="%(prog)s %(version)s")
def program() -> None:
    """Know how good a retrieval-augmented assistant is, where it fails, and whether a change helped."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run_program(program, arguments, name="rag-eval")
