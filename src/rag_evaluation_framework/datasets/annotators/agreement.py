"""How far the annotators of a dataset agree, on what, and who disagrees where.

Only what two annotators or more have said something about counts. Disagreements are listed worst first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import fsum
from typing import Any

from rag_evaluation_framework.datasets.annotators.agreement_figures import (
    AgreementFigure,
    aspect_figure,
    document_figure,
    jaccard_figure,
    score_figure,
)
from rag_evaluation_framework.datasets.annotators.annotated_queries import (
    OVERALL,
    Marks,
    RatedUnit,
    aspect_ratings,
    judged_answers,
    marks_by_query,
    quality_scores,
)
from rag_evaluation_framework.datasets.annotators.marked_characters import jaccard, marked_stretches
from rag_evaluation_framework.records.annotations import Annotation
from rag_evaluation_framework.statistics.agreement_tables import Resampling

Pair = tuple[str, str]
Scores = Mapping[str, Sequence[RatedUnit[float]]]


@dataclass(frozen=True, slots=True)
class QueryAgreement:
    """How far the annotators of one query agree on its characters, and which two differ most."""

    query_id: str
    n_annotators: int
    jaccard: float
    furthest_pair: Pair
    furthest_jaccard: float


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """The quality score on which the annotators of a query differ most, and who gave least and most."""

    query_id: str
    score: str
    difference: float
    lowest: str
    highest: str


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How far two annotators agree on characters, and by how much their scores differ on average."""

    pair: Pair
    n_queries: int
    jaccard: float | None
    n_scores: int
    score_difference: float | None


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Agreement on everything that was annotated by two or more, then pairs and queries, worst first."""

    annotators: tuple[str, ...]
    n_queries: int
    n_shared: int
    figures: tuple[AgreementFigure, ...]
    pairs: tuple[PairAgreement, ...]
    queries: tuple[QueryAgreement, ...]
    scores: tuple[ScoreDifference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for a JSON file."""
        return asdict(self)


def agreement_report(
    annotations: Sequence[Annotation], *, resampling: Resampling | None = None
) -> AgreementReport:
    """Measure the agreement of all annotators; one who annotated the same thing twice is an error."""
    resampling = resampling or Resampling()
    marks, answers = marks_by_query(annotations), judged_answers(annotations)
    shared = {query: given for query, given in marks.items() if len(given) >= 2}
    jaccards = {query: _pair_jaccards(given) for query, given in shared.items()}
    queries = [_query_agreement(query, of_pairs) for query, of_pairs in jaccards.items()]
    scores = quality_scores(answers)
    figures = [
        *([jaccard_figure([query.jaccard for query in queries], resampling)] if queries else []),
        *([document_figure(shared, documents=_documents(marks), resampling=resampling)] if shared else []),
        *(aspect_figure(aspect, units, resampling) for aspect, units in aspect_ratings(answers).items()),
        *(score_figure(score, units, resampling) for score, units in scores.items()),
    ]
    judged_twice = {answer.query_id for answer in answers if len(answer.ratings) >= 2}
    names = {who for given in marks.values() for who in given}
    return AgreementReport(
        annotators=tuple(sorted(names.union(*(answer.ratings for answer in answers)))),
        n_queries=len({annotation.query_id for annotation in annotations}),
        n_shared=len(judged_twice.union(shared)),
        figures=tuple(figures),
        pairs=tuple(_pair_agreements(jaccards, scores)),
        queries=tuple(sorted(queries, key=lambda query: (query.jaccard, query.query_id))),
        scores=tuple(
            sorted(_score_differences(scores), key=lambda row: (-round(row.difference, 9), row.query_id))
        ),
    )


def _documents(marks: Mapping[str, Marks]) -> int:
    return len({span.file for given in marks.values() for spans in given.values() for span in spans})


def _pair_jaccards(marks: Marks) -> dict[Pair, float]:
    stretches = marked_stretches(marks)
    return {(a, b): jaccard(stretches, a, b) for a, b in combinations(sorted(marks), 2)}


def _query_agreement(query: str, of_pairs: Mapping[Pair, float]) -> QueryAgreement:
    furthest = min(of_pairs, key=lambda pair: (of_pairs[pair], pair))
    return QueryAgreement(
        query,
        n_annotators=len({who for pair in of_pairs for who in pair}),
        jaccard=fsum(of_pairs.values()) / len(of_pairs),
        furthest_pair=furthest,
        furthest_jaccard=of_pairs[furthest],
    )


def _score_differences(scores: Scores) -> Iterator[ScoreDifference]:
    """Yield, for each query, the score that differs most between the annotators of an answer."""
    queries: dict[str, list[ScoreDifference]] = defaultdict(list)
    for score, units in scores.items():
        for unit in units if score != OVERALL else ():
            lowest, highest = (choose(unit.ratings, key=unit.ratings.__getitem__) for choose in (min, max))
            difference = unit.ratings[highest] - unit.ratings[lowest]
            queries[unit.query_id].append(ScoreDifference(unit.query_id, score, difference, lowest, highest))
    for rows in queries.values():
        yield max(rows, key=lambda row: row.difference)


def _pair_agreements(jaccards: Mapping[str, Mapping[Pair, float]], scores: Scores) -> list[PairAgreement]:
    """Return every pair of annotators with something in common: the least alike on characters first."""
    overlaps: dict[Pair, list[float]] = defaultdict(list)
    differences: dict[Pair, list[float]] = defaultdict(list)
    for of_pairs in jaccards.values():
        for pair, value in of_pairs.items():
            overlaps[pair].append(value)
    for score, units in scores.items():
        for unit in units if score != OVERALL else ():
            for a, b in combinations(sorted(unit.ratings), 2):
                differences[a, b].append(abs(unit.ratings[a] - unit.ratings[b]))
    rows = [
        PairAgreement(
            pair, len(overlaps[pair]), _mean(overlaps[pair]), len(differences[pair]), _mean(differences[pair])
        )
        for pair in sorted(overlaps.keys() | differences.keys())
    ]
    return sorted(
        rows, key=lambda row: (2.0 if row.jaccard is None else row.jaccard, -(row.score_difference or 0.0))
    )


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
