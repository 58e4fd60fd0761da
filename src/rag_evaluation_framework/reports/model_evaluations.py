"""Models side by side, as text for a terminal and as one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.model_runs import ModelEvaluation, SharedData
from rag_evaluation_framework.evaluation.preflight import Prices
from rag_evaluation_framework.reports.tables import (
    comparisons_text,
    one_line,
    systems_table,
    text_table,
)
from rag_evaluation_framework.results.comparison import MetricComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """Everything there is to report: the figures of each model, the comparisons with the first, the cost."""

    data: SharedData
    samples: int
    with_prompt: int
    metrics: tuple[str, ...]
    evaluations: tuple[ModelEvaluation, ...]
    comparisons: tuple[MetricComparison, ...]
    not_begun: tuple[str, ...] = ()
    prices: Mapping[str, Prices] = field(default_factory=dict, hash=False)
    warnings: tuple[str, ...] = ()

    def cost_of(self, evaluation: ModelEvaluation) -> float | None:
        """Return the cost in US dollars: from the price given, else what the endpoint reported."""
        usage = evaluation.evaluation.performance.figures.get("api_usage", {})
        prices = self.prices.get(evaluation.model)
        if prices is None:
            told: float | None = usage.get("estimated_cost_usd")
            return told
        if "input_tokens" not in usage or "output_tokens" not in usage:
            return None
        return prices.cost(usage["input_tokens"], usage["output_tokens"])


def side_by_side_text(shown: SideBySide) -> str:
    """Render the metrics by model, what each run took, what went wrong, and the comparisons."""
    data = shown.data
    version = f" {data.dataset_version}" if data.dataset_version else ""
    samples = counted(shown.samples, "sample")
    head = f"{data.dataset_id}{version}: {samples}, {shown.with_prompt:,} with a recorded prompt"
    parts = [head, _metrics(shown), _runs(shown)]
    if lines := list(_lines(shown)):
        parts.append("\n".join(lines))
    if shown.comparisons:
        parts.append(comparisons_text(shown.comparisons, system="model", unit="sample"))
    return "\n\n".join(parts)


def side_by_side_document(shown: SideBySide) -> dict[str, Any]:
    """Return everything as plain values."""
    data = shown.data
    return {
        "dataset_id": data.dataset_id,
        "dataset_version": data.dataset_version,
        "dataset_path": data.dataset_path,
        "total": shown.samples,
        "with_recorded_prompt": shown.with_prompt,
        "models": [_model(shown, each) for each in shown.evaluations],
        "not_begun": list(shown.not_begun),
        "comparisons": [each.to_dict() for each in shown.comparisons],
        "warnings": list(shown.warnings),
    }


def _metrics(shown: SideBySide) -> str:
    models = {each.model: each.evaluation for each in shown.evaluations}
    return systems_table(models, shown.metrics, system="model")


def _runs(shown: SideBySide) -> str:
    rows = []
    for each in shown.evaluations:
        counts, figures = each.evaluation.counts, each.evaluation.performance.figures
        usage, latency = (figures.get(name, {}) for name in ("api_usage", "latency_stats"))
        cost = shown.cost_of(each)
        rows.append(
            [
                one_line(each.model),
                each.folder.head.run_id,
                f"{counts.finished - counts.failed:,} of {counts.total:,}",
                _count(usage.get("input_tokens")),
                _count(usage.get("output_tokens")),
                "–" if cost is None else f"${cost:,.4f}",
                _count(latency.get("p50")),
                _count(latency.get("p95")),
            ]
        )
    headers = ["model", "run", "answered", "tokens in", "tokens out", "cost", "p50 ms", "p95 ms"]
    return text_table(headers, rows, align="<<>>>>>>")


def _lines(shown: SideBySide) -> Iterator[str]:
    """Yield what went wrong, and what to do about it."""
    for each in shown.evaluations:
        name, counts = one_line(each.model), each.evaluation.counts
        if counts.failures:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts.failures.items())
            yield f"{name}: {counts.failed:,} without an answer: {kinds}"
        yield from (f"{name}: note: {note}" for note in each.evaluation.outcome.notes)
        if each.shortfall is not None:
            advice = (
                f"go on with --resume {each.folder.head.run_id}"
                if each.can_go_on
                else "put it right and begin anew, without --resume"
            )
            yield f"{name}: {one_line(each.shortfall, 400)}; {advice}"
    if shown.not_begun:
        yield f"not begun: {', '.join(map(one_line, shown.not_begun))}; a resume begins them too"
    yield from (f"warning: {one_line(warning, 400)}" for warning in shown.warnings)


def _model(shown: SideBySide, evaluation: ModelEvaluation) -> dict[str, Any]:
    found = evaluation.evaluation
    counts, outcome, usage = found.counts, found.outcome, found.performance.judge_usage
    head = evaluation.folder.head
    return {
        "model": evaluation.model,
        "base_url": head.configuration.get("base_url"),
        "run_id": head.run_id,
        "folder": str(evaluation.folder.path),
        "completed": outcome.completed,
        "reason": evaluation.shortfall,
        "notes": list(outcome.notes),
        "finished": counts.finished,
        "failed": counts.failed,
        "failures": dict(counts.failures),
        "metrics": {name: figure.to_dict() for name, figure in found.metrics.items()},
        "performance": dict(found.performance.figures),
        "cost_usd": shown.cost_of(evaluation),
        "judge_usage": None if usage is None else usage.to_dict(),
    }


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
