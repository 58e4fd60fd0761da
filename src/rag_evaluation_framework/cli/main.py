"""The table of commands; errors to exit codes."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, Self

import click

from rag_evaluation_framework.cli.configuration import DefaultsByCommand, with_configuration
from rag_evaluation_framework.cli.options import CONTEXT, with_look
from rag_evaluation_framework.errors import (
    ModelOutageError,
    RagEvalError,
    UnknownNameError,
    counted,
    is_disk_full,
)
from rag_evaluation_framework.startup import collect_seldom
from rag_evaluation_framework.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Where a command ends: the one place where errors become a clear line each and an exit code.
#
# Exit codes: 0 done, 1 a gate failed, 2 wrong usage or data, 3 the run is incomplete, 130 interrupted.


def run_program(
    program: click.Command, arguments: Sequence[str] | None, *, name: str, complete_var: str | None = None
) -> NoReturn:
    """Run a command line to its end; every foreseeable error is a line on standard error, not a traceback.

    ``complete_var`` is the variable by which a shell asks what may come next.
    """
    collect_seldom()
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")  # numpy's threads wait asleep: 0.1 s a command
    try:
        code = _exit_code(program, arguments, name=name, complete_var=complete_var)
    except OSError as error:
        # A file that refuses is an error of ours already; what is left is standard output, on a full disk,
        # and names that no file can have.
        code = 2
        where = "cannot read or write" if error.filename is None else f"cannot use {error.filename}"
        _say([f"{where}: {error.strerror or error}"], name=name)
        drop_output()
    sys.exit(code)


def _exit_code(
    program: click.Command, arguments: Sequence[str] | None, *, name: str, complete_var: str | None
) -> int:
    try:
        code: Any = program.main(
            args=arguments, prog_name=name, complete_var=complete_var, standalone_mode=False
        )
    except click.UsageError as error:
        _say(misuse(error), name=name)
        return error.exit_code
    except click.ClickException as error:
        _say([error.format_message()], name=name)
        return error.exit_code
    except ModelOutageError as error:
        _say(error.message.splitlines(), name=name)
        return 3
    except RagEvalError as error:
        lines, is_full = _first_lines(error), is_disk_full(error)
        lines += ["  Free some space, then run the same command again."] if is_full else []
        lines += ["  Choose another path."] if lines[0].startswith("cannot write ") else []
        _say(lines, name=name)
        return 3 if is_full else 2
    except (click.Abort, KeyboardInterrupt):
        _say(["interrupted"], name=name)
        return 130
    except Exception as error:  # a plug-in may raise anything; whatever else it is, is raised again
        from rag_evaluation_framework.extensions import plugin_at_fault

        told = plugin_at_fault(error)
        if told is None:
            raise
        _say([told], name=name)
        return 2
    except SystemExit:
        return 0  # click ends so when the reader went away, as with `| head`; nothing is left to say
    return code if isinstance(code, int) else 0


_MOST_LINES = 3
# What `rag-eval validate` reads, and lists every problem of.
_VALIDATED = (".json", ".jsonl", ".csv", ".parquet", ".qrels", ".trec")


def _first_lines(error: RagEvalError) -> list[str]:
    """Return what is wrong in three lines; of many problems two, and where to see the others."""
    lines = str(error).splitlines()
    issues: Sequence[Any] = getattr(error, "issues", ())
    if len(lines) <= _MOST_LINES or len(lines) > len(issues):
        return lines
    file, beyond = issues[0].file, issues[-1].found if issues[-1].code == "too-many" else ""
    more = len(issues) - 2 + (int(beyond.split()[0].replace(",", "")) - 1 if beyond else 0)
    is_listed = file is not None and file.endswith(_VALIDATED)
    return [*lines[:2], f"  {more:,} more{f'; all: rag-eval validate {file}' if is_listed else ''}"]


def _say(lines: Sequence[str], *, name: str) -> None:
    """Write to standard error; if that refuses too, the exit code still tells how the command ended.

    A line that begins with a space goes on with the one before it.
    """
    with suppress(OSError):
        for line in lines:
            begins = " " * (len(name) + 2) if line.startswith(" ") else f"{name}: "
            click.echo(begins + line.strip(), err=True)


def drop_output() -> None:
    """Send what is still buffered nowhere, or Python would fail on it once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# What click says of a command line that it cannot read, in our words.

_NO_PATH = re.compile(
    r"(?P<kind>File|Directory|Path) '(?P<path>.*)' (?P<what>does not exist|is a \w+)\.?", re.DOTALL
)
_KINDS = {"File": "file", "Directory": "folder", "Path": "file or folder"}


