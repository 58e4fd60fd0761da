"""What ``rag-eval evaluate`` and ``rag-eval golden`` share: the steps from a manifest to the exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.cli.evaluation_output import Output
from rag_evaluation_framework.cli.evaluation_target import model_of, shown_target, target_of
from rag_evaluation_framework.cli.exit_codes import drop_output
from rag_evaluation_framework.cli.judge_notices import spending_told, waiting_notice, with_judge_warnings
from rag_evaluation_framework.cli.run_options import RunOptions
from rag_evaluation_framework.cli.scoring_options import ScoringOptions
from rag_evaluation_framework.evaluation.dataset_evaluations import (
    DatasetEvaluation,
    EvaluationSettings,
    run_evaluation,
)
from rag_evaluation_framework.evaluation.manifests.manifest import Manifest
from rag_evaluation_framework.evaluation.manifests.preflight import Plan, refuse_secrets
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
from rag_evaluation_framework.records.responses import History
from rag_evaluation_framework.records.runs import OnProgress, RunSettings, SampleChoice
from rag_evaluation_framework.results.gate import GateInput, Verdict, decide_gate
from rag_evaluation_framework.results.run_groups import RunGroup

_GATE_FAILED, _INCOMPLETE, _INTERRUPTED = 1, 3, 130


class EvaluationCommand:
    """An evaluation; ``datasets``, ``metrics`` and ``choice`` are as asked for, or as a resumed run began."""

    def __init__(
        self,
        options: RunOptions,
        manifest: Manifest,
        *,
        scoring: ScoringOptions,
        secrets: Secrets,
        choice: SampleChoice,
        metrics: tuple[str, ...] = (),
    ) -> None:
        self._options, self._manifest, self._secrets = options, manifest, secrets
        self.methods = scoring.methods(manifest.judge)
        self.resumed = self._opened(options.resume)
        self._baseline = self._opened(options.baseline)
        self.datasets = self.resumed.datasets if self.resumed else options.datasets
        self.metrics = self.resumed.metrics if self.resumed else metrics
        self.choice = self.resumed.choice if self.resumed else choice

    def run(
        self,
        plan: Plan,
        *,
        configuration: Mapping[str, Any],
        output_to: Callable[[RunOptions, Secrets, str], Output] = Output,
        history: History = "own",
    ) -> int:
        """Carry a plan out and return the exit code; the heads of the runs record the ``configuration``."""
        options, methods = self._options, self.methods
        target = target_of(options, self._manifest, self._secrets, history=history)
        model = model_of(options, self._manifest, target)
        plan = with_judge_warnings(plan, methods, model=model, baseline=self._baseline)
        refuse_secrets(plan, self._secrets)
        output = output_to(options, self._secrets, shown_target(options, target))
        output.check(plan)
        if options.dry_run:
            output.plan(plan)
            return 0
        progress = output.progress(lambda: waiting_notice(methods))
        settings = self._settings(configuration, on_progress=progress)
        with spending_told(methods, progress):
            evaluations = run_evaluation(
                plan, target, settings, resumed=self.resumed, baseline=self._baseline
            )
        verdict = self._verdict(plan, evaluations)
        try:
            output.evaluation(self._manifest, evaluations, verdict, plan=plan)
        except BrokenPipeError:
            # Whoever was reading went away, as with `| head`; the verdict stands.
            drop_output()
        return _exit_code(evaluations, verdict)

    def _opened(self, run: str | None) -> RunGroup | None:
        return None if run is None else RunGroup.open(run, self._options.runs_dir)

    def _settings(
        self, configuration: Mapping[str, Any], *, on_progress: OnProgress | None
    ) -> EvaluationSettings:
        options = self._options
        return EvaluationSettings(
            runs_directory=self.resumed.leader.path.parent if self.resumed else options.runs_dir,
            run=RunSettings(
                concurrency=options.concurrency,
                attempt_timeout=options.timeout,
                # Room for every attempt and the waits between them.
                sample_timeout=max(300.0, options.timeout * options.max_attempts),
                run_timeout=options.run_timeout,
                max_attempts=options.max_attempts,
                seed=self.choice.seed,
                scoring_threads=self.methods.threads,
            ),
            choice=self.choice,
            methods=self.methods,
            metrics=self.metrics,
            configuration=configuration,
            on_progress=on_progress,
        )

    def _verdict(self, plan: Plan, evaluations: Sequence[DatasetEvaluation]) -> Verdict:
        """Decide the gate; of a dataset that was planned and not reached, nothing counts as measured."""
        missed = [
            GateInput(
                dataset=dataset.name,
                metrics=(),
                thresholds=dataset.thresholds,
                total=len(dataset.selection),
                finished=0,
                errors=0,
                unmeasured=dataset.unmeasured,
            )
            for dataset in plan.datasets[len(evaluations) :]
        ]
        options = self._options
        return decide_gate(
            [*(each.gate_input for each in evaluations), *missed],
            enabled=self._manifest.ci_gate or options.baseline is not None,
            by="bound" if options.confidence == "lower-bound" else "mean",
            max_errors=options.max_errors,
            max_drop=options.max_drop,
        )


def _exit_code(evaluations: Sequence[DatasetEvaluation], verdict: Verdict) -> int:
    """Return 0 for passed or no gate, 1 for failed, 3 for an incomplete run, 130 for an interrupted one."""
    if any(each.outcome.interrupted for each in evaluations):
        return _INTERRUPTED
    if not all(each.outcome.completed for each in evaluations):
        return _INCOMPLETE
    return _GATE_FAILED if verdict.result == "FAIL" else 0
