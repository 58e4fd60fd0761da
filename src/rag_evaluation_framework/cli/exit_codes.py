"""Where a command ends: the one place where errors become a clear line each and an exit code.

Exit codes: 0 done, 1 a gate failed, 2 wrong usage or data, 3 the run is incomplete, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click

from rag_evaluation_framework.errors import ModelOutageError, RagEvalError


def run_program(program: click.Command, arguments: Sequence[str] | None, *, name: str) -> NoReturn:
    """Run a command line to its end; every foreseeable error is a line on standard error, not a traceback."""
    try:
        code = _exit_code(program, arguments, name=name)
    except OSError as error:
        # A file that refuses is an error of ours already; what is left is standard output, on a full disk.
        code = 2
        _say([f"input or output failed: {error.strerror or error}"], name=name)
        drop_output()
    sys.exit(code)


def _exit_code(program: click.Command, arguments: Sequence[str] | None, *, name: str) -> int:
    try:
        code: Any = program.main(args=arguments, prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except RagEvalError as error:
        _say(str(error).splitlines(), name=name)
        return 3 if isinstance(error, ModelOutageError) else 2
    except (click.Abort, KeyboardInterrupt):
        _say(["interrupted"], name=name)
        return 130
    except SystemExit:
        return 0  # click ends so when the reader went away, as with `| head`; nothing is left to say
    return code if isinstance(code, int) else 0


def _say(lines: Sequence[str], *, name: str) -> None:
    """Write to standard error; if that refuses too, the exit code still tells how the command ended."""
    with suppress(OSError):
        for line in lines:
            click.echo(f"{name}: {line}", err=True)


def drop_output() -> None:
    """Send what is still buffered nowhere, or Python would fail on it once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
