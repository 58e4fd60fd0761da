"""The options that ``rag-eval evaluate`` and ``rag-eval golden`` share: target, limits, gate, output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from rag_evaluation_framework.cli.shared_options import AS_JSON, FILE, RUNS_DIR, TIMEOUT, Option, concurrency
from rag_evaluation_framework.errors import UsageError


def check_run(given: Mapping[str, Any], choices: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other; ``choices`` are those a run begins with, by name."""
    if (given["url"] is None) == (given["target"] is None):
        told = "neither" if given["url"] is None else "both"
        raise UsageError(f"expected --url or --target, got {told}")
    if given["max_drop"] and given["baseline"] is None:
        raise UsageError("--max-drop: expected with --baseline, got it alone")
    chosen = {**choices, "--sample-size": given["sample_size"], "--seed": given["seed"]}
    check_resumed_alone(given["resume"], chosen)


def check_resumed_alone(resume: str | tuple[str, ...] | None, choices: Mapping[str, Any]) -> None:
    """Refuse to choose anew, with options by name, what a run to be resumed was begun with."""
    given = [name for name, value in choices.items() if value not in (None, ())]
    if resume and given:
        raise UsageError(f"--resume goes on with what the run began with; leave out {', '.join(given)}")


TARGET: tuple[Option[Any], ...] = (
    click.option("--url", metavar="URL", help="URL of the agent, e.g. http://localhost:4000."),
    click.option(
        "--target",
        metavar="TARGET",
        help="What to evaluate instead of a URL: module:function, answers.jsonl or openai(model=…).",
    ),
)
LIMITS: tuple[Option[Any], ...] = (
    click.option(
        "--sample-size",
        type=click.IntRange(1),
        metavar="N",
        help="Use only N samples of each dataset or split, drawn at random.",
    ),
    click.option(
        "--seed",
        type=int,
        help="Random seed; the same seed draws the same samples and gives the same figures.  [default: 0]",
    ),
    TIMEOUT,
    click.option(
        "--run-timeout",
        type=click.FloatRange(0.1),
        help="Seconds allowed for each dataset or split; a longer run is left incomplete (exit code 3).",
    ),
    concurrency(),
    click.option(
        "--max-attempts",
        type=click.IntRange(1, 20),
        default=5,
        help="Maximum number of attempts for each sample.",
    ),
    click.option("--resume", metavar="RUN", help="Resume this run; what has an answer is not asked again."),
    RUNS_DIR,
    click.option(
        "--dry-run", is_flag=True, help="Check everything and show what would be done, but ask nothing."
    ),
)
GATE: tuple[Option[Any], ...] = (
    click.option(
        "--price-input",
        type=click.FloatRange(0),
        help="US dollars for a million input tokens, for the estimate of a dry run.",
    ),
    click.option(
        "--price-output",
        type=click.FloatRange(0),
        help="US dollars for a million output tokens, for the estimate of a dry run.",
    ),
    click.option(
        "--max-errors",
        type=click.IntRange(0),
        default=0,
        help="Number of failed samples that the gate tolerates.",
    ),
    click.option(
        "--confidence",
        type=click.Choice(["mean", "lower-bound"]),
        default="mean",
        help="What a threshold applies to: the mean, or the less favourable end of its interval.",
    ),
    click.option(
        "--baseline",
        metavar="RUN",
        help="Run to compare with; the gate is switched on and fails on a significant drop.",
    ),
    click.option(
        "--max-drop",
        type=click.FloatRange(0),
        default=0.0,
        help="Largest significant drop from the baseline that is tolerated.",
    ),
)
OUTPUT: tuple[Option[Any], ...] = (
    click.option("--junit", type=FILE, help="Write a JUnit XML report to this file."),
    click.option("--markdown", type=FILE, help="Write a Markdown report for a pull request to this file."),
    AS_JSON,
)
