"""The options of ``rag-eval evaluate``, and the record they are read into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from rag_evaluation_framework.errors import UsageError

C = TypeVar("C", bound=Callable[..., Any])

_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """What the user asked for."""

    manifest: Path
    url: str | None
    target: str | None
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    sample_size: int | None
    seed: int | None
    timeout: float
    run_timeout: float | None
    concurrency: int
    max_attempts: int
    resume: str | None
    runs_dir: Path
    dry_run: bool
    allow_missing: bool
    price_input: float | None
    price_output: float | None
    max_errors: int
    confidence: Literal["mean", "lower-bound"]
    baseline: str | None
    max_drop: float
    out: Path | None
    junit: Path | None
    markdown: Path | None
    as_json: bool

    def __post_init__(self) -> None:
        if (self.url is None) == (self.target is None):
            raise UsageError("expected --url or --target, got " + ("neither" if self.url is None else "both"))
        if self.max_drop and self.baseline is None:
            raise UsageError("--max-drop: expected with --baseline, got it alone")
        if self.resume is not None:
            fixed = {
                "--dataset": self.datasets,
                "--metric": self.metrics,
                "--tag": self.tags,
                "--sample-size": self.sample_size,
                "--seed": self.seed,
            }
            given = [name for name, value in fixed.items() if value not in (None, ())]
            if given:
                raise UsageError(
                    f"--resume goes on with what the run began with; leave out {', '.join(given)}"
                )


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    click.option("--url", metavar="URL", help="Where the agent listens: http://localhost:4000"),
    click.option(
        "--target",
        metavar="TARGET",
        help="What to ask in place of a URL: module:function, answers.jsonl, openai(model=…).",
    ),
    click.option(
        "--dataset",
        "datasets",
        multiple=True,
        metavar="NAME",
        help="A dataset; may be repeated.  [default: all]",
    ),
    click.option(
        "-m",
        "--metric",
        "metrics",
        multiple=True,
        metavar="NAME",
        help="A metric, in place of the manifest's; may be repeated.",
    ),
    click.option(
        "--tag", "tags", multiple=True, metavar="TAG", help="Only samples with this tag, or any of several."
    ),
    click.option(
        "--sample-size", type=click.IntRange(1), metavar="N", help="Only N samples, drawn at random."
    ),
    click.option("--seed", type=int, help="Same seed, same samples and figures.  [default: 0]"),
    click.option(
        "--timeout",
        type=click.FloatRange(0.1, 3600),
        default=60.0,
        show_default=True,
        help="Seconds for one request.",
    ),
    click.option(
        "--run-timeout", type=click.FloatRange(0.1), help="Seconds for each dataset; exit 3 beyond."
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1, 10_000),
        default=16,
        show_default=True,
        help="At most so many requests at once.",
    ),
    click.option(
        "--max-attempts",
        type=click.IntRange(1, 20),
        default=5,
        show_default=True,
        help="Attempts for each sample.",
    ),
    click.option("--resume", metavar="RUN", help="Go on with a run; nothing finished is asked again."),
    click.option(
        "--runs-dir",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("runs"),
        show_default=True,
        help="Where runs are kept.",
    ),
    click.option("--dry-run", is_flag=True, help="Check everything and say what would be done; ask nothing."),
    click.option(
        "--allow-missing", is_flag=True, help="Score the samples that are complete, skip the others."
    ),
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
    click.option("--out", type=click.Path(path_type=Path), help="Write the results document here too."),
    click.option("--junit", type=_FILE, help="Write JUnit XML."),
    click.option("--markdown", type=_FILE, help="Write Markdown for a pull request."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, and nothing else."),
)


def evaluate_options(command: C) -> C:
    """Give a command all the options above."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
