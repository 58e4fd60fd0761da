"""Who marked which characters: spans of several annotators laid over one another.

The spans of one query are cut into stretches that the same annotators marked throughout. Everything else is
counting: what two of them share, and what most of them marked. Each character counts once for an annotator,
however often it was marked. Pages count where every span of a file has one; else they are left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag_evaluation_framework.records.citations import SpanCitation


@dataclass(frozen=True, slots=True)
class MarkedStretch:
    """The characters ``[start, end)`` of a file, marked by exactly these annotators."""

    file: str
    page: int | None
    start: int
    end: int
    annotators: frozenset[str]

    @property
    def length(self) -> int:
        return self.end - self.start


def marked_stretches(marks: Mapping[str, Sequence[SpanCitation]]) -> list[MarkedStretch]:
    """Cut the spans that annotators marked into stretches, sorted by file, page and start."""
    with_pages = _files_with_pages(marks)
    edges: dict[tuple[str, int | None], list[tuple[int, int, str]]] = defaultdict(list)
    for annotator, spans in marks.items():
        for span in spans:
            place = (span.file, span.page if span.file in with_pages else None)
            edges[place] += [(span.start, 1, annotator), (span.end, -1, annotator)]
    return [
        MarkedStretch(file, page, start, end, annotators)
        for (file, page), changes in sorted(edges.items(), key=lambda item: (item[0][0], item[0][1] or 0))
        for start, end, annotators in _swept(sorted(changes))
    ]


def jaccard(stretches: Sequence[MarkedStretch], a: str, b: str) -> float:
    """Return the share of the characters that either of two annotators marked which both did.

    Where neither marked anything they agree: 1.
    """
    both = sum(stretch.length for stretch in stretches if {a, b} <= stretch.annotators)
    either = sum(stretch.length for stretch in stretches if stretch.annotators & {a, b})
    return both / either if either else 1.0


@dataclass(frozen=True, slots=True)
class Majority:
    """The characters that more than half of the annotators marked, and how many exactly half of them did."""

    spans: tuple[SpanCitation, ...]
    tied_characters: int


def majority(marks: Mapping[str, Sequence[SpanCitation]]) -> Majority:
    """Keep the characters that more than half marked; a span's confidence is the mean share who did."""
    stretches = marked_stretches(marks)
    kept = [stretch for stretch in stretches if 2 * len(stretch.annotators) > len(marks)]
    tied = sum(stretch.length for stretch in stretches if 2 * len(stretch.annotators) == len(marks))
    sources = [span for spans in marks.values() for span in spans]
    return Majority(tuple(_span(group, len(marks), sources) for group in _touching(kept)), tied)


def _files_with_pages(marks: Mapping[str, Sequence[SpanCitation]]) -> set[str]:
    spans = [span for annotated in marks.values() for span in annotated]
    return {span.file for span in spans} - {span.file for span in spans if span.page is None}


def _swept(changes: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, frozenset[str]]]:
    """Go along a text from one beginning or end to the next, with the annotators who mark what is between."""
    marking: Counter[str] = Counter()
    previous = 0
    for position, change, annotator in changes:
        if marking and position > previous:
            yield previous, position, frozenset(marking)
        previous = position
        marking[annotator] += change
        if not marking[annotator]:
            del marking[annotator]


def _touching(stretches: Sequence[MarkedStretch]) -> Iterator[list[MarkedStretch]]:
    """Group stretches that follow each other without a gap."""
    group: list[MarkedStretch] = []
    for stretch in stretches:
        last = group[-1] if group else None
        if last and (last.file, last.page, last.end) != (stretch.file, stretch.page, stretch.start):
            yield group
            group = []
        group.append(stretch)
    if group:
        yield group


def _span(group: Sequence[MarkedStretch], annotators: int, sources: Sequence[SpanCitation]) -> SpanCitation:
    first, start, end = group[0], group[0].start, group[-1].end
    votes = sum(stretch.length * len(stretch.annotators) for stretch in group)
    return SpanCitation(
        file=first.file,
        start=start,
        end=end,
        page=first.page,
        text=_text(first, start, end, sources),
        confidence=votes / (annotators * (end - start)),
    )


def _text(place: MarkedStretch, start: int, end: int, sources: Sequence[SpanCitation]) -> str | None:
    """Cut the words out of a span that covers them, if one knows its words character by character."""
    for span in sources:
        same = span.file == place.file and place.page in (None, span.page)
        if same and span.start <= start and end <= span.end and len(span.text or "") == span.end - span.start:
            return (span.text or "")[start - span.start : end - span.start]
    return None