class Steps:
    """Says on standard error what a command is doing, for as long as it is entered.

    On a terminal that is one line, gone at the end; elsewhere a line every half minute, with the time since
    the start: what is done sooner says nothing, and loads nothing for saying it.
    """

    def __init__(self, step: str = "", *, silent: bool = False) -> None:
        self._step, self._texts = step, 0
        self._is_over, self._silent = threading.Event(), silent
        self._teller: threading.Thread | None = None

    def __enter__(self) -> Self:
        if not self._silent:
            # Imported here, not in the thread: the work imports too, and two at once may wait for each other.
            from rag_evaluation_framework.reports import progress
            from rag_evaluation_framework.text import display

            self._teller = threading.Thread(target=self._tell, args=(progress, display), daemon=True)
            self._teller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._teller is not None:
            self._teller.join()

    def step(self, step: str) -> None:
        """Take note of the next step."""
        self._step = step

    def texts(self, count: int) -> None:
        """Count texts that were embedded."""
        self._texts += count

    def _tell(self, progress: ModuleType, display: ModuleType) -> None:
        stream, begun, is_live = sys.stderr, time.monotonic(), sys.stderr.isatty()
        seconds = progress.LIVE_SECONDS if is_live else progress.PLAIN_SECONDS
        line = None
        with suppress(OSError, ValueError):  # standard error may be closed; the work goes on
            while not self._is_over.wait(seconds):
                line = line or progress.Line(stream, live=is_live)
                told = [display.short_text(self._step, 300) or "working"]
                told += [f"{counted(self._texts, 'text')} embedded"] if self._texts else []
                told += [] if is_live else [f"{display.duration(time.monotonic() - begun)} so far"]
                line.write("; ".join(told))
            if line is not None:
                line.finish()


def misuse(error: click.UsageError) -> list[str]:
    """Return the lines that explain an error in a command line and how to fix it."""
    context = error.ctx
    asked = "rag-eval" if context is None else context.command_path
    if isinstance(error, click.NoSuchOption) and context is not None:
        names = [name for each in context.command.get_params(context) for name in each.opts]
        return [str(UnknownNameError("option", error.option_name, names, f"{asked} --help"))]
    param = getattr(error, "param", None)
    if isinstance(error, click.BadOptionUsage) and error.message.endswith("requires an argument."):
        return [f"{error.option_name} has no value. Details: {asked} --help"]
    if error.message.startswith("Got unexpected extra argument") and context is not None:
        usage = " ".join([asked, *context.command.collect_usage_pieces(context)])
        surplus = error.message.partition("(")[2].rstrip(").")
        return [f"Unexpected argument {surplus}.", f"  Usage: {usage}. Details: {asked} --help"]
    if isinstance(error, click.MissingParameter) and param is not None and context is not None:
        usage = " ".join([asked, *context.command.collect_usage_pieces(context)])
        return [f"{_called(param)} is missing.", f"  Usage: {usage}. Details: {asked} --help"]
    if isinstance(error, click.BadParameter) and param is not None:
        place = f"{_called(param)}: " if isinstance(param, click.Option) else ""
        return [place + _wrong_value(error.message, param.type)]
    return [error.format_message(), f"  Details: {asked} --help"]


def _called(param: click.Parameter) -> str:
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name


def _wrong_value(message: str, kind: click.ParamType[Any]) -> str:
    if path := _NO_PATH.fullmatch(message):
        return _wrong_path(**path.groupdict())
    found = message.partition(" is not ")[0]
    if isinstance(kind, click.Choice):
        return f"expected {' or '.join(map(str, kind.choices))}, got {found}"
    if isinstance(kind, click.IntRange | click.FloatRange):
        number = "a whole number" if isinstance(kind, click.IntRange) else "a number"
        bounds = [f"of at least {kind.min:.15g}" if kind.min is not None else ""]
        bounds += [f"at most {kind.max:.15g}" if kind.max is not None else ""]
        return f"expected {number} {' and '.join(filter(None, bounds))}, got {found}"
    if kind in (click.INT, click.FLOAT):
        return f"expected {'a whole number' if kind is click.INT else 'a number'}, got {found}"
    return message


def _wrong_path(kind: str, path: str, what: str) -> str:
    if what != "does not exist":
        return f"{path} {what.replace('directory', 'folder')}; expected a {_KINDS[kind]}"
    there = Path(path)
    with suppress(OSError):
        for name in get_close_matches(there.name, [each.name for each in there.parent.iterdir()], n=1):
            return f'there is no {_KINDS[kind]} {path}. Did you mean "{there.parent / name}"?'
    return f"there is no {_KINDS[kind]} {path}."


EXAMPLES = """\b
Examples:
  rag-eval rank qrels.trec bm25.run old.run       compare retrieval runs
  rag-eval evaluate agent.yaml                    evaluate an agent
  rag-eval validate evals/                        check the data
  rag-eval list metrics                           list the metrics
  rag-eval COMMAND --help                         explain a command"""


