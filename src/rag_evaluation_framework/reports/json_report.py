"""An evaluation as one JSON document.

The keys ``dataset, agentUrl, totalSamples, metrics, ciGateResult, samples`` are those of AgentSpec's own
command; ``samples`` has ``index, input, expected, actual, pass, latencyMs, error``. Our own are beside them.
``pass`` is true for a correct answer, false for a wrong or partly correct one, and null if it was not judged.
For a conversation ``input``, ``expected`` and ``actual`` are those of the last turn; ``turns`` has all of
them. For several datasets ``dataset`` is a list, and ``metrics`` has, under its name, the figures of each
that was begun; so it has for several systems, whose names are ``systems``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.reports.facts import verdict_of
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import EvaluatedTurn, Evaluation, Row, unscored
from rag_evaluation_framework.structs import asdict

if TYPE_CHECKING:
    from rag_evaluation_framework.reports.plan_blocks import Outlook


def render(thing: Evaluation | Comparison) -> str:
    """Render an evaluation or a comparison as JSON that people can read too."""
    document = thing.to_dict() if isinstance(thing, Comparison) else evaluation_document(thing)
    return strict_json.encode(document, indent=2).decode()


def evaluation_document(evaluation: Evaluation) -> dict[str, Any]:
    """Return everything about an evaluation as plain values; its shape depends on what was planned alone."""
    names, are_systems = list(evaluation.parts) or [evaluation.name], evaluation.parts_are == "systems"
    runs = evaluation.named_runs
    figures = {name: _figures(part) for name, part in runs.items()}
    systems = {name: {"system": name} if are_systems else {} for name in runs}
    single = len(names) == 1 and evaluation.kind not in ("golden", "systems")
    verdict = verdict_of(evaluation)
    document = {
        "dataset": evaluation.name if are_systems else names[0] if single else names,
        **({"systems": names} if are_systems else {}),
        "agentUrl": evaluation.target,
        "totalSamples": evaluation.counts.total,
        "metrics": figures[names[0]] if single else figures,
        "ciGateResult": verdict.result,
        "samples": [_sample(part, row) | systems[name] for name, part in runs.items() for row in part.rows],
        "answers": evaluation.answers.to_dict(),
        "gate": verdict.to_dict(),
        "runs": [_run(part) | systems[name] for name, part in runs.items()],
        "warnings": list(evaluation.warnings),
    }
    return {**document, **_golden(evaluation)} if evaluation.kind == "golden" else document


def _golden(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "missingSplits": list(evaluation.missing),
        "notScored": {split: dict(reasons) for split, reasons in unscored(evaluation).items() if reasons},
        "refusals": evaluation.answers.refusals,
        **({"reading": read} if (read := evaluation.head.configuration.get("reading")) else {}),
    }


def scored_document(evaluation: Evaluation) -> dict[str, Any]:
    """Return what scoring a run again gave."""
    usage, counts = evaluation.performance.judge_usage, evaluation.counts
    return {
        "run_id": evaluation.head.run_id,
        "dataset_id": evaluation.head.dataset_id,
        "total": counts.total,
        "finished": counts.finished,
        "failed": counts.failed,
        "answers": evaluation.answers.to_dict(),
        "unread": {each.part: each.to_dict() for each in counts.unread},
        "metrics": {name: figure.to_dict() for name, figure in evaluation.metrics.items()},
        "not_scored": _not_scored(evaluation),
        "judge_usage": None if usage is None else usage.to_dict(),
    }


def plan_document(outlook: Outlook) -> dict[str, Any]:
    """Return what a run would do, and what it would cost, as plain values."""
    plan, forecasts, judging = outlook.plan, outlook.forecasts, outlook.judging
    is_asked, prices = outlook.target is not None, outlook.prices
    return {
        "dryRun": True,
        "agentUrl": outlook.target,
        "askAgain": outlook.ask_again,
        "datasets": [
            {
                "dataset": dataset.name,
                "file": str(dataset.entry.path),
                "samplesInFile": dataset.selection.n_in_file,
                "samples": len(dataset.selection),
                "calls": dataset.calls * is_asked,
                "judgeCalls": forecasts[dataset.name].calls if dataset.name in forecasts else 0,
                **({"judge": forecasts[dataset.name].to_dict()} if dataset.name in forecasts else {}),
                **({} if dataset.budget is None else {"judgeBudget": dataset.budget.head_fields}),
                "metrics": {scorer.name: scorer.method for scorer in dataset.scorers},
                "thresholds": list(map(str, dataset.thresholds)),
            }
            for dataset in plan.datasets
        ],
        "totalSamples": plan.samples,
        "calls": plan.calls * is_asked,
        "judgeCalls": 0 if judging is None else judging.calls,
        **({} if judging is None else {"judgeCostUsd": judging.cost_usd}),
        "estimatedInputTokens": (plan.usage.input_tokens or 0) * is_asked,
        "estimatedOutputTokens": (plan.usage.output_tokens or 0) * is_asked,
        "estimatedCostUsd": prices.cost(plan.usage) if prices is not None and is_asked else None,
        "warnings": list(plan.warnings),
    }


def _figures(evaluation: Evaluation) -> dict[str, float | None]:
    return {name: figure.value for name, figure in evaluation.metrics.items()}


def _not_scored(evaluation: Evaluation) -> dict[str, Any]:
    figures = evaluation.metrics.items()
    return {name: list(map(asdict, figure.reasons)) for name, figure in figures if figure.reasons}


def _sample(evaluation: Evaluation, sample: Row) -> dict[str, Any]:
    response, verdict = sample.result.response, sample.verdict
    return {
        "index": sample.index,
        "input": sample.question,
        "expected": sample.expected,
        "actual": response.text,
        "pass": verdict.is_correct if verdict is not None and verdict.is_judged else None,
        "latencyMs": response.latency_ms,
        "error": sample.error,
        "dataset": evaluation.name,
        "id": sample.id,
        "verdict": None if verdict is None else {"grade": verdict.grade, **verdict.to_dict()},
        "meets_thresholds": sample.passes,
        "expectsRefusal": sample.expects_refusal,
        "tags": [] if sample.sample is None else list(sample.sample.tags),
        "metadata": {} if sample.sample is None else dict(sample.sample.metadata),
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


_KEYS = {"expects_refusal": "expectsRefusal"}


def _turn(turn: EvaluatedTurn) -> dict[str, Any]:
    told = {_KEYS.get(name, name): value for name, value in turn.to_dict().items()}
    return told | {"blame": _blame(turn.blame)}


def _blame(blame: Blame | None) -> dict[str, str] | None:
    return None if blame is None else {"kind": blame.kind, "why": blame.why}


def _run(evaluation: Evaluation) -> dict[str, Any]:
    counts, outcome = evaluation.counts, evaluation.outcome
    usage = evaluation.performance.judge_usage
    return {
        "dataset": evaluation.name,
        "runId": evaluation.head.run_id,
        "folder": str(evaluation.folder),
        "completed": outcome.completed,
        "reason": outcome.reason,
        "notes": list(outcome.notes),
        "finished": counts.finished,
        "answers": evaluation.answers.to_dict(),
        "errors": counts.errors,
        "failures": dict(counts.failures),
        "contextOrigins": dict(counts.origins),
        "unread": {each.part: each.to_dict() for each in counts.unread},
        "metrics": {name: figure.to_dict() for name, figure in evaluation.metrics.items()},
        "notScored": _not_scored(evaluation),
        "performance": dict(evaluation.performance.figures),
        "judgeUsage": None if usage is None else usage.to_dict(),
        **({"reading": read} if (read := evaluation.head.configuration.get("reading")) else {}),
    }
