"""What should be declined against what was: the cells of one table for a terminal and for Markdown."""

from __future__ import annotations

from rag_evaluation_framework.results.breakdowns import Refusals, RefusalTable


def refusal_cells(table: RefusalTable) -> tuple[list[str], list[list[str]]]:
    """Return the headers and the rows: the two-by-two table, then over-refusal split by split."""
    rows = [
        ["should refuse", *_counts(table.should_refuse)],
        ["should answer", *_counts(table.should_answer)],
        *([f"  {name}", *_counts(counts)] for name, counts in table.by_split.items()),
    ]
    headers = [f"refusals ({', '.join(table.methods)})", "refused", "answered", "refused", "95% interval"]
    return headers, rows


def _counts(counts: Refusals) -> list[str]:
    interval = counts.interval
    share = "–" if counts.rate is None else f"{counts.rate:.1%}"
    ends = "–" if interval is None else f"[{interval.low:.1%}, {interval.high:.1%}]"
    return [f"{counts.refused:,}", f"{counts.answered:,}", share, ends]