# What each command does. It is ``command`` in the module of its name, which is imported when it is used, or
# stands elsewhere.
GROUPS: dict[str, dict[str, str]] = {
    "Make": {
        "generate": "Generate questions from a folder of documents.",
        "convert": "Convert a dataset or another file to another format.",
        "build": "Build the splits (QA, summaries …) from offline records.",
        "validate": "Check the schema, consistency and quality of files.",
        "annotate": "Annotate passages, answers and citations in a browser.",
        "stats": "Show counts, lengths and labels of a dataset.",
        "sample": "Show random records of a dataset.",
        "datasets": "List the datasets of a folder, with id, version and size.",
        "schema": "Print the JSON Schema of a kind of file.",
    },
    "Run": {
        "score": "Score saved answers or a saved run; ask no agent.",
        "evaluate": "Evaluate an agent on its datasets and decide the gate.",
        "golden": "Evaluate an agent on golden sets and decide the gate.",
        "retrieval": "Compare chunkers, embedders, stores and rerankers.",
        "rank": "Score retrieval runs against relevance judgments.",
        "probe": "Ask an agent one question and find its reply format.",
        "benchmark": "Measure the latency of a retriever or an agent over time.",
    },
    "Look": {
        "show": "Show wrong answers of a run with their passages.",
        "compare": "Compare the answers and metrics of runs.",
        "results": "List saved evaluations with figures and verdicts.",
        "runs": "List runs: running, complete, incomplete or broken.",
        "trend": "Show metrics over many runs and test the latest run.",
        "report": "Write a run, sweep or comparison as an HTML page.",
        "serve": "Serve all runs and results as pages in the browser.",
        "merge": "Merge the shards of a run into one results file.",
        "export": "Export a run to CSV, Excel, LaTeX, MLflow, LangSmith …",
    },
    "Trust": {
        "label": "Label the answers of a run, one key per answer.",
        "calibrate": "Compare the metrics of a run with human labels.",
        "aa": "Measure how often the gate fails an unchanged agent.",
        "redecide": "Apply the current verdict rules to saved runs.",
        "agreement": "Measure annotator agreement and merge annotations.",
        "judge-card": "Measure a judge on labeled texts and save its card.",
    },
    "Set up": {
        "init": "Create a project: questions, gate, settings, workflow.",
        "list": "List metrics, methods, chunkers, embedders, formats …",
        "doctor": "Check the installation, the agent and the project.",
        "demo": "Run the whole workflow offline on an example.",
        "completion": "Print the completion script of a shell.",
    },
}
_ELSEWHERE = {
    **dict.fromkeys(("stats", "sample", "datasets", "schema", "results", "runs", "list"), "listing"),
    **dict.fromkeys(("merge", "export"), "merge"),
}
"""The modules of several commands: that of ``stats`` is ``stats_command`` there."""
COMPLETION = "_RAG_EVAL_COMPLETE"
"""The variable by which a shell asks what may come next."""
_COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}


class _LazyGroup(click.Group):
    """A group that imports a command's module only when it is used, so that ``--help`` is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = f"{cmd_name}_command" if cmd_name in _ELSEWHERE else "command"
        module = _ELSEWHERE.get(cmd_name, cmd_name.replace("-", "_"))
        command: click.Command = getattr(import_module(f"rag_evaluation_framework.cli.{module}"), name)
        return with_configuration(cmd_name, with_look(command))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            raise UnknownNameError("command", args[0], list(_COMMANDS), "rag-eval --help")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what may come next; commands by the table, so that none is imported for its summary."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        fitting = (name for name in _COMMANDS if name.startswith(incomplete))
        return [CompletionItem(name, help=_COMMANDS[name]) for name in fitting]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


_START = (
    ("answers in a log", "rag-eval score answers.jsonl"),
    ("an agent", "rag-eval init --agent http://localhost:4000, then rag-eval evaluate"),
    ("a folder of documents", "rag-eval generate docs/, then rag-eval retrieval docs/"),
    ("two runs", "rag-eval compare BEFORE AFTER"),
    ("nothing yet", "rag-eval demo"),
)


def signpost(groups: Mapping[str, Iterable[str]]) -> str:
    """Say where to start with what one has, and which commands there are."""
    question = "measure your assistant, find its failures, test each change."
    lines = [f"rag-eval {__version__}: {question}", "", "Where to start"]
    lines += [f"  {have:<21}  {command}" for have, command in _START]
    lines += ["", "Commands"]
    width = max(map(len, groups))
    lines += [f"  {title.lower():<{width}}  {'  '.join(names)}" for title, names in groups.items()]
    lines += [
        "",
        "Help: rag-eval COMMAND --help. No data leaves this machine unless you name a URL or a model.",
    ]
    return "\n".join(lines)


@click.group(cls=_LazyGroup, epilog=EXAMPLES, context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(__version__, prog_name="rag-eval", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Evaluate RAG agents: measure quality, find failures, compare changes."""
    context.default_map = DefaultsByCommand()
    if context.invoked_subcommand is None:
        click.echo(signpost(GROUPS))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    run_program(program, arguments, name="rag-eval", complete_var=COMPLETION)
