"""A dataset in figures, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_evaluation_framework.datasets.overview import Coverage, Lengths, Overview
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports.tables import text_table

BAR_WIDTH = 30
_SHOWN_VALUES = 12
_SHOWN_FILES = 5


def overview_text(overview: Overview) -> str:
    """Return what there is, how long it is, and how it spreads; parts without data are left out."""
    return "\n\n".join(part for part in _parts(overview) if part)


def bar(count: int, largest: int) -> str:
    """Draw a count as a bar, in eighths of a character; anything but 0 is visible."""
    eighths = max(round(count / largest * BAR_WIDTH * 8), 1) if count else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _parts(overview: Overview) -> Iterator[str]:
    yield _head(overview)
    if overview.lengths:
        yield _lengths_table(overview)
    if "questions" in overview.lengths:
        yield _histogram("questions by length", overview.lengths["questions"])
    elif "documents" in overview.lengths:
        yield _histogram("documents by length", overview.lengths["documents"])
    for label, counts in overview.labels.items():
        yield _counts_table(label, list(counts.items()), overview.samples or 0)
    if overview.coverage:
        yield _coverage(overview.coverage)


def _head(overview: Overview) -> str:
    if overview.samples is None:
        files = sum(overview.files.values())
        kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in overview.files.items())
        lines = [overview.path, f"{counted(files, 'document')} ({kinds})" if files else "no documents"]
        if overview.unreadable:
            named = ", ".join(overview.unreadable[:_SHOWN_FILES])
            more = ", …" if len(overview.unreadable) > _SHOWN_FILES else ""
            lines.append(f"{counted(len(overview.unreadable), 'file')} not UTF-8 text: {named}{more}")
        return "\n".join(lines)
    known = [overview.dialect, overview.dataset_id, overview.version]
    having = ", ".join(f"{count:,} with {_words(what)}" for what, count in overview.having.items())
    lines = [f"{overview.path} ({', '.join(name for name in known if name)})"]
    lines.append(counted(overview.samples, "sample") + (f": {having}" if having else ""))
    return "\n".join(lines)


def _lengths_table(overview: Overview) -> str:
    columns = ("count", "min", "median", "p95", "max", "total")
    rows = [
        (_words(name), *(f"{summary[column]:,}" for column in columns))
        for name, lengths in overview.lengths.items()
        if (summary := lengths.summary())
    ]
    return text_table(("characters", *columns), rows, align="<>>>>>>")


def _histogram(title: str, lengths: Lengths) -> str:
    bins = lengths.bins()
    largest = max(count for _, _, count in bins)
    rows = [
        (f"{start:,}–{end:,}" if end > start else f"{start:,}", f"{count:,}", bar(count, largest))
        for start, end, count in bins
    ]
    return text_table((title, "count", ""), rows, align=">><")


def _counts_table(label: str, counts: Sequence[tuple[str, int]], samples: int) -> str:
    largest = max(count for _, count in counts)
    rows = [
        (value, f"{count:,}", f"{count / samples:.1%}", bar(count, largest))
        for value, count in counts[:_SHOWN_VALUES]
    ]
    table = text_table((label, "count", "share", ""), rows, align="<>><")
    more = len(counts) - _SHOWN_VALUES
    return f"{table}\n… and {counted(more, 'more value')}" if more > 0 else table


def _coverage(coverage: Coverage) -> str:
    if coverage.documents is None:
        lines = [f"{counted(coverage.relevant, 'document')} relevant to at least one query"]
    else:
        share = (coverage.covered or 0) / coverage.documents
        lines = [
            f"{coverage.covered:,} of {counted(coverage.documents, 'document')} ({share:.1%}) "
            "relevant to at least one query"
        ]
        if coverage.missing:
            lines.append(f"{counted(coverage.missing, 'relevant document')} not in the file")
    if coverage.most_used:
        used = ", ".join(f"{document} ({count:,})" for document, count in coverage.most_used)
        lines.append(f"most used: {used}")
    return "\n".join(lines)


def _words(name: str) -> str:
    return name.replace("_", " ")
