"""``rag-eval evaluate``: put a manifest's datasets to an agent, score the answers, and decide the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.evaluate_options import EvaluateOptions, evaluate_options
from rag_evaluation_framework.cli.exit_codes import drop_output
from rag_evaluation_framework.cli.judge_options import (
    ScoringOptions,
    judge_options,
    spending_told,
    waiting_notice,
    with_judge_warnings,
)

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets

EXAMPLES = """\b
Examples:
  rag-eval evaluate agent.yaml --url http://localhost:4000
  rag-eval evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality --sample-size 20
  rag-eval evaluate agent.yaml --url http://localhost:4000 --dry-run
  rag-eval evaluate agent.yaml --target answers.jsonl --json > evaluation.json
  rag-eval evaluate agent.yaml --url http://localhost:4000 --baseline eval_run_20261115_001"""


@click.command(
    "evaluate", epilog=EXAMPLES, short_help="Put a manifest's datasets to an agent and decide the gate."
)
@evaluate_options
@judge_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Put the datasets of MANIFEST (agent.yaml) to an agent, score its answers, and decide the gate.

    Everything that can be checked is checked before the first request. Each dataset is a run that survives a
    kill and goes on with --resume. A sample passes when every score that has a threshold meets it.

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
    from rag_evaluation_framework.cli.evaluation_output import Output
    from rag_evaluation_framework.cli.evaluation_runs import choice_of, decided, exit_code_of, settings_of
    from rag_evaluation_framework.cli.evaluation_target import model_of, shown_target, target_of
    from rag_evaluation_framework.evaluation.manifests.manifest import read_manifest
    from rag_evaluation_framework.evaluation.manifests.preflight import plan_evaluation, refuse_secrets
    from rag_evaluation_framework.evaluation.runs.run_groups import RunGroup
    from rag_evaluation_framework.results.evaluations import run_evaluation

    manifest = read_manifest(options.manifest)
    methods = scoring.methods(manifest.judge)
    resumed = RunGroup.open(options.resume, options.runs_dir) if options.resume else None
    baseline = RunGroup.open(options.baseline, options.runs_dir) if options.baseline else None
    plan = plan_evaluation(
        manifest,
        datasets=resumed.datasets if resumed else options.datasets,
        metrics=resumed.metrics if resumed else options.metrics,
        choice=choice_of(options, resumed),
        methods=methods,
    )
    target = target_of(options, manifest, secrets)
    model = model_of(options, manifest, target)
    plan = with_judge_warnings(plan, methods, model=model, baseline=baseline)
    refuse_secrets(plan, secrets)
    output = Output(options, secrets, target=shown_target(options, target))
    output.check(plan)
    if options.dry_run:
        output.plan(plan)
        return 0
    progress = output.progress(lambda: waiting_notice(methods))
    settings = settings_of(
        options,
        methods,
        resumed,
        configuration={
            "manifest": manifest.file.name,
            "framework": manifest.framework,
            "protocol": manifest.api.protocol,
        },
        on_progress=progress,
    )
    with spending_told(methods, after=progress.finish if progress else lambda: None):
        evaluations = run_evaluation(plan, target, settings, resumed=resumed, baseline=baseline)
    verdict = decided(options, plan, evaluations, enabled=manifest.ci_gate)
    try:
        output.evaluation(manifest, evaluations, verdict, plan=plan)
    except BrokenPipeError:
        # Whoever was reading went away, as with `| head`; the verdict stands.
        drop_output()
    return exit_code_of(evaluations, verdict)
