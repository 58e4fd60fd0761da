"""``rag-eval evaluate``: put a manifest's datasets to an agent, score the answers, and decide the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.evaluate_options import EvaluateOptions, evaluate_options
from rag_evaluation_framework.cli.exit_codes import drop_output

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifest import Manifest
    from rag_evaluation_framework.evaluation.preflight import Plan, SampleChoice
    from rag_evaluation_framework.evaluation.run_groups import RunGroup
    from rag_evaluation_framework.evaluation.secrets import Secrets
    from rag_evaluation_framework.results.evaluations import (
        DatasetEvaluation,
        EvaluationSettings,
        OnProgress,
    )
    from rag_evaluation_framework.results.gate import GateVerdict

_GATE_FAILED, _INCOMPLETE, _INTERRUPTED = 1, 3, 130

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
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
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
    from rag_evaluation_framework.cli.evaluation_output import Output
    from rag_evaluation_framework.cli.evaluation_target import shown_target, target_of
    from rag_evaluation_framework.evaluation.manifest import read_manifest
    from rag_evaluation_framework.evaluation.preflight import plan_evaluation, refuse_secrets
    from rag_evaluation_framework.evaluation.run_groups import RunGroup
    from rag_evaluation_framework.results.evaluations import run_evaluation

    manifest = read_manifest(options.manifest)
    resumed = RunGroup.open(options.resume, options.runs_dir) if options.resume else None
    baseline = RunGroup.open(options.baseline, options.runs_dir) if options.baseline else None
    plan = plan_evaluation(
        manifest,
        datasets=resumed.datasets if resumed else options.datasets,
        metrics=resumed.metrics if resumed else options.metrics,
        choice=_choice(options, resumed),
    )
    target = target_of(options, manifest, secrets)
    refuse_secrets(plan, secrets)
    output = Output(options, secrets, target=shown_target(options, target))
    output.check(plan)
    if options.dry_run:
        output.plan(plan)
        return 0
    progress = output.progress()
    settings = _settings(options, manifest, resumed, on_progress=progress)
    evaluations = run_evaluation(plan, target, settings, resumed=resumed, baseline=baseline)
    if progress is not None:
        progress.finish()
    verdict = _decided(options, manifest, plan, evaluations)
    try:
        output.evaluation(manifest, evaluations, verdict, plan=plan)
    except BrokenPipeError:
        # Whoever was reading went away, as with `| head`; the verdict stands.
        drop_output()
    return _exit_code(evaluations, verdict)


def _choice(options: EvaluateOptions, resumed: RunGroup | None) -> SampleChoice:
    from rag_evaluation_framework.evaluation.preflight import SampleChoice

    if resumed is not None:
        return resumed.choice
    return SampleChoice(
        tags=options.tags,
        sample_size=options.sample_size,
        seed=options.seed or 0,
        allow_missing=options.allow_missing,
    )


def _settings(
    options: EvaluateOptions, manifest: Manifest, resumed: RunGroup | None, *, on_progress: OnProgress | None
) -> EvaluationSettings:
    from rag_evaluation_framework.evaluation.run_records import RunSettings
    from rag_evaluation_framework.results.evaluations import EvaluationSettings

    choice = _choice(options, resumed)
    return EvaluationSettings(
        runs_directory=resumed.leader.path.parent if resumed else options.runs_dir,
        run=RunSettings(
            concurrency=options.concurrency,
            attempt_timeout=options.timeout,
            # Room for every attempt and the waits between them.
            sample_timeout=max(300.0, options.timeout * options.max_attempts),
            run_timeout=options.run_timeout,
            max_attempts=options.max_attempts,
            seed=choice.seed,
        ),
        choice=choice,
        metrics=resumed.metrics if resumed else options.metrics,
        configuration={
            "manifest": manifest.file.name,
            "framework": manifest.framework,
            "protocol": manifest.api.protocol,
        },
        on_progress=on_progress,
    )


def _decided(
    options: EvaluateOptions, manifest: Manifest, plan: Plan, evaluations: list[DatasetEvaluation]
) -> GateVerdict:
    """Decide the gate; a dataset that was planned and not reached counts as measured in nothing."""
    from rag_evaluation_framework.results.gate import GateInput, decide_gate

    missed = [
        GateInput(
            dataset=dataset.name,
            metrics=(),
            thresholds=dataset.thresholds,
            total=len(dataset.selection),
            finished=0,
            errors=0,
        )
        for dataset in plan.datasets[len(evaluations) :]
    ]
    return decide_gate(
        [*(each.gate_input for each in evaluations), *missed],
        enabled=manifest.ci_gate or options.baseline is not None,
        by="bound" if options.confidence == "lower-bound" else "mean",
        max_errors=options.max_errors,
        max_drop=options.max_drop,
    )


def _exit_code(evaluations: list[DatasetEvaluation], verdict: GateVerdict) -> int:
    if any(each.outcome.interrupted for each in evaluations):
        return _INTERRUPTED
    if not all(each.outcome.completed for each in evaluations):
        return _INCOMPLETE
    return _GATE_FAILED if verdict.result == "FAIL" else 0
