"""The options of ``rag-eval evaluate``, and the record they are read into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli.run_options import GATE, LIMITS, OUTPUT, TARGET, RunOptions
from rag_evaluation_framework.cli.shared_options import EXISTING_FILE, C, Option, metrics_option, with_options


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions(RunOptions):
    """What the user asked for."""

    manifest: Path
    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    allow_missing: bool

    def __post_init__(self) -> None:
        self.check({"--dataset": self.datasets, "--metric": self.metrics, "--tag": self.tags})


_OPTIONS: tuple[Option[Any], ...] = (
    click.argument("manifest", type=EXISTING_FILE),
    *TARGET,
    click.option(
        "--dataset",
        "datasets",
        multiple=True,
        metavar="NAME",
        help="Evaluate only this dataset; may be repeated.  [default: all]",
    ),
    metrics_option("Score by this metric instead of the manifest's; may be repeated."),
    click.option(
        "--tag",
        "tags",
        multiple=True,
        metavar="TAG",
        help="Use only samples with this tag; if repeated, with any of the tags.",
    ),
    *LIMITS,
    click.option(
        "--allow-missing",
        is_flag=True,
        help="Skip a metric where a sample lacks what it needs, instead of refusing the dataset.",
    ),
    *GATE,
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        help="Also write the results document to this file; for several datasets, into this folder.",
    ),
    *OUTPUT,
)


def evaluate_options(command: C) -> C:
    """Give a command all the options above."""
    return with_options(command, _OPTIONS)
