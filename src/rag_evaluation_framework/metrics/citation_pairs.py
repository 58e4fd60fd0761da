"""Which predicted citation stands for which true one, and how well each pair agrees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rag_evaluation_framework.metrics.assignment import heaviest_pairs
from rag_evaluation_framework.records.citations import SpanCitation

# Between pairings of equal overlap the better Jaccard decides, to this many steps.
_JACCARD_STEPS = 2**30


@dataclass(frozen=True, slots=True)
class CitationPair:
    """A true and a predicted citation that share characters."""

    true: SpanCitation
    predicted: SpanCitation
    exact_jaccard: float
    tolerance_jaccard: float


def pair_citations(
    true: Sequence[SpanCitation], predicted: Sequence[SpanCitation], *, tolerance_chars: int
) -> list[CitationPair]:
    """Pair one to one, within a file and a page where both have one, so that most characters are shared.

    Between equally good pairings the one with the larger sum of Jaccards is taken. Neither depends on the
    order in which the citations come. Citations that share no character are not paired.
    """
    true, predicted = sorted(true, key=_place), sorted(predicted, key=_place)
    weights: list[dict[int, int]] = [{} for _ in true]
    scale = (len(true) + 1) * _JACCARD_STEPS
    for row, column in _overlapping(true, predicted):
        shared = _shared(true[row], predicted[column])
        weights[row][column] = shared * scale + int(jaccard(true[row], predicted[column]) * _JACCARD_STEPS)
    return [
        CitationPair(
            true[row],
            predicted[column],
            jaccard(true[row], predicted[column]),
            tolerance_jaccard(true[row], predicted[column], tolerance_chars=tolerance_chars),
        )
        for row, column in heaviest_pairs(weights).items()
    ]


def jaccard(true: SpanCitation, predicted: SpanCitation) -> float:
    """Return shared characters / characters of either."""
    shared = _shared(true, predicted)
    return shared / (true.end - true.start + predicted.end - predicted.start - shared)


def tolerance_jaccard(true: SpanCitation, predicted: SpanCitation, *, tolerance_chars: int) -> float:
    """Return the Jaccard after moving each predicted end within the tolerance onto the true one.

    It is never below the exact one and 1 when both ends are within the tolerance. Spans that share no
    character stay at 0, however near they are.
    """
    if not _shared(true, predicted):
        return 0.0
    start = true.start if abs(predicted.start - true.start) <= tolerance_chars else predicted.start
    end = true.end if abs(predicted.end - true.end) <= tolerance_chars else predicted.end
    return jaccard(true, replace(predicted, start=start, end=end))


def distinct_places(citations: Iterable[SpanCitation]) -> list[SpanCitation]:
    """Leave out what cites the same characters again."""
    return list({(each.file, each.page, each.start, each.end): each for each in citations}.values())


def same_place(first: SpanCitation, second: SpanCitation) -> bool:
    """Tell whether two citations are of one file, and of one page where both have one."""
    return first.file == second.file and (first.page == second.page or None in (first.page, second.page))


def _shared(first: SpanCitation, second: SpanCitation) -> int:
    return max(0, min(first.end, second.end) - max(first.start, second.start))


def _place(citation: SpanCitation) -> tuple[str, int, int, int]:
    return citation.file, citation.start, citation.end, -1 if citation.page is None else citation.page


def _overlapping(true: Sequence[SpanCitation], predicted: Sequence[SpanCitation]) -> list[tuple[int, int]]:
    """Return (number of the true one, number of the predicted one) of all that share characters.

    One sweep over the starts, file by file, keeping the citations of each side that have not ended.
    """
    sides = (true, predicted)
    events = sorted(
        (citation.file, citation.start, side, number)
        for side, citations in enumerate(sides)
        for number, citation in enumerate(citations)
    )
    found: list[tuple[int, int]] = []
    open_numbers: tuple[list[int], list[int]] = ([], [])
    for _, _, side, number in events:
        citation, others = sides[side][number], sides[1 - side]
        still_open = open_numbers[1 - side]
        still_open[:] = [
            other
            for other in still_open
            if others[other].file == citation.file and others[other].end > citation.start
        ]
        found += [
            (other, number) if side else (number, other)
            for other in still_open
            if same_place(citation, others[other])
        ]
        open_numbers[side].append(number)
    return sorted(found)
