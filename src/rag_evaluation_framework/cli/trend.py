"""``rag-eval trend``: figures over many runs, and whether the latest is what they lead to expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rag_evaluation_framework.cli.options import AS_JSON, FOLDER, RUNS_DIR, metrics_option, option
from rag_evaluation_framework.cli.output import tell
from rag_evaluation_framework.errors import UnknownNameError, UsageError

EXAMPLES = """\b
Examples:
  rag-eval trend
  rag-eval trend --dataset passengers -m faithfulness
  rag-eval trend --fail-on worse                    fail a CI job"""


def _results_directory() -> Path:
    from rag_evaluation_framework.datasets.project_settings import results_directory

    return results_directory()


@click.command("trend", epilog=EXAMPLES)
@option("--dataset NAME", "Dataset of the runs.  [default: that of the latest run]")
@metrics_option("Metric to show; may be repeated.")
@option("--fail-on", "Exit with 1 if a metric is worse than expected.", type=click.Choice(["worse"]))
@option(
    "--results-dir DIR",
    "Folder of results files to include.  [default: data/evaluation/results]",
    type=FOLDER,
    default=_results_directory,
    show_default=False,
)
@RUNS_DIR
@AS_JSON
def command(
    metrics: tuple[str, ...], fail_on: str | None, results_dir: Path, runs_dir: Path, **given: Any
) -> int:
    """Show the figures of all complete runs over a dataset, and test whether the latest got worse.

    A metric is worse if it is outside the 95% prediction interval of at least 8 earlier runs over the same
    dataset (same or changed questions) by the same method. Runs of fewer than 10 samples do not count.

    Exit code 0: tested; 1: worse, with --fail-on worse; 2: wrong usage, or no run.
    """
    is_default = click.get_current_context().get_parameter_source("results_dir") is ParameterSource.DEFAULT
    if not is_default and not results_dir.is_dir():
        told = f"--results-dir: there is no folder {results_dir}. Remove it to read the runs only."
        raise UsageError(told)
    from rag_evaluation_framework.reports.history_blocks import describe_trends
    from rag_evaluation_framework.reports.messages.history_sentences import trend_sentence
    from rag_evaluation_framework.results.trend import metric_trends, stored_documents

    documents = stored_documents(runs_dir, results_dir, dataset=given["dataset"])
    trends = metric_trends(documents)
    known = [each.metric for each in trends]
    for metric in metrics:
        if metric not in known:
            raise UnknownNameError("metric", metric, known)
    chosen = [each for each in trends if not metrics or each.metric in metrics]
    document = {"verdict": trend_sentence(chosen), "trends": [each.to_dict() for each in chosen]}
    tell(document, describe_trends(chosen, runs=runs_dir), as_json=given["as_json"])
    return int(fail_on == "worse" and any(each.verdict == "regression" for each in chosen))
