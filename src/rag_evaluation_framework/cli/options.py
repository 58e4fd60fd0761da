"""Options that several commands have, each written once."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.option_table import DECLARED, declared, fields_of
from rag_evaluation_framework.files.project_root import in_project

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from rag_evaluation_framework.judging.methods import Scoring
    from rag_evaluation_framework.reports.blocks import Screen

C = TypeVar("C", bound=Callable[..., Any])
Option: TypeAlias = Callable[[C], C]


def option(written: str, told: str, *, called: str | None = None, **wish: Any) -> Option[Any]:
    """Return an option as help shows it, ``-o, --output FILE``, with what it is for.

    The command gets its value by the longest name, or as it is ``called``.
    """
    *others, last = written.split(", ")
    name, _, metavar = last.partition(" ")
    names = filter(None, (*others, name, called))
    return click.option(*names, metavar=metavar or None, help=told, **wish)


flag = partial(option, is_flag=True)
repeated = partial(option, multiple=True)


def whole_number(
    written: str, told: str, *, least: int = 1, most: int | None = None, **wish: Any
) -> Option[Any]:
    """Return an option whose value is a whole number within bounds."""
    return option(f"{written} N", told, type=click.IntRange(least, most), **wish)


CONTEXT: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
    "show_default": True,
}
"""The settings of every program."""


class Amount(click.FloatRange):
    """A number that may have decimals; what is not a number, or has no end, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a valid number", param, ctx)
        return number

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()


def completed_as_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file, where an argument may be something else too."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
DOCUMENTS = click.Path(exists=True, path_type=Path)
"""A folder of documents, or one document."""
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

AS_JSON = flag("--json", "Print the result as JSON.", called="as_json")
DETAILS = flag("--details", "Also show methods, tests, settings and missing scores.")
DRY_RUN: Option[Any] = flag("--dry-run", "Check files and options and show the plan; send no request.")
RUNS_DIR = option(
    "--runs-dir",
    "Folder of the runs.  [default: runs]",
    type=FOLDER,
    default=partial(in_project, "runs"),
    show_default=False,
)
DIALECT = option(
    "--format FORMAT", "Format of the dataset.  [default: detected from its content]", called="format_"
)
LATEST = "the latest"
"""Value of an option that may name a run, when it is given without a name."""
QUESTIONS = Path("questions.eval.json")
"""Where questions are written, and looked for, where no file is named."""
READABLE_KINDS = "Markdown, text, HTML and PDF"
GLOB = option(
    "--glob PATTERN", f"Pattern of the document files, e.g. '**/*.md'.  [default: {READABLE_KINDS}]"
)

CONFIDENCE = option(
    "--confidence", "Confidence level of the intervals.", type=Amount(0.5, 0.9999), default=0.95
)
RESAMPLES = option(
    "--resamples",
    "Number of resamples per interval or test.",
    type=click.IntRange(100, 10_000_000),
    default=10_000,
)
PAIRED_TEST = option(
    "--test",
    "Paired test for differences.",
    type=click.Choice(["randomisation", "t", "wilcoxon"]),
    default="randomisation",
)
SEED = option(
    "--seed", "Random seed; the same seed gives the same results.", type=click.IntRange(0), default=0
)

BASE_URL = option(
    "--base-url URL", "URL of the model's OpenAI-compatible endpoint, e.g. http://localhost:8000/v1."
)
KEY_ENV = option(
    "--key-env NAME", "Environment variable with the model's API key.  [default: OPENAI_API_KEY]"
)


def setting(name: str, **wish: Any) -> Option[Any]:
    """Return the option of a declared setting."""
    told = DECLARED[name]
    types: dict[str, Any] = {
        "number": Amount(told.least, told.most, min_open=told.is_above),
        "whole": click.IntRange(int(told.least), None if told.most is None else int(told.most)),
        "choice": click.Choice(told.words),
        "seed": int,
        "file": EXISTING_FILE,
        "folder": FOLDER,
    }
    wish = {"type": types.get(told.type), "default": told.default, "called": name, **wish}
    wish |= {"is_flag": True} if told.type == "flag" else {}
    wish |= {"multiple": True} if told.type == "names" else {}
    otherwise = "" if told.otherwise is None else f"  [default: {told.otherwise}]"
    return option(told.flag, f"{told.help}{otherwise}", **wish)


def settings(*names: str) -> tuple[Option[Any], ...]:
    """Return the options of several declared settings."""
    return tuple(map(setting, names))


TIMEOUT, ALLOW_MISSING, MAX_COST = settings("timeout", "allow_missing", "max_cost")
concurrency = partial(setting, "concurrency")
metrics_option = partial(repeated, "-m, --metric NAME", called="metrics")


