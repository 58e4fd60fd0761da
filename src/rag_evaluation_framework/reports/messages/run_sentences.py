"""The sentences of a run: fields of rows, missing scores, reliability of the agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.datasets.row_fields import SHOWN, RowReading
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.scores import NO_CONTEXTS
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.blocks import names_listed
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Unscored

KINDS_OF_GOLDEN = {
    "facts": "facts",
    "relations": "relations",
    "tracking": "events",
    "multiturn": "conversations",
    "boundary": "refusals",
}


_CALLED = {"latency_ms": "latency (milliseconds)", "latency_s": "latency (seconds)"}


_NOT_COUNTED = {
    "refused": ("refusal", "refusals"),
    "dont_know": ('"don\'t know"', '"don\'t know"'),
    "asks_back": ("question back", "questions back"),
}


def refusals_sentence(evaluation: Evaluation) -> str | None:
    """Say how many refusals of golden sets are correct, wrong and missed; ``None`` where there are none."""
    refusals = evaluation.answers.refusals
    if evaluation.kind != "golden" or not any(refusals.values()):
        return None
    return f"Refusals: {', '.join(f'{count:,} {name}' for name, count in refusals.items())}."


def not_scored_lines(evaluation: Evaluation) -> Iterator[str]:
    """Yield a line per reason for missing scores: a failure, or data that lacks the metric's input."""
    for name, part in evaluation.named_runs.items():
        of = f"{KINDS_OF_GOLDEN.get(name, name)}: " if len(evaluation.parts) > 1 else ""
        metrics: dict[Unscored, list[str]] = {}
        for metric, found in part.metrics.items():
            if metric == PASS_RATE:
                continue
            for each in found.reasons:
                is_lacking = each.reason == NO_CONTEXTS or not found.n_scored
                if each.status == "failed" or (is_lacking and evaluation.kind != "golden"):
                    metrics.setdefault(each, []).append(metric)
        for each, names in metrics.items():
            word = "failed" if each.status == "failed" else "not scored"
            yield f"{of}{each.count:,} {word}: {blocks.one_line(each.reason, 200)} ({', '.join(names)})"
        yield from (f"{of}{metric} is not measured: {reason}" for metric, reason in part.unmeasured.items())
    if evaluation.missing:
        names = [KINDS_OF_GOLDEN.get(name, name) for name in evaluation.missing]
        yield f"This folder contains no {blocks.listed(names, 'or')}."


def unmeasured_lines(evaluation: Evaluation) -> list[str]:
    """Return lines on the metrics that scored no answer; those with the same counts share a line."""
    metrics: dict[tuple[int, int], list[str]] = {}
    for each in evaluation.not_measured:
        metrics.setdefault((each.n_skipped, each.n_failed), []).append(each.metric)
    return [
        f"No answer was scored ({skipped:,} skipped, {failed:,} failed): {', '.join(names)}"
        for (skipped, failed), names in metrics.items()
    ]


def reading_lines(reading: RowReading) -> tuple[str, str]:
    """Return the lines on the fields that were read and on the rows."""
    fields = reading.fields
    named = ", ".join(f"{part} = {fields[part]}" for part in SHOWN if part in fields)
    told = [] if reading.rows is None else [counted(reading.rows, "row")]
    if reading.rows:
        if "answer" in fields and reading.answers != reading.rows:
            told.append(f"{_some(reading.answers, reading.rows)} with an answer")
        if "reference" in fields:
            told.append(f"{_some(reading.references, reading.rows)} with a reference")
    others = [part for part in fields if part not in (*SHOWN, "id")]
    told += [f"{_CALLED.get(part) or part.replace('_', ' ')} in {fields[part]}" for part in others]
    part = "answer" if "answer" in fields else "question"
    change = f'map={{"{part}": FIELD}}' if reading.in_memory else f"--map {part}=FIELD"
    asked = reading.unit_question and f"not read: {reading.unit_question}"
    return f"{reading.name}: {named}", "; ".join(
        filter(None, (", ".join(told), asked, f"change with {change}"))
    )


def _some(count: int | None, total: int) -> str:
    return "none" if not count else "all" if count == total else f"{count:,}"


def excluded_answers(*, metrics: Sequence[str], names: Mapping[str, Sequence[str]]) -> str:
    """Return a sentence on answers that refuse, don't know or ask back, and the metrics that exclude them."""
    told = [
        f"{counted(len(each), *_NOT_COUNTED[kind])} ({names_listed(each)})" for kind, each in names.items()
    ]
    return f"Excluded from {blocks.listed(metrics)}: {', '.join(told)}."


def caution(evaluation: Evaluation) -> str | None:
    """Return the limits of word overlap; ``None`` if no figure uses it."""
    if any(
        each.n_scored and blocks.by(each.method) == "word overlap" for each in evaluation.metrics.values()
    ):
        return "Scored by word overlap; most changes of meaning are missed. For those, use --judge-model."
    return None


def requests_text(found: Mapping[str, Any]) -> str:
    retries, errors = found["retries"], [f"{count:,} {kind}" for kind, count in found["errors"].items()]
    told = f"{found['requests']:,}, {counted(retries, 'retry', 'retries')}"
    told += (
        f" ({100 * found['retry_rate']:.1f}%, {counted(found['retried_answers'], 'answer')})"
        if retries
        else ""
    )
    return f"{told}, {found['failed']:,} failed" + (f" (errors: {', '.join(errors)})" if errors else "")


def latency_text(found: Mapping[str, Any]) -> str:
    names, latencies = {"p50": "median", "p95": "p95"}, found["latency_ms"].items()
    return ", ".join(f"{names[name]} {ms:,.0f} ms" for name, ms in latencies) or "unknown"


def shortfall_of(evaluation: Evaluation) -> str | None:
    """Say why a run did not complete, and how to resume it; ``None`` of one that did."""
    outcome = evaluation.outcome
    if outcome.completed:
        return None
    return f"incomplete: {outcome.reason}; resume with --resume {evaluation.head.run_id}"


def gate_switch(evaluation: Evaluation) -> str:
    """Return how to set a gate."""
    if "manifest" in evaluation.head.configuration:
        return "ciGate is not true"
    if evaluation.kind == "golden":
        return "set one with --threshold, or with ciGate in the configuration"
    return "set one with --threshold METRIC=NUMBER (in Python, gate={metric: bound})"
