"""The options of ``rag-eval golden``, and the record they are read into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from rag_evaluation_framework.cli.evaluate_options import EvaluateOptions
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.records.responses import History

C = TypeVar("C", bound=Callable[..., Any])

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


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)),
    click.option("--url", metavar="URL", help="Where the agent listens: http://localhost:4000"),
    click.option(
        "--target",
        metavar="TARGET",
        help="What to ask in place of a URL: module:function, answers.jsonl, openai(model=…).",
    ),
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
    click.option("--seed", type=int, help="Same seed, same samples and figures.  [default: 0]"),
    click.option(
        "--timeout",
        type=click.FloatRange(0.1, 3600),
        default=60.0,
        show_default=True,
        help="Seconds for one sample, all turns of a conversation together.",
    ),
    click.option("--run-timeout", type=click.FloatRange(0.1), help="Seconds for each split; exit 3 beyond."),
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
    click.option("--out", type=_FILE, help="Write the results of all splits here too."),
    click.option("--junit", type=_FILE, help="Write JUnit XML."),
    click.option("--markdown", type=_FILE, help="Write Markdown for a pull request."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, and nothing else."),
)


def golden_options(command: C) -> C:
    """Give a command all the options above."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
