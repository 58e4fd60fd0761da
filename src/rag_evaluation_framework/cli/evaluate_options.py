"""The options of ``rag-eval evaluate``, and the record they are read into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from rag_evaluation_framework.cli.run_options import GATE, LIMITS, OUTPUT, TARGET, C, Option, with_options
from rag_evaluation_framework.errors import UsageError


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


_OPTIONS: tuple[Option, ...] = (
    click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    *TARGET,
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
    *LIMITS,
    click.option(
        "--allow-missing", is_flag=True, help="Score the samples that are complete, skip the others."
    ),
    *GATE,
    click.option("--out", type=click.Path(path_type=Path), help="Write the results document here too."),
    *OUTPUT,
)


def evaluate_options(command: C) -> C:
    """Give a command all the options above."""
    return with_options(command, _OPTIONS)
