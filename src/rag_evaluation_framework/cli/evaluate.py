"""``rag-eval evaluate``: evaluate an agent on a manifest's datasets, and decide the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.evaluate_options import EvaluateOptions, evaluate_options
from rag_evaluation_framework.cli.scoring_options import ScoringOptions, scoring_options

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets

EXAMPLES = """\b
Examples:
  rag-eval evaluate agent.yaml --url http://localhost:4000
  rag-eval evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality --sample-size 20
  rag-eval evaluate agent.yaml --url http://localhost:4000 --dry-run
  rag-eval evaluate agent.yaml --target answers.jsonl --json > evaluation.json
  rag-eval evaluate agent.yaml --url http://localhost:4000 --baseline eval_run_20261115_001"""


@click.command("evaluate", epilog=EXAMPLES)
@evaluate_options
@scoring_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Evaluate an agent on the datasets of MANIFEST (agent.yaml), and decide the gate.

    Everything that can be checked is checked before the first request. Each dataset is a run of its own that
    can be resumed after any interruption. A sample passes when every score with a threshold meets it.

    Exit code 0: passed, or the gate is off (ciGate is not true); 1: the gate failed; 2: wrong usage, manifest
    or data; 3: the run is incomplete; 130: interrupted.
    """
    # Imported here, not above: numpy and the HTTP client should not slow down --help.
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets

    scoring = ScoringOptions.taken_from(given)
    options = EvaluateOptions(**given)
    secrets = Secrets()
    with secrets.masked_errors():
        code = _evaluate(options, scoring, secrets)
    context.exit(code)


def _evaluate(options: EvaluateOptions, scoring: ScoringOptions, secrets: Secrets) -> int:
    """Run an evaluation from the manifest to the exit code."""
    from rag_evaluation_framework.cli.evaluation_command import EvaluationCommand
    from rag_evaluation_framework.evaluation.manifests.manifest import read_manifest
    from rag_evaluation_framework.evaluation.manifests.preflight import plan_evaluation
    from rag_evaluation_framework.records.runs import SampleChoice

    # A run that is resumed has the metrics it began with.
    uses_metrics = not options.metrics and options.resume is None
    manifest = read_manifest(options.manifest, uses_metrics=uses_metrics)
    choice = SampleChoice(
        tags=options.tags,
        sample_size=options.sample_size,
        seed=options.seed or 0,
        allow_missing=options.allow_missing,
    )
    asked = EvaluationCommand(
        options, manifest, scoring=scoring, secrets=secrets, choice=choice, metrics=options.metrics
    )
    plan = plan_evaluation(
        manifest,
        datasets=asked.datasets,
        metrics=asked.metrics,
        choice=asked.choice,
        methods=asked.methods,
    )
    configuration = {
        "manifest": manifest.file.name,
        "framework": manifest.framework,
        "protocol": manifest.api.protocol,
    }
    return asked.run(plan, configuration=configuration)
