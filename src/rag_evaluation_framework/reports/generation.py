"""What came of generating questions: how many, of which kinds, what was turned away and why, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.responses import Usage
from rag_evaluation_framework.reports.excerpts import counted
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.synthesis.quality import REASONS

_REASONS: Mapping[str, str] = {
    **REASONS,
    "nothing-to-ask": "a document without a sentence to ask about",
    "duplicate-question": "asked before in the same words",
    "ambiguous-excerpt": "a passage that stands in several places",
    "excerpt-not-found": "a passage that is not in the document",
    "unknown-chunk": "chunk ids that do not exist",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSummary:
    """A generated dataset with what is told about it; ``written`` are the places where it went."""

    dataset: Dataset
    documents: int
    rejected: Mapping[str, int]
    written: tuple[str, ...] = ()
    usage: Usage | None = None
    run: str | None = None


def generation_text(summary: GenerationSummary) -> str:
    """Show a summary to people."""
    return "\n".join(_lines(summary))


def generation_document(summary: GenerationSummary) -> dict[str, Any]:
    """Show a summary to machines."""
    usage = summary.usage
    return {
        "queries": len(summary.dataset),
        "documents": summary.documents,
        "level": summary.dataset.metadata.get("level"),
        "generator": summary.dataset.metadata.get("generator"),
        "by_kind": _labels(summary.dataset, "query_type"),
        "by_difficulty": _labels(summary.dataset, "difficulty"),
        "unanswerable": _unanswerable(summary.dataset),
        "rejected": dict(summary.rejected),
        "usage": None
        if usage is None
        else {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
        },
        "run": summary.run,
        "written": list(summary.written),
    }


def _lines(summary: GenerationSummary) -> Iterator[str]:
    dataset = summary.dataset
    generator = dataset.metadata.get("generator", {})
    made_by = generator.get("model") or f"{generator.get('name')}, no model"
    about = f"{counted(len(dataset), 'question')} about {counted(summary.documents, 'document')}"
    yield f"{about}, {dataset.metadata.get('level')} level ({made_by})"
    for name in ("query_type", "difficulty"):
        labels = _labels(dataset, name)
        if labels:
            yield "  " + ", ".join(f"{label} {count:,}" for label, count in labels.items())
    if unanswerable := _unanswerable(dataset):
        yield f"  {unanswerable:,} without an answer in the documents"
    if summary.rejected:
        rows = [
            (f"{count:,}", reason, _REASONS.get(reason, "")) for reason, count in summary.rejected.items()
        ]
        yield "\n" + text_table(("turned away", "reason", ""), rows, align="><<")
    if (usage := summary.usage) is not None:
        cost = f", ${usage.cost_usd:.4f}" if usage.cost_usd is not None else ""
        yield f"\n{usage.input_tokens or 0:,} tokens in, {usage.output_tokens or 0:,} out{cost}"
    if summary.written:
        yield "\nwrote " + ", ".join(summary.written)


def _labels(dataset: Dataset, name: str) -> dict[str, int]:
    counts = Counter(getattr(sample, name) for sample in dataset.samples)
    return {label: count for label, count in counts.most_common() if label is not None}


def _unanswerable(dataset: Dataset) -> int:
    return sum(sample.expectation is not None for sample in dataset.samples)
