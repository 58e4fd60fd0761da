"""``rag-eval build``: make the splits from the raw offline records."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec.structs import replace

from rag_evaluation_framework.cli.main import Steps
from rag_evaluation_framework.cli.options import (
    AS_JSON,
    EXISTING_FILE,
    FILE,
    flag,
    new_screen,
    option,
    show,
    whole_number,
)
from rag_evaluation_framework.cli.output import print_json
from rag_evaluation_framework.errors import counted

if TYPE_CHECKING:
    from rag_evaluation_framework.datasets.split_build import BuiltSplits, EvaluationConfig

EXAMPLES = """\b
Examples:
  rag-eval build --offline-dataset examples/offline/offline_dataset.jsonl
  rag-eval build --config configs/default.yaml --version v2 --force
  rag-eval build --offline-dataset raw.jsonl.zst \\
    --qa-output new/qa_pairs.jsonl.zst --version v2
  rag-eval build --limit 100 --force --json"""


_file = partial(option, type=FILE)


@click.command("build", epilog=EXAMPLES)
@option(
    "--config",
    "Configuration file of the project; options take precedence.  [default: configs/default.yaml, if "
    "it exists]",
    type=EXISTING_FILE,
)
@_file(
    "--offline-dataset", "File of the offline records.  [default: evaluation/datasets/offline_dataset.jsonl]"
)
@_file("--qa-output", "File for the question-answering split.  [default: evaluation/datasets/qa_pairs.jsonl]")
@_file(
    "--summaries-output, --summary-output",
    called="summaries_output",
    told="File for the summary split.  [default: evaluation/datasets/summaries.jsonl]",
)
@_file("--citations-output", "File for citation tasks.  [default: citations.jsonl beside the QA split]")
@_file(
    "--retrieval-output", ("File for retrieval diagnostics.  [default: retrieval.jsonl beside the QA split]")
)
@_file("--manifest-output", "File for the manifest.  [default: evaluation/datasets/manifest.json]")
@option("--version", "Version to record in the manifest.  [default: v1]")
@whole_number("--limit", "Use only the first N records.")
@flag("--force", "Replace existing files, even with the same version.")
@option(
    "--on-error",
    "Action at a malformed line: stop, or skip and count it.",
    type=click.Choice(["stop", "skip"]),
    default="stop",
)
@AS_JSON
def command(
    config: Path | None,
    limit: int | None,
    force: bool,
    on_error: Literal["stop", "skip"],
    as_json: bool,
    **given: Any,
) -> None:
    """Build the splits for QA, summaries, citations and retrieval, and their manifest, from offline records.

    All files are written together or none; splits for citation tasks and retrieval diagnostics only if such
    records exist. The manifest counts the records of other task types, and the dropped records per reason.
    Names that end in .gz or .zst are compressed. SOURCE_DATE_EPOCH sets the time in the manifest.

    Exit code 0: built; 2: wrong usage or data, or no usable record.
    """
    from rag_evaluation_framework.datasets.split_build import EvaluationConfig, build_splits, build_time

    said = {name: value for name, value in given.items() if value is not None}
    # Beside the questions that were sent elsewhere, not where the configuration has them.
    beside = {"citations_output": None, "retrieval_output": None} if "qa_output" in said else {}
    settings = replace(EvaluationConfig.of_project(config), **{**beside, **said})
    begun = time.monotonic()

    def tell(records: int) -> None:
        rate = records / max(time.monotonic() - begun, 0.001)
        steps.step(f"{counted(records, 'record')} read, {rate:,.0f} per second")

    with Steps("reading records", silent=as_json) as steps:
        built = build_splits(
            settings,
            now=build_time(os.environ),
            limit=limit,
            force=force,
            on_error=on_error,
            on_progress=tell,
        )
    if as_json:
        print_json(dict(built.manifest))
    else:
        _print_summary(built, settings)


def _print_summary(built: BuiltSplits, settings: EvaluationConfig) -> None:
    from rag_evaluation_framework.reports.blocks import Column

    manifest = built.manifest
    screen = new_screen()
    screen.say(
        f"{settings.offline_dataset}: {counted(built.records, 'record')}, version {manifest['version']}"
    )
    screen.gap()
    rows = [
        [name, f"{each['count']:,}", str(settings.splits[name])] for name, each in manifest["splits"].items()
    ]
    columns = [Column("split"), Column("records", right=True), Column("file", flexible=True)]
    screen.table(columns, [*rows, ["manifest", "", str(settings.manifest_output)]])
    screen.gap()
    screen.steps([(f"rag-eval stats {quote(rows[0][2])}", "show counts and lengths")] if rows else [])
    show(screen)
    for remark in _remarks(built):
        click.echo(f"rag-eval: {remark}", err=True)


def _remarks(built: BuiltSplits) -> Iterator[str]:
    """Yield what was left out, and whether the version stood for something else before."""
    for task_type, count in built.manifest["excluded_task_types"].items():
        yield f"no split for task type {task_type!r}: {counted(count, 'record')} skipped"
    for split, reasons in built.manifest["dropped"].items():
        if isinstance(reasons, int):
            if reasons:
                yield f"{counted(reasons, 'malformed line')} skipped"
            continue
        for reason, count in reasons.items():
            yield f"{split}: {count:,} dropped ({reason.replace('_', ' ')})"
    if built.changed_version:
        yield f"version {built.changed_version} had different content before"
