"""``rag-eval golden``: evaluate a system on a folder of golden sets, split by split, and decide the gate."""

from __future__ import annotations

from typing import Any

import click

from rag_evaluation_framework.cli import options
from rag_evaluation_framework.cli.help_pages import LongCommand

EXAMPLES = """\b
Examples:
  rag-eval golden examples/golden --target examples.golden.assistant:answer
  rag-eval golden evaluation --url http://localhost:4000 \\
    --threshold entity_coverage=0.8
  rag-eval golden evaluation --url http://localhost:4000 --split multiturn \\
    --json > multiturn.json
  rag-eval golden evaluation --target my_agent:answer --history reference"""


_OPTIONS: tuple[options.Option[Any], ...] = (
    click.argument("folder", metavar="DIR", type=options.EXISTING_FOLDER),
    *options.TARGET,
    options.option(
        "--config", "YAML file with the metrics, thresholds, gate, judge and API.", type=options.EXISTING_FILE
    ),
    options.repeated(
        "--threshold METRIC=NUMBER",
        "Threshold, e.g. entity_coverage=0.8, facts:token_f1=0.5 or over_refusal<=0.05; may be repeated.",
        called="thresholds",
    ),
    options.repeated(
        "--split",
        "Split to evaluate; may be repeated.  [default: all]",
        called="datasets",
        type=click.Choice(["facts", "relations", "tracking", "multiturn", "boundary"]),
    ),
    options.option(
        "--history",
        "Earlier answers in a replayed conversation: the agent's own, or the references.",
        type=click.Choice(["own", "reference"]),
        default="own",
    ),
    *options.LIMITS,
    *options.GATE,
    options.option("--out", "File for the results of all splits.", type=options.FILE),
    *options.OUTPUT,
)


_COMMON = (
    *("url", "target", "config", "thresholds", "datasets", "sample_size", "baseline", "resume", "dry_run"),
    "details",
)


@click.command("golden", cls=LongCommand, common=_COMMON, epilog=EXAMPLES)
@options.with_all(_OPTIONS)
@options.scoring_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Evaluate an agent on the golden sets in DIR, with metrics per split, and decide the gate.

    The sets are factual_qa.json, relationship_qa.json, tracking_qa.json, multiturn_qa.json and
    boundary_qa.json, or some of them, in DIR/evaluation/datasets, DIR/datasets or DIR. Conversations are
    replayed turn by turn. Each split is a separate run that you can resume after any interruption;
    golden.results.json in the folder of the first run has the results of all splits.

    Exit code 0: passed, or no gate (no --threshold, no --baseline, ciGate is not true); 1: failed, undecided
    or not evaluated; 2: wrong usage, settings or data; 3: the run is incomplete; 130: interrupted.
    """
    # Imported here, not above: numpy and the HTTP client should not slow down --help.
    from rag_evaluation_framework.cli.evaluation_output import check_run, evaluated
    from rag_evaluation_framework.evaluation.golden_runs import golden_manifest

    check_run(given, {"--split": given["datasets"]})
    manifest = golden_manifest(
        given.pop("folder"),
        config=given.pop("config"),
        thresholds=given.pop("thresholds"),
        history=given["history"],
    )
    context.exit(evaluated(manifest, {**given, "scoring": options.scoring_of(given)}))
