"""The outcome of generating questions: how many, of which kinds, what was rejected and why, what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.records.responses import Usage
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.reports.excerpts import one_line
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.synthesis.draft_quality import REASONS as QUALITY_REASONS
from rag_evaluation_framework.synthesis.drafts import Drafts
from rag_evaluation_framework.synthesis.generated_datasets import Upload
from rag_evaluation_framework.synthesis.model_questions import REASONS as ASKING_REASONS

_DETAIL_CHARACTERS = 160
_REASONS: Mapping[str, str] = {
    **QUALITY_REASONS,
    **ASKING_REASONS,
    "nothing-to-ask": "the documents give nothing more to ask",
    "duplicate-question": "asked before in the same words",
    "answered-after-all": "meant to be unanswerable, but a sentence answers it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSummary:
    """A generated dataset with what is reported about it; ``written`` lists where it was written."""

    dataset: Dataset
    documents: int
    drafts: Drafts
    written: tuple[str, ...] = ()
    upload: Upload | None = None
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
        "rejected": dict(summary.drafts.counts()),
        "usage": None
        if usage is None
        else {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost_usd": usage.cost_usd,
        },
        "run": summary.run,
        "written": list(summary.written),
        "upload": None if summary.upload is None else asdict(summary.upload),
    }


def in_words(reason: str, drafts: Drafts) -> str:
    """Say what a reason means; where the model could not be used, what it said first."""
    if not reason.startswith("model-"):
        return _REASONS.get(reason, "")
    detail = next(each.detail for each in drafts.rejected if each.reason == reason)
    return one_line(detail, _DETAIL_CHARACTERS)


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
    if counts := summary.drafts.counts():
        rows = [(f"{count:,}", reason, in_words(reason, summary.drafts)) for reason, count in counts.items()]
        yield "\n" + text_table(("rejected", "reason", ""), rows, align="><<")
    if (usage := summary.usage) is not None:
        cost = f", ${usage.cost_usd:.4f}" if usage.cost_usd is not None else ""
        yield f"\n{counted(usage.input_tokens or 0, 'token')} in, {usage.output_tokens or 0:,} out{cost}"
    if summary.written:
        yield "\nwrote " + ", ".join(summary.written)
    if (upload := summary.upload) is not None:
        sent = f"{upload.added:,} added, {upload.updated:,} updated, {upload.unchanged:,} unchanged"
        others = f"; {upload.others:,} there that are not of this dataset" if upload.others else ""
        yield f"LangSmith: {sent}{others}"


def _labels(dataset: Dataset, name: str) -> dict[str, int]:
    counts = Counter(getattr(sample, name) for sample in dataset.samples)
    return {label: count for label, count in counts.most_common() if label is not None}


def _unanswerable(dataset: Dataset) -> int:
    return sum(sample.expectation is not None for sample in dataset.samples)
