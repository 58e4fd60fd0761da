"""What every command that runs an evaluation does around it: settings, the gate, the exit code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluation_framework.cli.evaluate_options import EvaluateOptions
from rag_evaluation_framework.evaluation.manifests.preflight import Plan, SampleChoice
from rag_evaluation_framework.evaluation.runs.run_groups import RunGroup
from rag_evaluation_framework.evaluation.runs.run_records import RunSettings
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods
from rag_evaluation_framework.results.evaluations import DatasetEvaluation, EvaluationSettings, OnProgress
from rag_evaluation_framework.results.gate import GateInput, GateVerdict, decide_gate

_GATE_FAILED, _INCOMPLETE, _INTERRUPTED = 1, 3, 130


def choice_of(options: EvaluateOptions, resumed: RunGroup | None) -> SampleChoice:
    """Return which samples are asked: as the options say, or as the run began."""
    if resumed is not None:
        return resumed.choice
    return SampleChoice(
        tags=options.tags,
        sample_size=options.sample_size,
        seed=options.seed or 0,
        allow_missing=options.allow_missing,
    )


def settings_of(
    options: EvaluateOptions,
    methods: ScoringMethods,
    resumed: RunGroup | None,
    *,
    configuration: Mapping[str, Any],
    on_progress: OnProgress | None,
) -> EvaluationSettings:
    """Return how the evaluation runs; the heads of its runs record the ``configuration``."""
    choice = choice_of(options, resumed)
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
            scoring_threads=methods.threads,
        ),
        choice=choice,
        methods=methods,
        metrics=resumed.metrics if resumed else options.metrics,
        configuration=configuration,
        on_progress=on_progress,
    )


def decided(
    options: EvaluateOptions, plan: Plan, evaluations: Sequence[DatasetEvaluation], *, enabled: bool
) -> GateVerdict:
    """Decide the gate; a dataset that was planned and not reached counts as measured in nothing."""
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
    return decide_gate(
        [*(each.gate_input for each in evaluations), *missed],
        enabled=enabled or options.baseline is not None,
        by="bound" if options.confidence == "lower-bound" else "mean",
        max_errors=options.max_errors,
        max_drop=options.max_drop,
    )


def exit_code_of(evaluations: Sequence[DatasetEvaluation], verdict: GateVerdict) -> int:
    """Return 0 for passed or no gate, 1 for failed, 3 for an incomplete run, 130 for an interrupted one."""
    if any(each.outcome.interrupted for each in evaluations):
        return _INTERRUPTED
    if not all(each.outcome.completed for each in evaluations):
        return _INCOMPLETE
    return _GATE_FAILED if verdict.result == "FAIL" else 0
