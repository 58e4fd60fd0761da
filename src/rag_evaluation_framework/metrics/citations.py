"""Cited characters against the true ones, span by span and character by character. No model is asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.metrics.citation_forms import CitationLike, span_citations
from rag_evaluation_framework.metrics.citation_pairs import (
    CitationPair,
    distinct_places,
    pair_citations,
    same_place,
)
from rag_evaluation_framework.metrics.declaration import Within, metric
from rag_evaluation_framework.metrics.span_columns import columns_of
from rag_evaluation_framework.metrics.span_sets import count_characters
from rag_evaluation_framework.metrics.views import CITED_SPANS
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.spans import CharacterSpan

DEFAULT_TOLERANCE = 10
GOOD_MATCH = 0.8


@dataclass(frozen=True, slots=True)
class CitationSpanReport:
    """How well predicted citations agree with the true ones.

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
    pairs: tuple[CitationPair, ...]

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
    """Pair the predicted citations with the true ones and measure how far they agree.

    A citation is a SpanCitation, a CharacterSpan, or ``{file_name, page_number, start_char, end_char}``, also
    by the other names that :mod:`.citation_forms` knows.
    Pairs are one to one, within the same file (and page where both have one), and share as many characters
    as possible. A citation without a page may be on any. The same place twice, on either side, is one. So
    many more predicted citations as are ``unreadable`` were meant and have no characters: they are unpaired.
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
    """How far the cited spans are the true ones, to the character.

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
    """How far the cited spans are the true ones, forgiving ends that are off by a few characters.

    Formula: as citation_exact_jaccard, after each predicted end within ``tolerance_chars`` of the true one
    has been moved onto it.

    Empty: 0 when one side is empty; no value when both are.

    Source: span accuracy of citations, ``mean_tolerance_jaccard``.
    """
    report = evaluate_citation_spans(true, predicted, tolerance_chars, unreadable=unreadable)
    return report.mean_tolerance_jaccard


@metric("citation_span_precision", reads=CITED_SPANS, shows=("predicted",))
def citation_span_precision(predicted: Sequence[CitationLike], true: Sequence[CitationLike]) -> float | None:
    """What share of the cited characters is in a true citation.

    Formula: |predicted ∩ true| / |predicted|, in characters of the same file and page, each once.

    Empty: no value when nothing is cited, or nothing that can be read.

    Source: character precision of citations.
    """
    return evaluate_citation_spans(true, predicted).character_precision


@metric("citation_span_recall", reads=CITED_SPANS, shows=("predicted",))
def citation_span_recall(predicted: Sequence[CitationLike], true: Sequence[CitationLike]) -> float | None:
    """What share of the characters that should be cited is cited.

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
