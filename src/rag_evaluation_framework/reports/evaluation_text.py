"""An evaluation as text for a terminal: figures, the gate's checks, what went wrong first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.dataset_evaluations import DatasetEvaluation, EvaluatedSample
from rag_evaluation_framework.evaluation.manifests.preflight import Plan, Prices
from rag_evaluation_framework.reports.blame import blame_text
from rag_evaluation_framework.reports.claims import doubtful_claims
from rag_evaluation_framework.reports.excerpts import figure, one_line
from rag_evaluation_framework.reports.exchanges import sample_lines, samples_to_show
from rag_evaluation_framework.reports.run_notes import run_notes, shortfall_of
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.reports.unscored import unscored_lines
from rag_evaluation_framework.results.gate import Check, Verdict

_LISTED_SAMPLES = 5
_LISTED_CLAIMS = 3


def evaluation_text(
    evaluations: Sequence[DatasetEvaluation], verdict: Verdict, *, warnings: Sequence[str] = ()
) -> str:
    """Render every dataset, then the gate."""
    parts = [part for each in evaluations for part in _dataset(each)]
    parts += ["\n".join(f"warning: {one_line(warning, 400)}" for warning in warnings)] if warnings else []
    parts += [gate_text(verdict)]
    return "\n\n".join(parts)


def plan_text(plan: Plan, *, target: str, prices: Prices) -> str:
    """Say what a run would do."""
    rows = [
        [
            dataset.name,
            f"{len(dataset.selection):,} of {dataset.selection.n_in_file:,}",
            f"{dataset.calls:,}",
            f"{dataset.judge_calls:,}",
        ]
        for dataset in plan.datasets
    ]
    metrics = [
        [dataset.name, scorer.name, scorer.method] for dataset in plan.datasets for scorer in dataset.scorers
    ]
    cost = prices.cost(plan.input_tokens, plan.output_tokens)
    lines = [
        f"target: {target}",
        f"calls: {plan.calls:,}, and more where one has to be repeated",
        *_judge_calls(plan),
        f"tokens: at least {plan.input_tokens:,} in, {plan.output_tokens:,} out (estimated from questions "
        "and expected answers; what the agent adds is not known)",
        "cost: " + ("not known (--price-input, --price-output)" if cost is None else f"at least ${cost:.4f}"),
        *(f"warning: {warning}" for warning in plan.warnings),
    ]
    return "\n\n".join(
        [
            text_table(["dataset", "samples", "calls", "judge calls"], rows, align="<>>>"),
            text_table(["dataset", "metric", "method"], metrics, align="<<<"),
            "\n".join(lines),
        ]
    )


def _judge_calls(plan: Plan) -> Iterator[str]:
    if plan.judge_calls:
        yield (
            f"judge calls: about {plan.judge_calls:,} (fewer for answers that decline and for what is "
            "remembered; more for long answers, for citations, and where one has to be repeated)"
        )


def gate_text(verdict: Verdict) -> str:
    """Render the checks of the gate and its verdict."""
    rows = [
        [
            row.dataset or "–",
            row.metric,
            row.method or "–",
            figure(row.value),
            _bound(row),
            row.held,
            _status(row),
        ]
        for row in verdict.checks
    ]
    headers = ["dataset", "metric", "method", "value", "threshold", "held", "verdict"]
    table = text_table(headers, rows, align="<<<>><<") + "\n\n" if rows else ""
    if not verdict.enabled:
        return f"{table}gate: off (ciGate is not true)"
    if verdict.passed:
        return f"{table}gate: PASSED"
    return f"{table}gate: FAILED\n" + "\n".join(f"  {reason}" for reason in verdict.reasons)


def _dataset(evaluation: DatasetEvaluation) -> Iterator[str]:
    summary = evaluation.summary
    head = f"{evaluation.plan.name}: {summary.finished:,} of {counted(summary.total, 'sample')}"
    head += f", {evaluation.errors:,} with errors" if evaluation.errors else ""
    lines = [head, f"run: {evaluation.folder.head.run_id}"]
    if summary.context_origins:
        origins = ", ".join(f"{count:,} the {origin}'s" for origin, count in summary.context_origins.items())
        lines.append(f"contexts: {origins}")
    lines += [f"note: {note}" for note in run_notes(evaluation)]
    if shortfall := shortfall_of(evaluation):
        lines.append(shortfall)
    yield "\n".join(lines)
    yield _metrics(evaluation)
    if unscored := unscored_lines(summary):
        yield "\n".join(["not scored:", *unscored])
    if evaluation.blame is not None and evaluation.blame.told:
        yield blame_text(evaluation.blame)
    for listed in samples_to_show(evaluation.samples(), limit=_LISTED_SAMPLES):
        yield "\n".join([f"{listed.title}:", *(line for each in listed.samples for line in _lines(each))])


def _metrics(evaluation: DatasetEvaluation) -> str:
    rows = [
        [
            each.metric,
            each.method,
            figure(each.value),
            f"[{figure(each.interval.low)}, {figure(each.interval.high)}]" if each.interval else "–",
            str(each.n_scored),
            str(each.n_skipped),
            str(each.n_failed),
        ]
        for each in evaluation.metrics
    ]
    headers = ["metric", "method", "mean", "95% interval", "scored", "skipped", "failed"]
    return text_table(headers, rows, align="<<>>>>>")


def _lines(sample: EvaluatedSample) -> Iterator[str]:
    line = sample.sample.origin.line if sample.sample.origin else None
    place = f"line {line}" if line is not None else sample.sample.id
    yield from sample_lines(sample, place)
    yield from (f"    claim     {claim}" for claim in islice(doubtful_claims(sample.result), _LISTED_CLAIMS))


def _bound(row: Check) -> str:
    return "–" if row.bound is None else f"{row.operator} {row.bound:g}"


def _status(row: Check) -> str:
    return row.status if row.reason is None else f"{row.status}: {row.reason}"
