"""Metrics of cited spans and of citations against claims; consistency."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.metrics.claims import share
from rag_evaluation_framework.metrics.declaration import Within, metric
from rag_evaluation_framework.metrics.spans import columns_of, count_characters
from rag_evaluation_framework.metrics.views import CITATIONS, CITED_SPANS, TEXTS
from rag_evaluation_framework.records.citations import (
    CitationLike,
    ContextCitation,
    SpanCitation,
    parse_citations,
    span_citations,
)
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId

# Pairing one to one so that the total weight is as large as it can be.


def heaviest_pairs(weights: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Return row → column, each used at most once, with the largest total weight.

    ``weights[row]`` has the columns a row may go to, with weights above 0. Of several best answers the
    same one is always returned.

    Rows are added one at a time along the cheapest alternating path (Jonker and Volgenant, Computing 38,
    1987), found with Dijkstra's algorithm on costs that the columns' prices keep above 0. A search stays
    within what the row can reach, so many small groups cost no more than each by itself.
    """
    pairing = _Pairing(weights)
    for row in range(len(weights)):
        pairing.add(row)
    return {row: column for row, column in sorted(pairing.column_of.items()) if column >= 0}


class _Pairing:
    """The best pairing of the rows added so far. A row left alone sits in a column of its own, ``~row``."""

    def __init__(self, weights: Sequence[Mapping[int, int]]) -> None:
        self.weights = weights
        self.column_of: dict[int, int] = {}
        self.row_of: dict[int, int] = {}
        self.price: dict[int, int] = {}

    def add(self, root: int) -> None:
        """Find a place for one more row, moving earlier ones where that gains."""
        settled, reached_from = self.search(root)
        column, cost = next(reversed(settled.items()))
        for visited, distance in settled.items():
            self.price[visited] = self.price.get(visited, 0) + distance - cost
        row = reached_from[column]
        while row != root:
            left = self.column_of[row]
            self.column_of[row], self.row_of[column] = column, row
            column, row = left, reached_from[left]
        self.column_of[root], self.row_of[column] = column, root

    def search(self, root: int) -> tuple[dict[int, int], dict[int, int]]:
        """Visit columns, nearest first, up to a free one: their distances, and the rows that led there."""
        settled: dict[int, int] = {}
        nearest: dict[int, int] = {}
        reached_from: dict[int, int] = {}
        queue: list[tuple[int, int]] = []
        row, travelled = root, 0
        while True:
            for column, weight in (*self.weights[row].items(), (~row, 0)):
                distance = travelled - weight - self.price.get(column, 0)
                if column not in settled and (column not in nearest or distance < nearest[column]):
                    nearest[column], reached_from[column] = distance, row
                    heappush(queue, (distance, column))
            distance, column = heappop(queue)
            while column in settled:
                distance, column = heappop(queue)
            settled[column] = distance
            if column not in self.row_of:
                return settled, reached_from
            row = self.row_of[column]
            travelled = distance + self.weights[row].get(column, 0) + self.price[column]


# Which predicted citation stands for which true one, and how well each pair agrees.

# Between pairings of equal overlap the better Jaccard decides, to this many steps.
_JACCARD_STEPS = 2**30


class CitationPair(msgspec.Struct, frozen=True):
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
    return shared / (true.size + predicted.size - shared)


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
    """Return True if two citations are of one file, and of one page where both have one."""
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


DEFAULT_TOLERANCE = 10
GOOD_MATCH = 0.8


