"""``rag-eval evaluate``: evaluate an agent on a manifest's datasets, and decide the gate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.configuration import DATASET_FILE, project_dataset
from rag_evaluation_framework.cli.help_pages import LongCommand
from rag_evaluation_framework.cli.output import MAP, NO_BLAME

EXAMPLES = """\b
Examples:
  rag-eval evaluate agent.yaml --url http://localhost:4000
  rag-eval evaluate agent.yaml --url http://localhost:4000 \\
    --dataset rag-quality --sample-size 20
  rag-eval evaluate agent.yaml --url http://localhost:4000 --dry-run
  rag-eval evaluate agent.yaml --target answers.jsonl \\
    --json > evaluation.json
  rag-eval evaluate agent.yaml --url http://localhost:4000 \\
    --baseline eval_run_20261115_001"""


def default_manifest() -> str:
    """Return what is evaluated unasked: ``agent.yaml`` here or of the project, else the project's dataset."""
    from rag_evaluation_framework.datasets.project_settings import project_settings
    from rag_evaluation_framework.files.project_root import in_project

    name = "agent.yaml"
    if not Path(name).is_file() and in_project(name).is_file():
        return str(in_project(name))
    dataset = None if Path(name).is_file() else project_settings().get("dataset")
    return name if dataset is None else str(project_dataset(dataset.value))


OPTIONS: tuple[options.Option[Any], ...] = (
    *options.TARGET,
    options.repeated(
        "--dataset NAME", "Dataset to evaluate; may be repeated.  [default: all]", called="datasets"
    ),
    options.metrics_option("Metric to use instead of the manifest's; may be repeated."),
    options.repeated(
        "--threshold METRIC=NUMBER",
        "Threshold to use instead of the manifest's, e.g. 'wrong<=2' or faithfulness=0.9; may be repeated.",
        called="thresholds",
    ),
    options.repeated(
        "--tag TAG",
        ("Tag of the samples to use; may be repeated for samples with any of the tags."),
        called="tags",
    ),
    MAP,
    *options.LIMITS,
    options.ALLOW_MISSING,
    NO_BLAME,
    *options.GATE,
    options.option(
        "--out",
        "File for the results (of several datasets: a folder); .shards writes Parquet files of 20,000 "
        "answers.",
        type=click.Path(path_type=Path),
    ),
    *options.OUTPUT,
)


CHOICES = ("--dataset", "datasets"), ("--metric", "metrics"), ("--tag", "tags")
"""The options that a run begins with, so that a resume does not take them."""
_COMMON = (
    *("url", "target", "datasets", "metrics", "tags", "sample_size", "baseline", "resume", "dry_run"),
    "details",
)


@click.command("evaluate", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@click.argument("manifest", type=DATASET_FILE, default=default_manifest, metavar="[AGENT.YAML]")
@options.with_all(OPTIONS)
@options.scoring_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Ask an agent, score its answers and decide the gate of AGENT.YAML (default: agent.yaml here).

    Instead of a manifest, you can pass a dataset: its file, or its id in the project.

    All files and options are checked before the first request. Each dataset is a separate run that you can
    resume after any interruption. A sample passes if all its scores meet their thresholds.

    Exit code 0: passed, or no gate (no --threshold, no --baseline, ciGate is not true); 1: failed, undecided
    or not evaluated; 2: wrong usage, manifest or data; 3: the run is incomplete; 130: interrupted.
    """
    # Imported here, not above: numpy and the HTTP client should not slow down --help.
    from rag_evaluation_framework.cli.evaluation_output import check_run, evaluated

    check_run(given, {name: given[option] for name, option in CHOICES})
    context.exit(evaluated(given.pop("manifest"), {**given, "scoring": options.scoring_of(given)}))
