"""Options that several commands have, each written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

C = TypeVar("C", bound=Callable[..., Any])
Option: TypeAlias = Callable[[C], C]

CONTEXT: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
    "show_default": True,
}
"""The settings of every program."""

EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
RUNS_DIR = click.option(
    "--runs-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("runs"),
    help="Folder in which runs are kept.",
)
DIALECT = click.option(
    "--format",
    "format_",
    metavar="DIALECT",
    help="Dialect of the dataset.  [default: recognised by its content]",
)
GLOB = click.option(
    "--glob", default="**/*.md", metavar="PATTERN", help="Which files of the corpus folder are documents."
)

CONFIDENCE = click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.9999),
    default=0.95,
    help="Confidence level of the intervals.",
)
RESAMPLES = click.option(
    "--resamples",
    type=click.IntRange(100, 10_000_000),
    default=10_000,
    help="Number of random resamples behind each interval or test.",
)
PAIRED_TEST = click.option(
    "--test",
    type=click.Choice(["randomisation", "t", "wilcoxon"]),
    default="randomisation",
    help="Paired test for differences.",
)
SEED = click.option(
    "--seed", type=click.IntRange(0), default=0, help="Random seed; the same seed gives the same results."
)

TIMEOUT = click.option(
    "--timeout",
    type=click.FloatRange(0.1, 3600),
    default=60.0,
    help="Seconds allowed for one request, or for all turns of a conversation together.",
)
BASE_URL = click.option(
    "--base-url",
    metavar="URL",
    help="URL of the model's OpenAI-compatible endpoint, e.g. http://localhost:8000/v1.",
)
KEY_ENV = click.option(
    "--key-env",
    metavar="NAME",
    help="Environment variable that holds the model's key.  [default: OPENAI_API_KEY]",
)


def concurrency(*, default: int = 16, most: int = 10_000) -> Option[Any]:
    """Return the option that limits requests."""
    return click.option(
        "--concurrency",
        type=click.IntRange(1, most),
        default=default,
        help="Maximum number of requests at the same time.",
    )


def metrics_option(help_text: str, **settings: Any) -> Option[Any]:
    """Return the option that names metrics, as many as are wanted."""
    return click.option(
        "-m", "--metric", "metrics", multiple=True, metavar="NAME", help=help_text, **settings
    )


def with_options(command: C, options: Iterable[Option[Any]]) -> C:
    """Give a command these options, shown in this order."""
    for option in reversed(list(options)):
        command = option(command)
    return command


def with_all(options: Iterable[Option[Any]]) -> Option[Any]:
    """Return a decorator that gives a command these options, shown in this order."""
    return lambda command: with_options(command, options)
