"""The command ``agentspec``: ``agentspec evaluate agent.yaml --url … --dataset …``, run by ``rag-eval``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import click

from rag_evaluation_framework.cli.configuration import DefaultsByCommand, with_configuration
from rag_evaluation_framework.cli.evaluate import command
from rag_evaluation_framework.cli.main import run_program
from rag_evaluation_framework.cli.options import CONTEXT
from rag_evaluation_framework.version import __version__


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="agentspec", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Evaluate an agent by its manifest. Everything else is in rag-eval."""
    context.default_map = DefaultsByCommand()


program.add_command(with_configuration("evaluate", command))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; exit codes and messages are those of ``rag-eval``."""
    run_program(program, arguments, name="agentspec")
