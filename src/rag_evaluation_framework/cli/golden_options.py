"""The options of ``rag-eval golden``, and the record they are read into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli.evaluate_options import EvaluateOptions
from rag_evaluation_framework.cli.run_options import GATE, LIMITS, OUTPUT, TARGET, C, Option, with_options
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.records.responses import History

_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenOptions:
    """What the user asked for; ``shared`` is what every evaluation can be asked for."""

    folder: Path
    config: Path | None
    thresholds: tuple[str, ...]
    history: History
    shared: EvaluateOptions

    @classmethod
    def of(cls, given: dict[str, Any]) -> GoldenOptions:
        """Read the options that click gives."""
        if given["resume"] is not None and given["datasets"]:
            raise UsageError("--resume goes on with what the run began with; leave out --split")
        own = {name: given.pop(name) for name in ("folder", "config", "thresholds", "history")}
        unused: dict[str, Any] = {
            "manifest": own["config"] or own["folder"],
            "metrics": (),
            "tags": (),
            "allow_missing": True,
        }
        return cls(**own, shared=EvaluateOptions(**given, **unused))


_OPTIONS: tuple[Option, ...] = (
    click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)),
    *TARGET,
    click.option(
        "--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Settings, as YAML."
    ),
    click.option(
        "--threshold",
        "thresholds",
        multiple=True,
        metavar="METRIC=NUMBER",
        help="A threshold of the gate: entity_coverage=0.8, facts:token_f1=0.5, over_refusal<=0.05.",
    ),
    click.option(
        "--split",
        "datasets",
        multiple=True,
        type=click.Choice(["facts", "relations", "tracking", "multiturn", "boundary"]),
        help="A split; may be repeated.  [default: all]",
    ),
    click.option(
        "--history",
        type=click.Choice(["own", "reference"]),
        default="own",
        show_default=True,
        help="Ask a conversation's turns upon the system's own answers, or upon the expected ones.",
    ),
    click.option("--sample-size", type=click.IntRange(1), metavar="N", help="Only N samples of each split."),
    *LIMITS,
    *GATE,
    click.option("--out", type=_FILE, help="Write the results of all splits here too."),
    *OUTPUT,
)


def golden_options(command: C) -> C:
    """Give a command all the options above."""
    return with_options(command, _OPTIONS)
