"""``rag-eval golden``: put a folder of golden sets to a system, split by split, and decide the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rag_evaluation_framework.cli.exit_codes import drop_output
from rag_evaluation_framework.cli.golden_options import GoldenOptions, golden_options
from rag_evaluation_framework.cli.judge_options import (
    ScoringOptions,
    judge_options,
    spending_told,
    waiting_notice,
    with_judge_warnings,
)

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
    from rag_evaluation_framework.evaluation.runs.run_groups import RunGroup

EXAMPLES = """\b
Examples:
  rag-eval golden examples/golden --target examples.golden.assistant:answer
  rag-eval golden evaluation --url http://localhost:4000 --threshold entity_coverage=0.8
  rag-eval golden evaluation --url http://localhost:4000 --split multiturn --json > multiturn.json
  rag-eval golden evaluation --target my_agent:answer --history reference"""


@click.command(
    "golden", epilog=EXAMPLES, short_help="Put golden sets to a system: facts, relations, conversations …"
)
@golden_options
@judge_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Put the golden sets of DIR to a system, score each split by what it is about, and decide the gate.

    DIR has factual_qa.json, relationship_qa.json, tracking_qa.json, multiturn_qa.json and boundary_qa.json,
    or some of them, in evaluation/datasets, in datasets, or itself. Conversations are replayed turn by turn.
    Each split is a run that survives a kill and goes on with --resume; the results of all are in one file,
    golden.results.json in the folder of the first.

    Exit code 0: passed, or no gate (no --threshold, no --baseline, ciGate is not true); 1: the gate failed;
    2: wrong usage, settings or data; 3: the run is incomplete; 130: interrupted.
    """
    # Imported here, not above: numpy and the HTTP client should not slow down --help.
    from rag_evaluation_framework.evaluation.manifests.secrets import Secrets

    scoring = ScoringOptions.taken_from(given)
    options = GoldenOptions.of(given)
    secrets = Secrets()
    with secrets.masked_errors():
        code = _evaluate(options, scoring, secrets)
    context.exit(code)


def _evaluate(options: GoldenOptions, scoring: ScoringOptions, secrets: Secrets) -> int:
    """Run a golden evaluation from the folder to the exit code."""
    from rag_evaluation_framework.cli.evaluation_runs import choice_of, decided, exit_code_of, settings_of
    from rag_evaluation_framework.cli.evaluation_target import model_of, shown_target, target_of
    from rag_evaluation_framework.cli.golden_output import GoldenOutput
    from rag_evaluation_framework.evaluation.golden.golden_runs import golden_manifest, plan_golden
    from rag_evaluation_framework.evaluation.golden.golden_settings import (
        GoldenSettings,
        read_golden_settings,
        with_thresholds,
    )
    from rag_evaluation_framework.evaluation.manifests.preflight import refuse_secrets
    from rag_evaluation_framework.evaluation.runs.run_groups import RunGroup
    from rag_evaluation_framework.results.evaluations import run_evaluation

    shared = options.shared
    read = GoldenSettings() if options.config is None else read_golden_settings(options.config)
    golden = with_thresholds(read, options.thresholds)
    manifest = golden_manifest(options.folder, golden)
    methods = scoring.methods(manifest.judge)
    resumed = RunGroup.open(shared.resume, shared.runs_dir) if shared.resume else None
    baseline = RunGroup.open(shared.baseline, shared.runs_dir) if shared.baseline else None
    _check_history(options, resumed)
    plan = plan_golden(
        manifest,
        splits=resumed.datasets if resumed else shared.datasets,
        choice=choice_of(shared, resumed),
        methods=methods,
    )
    target = target_of(shared, manifest, secrets, history=options.history)
    model = model_of(shared, manifest, target)
    plan = with_judge_warnings(plan, methods, model=model, baseline=baseline)
    refuse_secrets(plan, secrets)
    output = GoldenOutput(options, secrets, target=shown_target(shared, target))
    output.check(plan)
    if shared.dry_run:
        output.plan(plan)
        return 0
    progress = output.progress(lambda: waiting_notice(methods))
    configuration = {"golden": str(options.folder), "history": options.history}
    settings = settings_of(shared, methods, resumed, configuration=configuration, on_progress=progress)
    with spending_told(methods, after=progress.finish if progress else lambda: None):
        evaluations = run_evaluation(plan, target, settings, resumed=resumed, baseline=baseline)
    verdict = decided(shared, plan, evaluations, enabled=manifest.ci_gate)
    try:
        output.evaluation(manifest, evaluations, verdict, plan=plan)
    except BrokenPipeError:
        # Whoever was reading went away, as with `| head`; the verdict stands.
        drop_output()
    return exit_code_of(evaluations, verdict)


def _check_history(options: GoldenOptions, resumed: RunGroup | None) -> None:
    """Refuse to go on with conversations upon another history than they began with."""
    from rag_evaluation_framework.errors import UsageError

    began = resumed.leader.head.configuration.get("history") if resumed else options.history
    if began != options.history:
        expected = "a run of golden sets" if began is None else f"--history {began}"
        raise UsageError(f"cannot resume: expected {expected}, got --history {options.history}")