def with_all(options: Iterable[Option[Any]]) -> Option[Any]:
    """Return a decorator that gives a command these options, shown in this order."""

    def decorated(command: C) -> C:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return decorated


WORKERS = with_all(settings("workers", "engine", "address"))


# The options that ``rag-eval evaluate`` and ``rag-eval golden`` share: target, limits, gate, output.


RESUME = option(
    "--resume [RUN]",
    "Resume this run (default: the latest); finished answers are not requested or scored again.",
    is_flag=False,
    flag_value=LATEST,
)
ASK_DAMAGED = flag("--ask-damaged", "Request the samples of damaged journal lines again; needs --resume.")


def _allow_hosts(context: click.Context, _: click.Parameter, hosts: tuple[str, ...]) -> None:
    """Write the hosts where whoever connects looks them up; children of the program see them too."""
    context.meta["allow_host"] = hosts
    if hosts:
        known = os.environ.get("RAG_EVAL_ALLOWED_HOSTS", "")
        os.environ["RAG_EVAL_ALLOWED_HOSTS"] = ",".join(filter(None, (known, *hosts)))


ALLOW_HOST = repeated(
    "--allow-host HOST",
    "Link-local or metadata address to allow; may be repeated.",
    expose_value=False,
    callback=_allow_hosts,
)


