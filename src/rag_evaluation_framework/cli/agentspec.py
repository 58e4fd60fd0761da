"""The command ``agentspec``: ``agentspec evaluate agent.yaml --url … --dataset …``, run by ``rag-eval``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from rag_evaluation_framework.cli.evaluate import command
from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="agentspec", message="%(prog)s %(version)s")
def program() -> None:
    """Evaluate an agent by its manifest. Everything else is in rag-eval."""


program.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exit codes and messages are those of ``rag-eval``."""
    try:
        code = program.main(args=arguments, prog_name="agentspec", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except RagEvalError as error:
        for line in str(error).splitlines():
            click.echo(f"agentspec: {line}", err=True)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        click.echo("agentspec: interrupted", err=True)
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)
