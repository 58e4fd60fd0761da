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
from rag_evaluation_framework.files.project_root import in_project

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from rag_evaluation_framework.reports.screen import Screen

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
DETAILS = flag("--details", "Also show methods, tests, settings, and what was not scored.")
DRY_RUN: Option[Any] = flag("--dry-run", "Check everything and show what would be done, but ask nothing.")
RUNS_DIR = option(
    "--runs-dir",
    "Folder in which runs are kept.  [default: runs]",
    type=FOLDER,
    default=partial(in_project, "runs"),
    show_default=False,
)
DIALECT = option(
    "--format FORMAT", "Format of the dataset.  [default: recognised by its content]", called="format_"
)
LATEST = "the latest"
"""What an option that may name a run says without one."""
QUESTIONS = Path("questions.eval.json")
"""Where questions are written, and looked for, where no file is named."""
READABLE_KINDS = "Markdown, text, HTML and PDF"
GLOB = option(
    "--glob PATTERN", f"Which files of the folder are documents, e.g. '**/*.md'.  [default: {READABLE_KINDS}]"
)

CONFIDENCE = option(
    "--confidence", "Confidence level of the intervals.", type=Amount(0.5, 0.9999), default=0.95
)
RESAMPLES = option(
    "--resamples",
    "Number of random resamples behind each interval or test.",
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

TIMEOUT = option(
    "--timeout",
    "Seconds allowed for one request, or for all turns of a conversation together.",
    type=Amount(0.1, 3600),
    default=60.0,
)
ALLOW_MISSING = flag(
    "--allow-missing", "Skip a metric where a sample lacks what it needs, instead of refusing the dataset."
)
BASE_URL = option(
    "--base-url URL", "URL of the model's OpenAI-compatible endpoint, e.g. http://localhost:8000/v1."
)
KEY_ENV = option(
    "--key-env NAME", "Environment variable that holds the model's key.  [default: OPENAI_API_KEY]"
)


concurrency = partial(
    option,
    "--concurrency",
    "Maximum number of requests at the same time.",
    type=click.IntRange(1, 10_000),
    default=16,
)
metrics_option = partial(repeated, "-m, --metric NAME", called="metrics")


def with_all(options: Iterable[Option[Any]]) -> Option[Any]:
    """Return a decorator that gives a command these options, shown in this order."""

    def decorated(command: C) -> C:
        for option in reversed(list(options)):
            command = option(command)
        return command

    return decorated


_WORKERS = "Number of worker processes; it does not change the results.  [default: all cores but one]"
_ENGINE = "What does the work: processes on this machine, or workers of a Ray cluster."
_ADDRESS = "Ray cluster to join, such as auto or host:6379.  [default: RAY_ADDRESS, else started here]"
WORKERS = with_all(
    (
        whole_number("--workers", _WORKERS),
        option("--engine", _ENGINE, type=click.Choice(["processes", "ray"]), default="processes"),
        option("--address ADDRESS", _ADDRESS),
    )
)


# The options that ``rag-eval evaluate`` and ``rag-eval golden`` share: target, limits, gate, output.


RESUME = option(
    "--resume [RUN]",
    "Continue this run, by default the latest; what it has finished is not asked or scored again.",
    is_flag=False,
    flag_value=LATEST,
)
ASK_DAMAGED = flag(
    "--ask-damaged",
    "With --resume: set damaged lines of the journal aside in a copy, and ask again what they held.",
)


def _allow_hosts(context: click.Context, _: click.Parameter, hosts: tuple[str, ...]) -> None:
    """Write the hosts where whoever connects looks them up; children of the program see them too."""
    context.meta["allow_host"] = hosts
    if hosts:
        known = os.environ.get("RAG_EVAL_ALLOWED_HOSTS", "")
        os.environ["RAG_EVAL_ALLOWED_HOSTS"] = ",".join(filter(None, (known, *hosts)))


ALLOW_HOST = repeated(
    "--allow-host HOST",
    "Connect to this link-local or metadata address anyway; may be repeated.",
    expose_value=False,
    callback=_allow_hosts,
)


def mend_journals(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the latest run by its path, where that is to be resumed. What is damaged in the
    journals of the runs is set aside first, where the user says so.
    """
    from rag_evaluation_framework.results.run_groups import latest_run

    is_latest = given["resume"] == LATEST
    given = {**given, "resume": str(latest_run(given["runs_dir"]).path) if is_latest else given["resume"]}
    if not given["ask_damaged"]:
        return given
    if not given["resume"]:
        raise UsageError("--ask-damaged: expected with --resume, got it alone")
    from rag_evaluation_framework.results.damage import set_damage_aside

    runs = [given["resume"]] if isinstance(given["resume"], str) else given["resume"]
    for run in runs if not given.get("dry_run") else ():
        for each in set_damage_aside(run, given["runs_dir"]):
            click.echo(f"rag-eval: {each}", err=True)
    return given


@contextmanager
def told_how_to_resume(runs: Path, resume: str | None) -> Iterator[None]:
    """Name the command that goes on with a run, where Ctrl-C ends this one between two samples of the run."""
    from rag_evaluation_framework.results.run_folder import RunFolder, run_paths

    before = run_paths(runs)
    try:
        yield
    except KeyboardInterrupt:
        from rag_evaluation_framework.reports.verdict_lines import resuming_command

        for path in [Path(resume)] if resume else [each for each in run_paths(runs) if each not in before]:
            run = RunFolder.open(path, runs)
            way_on = f"continue with:\n  {resuming_command(run.head, run.path)}"
            click.echo(f"\nrag-eval: interrupted; {way_on}", err=True)
            raise click.exceptions.Exit(130) from None
        raise


def check_resumed_alone(resume: str | tuple[str, ...] | None, choices: Mapping[str, Any]) -> None:
    """Refuse to choose anew, with options by name, what a run to be resumed was begun with."""
    given = [name for name, value in choices.items() if value not in (None, ())]
    if resume and given:
        raise UsageError(f"--resume continues with what the run began with; leave out {', '.join(given)}")


TARGET: tuple[Option[Any], ...] = (
    option("--url URL", "URL of the agent, e.g. http://localhost:4000."),
    option(
        "--target TARGET",
        "What to evaluate instead of a URL: module:function, answers.jsonl or openai(model=…).",
    ),
)
LIMITS: tuple[Option[Any], ...] = (
    whole_number("--sample-size", "Use only N samples of each dataset or split, drawn at random."),
    option(
        "--seed",
        "Random seed; the same seed draws the same samples and gives the same figures.  [default: 0]",
        type=int,
    ),
    whole_number(
        "--repeats",
        "Ask each sample N times, to tell noise from change; it passes if more than half of its answers "
        "do.  [default: 1]",
    ),
    TIMEOUT,
    option(
        "--run-timeout",
        "Seconds allowed for each dataset or split; a longer run is left incomplete (exit code 3).",
        type=Amount(0.1),
    ),
    concurrency(),
    WORKERS,
    option(
        "--max-attempts", "Maximum number of attempts for each sample.", type=click.IntRange(1, 20), default=5
    ),
    RESUME,
    ASK_DAMAGED,
    RUNS_DIR,
    DRY_RUN,
)
GATE: tuple[Option[Any], ...] = (
    option(
        "--price-input",
        "US dollars for a million input tokens of the target, for a dry run and --max-cost.",
        type=Amount(0),
    ),
    option(
        "--price-output",
        "US dollars for a million output tokens of the target, for a dry run and --max-cost.",
        type=Amount(0),
    ),
    option(
        "--max-errors", "Number of failed requests that the gate allows.", type=click.IntRange(0), default=0
    ),
    option(
        "--confidence",
        "What a threshold applies to: the mean, or the less favourable end of its interval.  [default: mean]",
        type=click.Choice(["mean", "lower-bound"]),
    ),
    option(
        "--min-scored SHARE",
        "Share of the samples a metric applies to that must be scored for its threshold to be "
        "evaluated.  [default: 0.9]",
        type=Amount(0, 1),
    ),
    option(
        "--min-resolved SHARE",
        "Share of the retrieved names that must mean documents of the dataset for retrieval metrics "
        "to be evaluated.  [default: 0.5]",
        type=Amount(0, 1),
    ),
    repeated(
        "--waive METRIC",
        "Let the gate pass although the threshold of this metric, or the baseline, was not evaluated; "
        "may be repeated.",
    ),
    option(
        "--baseline RUN",
        "Run, results file or branch to compare with; switches the gate on, which fails if worse.",
    ),
    whole_number(
        "--max-regressions",
        "Fail if more than N answers that were correct in the baseline became wrong.  [default: 0]",
        least=0,
    ),
    whole_number(
        "--ask-again",
        "How often to ask a question again that got worse than in the baseline, 0 to 5.  [default: 5]",
        least=0,
    ),
    option(
        "--max-drop D",
        "Fail unless every drop from the baseline is shown (95 %) to be below D.",
        type=Amount(0),
    ),
    option(
        "--on-undecided",
        "Exit code of UNDECIDED: 1 with fail, 0 with pass.  [default: fail]",
        type=click.Choice(["pass", "fail"]),
    ),
    option(
        "--save-baseline NAME",
        "Save this run in data/evaluation/results, so that later runs can be compared with it by "
        "--baseline NAME; not if an answer became wrong.",
    ),
    flag("--force", "Save the baseline although answers became wrong."),
)
OUTPUT: tuple[Option[Any], ...] = (
    option("--junit", "Write a JUnit XML report to this file.", type=FILE),
    option("--markdown", "Write a Markdown report for a pull request to this file.", type=FILE),
    flag("--all", "Show every answer that falls short in full, not the worst.", called="everything"),
    DETAILS,
    AS_JSON,
)


# The options that say how answers are scored: by which judge, which embedder, against which documents.

MAX_COST: Option[Any] = option(
    "--max-cost USD",
    "Most US dollars to spend in total; no call is made that could exceed it. Needs prices.",
    type=Amount(0, min_open=True),
)

SCORING_OPTIONS: tuple[Option[Any], ...] = (
    repeated(
        "--judge-model MODEL",
        "Model that judges: a name, or openai(model=…, base_url=…); several make a panel.",
        called="judge_models",
    ),
    option(
        "--judge-url URL", "URL of the judge's OpenAI-compatible endpoint, e.g. http://localhost:8000/v1."
    ),
    option(
        "--judge-key-env NAME", "Environment variable that holds the judge's key.  [default: OPENAI_API_KEY]"
    ),
    option(
        "--votes",
        "Number of times each judge is asked; the majority counts.  [default: 1]",
        type=click.IntRange(1),
    ),
    option("--rubric FILE", "YAML file with the criteria of the metric rubric.", type=EXISTING_FILE),
    option(
        "--judge-cache",
        "Folder in which verdicts are cached, so that nothing is asked twice.",
        type=FOLDER,
        default=Path(".rag-eval") / "judgements",
    ),
    option(
        "--judge-concurrency",
        "Maximum number of questions put to the judge at the same time.",
        type=click.IntRange(1, 256),
        default=16,
    ),
    option(
        "--judge-timeout SECONDS",
        "Seconds allowed for one attempt to ask the judge; a question gets up to 5 attempts.",
        type=Amount(0.1, 3600),
        default=60.0,
    ),
    MAX_COST,
    option(
        "--judge-budget CALLS",
        "Most calls to make to the judge; a sample takes one for each question of its metrics, times "
        "--votes. The samples to judge are drawn, and the means of all samples are estimated.",
        type=click.IntRange(1),
    ),
    option(
        "--judge-all",
        "Ask the judge about every answer, also where a label, a check or a refusal decides.",
        is_flag=True,
        default=None,
    ),
    option(
        "--precision HALF",
        "Judge samples drawn at random until the interval of each judged metric is ± this or narrower, "
        "or the budget is used up.",
        type=Amount(0, 1, min_open=True),
    ),
    option(
        "--embedder EMBEDDER", "Embedder that compares texts by meaning: hashing, openai(model=…) or onnx(…)."
    ),
    option(
        "--support METHOD",
        "What decides which claims the evidence supports: lexical, judge, a model on this machine, as "
        "in entailment(path=DIR), or several: cascade(lexical, judge).  [default: the judge, else lexical]",
    ),
    option(
        "--corpus DIR",
        "Folder of the documents that answers cite.  [default: the dataset's own documents]",
        type=DOCUMENTS,
    ),
    GLOB,
)


# The options of a judge as :class:`JudgeSettings` calls them.
OF_THE_JUDGE = {
    "judge_models": "models",
    "judge_url": "url",
    "judge_key_env": "key_env",
    "votes": "votes",
    "rubric": "rubric",
    "judge_cache": "cache",
    "judge_concurrency": "concurrency",
    "judge_timeout": "timeout",
    "judge_budget": "budget",
    "judge_all": "all",
    "precision": "precision",
}


scoring_options = with_all((*SCORING_OPTIONS, ALLOW_HOST))
"""Gives a command the options above; :func:`scoring_of` reads them."""


def scoring_of(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of scoring out of those given to a command, as ``evaluate`` takes them."""
    from rag_evaluation_framework.judging.methods import capped
    from rag_evaluation_framework.records.documents import Corpus

    judge = {ours: given.pop(name) for name, ours in OF_THE_JUDGE.items()}
    judge["models"] = tuple(dict.fromkeys(judge["models"])) or None
    corpus, glob = given.pop("corpus"), given.pop("glob")
    return {
        "judge": {name: value for name, value in judge.items() if value is not None},
        "spending": capped(given.pop("max_cost")),
        "embedder": given.pop("embedder"),
        "support": given.pop("support"),
        "documents": None if corpus is None else Corpus.from_folder(corpus, glob),
    }


# What may hold a secret is not written down.
SECRET = re.compile(r"key|token=|secret|password|://[^/\s]*@|://\S*\?", re.IGNORECASE)
_NAMES = ("mapped", "thresholds", "judge_key_env", "key_env", "model", "dataset_name", "glob")
"""The options that name a field, a metric, a variable …, which is no secret whatever it is called."""
NOT_RESUMED = frozenset(
    (
        *("answers", "manifest", "folder", "url", "target", "history", "datasets", "metrics", "tags"),
        *("sample_size", "seed", "repeats", "allow_missing", "resume", "ask_damaged", "runs_dir", "dry_run"),
        *("as_json", "details", "everything"),
    )
)
"""What a resume is not told again: what the head of its run tells, and how things are shown."""


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
    "Whether to print in colour; auto: on a terminal, without NO_COLOR.",
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