def mend_journals(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the run to be resumed by its path, where it is the latest of the command. What
    is damaged in the journals of the runs is set aside first, where the user says so.
    """
    given = _find_latest(given)
    if not given["ask_damaged"]:
        return given
    if not given["resume"]:
        raise UsageError("--ask-damaged needs --resume")
    from rag_evaluation_framework.results.run_store import set_damage_aside

    runs = [given["resume"]] if isinstance(given["resume"], str) else given["resume"]
    for run in runs if not given.get("dry_run") else ():
        for each in set_damage_aside(run, given["runs_dir"]):
            click.echo(f"rag-eval: {each}", err=True)
    return given


def _find_latest(given: Mapping[str, Any]) -> dict[str, Any]:
    if given["resume"] not in (LATEST, (LATEST,)):
        return dict(given)
    from rag_evaluation_framework.results.run_store import latest_resumable

    name = click.get_current_context().command.name or ""
    command = "evaluate" if name == "aa" else name  # which begins the same runs
    latest = str(latest_resumable(command, given["runs_dir"]).path)
    return {**given, "resume": latest if given["resume"] == LATEST else (latest,)}


@contextmanager
def told_how_to_resume(runs: Path, resume: str | None) -> Iterator[None]:
    """Name the command that goes on with a run, where Ctrl-C ends this one between two samples of the run."""
    from rag_evaluation_framework.results.run_store import RunFolder, run_paths

    before = run_paths(runs)
    try:
        yield
    except KeyboardInterrupt:
        from rag_evaluation_framework.reports.evaluation_blocks import resuming_command

        for path in [Path(resume)] if resume else [each for each in run_paths(runs) if each not in before]:
            run = RunFolder.open(path, runs)
            way_on = f"resume with:\n  {resuming_command(run.head, run.path)}"
            click.echo(f"\nrag-eval: interrupted; {way_on}", err=True)
            raise click.exceptions.Exit(130) from None
        raise


_BEGAN_WITH = {
    "--metric": "metrics",
    "--tag": "tags",
    "--sample": "sample_size",
    "--dataset": "datasets",
    "--split": "datasets",
    "--dataset-type": "dataset_format",
}


def check_resumed_alone(given: Mapping[str, Any], choices: Mapping[str, Any]) -> None:
    """Refuse to choose anew, with options by name, what a run to be resumed was begun with; the same is."""
    chosen = {name: value for name, value in choices.items() if value not in (None, ())}
    if not given["resume"] or not chosen:
        return
    from rag_evaluation_framework.results.run_store import RunFolder

    resume = _find_latest(given)["resume"]
    head = RunFolder.open(resume if isinstance(resume, str) else resume[0], given["runs_dir"]).head
    configuration = {"seed": head.seed, "repeats": 1, **head.configuration}
    began = configuration | dict(configuration.get("selection") or {})
    named = {name: _BEGAN_WITH.get(name, name.removeprefix("--").replace("-", "_")) for name in chosen}
    as_lists = {name: list(value) if isinstance(value, tuple) else value for name, value in chosen.items()}
    changed = [name for name, value in as_lists.items() if began.get(named[name]) != value]
    if changed:
        raise UsageError(f"--resume uses the options of the run. Remove {', '.join(changed)}.")


TARGET: tuple[Option[Any], ...] = (
    option("--url URL", "URL of the agent, e.g. http://localhost:4000."),
    option("--target TARGET", "Target instead of a URL: module:function, answers.jsonl or openai(model=…)."),
)
LIMITS: tuple[Option[Any], ...] = (
    *settings("sample_size", "seed", "repeats", "timeout", "run_timeout", "concurrency"),
    WORKERS,
    *settings("max_attempts"),
    RESUME,
    ASK_DAMAGED,
    RUNS_DIR,
    DRY_RUN,
)
GATE: tuple[Option[Any], ...] = (
    option("--price-input", "US dollars per million input tokens of the target.", type=Amount(0)),
    option("--price-output", "US dollars per million output tokens of the target.", type=Amount(0)),
    *settings("max_errors", "confidence", "min_scored", "min_resolved", "waive"),
    option(
        "--baseline RUN", "Run, results file or branch to compare with; the gate fails if the run is worse."
    ),
    *settings("max_regressions", "ask_again", "max_drop", "on_undecided"),
    option("--save-baseline NAME", "Save this run for --baseline NAME, unless an answer became wrong."),
    flag("--force", "Save the baseline even if answers became wrong."),
)
OUTPUT: tuple[Option[Any], ...] = (
    option("--junit", "Write a JUnit XML report to FILE.", type=FILE),
    option("--markdown", "Write a Markdown report for a pull request to FILE.", type=FILE),
    flag("--all", "Show every wrong or partly correct answer in full.", called="everything"),
    DETAILS,
    AS_JSON,
)


# The options that say how answers are scored: by which judge, which embedder, against which documents.

SCORING_OPTIONS: tuple[Option[Any], ...] = (
    *settings(*(each.name for each in declared("judge", "scoring"))),
    option("--corpus DIR", "Folder of the cited documents.  [default: those of the dataset]", type=DOCUMENTS),
    GLOB,
)


scoring_options = with_all((*SCORING_OPTIONS, ALLOW_HOST))
"""Gives a command the options above; :func:`scoring_of` reads them."""


def scoring_of(given: dict[str, Any]) -> Scoring:
    """Return what answers are scored with, by the options of a command."""
    from rag_evaluation_framework.judging.methods import Scoring
    from rag_evaluation_framework.records.documents import Corpus

    judge = fields_of("judge", given)
    judge |= {"models": tuple(dict.fromkeys(judge["models"]))} if "models" in judge else {}
    corpus = given["corpus"]
    return Scoring(
        judge=judge,
        documents=None if corpus is None else Corpus.from_folder(corpus, given["glob"]),
        **fields_of("scoring", given),
    )


# What may hold a secret is not written down.
SECRET = re.compile(r"key|token=|secret|password|://[^/\s]*@|://\S*\?", re.IGNORECASE)
_NAMES = ("mapped", "thresholds", "judge_key_env", "key_env", "model", "dataset_name", "glob")
"""Options that name a field, a metric, a variable …; such a name is never a secret."""
NOT_RESUMED = frozenset(
    (
        *("answers", "manifest", "folder", "url", "target", "history", "datasets", "metrics", "tags"),
        *("resume", "ask_damaged", "runs_dir", "dry_run", "as_json", "details", "everything"),
        *(each.name for each in DECLARED.values() if not each.is_resumed),
    )
)
"""Options that a resume does not repeat: those in the head of its run, and those of display."""


def given_again(left_out: Collection[str]) -> list[str]:
    """Return the words of the current command line without secrets and the options that are left out."""
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in left_out or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params.get(name, context.meta.get(name, ()))
        is_name = isinstance(parameter, click.Argument) or name in _NAMES
        for each in value if isinstance(value, tuple) else (value,):
            words += [parameter.opts[0]] if isinstance(parameter, click.Option) else []
            text = "=".join(each) if isinstance(each, tuple) else str(each)
            is_secret = SECRET.search(text) and not (is_name or isinstance(each, Path))
            words += [] if isinstance(each, bool) else ["…" if is_secret else text]
    return words


# How screens look is asked of every command; the answer is in the context's ``meta``.

_LOOK = "rag_evaluation_framework.look"


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_LOOK, {})[parameter.name] = value


_WIDTH = whole_number(
    "--width",
    "Number of columns to print.  [default: the terminal's, 80 to 140; 100 in a pipe]",
    least=40,
    most=1000,
    expose_value=False,
    callback=_remember,
)
_COLOR = option(
    "--color",
    "Print in color; auto: on a terminal, without NO_COLOR.",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    expose_value=False,
    callback=_remember,
)


def with_look(command: click.Command) -> click.Command:
    """Give a command, and those below it, the options that say how wide and how coloured its screens are."""
    if not any(each.name == "width" for each in command.params):
        command = _COLOR(_WIDTH(command))
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        with_look(each)
    return command


def new_screen(mask: Callable[[str], str] = str) -> Screen:
    """Return the screen to fill, as wide and coloured as standard output allows or the user asks."""
    from rag_evaluation_framework.reports.blocks import terminal_screen

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
