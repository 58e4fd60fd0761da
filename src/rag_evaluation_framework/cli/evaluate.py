"""``rag-eval evaluate``: put a manifest's datasets to an agent, score the answers, and decide the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.evaluate_options import EvaluateOptions, evaluate_options

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifest import Manifest
    from rag_evaluation_framework.evaluation.preflight import Plan, SampleChoice
    from rag_evaluation_framework.evaluation.run_groups import RunGroup
    from rag_evaluation_framework.evaluation.secrets import Secrets
    from rag_evaluation_framework.extensions import Target
    from rag_evaluation_framework.results.evaluations import DatasetEvaluation, OnProgress
    from rag_evaluation_framework.results.gate import GateVerdict

_GATE_FAILED, _INCOMPLETE, _INTERRUPTED = 1, 3, 130

EXAMPLES = """\b
Examples:
  rag-eval evaluate agent.yaml --url http://localhost:4000
  rag-eval evaluate agent.yaml --url http://localhost:4000 --dataset rag-quality --sample-size 20
  rag-eval evaluate agent.yaml --url http://localhost:4000 --dry-run
  rag-eval evaluate agent.yaml --target answers.jsonl --json > evaluation.json
  rag-eval evaluate agent.yaml --url http://localhost:4000 --baseline eval_run_2026-11-15_001"""


@click.command(
    "evaluate", epilog=EXAMPLES, short_help="Put a manifest's datasets to an agent and decide the gate."
)
@evaluate_options
@click.pass_context
def command(context: click.Context, **given: Any) -> None:
    """Put the datasets of MANIFEST (agent.yaml) to an agent, score its answers, and decide the gate.

    Everything that can be checked is checked before the first request. Each dataset is a run that survives a
    kill and goes on with --resume. A sample passes when every score that has a threshold meets it.

    Exit code 0: passed, or the gate is off (ciGate is not true); 1: the gate failed; 2: wrong usage, manifest
    or data; 3: the run is incomplete; 130: interrupted.
    """
    # Imported here, not above: numpy and the HTTP client should not slow down --help.
    from rag_evaluation_framework.errors import RagEvalError, UsageError
    from rag_evaluation_framework.evaluation.secrets import Secrets

    options = EvaluateOptions(**given)
    secrets = Secrets()
    try:
        code = _evaluate(options, secrets)
    except RagEvalError as error:
        masked = secrets.mask(str(error))
        if masked != str(error):
            raise UsageError(masked) from None
        raise
    context.exit(code)


def _evaluate(options: EvaluateOptions, secrets: Secrets) -> int:
    """Run an evaluation from the manifest to the exit code."""
    from rag_evaluation_framework.evaluation.manifest import read_manifest
    from rag_evaluation_framework.evaluation.preflight import plan_evaluation, refuse_secrets
    from rag_evaluation_framework.evaluation.run_groups import RunGroup
    from rag_evaluation_framework.results.evaluations import EvaluationSettings, run_evaluation

    manifest = read_manifest(options.manifest)
    resumed = RunGroup.open(options.resume, options.runs_dir) if options.resume else None
    baseline = RunGroup.open(options.baseline, options.runs_dir) if options.baseline else None
    choice = resumed.choice if resumed else _choice(options)
    metrics = resumed.metrics if resumed else options.metrics
    plan = plan_evaluation(
        manifest,
        datasets=resumed.datasets if resumed else options.datasets,
        metrics=metrics,
        choice=choice,
    )
    target = _target(options, manifest, secrets)
    refuse_secrets(plan, secrets)
    _check_outputs(options, plan)
    if options.dry_run:
        _print_plan(options, plan, target, secrets)
        return 0
    progress = _progress(options, secrets)
    settings = EvaluationSettings(
        runs_directory=resumed.leader.path.parent if resumed else options.runs_dir,
        run=_run_settings(options, choice.seed),
        choice=choice,
        metrics=metrics,
        configuration=secrets.mask_value(_configuration(manifest, target)),
        on_progress=progress,
    )
    evaluations = run_evaluation(plan, target, settings, resumed=resumed, baseline=baseline)
    if progress is not None:
        progress.finish()
    verdict = _decided(options, manifest, plan, evaluations)
    _tell(options, manifest, plan, evaluations, verdict, target=target, secrets=secrets)
    return _exit_code(evaluations, verdict)


def _choice(options: EvaluateOptions) -> SampleChoice:
    from rag_evaluation_framework.evaluation.preflight import SampleChoice

    return SampleChoice(
        tags=options.tags,
        sample_size=options.sample_size,
        seed=options.seed or 0,
        allow_missing=options.allow_missing,
    )