@dataclass(frozen=True, slots=True)
class CitationSpanReport:
    """The agreement of predicted citations with the true ones.

    The means are over pairs and unpaired citations of either side, which count 0; they are ``None`` when
    there is no citation at all. ``perfect_matches`` are pairs with the very same characters;
    ``good_matches``, which include them, have a tolerance Jaccard of at least 0.8. Character precision is
    ``None`` when nothing is predicted, recall when nothing is true, F1 when neither is there.
    """

    mean_exact_jaccard: float | None
    mean_tolerance_jaccard: float | None
    perfect_matches: int
    good_matches: int
    character_precision: float | None
    character_recall: float | None
    character_f1: float | None
    unpaired_true: int
    unpaired_predicted: int
    pairs: tuple[CitationPair, ...] = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        """Return a figure by its name, as from the dictionary that result files hold."""
        return self.to_dict()[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, without the pairs, as result files hold them."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "pairs"}


def evaluate_citation_spans(
    true: Sequence[CitationLike],
    predicted: Sequence[CitationLike],
    tolerance_chars: int = DEFAULT_TOLERANCE,
    *,
    unreadable: int = 0,
) -> CitationSpanReport:
    """Return the agreement of predicted citations with the true ones.

    A citation is a :class:`SpanCitation`, a :class:`CharacterSpan`, or ``{file_name, page_number, start_char,
    end_char}``, also by the other names that :mod:`rag_evaluation_framework.records.citations` knows. Pairs
    are one to one, within the same file (and page where both have one), and share as many characters as
    possible. A citation without a page may be on any. The same place twice, on either side, counts once.

    Args:
        true: The correct citations.
        predicted: The citations of the answer.
        tolerance_chars: Number of characters by which an end may differ in the tolerance Jaccard.
        unreadable: Number of additional predicted citations without characters; they stay unpaired.

    Returns:
        The report: the means over pairs and unpaired citations.

    Raises:
        InputError: A citation cannot be read.

    Example:
        >>> from rag_evaluation_framework import SpanCitation, evaluate_citation_spans
        >>> place = SpanCitation("rome.md", 0, 12)
        >>> evaluate_citation_spans([place], [place]).perfect_matches
        1
    """
    if type(tolerance_chars) is not int or tolerance_chars < 0:
        raise invalid("tolerance_chars", "a whole number of at least 0", tolerance_chars)
    expected = distinct_places(span_citations(true, "true"))
    found = distinct_places(span_citations(predicted, "predicted"))
    pairs = pair_citations(expected, found, tolerance_chars=tolerance_chars)
    scored = len(expected) + len(found) + unreadable - len(pairs)
    recall, precision = _share_covered(expected, found), _share_covered(found, expected)
    return CitationSpanReport(
        mean_exact_jaccard=_mean([pair.exact_jaccard for pair in pairs], scored),
        mean_tolerance_jaccard=_mean([pair.tolerance_jaccard for pair in pairs], scored),
        perfect_matches=sum(pair.exact_jaccard == 1.0 for pair in pairs),
        good_matches=sum(pair.tolerance_jaccard >= GOOD_MATCH for pair in pairs),
        character_precision=precision,
        character_recall=recall,
        character_f1=_f1(precision, recall),
        unpaired_true=len(expected) - len(pairs),
        unpaired_predicted=len(found) + unreadable - len(pairs),
        pairs=tuple(pairs),
    )


def _mean(values: Sequence[float], scored: int) -> float | None:
    return math.fsum(values) / scored if scored else None


def _f1(precision: float | None, recall: float | None) -> float | None:
    if precision is None and recall is None:
        return None
    if not precision or not recall:
        return 0.0
    return 2 * precision * recall / (precision + recall)


def _share_covered(side: Sequence[SpanCitation], other: Sequence[SpanCitation]) -> float | None:
    """Return the share of one side's characters that the other side cites too, each counted once.

    Every place (a file, or a page of it) is counted by itself, against all that may be in that place.
    """
    places: dict[tuple[str, int | None], list[SpanCitation]] = {}
    for citation in side:
        places.setdefault((citation.file, citation.page), []).append(citation)
    in_file: dict[str, list[SpanCitation]] = {}
    for citation in other:
        in_file.setdefault(citation.file, []).append(citation)
    own = [_on_one_line(citations) for citations in places.values()]
    facing = [
        _on_one_line(
            [cited for cited in in_file.get(citations[0].file, ()) if same_place(cited, citations[0])]
        )
        for citations in places.values()
    ]
    counts = count_characters(*columns_of(facing, own), queries=len(places))
    total = int(counts.relevant.sum())
    return int(counts.shared.sum()) / total if total else None


def _on_one_line(citations: Sequence[SpanCitation]) -> list[CharacterSpan]:
    return [CharacterSpan(DocumentId(citation.file), citation.start, citation.end) for citation in citations]


@metric("citation_exact_jaccard", reads=CITED_SPANS, shows=("predicted",))
def citation_exact_jaccard(
    predicted: Sequence[CitationLike], true: Sequence[CitationLike], *, unreadable: int = 0
) -> float | None:
    """The overlap of the cited and the expected spans, exact to the character.

    Formula: mean over pairs of |true ∩ predicted| / |true ∪ predicted|, in characters; pairs are one to one
    and share as many characters as possible; an unpaired span of either side counts 0, and so does a
    citation that cannot be read. The same place twice, on either side, is one span.

    Empty: 0 when one side is empty; no value when both are.

    Source: span accuracy of citations, ``mean_exact_jaccard``; Jaccard, 1901.
    """
    return evaluate_citation_spans(true, predicted, unreadable=unreadable).mean_exact_jaccard


@metric(
    "citation_tolerance_jaccard",
    reads=CITED_SPANS,
    shows=("predicted",),
    allowed={"tolerance_chars": Within(0)},
)
def citation_tolerance_jaccard(
    predicted: Sequence[CitationLike],
    true: Sequence[CitationLike],
    *,
    tolerance_chars: int = DEFAULT_TOLERANCE,
    unreadable: int = 0,
) -> float | None:
    """The overlap of the cited and the expected spans, with a tolerance of a few characters.

    Formula: as citation_exact_jaccard, after each predicted end within ``tolerance_chars`` of the true one
    has been moved onto it.

    Empty: 0 when one side is empty; no value when both are.

    Source: span accuracy of citations, ``mean_tolerance_jaccard``.
    """
    report = evaluate_citation_spans(true, predicted, tolerance_chars, unreadable=unreadable)
    return report.mean_tolerance_jaccard


@metric("citation_span_precision", reads=CITED_SPANS, shows=("predicted",))
def citation_span_precision(predicted: Sequence[CitationLike], true: Sequence[CitationLike]) -> float | None:
    """The share of the cited characters that is in an expected citation.

    Formula: |predicted ∩ true| / |predicted|, in characters of the same file and page, each once.

    Empty: no value when nothing is cited, or nothing that can be read.

    Source: character precision of citations.
    """
    return evaluate_citation_spans(true, predicted).character_precision


@metric("citation_span_recall", reads=CITED_SPANS, shows=("predicted",))
def citation_span_recall(predicted: Sequence[CitationLike], true: Sequence[CitationLike]) -> float | None:
    """The share of the expected citation characters that is cited.

    Formula: |predicted ∩ true| / |true|, in characters of the same file and page, each once.

    Empty: no value when nothing should be cited.

    Source: character recall of citations.
    """
    return evaluate_citation_spans(true, predicted).character_recall


@metric("citation_span_f1", reads=CITED_SPANS, shows=("predicted",))
def citation_span_f1(predicted: Sequence[CitationLike], true: Sequence[CitationLike]) -> float | None:
    """The harmonic mean of citation span precision and recall.

    Formula: 2 × precision × recall / (precision + recall).

    Empty: 0 when one side is empty; no value when both are.

    Source: character F1 of citations; van Rijsbergen, "Information Retrieval", 1979.
    """
    return evaluate_citation_spans(true, predicted).character_f1


# The numbered contexts that an answer cites, against those that its reference cites: ``[1][3]`` and ``[3]``.
# Both must number the same contexts, as where a model is given the contexts of the record.


def _uncited(reference: str) -> str | None:
    return None if _context_numbers(reference) else "the reference cites no numbered context"


def _context_numbers(text: str) -> set[int]:
    cited = (placed.citation for placed in parse_citations(text).citations)
    return {citation.number for citation in cited if isinstance(citation, ContextCitation)}


@metric("cited_context_precision", reads=TEXTS, unless=(_uncited,))
def cited_context_precision(answer: str, reference: str) -> float | None:
    """The share of the context numbers cited by the answer that the reference cites too.

    Formula: |cited by both| / |cited by the answer|, each number once.

    Empty: no value for an answer that cites no numbered context, nor where the reference cites none.

    Source: citation tasks of evaluation splits.
    """
    cited = _context_numbers(answer)
    return len(cited & _context_numbers(reference)) / len(cited) if cited else None


@metric("cited_context_recall", reads=TEXTS, unless=(_uncited,))
def cited_context_recall(answer: str, reference: str) -> float:
    """The share of the context numbers cited by the reference that the answer cites too.

    Formula: |cited by both| / |cited by the reference|, each number once.

    Empty: 0 if the answer cites no numbered context; no value where the reference cites none.

    Source: citation tasks of evaluation splits.
    """
    expected = _context_numbers(reference)
    return len(_context_numbers(answer) & expected) / len(expected)


@metric("cited_context_f1", reads=TEXTS, unless=(_uncited,))
def cited_context_f1(answer: str, reference: str) -> float:
    """The harmonic mean of cited context precision and recall.

    Formula: 2 × |cited by both| / (|cited by the answer| + |cited by the reference|), each number once.

    Empty: 0 if the answer cites no numbered context; no value where the reference cites none.

    Source: citation tasks of evaluation splits.
    """
    cited, expected = _context_numbers(answer), _context_numbers(reference)
    return 2 * len(cited & expected) / (len(cited) + len(expected))


# Citations against the claims they stand at: whether what is cited bears them out.
#
# Each metric is a function of flags, one for each sentence, claim or citation. Who decides what a cited
# text supports is the metric's method; how the flags are found is told in
# ``judging/citations/citation_support.py``.

OVERALL_WEIGHTS: Mapping[str, float] = {
    "tolerance_jaccard": 0.30,
    "citation_validity": 0.30,
    "mean_consistency": 0.25,
    "no_hallucination": 0.15,
}
"""Default weight of each part in ``overall_citation_accuracy``."""


@metric("citation_recall", reads=CITATIONS, shows=("supported",))
def citation_recall(supported: Sequence[bool]) -> float | None:
    """The share of the answer's sentences that their citations support.

    Formula: supported sentences / sentences that claim something. A sentence is supported when all that it
    cites can be opened and, taken together, supports it. Of citations beside the answer, those that can be
    opened are taken together.

    Empty: no value for an answer that claims nothing; such a sample is skipped.

    Source: Gao et al., "Enabling Large Language Models to Generate Text with Citations" (ALCE), EMNLP 2023.
    """
    return share(supported)


@metric("citation_precision", reads=CITATIONS, shows=("relevant",))
def citation_precision(relevant: Sequence[bool]) -> float:
    """The share of the answer's citations that help to support their sentence.

    Formula: relevant citations / citations, the same place in one sentence counted once. A citation is
    relevant when its sentence is supported by all that it cites, unless the citation does not support the
    sentence alone and the others do without it. A citation that cannot be opened, or is in a sentence that
    claims nothing, is not relevant.

    Empty: 0 if the answer has claims and no citations.

    Source: Gao et al. (ALCE), EMNLP 2023. Its program leaves out the citations of a sentence that cites
    something out of range.
    """
    return share(relevant) or 0.0


@metric("citation_f1", reads=CITATIONS, shows=("supported", "relevant"))
def citation_f1(supported: Sequence[bool], relevant: Sequence[bool]) -> float | None:
    """The harmonic mean of citation recall and citation precision.

    Formula: 2 × precision × recall / (precision + recall).

    Empty: 0 when either is 0; no value for an answer that claims nothing.

    Source: Gao et al. (ALCE), EMNLP 2023; van Rijsbergen, "Information Retrieval", 1979.
    """
    recall, precision = citation_recall(supported), citation_precision(relevant)
    if recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


@metric("citation_completeness", reads=CITATIONS, shows=("cited",))
def citation_completeness(cited: Sequence[bool]) -> float | None:
    """The share of the answer's claims that has a citation.

    Formula: cited claims / claims. A claim is cited when its sentence has a citation, right or wrong; where
    the citations come beside the answer, when one of them supports it.

    Empty: no value for an answer that claims nothing; such a sample is skipped.

    Source: citation metrics of evaluation results, ``citation_completeness``.
    """
    return share(cited)


@metric("citation_correctness", reads=CITATIONS, shows=("correct",))
def citation_correctness(correct: Sequence[bool]) -> float | None:
    """The share of the citations that supports a claim of its sentence.

    Formula: correct citations / citations, the same place in one sentence counted once. A citation is correct
    when it alone supports a claim of its sentence; where the citations come beside the answer, any claim.

    Empty: no value when nothing is cited; such a sample is skipped.

    Source: citation metrics of evaluation results, ``citation_correctness``.
    """
    return share(correct)


@metric("citation_validity", reads=CITATIONS, shows=("opened",))
def citation_validity(opened: Sequence[bool]) -> float | None:
    """The share of the citations that can be opened.

    Formula: valid citations / citations, the same place in one sentence counted once. A citation is valid
    when the characters are inside its document (inside the page where it has one), or there is a context of
    its number; and when the words that it quotes are there. One whose file is none of the documents, or may
    be several, is not scored.

    Empty: no value when nothing is cited; such a sample is skipped.

    Source: citation checks that open what is cited.
    """
    return share(opened)


@metric("overall_citation_accuracy", reads=CITATIONS, shows=("parts",))
def overall_citation_accuracy(
    parts: Mapping[str, float | None], weights: Mapping[str, float] = OVERALL_WEIGHTS
) -> float | None:
    """The weighted mean of accuracy, validity and consistency of an answer's citations.

    Formula: 0.30 × citation_tolerance_jaccard + 0.30 × citation_validity + 0.25 × mean consistency + 0.15 ×
    (1 − hallucination_rate). The mean consistency is that of the claims' probabilities to be supported; an
    answer that claims something and cites nothing has validity 0. Where no cited file is one of the
    documents, the validity is left out, and the other weights count for the whole.

    Empty: no value where a part that counts has none; such a sample is skipped.

    Source: citation metrics of evaluation results, ``overall_citation_accuracy``.
    """
    weights = {name: weight for name, weight in weights.items() if weight and name in parts}
    if not weights or any(parts[name] is None for name in weights):
        return None
    total = math.fsum(weight * (parts[name] or 0.0) for name, weight in weights.items())
    return total / math.fsum(weights.values())


# The claims of an answer against its sources, whatever it cites: a flag for each claim.
#
# Who decides what the sources bear out is the metric's method.


@metric("factual_consistency", reads=CITATIONS, shows=("consistent",))
def factual_consistency(consistent: Sequence[bool]) -> float | None:
    """The share of the answer's claims that is consistent with the sources, cited or not.

    Formula: consistent claims / claims. The sources are the contexts that came with the answer; without any,
    the documents that it cites or that are relevant to the question.

    Empty: no value for an answer that claims nothing; such a sample is skipped.

    Source: answer quality metrics of evaluation results, ``factual_consistency``.
    """
    return share(consistent)


@metric("hallucination_rate", reads=CITATIONS, higher_is_better=False, shows=("consistent",))
def hallucination_rate(consistent: Sequence[bool]) -> float | None:
    """The share of the answer's claims that the sources do not support.

    Formula: (claims − consistent claims) / claims, with the sources of factual_consistency; 1 −
    factual_consistency.

    Empty: no value for an answer that claims nothing; such a sample is skipped.

    Source: answer quality metrics of evaluation results, ``hallucination_rate``.
    """
    return share([not each for each in consistent])
