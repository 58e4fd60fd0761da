"""``rag-eval completion``: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click

EXAMPLES = """\b
Examples:
  rag-eval completion bash \\
    > ~/.local/share/bash-completion/completions/rag-eval
  rag-eval completion zsh > ~/.zfunc/_rag-eval
      with fpath+=~/.zfunc before compinit in ~/.zshrc
  rag-eval completion fish > ~/.config/fish/completions/rag-eval.fish
  eval "$(rag-eval completion bash)"   use it in this shell only"""

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script to complete commands, options and values in SHELL.

    Write it to a folder that the shell reads, as below, and open a new shell. Bash 4.4 or newer is required;
    macOS has an older version.
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    from rag_evaluation_framework.cli.main import COMPLETION, program

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    # Its text without asking which bash is installed here: the script may be for another machine.
    script = kind(program, {}, "rag-eval", COMPLETION)
    click.echo(script.source_template % script.source_vars())
