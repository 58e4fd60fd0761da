"""The options of every command that runs an evaluation: the target, the limits, the gate, the output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])
Option: TypeAlias = Callable[[Any], Any]

_FILE = click.Path(dir_okay=False, path_type=Path)

TIMEOUT: Option = click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    default=60.0,
    show_default=True,
    help="Seconds for one request; for all turns of a conversation together.",
)
CONCURRENCY: Option = click.option(
    "--concurrency",
    type=click.IntRange(1, 10_000),
    default=16,
    show_default=True,
    help="At most so many requests at once.",
)
RUNS_DIR: Option = click.option(
    "--runs-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where runs are kept.",
)
AS_JSON: Option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for machines, and nothing else."
)

TARGET: tuple[Option, ...] = (
    click.option("--url", metavar="URL", help="Where the agent listens: http://localhost:4000"),
    click.option(
        "--target",
        metavar="TARGET",
        help="What to ask in place of a URL: module:function, answers.jsonl, openai(model=…).",
    ),
)
LIMITS: tuple[Option, ...] = (
    click.option("--seed", type=int, help="Same seed, same samples and figures.  [default: 0]"),
    TIMEOUT,
    click.option(
        "--run-timeout", type=click.FloatRange(0.1), help="Seconds for each dataset or split; exit 3 beyond."
    ),
    CONCURRENCY,
    click.option(
        "--max-attempts",
        type=click.IntRange(1, 20),
        default=5,
        show_default=True,
        help="Attempts for each sample.",
    ),
    click.option("--resume", metavar="RUN", help="Go on with a run; nothing finished is asked again."),
    RUNS_DIR,
    click.option("--dry-run", is_flag=True, help="Check everything and say what would be done; ask nothing."),
)
GATE: tuple[Option, ...] = (
    click.option("--price-input", type=click.FloatRange(0), help="US dollars for a million input tokens."),
    click.option("--price-output", type=click.FloatRange(0), help="US dollars for a million output tokens."),
    click.option(
        "--max-errors",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Samples with errors that the gate allows.",
    ),
    click.option(
        "--confidence",
        type=click.Choice(["mean", "lower-bound"]),
        default="mean",
        show_default=True,
        help="Hold thresholds against the mean, or the near end of its interval.",
    ),
    click.option(
        "--baseline", metavar="RUN", help="Fail on a significant drop from this run; switches the gate on."
    ),
    click.option(
        "--max-drop",
        type=click.FloatRange(0),
        default=0.0,
        help="A significant drop of up to this is allowed.",
    ),
)
OUTPUT: tuple[Option, ...] = (
    click.option("--junit", type=_FILE, help="Write JUnit XML."),
    click.option("--markdown", type=_FILE, help="Write Markdown for a pull request."),
    AS_JSON,
)


def with_options(command: C, options: Iterable[Option]) -> C:
    """Give a command these options, shown in this order."""
    for option in reversed(list(options)):
        command = option(command)
    return command
