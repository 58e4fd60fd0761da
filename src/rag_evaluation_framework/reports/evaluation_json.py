"""An evaluation as one JSON document.

The keys ``dataset, agentUrl, totalSamples, metrics, ciGateResult, samples`` are those of AgentSpec's own
command; ``samples`` has ``index, input, expected, actual, pass, latencyMs, error``. Our own are beside them.
For a conversation ``input``, ``expected`` and ``actual`` are those of the last turn; ``turns`` has all of
them. For several datasets ``dataset`` is a list, and ``metrics`` has, under its name, the figures of each
that was begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rag_evaluation_framework.evaluation.dataset_evaluations import DatasetEvaluation, EvaluatedSample
from rag_evaluation_framework.evaluation.manifests.preflight import Plan, Prices
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.results.evaluated_turns import EvaluatedTurn
from rag_evaluation_framework.results.gate import Verdict


def evaluation_document(
    evaluations: Sequence[DatasetEvaluation], verdict: Verdict, *, plan: Plan, target: str
) -> dict[str, Any]:
    """Return everything about an evaluation as plain values; its shape depends on the plan alone."""
    names = [dataset.name for dataset in plan.datasets]
    figures = {each.plan.name: _figures(each) for each in evaluations}
    single = len(names) == 1
    return {
        "dataset": names[0] if single else names,
        "agentUrl": target,
        "totalSamples": plan.samples,
        "metrics": figures[names[0]] if single else figures,
        "ciGateResult": verdict.result,
        "samples": [_sample(each, sample) for each in evaluations for sample in each.samples()],
        "gate": verdict.to_dict(),
        "runs": [_run(each) for each in evaluations],
        "warnings": list(plan.warnings),
    }


def plan_document(plan: Plan, *, target: str, prices: Prices) -> dict[str, Any]:
    """Return what a run would do as plain values."""
    return {
        "dryRun": True,
        "agentUrl": target,
        "datasets": [
            {
                "dataset": dataset.name,
                "file": str(dataset.entry.path),
                "samplesInFile": dataset.selection.n_in_file,
                "samples": len(dataset.selection),
                "calls": dataset.calls,
                "judgeCalls": dataset.judge_calls,
                "metrics": {scorer.name: scorer.method for scorer in dataset.scorers},
                "thresholds": list(map(str, dataset.thresholds)),
            }
            for dataset in plan.datasets
        ],
        "totalSamples": plan.samples,
        "calls": plan.calls,
        "judgeCalls": plan.judge_calls,
        "estimatedInputTokens": plan.input_tokens,
        "estimatedOutputTokens": plan.output_tokens,
        "estimatedCostUsd": prices.cost(plan.input_tokens, plan.output_tokens),
        "warnings": list(plan.warnings),
    }


def _figures(evaluation: DatasetEvaluation) -> dict[str, float | None]:
    return {summary.metric: summary.value for summary in evaluation.metrics}


def _sample(evaluation: DatasetEvaluation, sample: EvaluatedSample) -> dict[str, Any]:
    response = sample.result.response
    return {
        "index": sample.index,
        "input": sample.sample.question,
        "expected": sample.expected,
        "actual": response.text,
        "pass": sample.passes,
        "latencyMs": response.latency_ms,
        "error": sample.error,
        "dataset": evaluation.plan.name,
        "id": sample.sample.id,
        "expectsRefusal": sample.expects_refusal,
        "tags": list(sample.sample.tags),
        "metadata": dict(sample.sample.metadata),
        "contextOrigin": response.context_origin,
        "scores": {score.metric: score.value for score in sample.result.scores},
        "notScored": {
            score.metric: {"status": score.status, "reason": score.reason}
            for score in sample.result.scores
            if score.value is None
        },
        "blame": _blame(sample.blame),
        "turns": list(map(_turn, sample.turns)),
    }


def _turn(turn: EvaluatedTurn) -> dict[str, Any]:
    return {
        "turn": turn.number,
        "question": turn.question,
        "expected": turn.expected,
        "expectsRefusal": turn.expects_refusal,
        "answer": turn.answer,
        "value": turn.value,
        "scores": dict(turn.scores),
        "blame": _blame(turn.blame),
    }


def _blame(blame: Blame | None) -> dict[str, str] | None:
    return None if blame is None else {"kind": blame.kind, "why": blame.why}


def _run(evaluation: DatasetEvaluation) -> dict[str, Any]:
    summary, outcome = evaluation.summary, evaluation.outcome
    return {
        "dataset": evaluation.plan.name,
        "runId": evaluation.folder.head.run_id,
        "folder": str(evaluation.folder.path),
        "completed": outcome.completed,
        "reason": outcome.reason,
        "notes": list(outcome.notes),
        "finished": summary.finished,
        "errors": evaluation.errors,
        "failures": dict(summary.failures),
        "contextOrigins": dict(summary.context_origins),
        "unread": {each.part: each.to_dict() for each in summary.unread},
        "metrics": {each.metric: each.to_dict() for each in evaluation.metrics},
        "notScored": {name: list(map(asdict, told)) for name, told in summary.unscored.items()},
        "performance": dict(summary.performance),
        "judgeUsage": None if evaluation.judge_usage is None else evaluation.judge_usage.to_dict(),
        "blame": None if evaluation.blame is None else evaluation.blame.to_dict(),
    }
