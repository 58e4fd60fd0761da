"""Where answers fail, as a block of text for a terminal and as the cells of a table for other reports."""

from __future__ import annotations

from collections.abc import Iterator

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports.comparisons import interval_header
from rag_evaluation_framework.reports.tables import one_line, text_table
from rag_evaluation_framework.results.breakdowns import BlameShare, BlameSummary

_WORDS = {
    "ok": "right",
    "retrieval_missed": "relevant text not retrieved",
    "not_used": "retrieved but not used",
    "contradicted": "used but contradicted",
    "wrong_citation": "right answer, wrong citation",
    "refused_wrongly": "declined although it was retrieved",
    "answered_wrongly": "answered where it should decline",
}
_LISTED_REASONS = 3


def blame_text(summary: BlameSummary) -> str:
    """Render the counts and shares of each kind, and what is missing where the kind is unknown."""
    return "\n".join(_lines(summary))


def blame_title(summary: BlameSummary) -> str:
    """Name the method, and say for how many answers it is known where they fail."""
    return f"where it fails ({summary.method}): {summary.told:,} of {counted(summary.total, 'answer')}"


def blame_cells(summary: BlameSummary) -> tuple[list[str], list[list[str]]]:
    """Return the headers and a row for each kind that occurs; no rows if no kind is known."""
    shown = [share for share in summary.shares if share.kind != "unknown" and share.count]
    interval = next((share.interval for share in shown), None)
    confidence = 0.95 if interval is None else interval.confidence
    headers = ["", "part", "answers", "share", interval_header(confidence)]
    return headers, [_row(share) for share in shown]


def untold_blame(summary: BlameSummary) -> str | None:
    """Say for how many answers the kind is unknown, and what is missing; ``None`` if it is known for all."""
    unknown = summary.total - summary.told
    if not unknown:
        return None
    reasons = list(summary.unknown_because.items())
    listed = "; ".join(f"{one_line(why)} ({count:,})" for why, count in reasons[:_LISTED_REASONS])
    more = "; …" if len(reasons) > _LISTED_REASONS else ""
    return f"cannot be told for {unknown:,}: {listed}{more}"


def _lines(summary: BlameSummary) -> Iterator[str]:
    yield blame_title(summary)
    headers, rows = blame_cells(summary)
    if rows:
        yield ""
        yield text_table(headers, rows, align="<<>>>")
    untold = untold_blame(summary)
    if untold is not None:
        yield ""
        yield untold


def _row(share: BlameShare) -> list[str]:
    interval = share.interval
    return [
        _WORDS[share.kind],
        "" if share.part == "neither" else share.part,
        f"{share.count:,}",
        "–" if share.share is None else f"{share.share:.1%}",
        "–" if interval is None else f"[{interval.low:.1%}, {interval.high:.1%}]",
    ]
