"""The options of ``rag-eval golden``, and the record they are read into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli.run_options import GATE, LIMITS, OUTPUT, TARGET, RunOptions
from rag_evaluation_framework.cli.shared_options import (
    EXISTING_FILE,
    EXISTING_FOLDER,
    FILE,
    C,
    Option,
    with_options,
)
from rag_evaluation_framework.records.responses import History


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenOptions(RunOptions):
    """What the user asked for."""

    folder: Path
    config: Path | None
    thresholds: tuple[str, ...]
    history: History

    def __post_init__(self) -> None:
        self.check({"--split": self.datasets})


_OPTIONS: tuple[Option[Any], ...] = (
    click.argument("folder", metavar="DIR", type=EXISTING_FOLDER),
    *TARGET,
    click.option(
        "--config", type=EXISTING_FILE, help="YAML file with settings: metrics, thresholds, gate, judge, API."
    ),
    click.option(
        "--threshold",
        "thresholds",
        multiple=True,
        metavar="METRIC=NUMBER",
        help="Threshold of the gate, e.g. entity_coverage=0.8, facts:token_f1=0.5 or over_refusal<=0.05; "
        "may be repeated.",
    ),
    click.option(
        "--split",
        "datasets",
        multiple=True,
        type=click.Choice(["facts", "relations", "tracking", "multiturn", "boundary"]),
        help="Evaluate only this split; may be repeated.  [default: all]",
    ),
    click.option(
        "--history",
        type=click.Choice(["own", "reference"]),
        default="own",
        help="Earlier answers that a conversation is replayed with: the system's own, or the reference ones.",
    ),
    *LIMITS,
    *GATE,
    click.option("--out", type=FILE, help="Also write the results of all splits to this file."),
    *OUTPUT,
)


def golden_options(command: C) -> C:
    """Give a command all the options above."""
    return with_options(command, _OPTIONS)
