"""Which samples lack what a metric needs, found before the first request and named by their lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag_evaluation_framework.errors import Issue
from rag_evaluation_framework.evaluation.scorers.named_scorers import MetricScorer
from rag_evaluation_framework.records.samples import Entities, Milestones, Refusal, Relation, Sample

_LISTED_RANGES = 12
_EXPECTATIONS = {"entities": Entities, "relation": Relation, "milestones": Milestones}


class MissingFields:
    """Looks at samples one by one, and keeps for each needed field the lines of those that lack it."""

    def __init__(self, scorers: Sequence[MetricScorer], *, file: str) -> None:
        self._file = file
        self._metrics: dict[str, list[str]] = {}
        for scorer in scorers:
            for field in scorer.needs:
                self._metrics.setdefault(field, []).append(scorer.name)
        self._lines: dict[str, _Ranges] = {field: _Ranges() for field in self._metrics}
        self._seen = 0

    def look_at(self, sample: Sample) -> None:
        """Take note of what a sample lacks."""
        self._seen += 1
        line = sample.origin.line if sample.origin else None
        for field, ranges in self._lines.items():
            if lacks(sample, field):
                ranges.add(line if line is not None else self._seen)

    def issues(self) -> list[Issue]:
        """Return one issue for each field that a sample lacks."""
        return [
            Issue(
                "missing-field",
                f"{field} in every sample, which {' and '.join(self._metrics[field])} "
                f"{'needs' if len(self._metrics[field]) == 1 else 'need'}",
                f"none in {ranges.count:,} of {self._seen:,}: {_counted(ranges)}",
                field,
                file=self._file,
                line=ranges.first,
            )
            for field, ranges in self._lines.items()
            if ranges.count
        ]


def lacks(sample: Sample, field: str) -> bool:
    """Tell whether a sample lacks a field that a metric may need."""
    if field == "expected":
        # A sample that expects a refusal is skipped for its own reason, not for a gap in the data.
        return not (sample.reference and sample.reference.strip()) and sample.expectation is None
    if field == "context":
        return not (sample.recorded and _any_text(sample.recorded.contexts))
    if field == "reference_contexts":
        return not _any_text(sample.reference_contexts)
    if field == "relevant_spans":
        return not sample.relevant_spans and not isinstance(sample.expectation, Refusal)
    if field in _EXPECTATIONS:
        return not isinstance(sample.expectation, (_EXPECTATIONS[field], Refusal))
    raise ValueError(f"no such field of a sample: {field}")


def _any_text(texts: Iterable[str]) -> bool:
    return any(text.strip() for text in texts)


class _Ranges:
    """Growing line numbers as ranges, so that a million of them take a few bytes."""

    def __init__(self) -> None:
        self.count = 0
        self.ranges: list[list[int]] = []

    @property
    def first(self) -> int | None:
        return self.ranges[0][0] if self.ranges else None

    def add(self, line: int) -> None:
        self.count += 1
        if self.ranges and self.ranges[-1][1] == line - 1:
            self.ranges[-1][1] = line
        else:
            self.ranges.append([line, line])


def _counted(ranges: _Ranges) -> str:
    listed = [f"{low}" if low == high else f"{low}–{high}" for low, high in ranges.ranges[:_LISTED_RANGES]]
    more = ranges.count - sum(high - low + 1 for low, high in ranges.ranges[:_LISTED_RANGES])
    word = "line" if ranges.count == 1 else "lines"
    return f"{word} {', '.join(listed)}" + (f" and {more:,} more" if more else "")
