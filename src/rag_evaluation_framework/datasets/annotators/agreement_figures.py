"""The figures of agreement between annotators, each with a bootstrap interval over queries.

===================  =====================================================================================
what                 figure
===================  =====================================================================================
characters marked    Jaccard of each pair of annotators: the mean over a query's pairs, then over queries
documents cited      cited or not, for each query and each document that anyone ever cited
an aspect            the words given to an answer
a quality score      the numbers given to an answer
===================  =====================================================================================

Words are compared by Cohen's kappa where just two annotators gave them, else by Krippendorff's alpha; numbers
by interval alpha.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TypeVar

from rag_evaluation_framework.datasets.annotators.annotated_queries import Marks, RatedUnit
from rag_evaluation_framework.statistics.agreement_tables import (
    Estimate,
    Resampling,
    alpha_of_moments,
    alpha_of_tables,
    coincidence_table,
    kappa_of_tables,
    moments,
    pair_table,
)
from rag_evaluation_framework.statistics.arrays import Floats
from rag_evaluation_framework.statistics.intervals import Interval, mean_interval

TARGET_JACCARD = 0.85
"""The mean pairwise Jaccard from which marked characters count as agreed upon."""

KAPPA = "Cohen's kappa"
ALPHA = "Krippendorff's alpha"
INTERVAL_ALPHA = "Krippendorff's alpha (interval)"

_CITED = (False, True)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AgreementFigure:
    """How far annotators agree on one thing; ``value`` is ``None`` where chance could not have disagreed."""

    what: str
    measure: str
    value: float | None
    interval: Interval | None
    n_queries: int
    target: float | None = None


def jaccard_figure(of_queries: Sequence[float], resampling: Resampling) -> AgreementFigure:
    """Return the mean of the queries' Jaccards, beside the target."""
    interval = mean_interval(
        of_queries,
        confidence=resampling.confidence,
        resamples=resampling.resamples,
        seed=resampling.seed,
    )
    mean = fsum(of_queries) / len(of_queries)
    n = len(of_queries)
    return AgreementFigure("characters marked", "mean pairwise Jaccard", mean, interval, n, TARGET_JACCARD)


def document_figure(
    shared: Mapping[str, Marks], *, documents: int, resampling: Resampling
) -> AgreementFigure:
    """Return the agreement on which of so many documents are cited for each query."""
    annotators = sorted({who for marks in shared.values() for who in marks})
    tables = []
    for marks in shared.values():
        files = {who: {span.file for span in spans} for who, spans in marks.items()}
        cited = Counter(file for of_one in files.values() for file in of_one)
        uncited = documents - len(cited)
        if len(annotators) == 2:
            a, b = (files[who] for who in annotators)
            table = pair_table(((file in a, file in b) for file in cited), _CITED)
            table[0, 0] += uncited
        else:
            counts = [{True: count, False: len(marks) - count} for count in cited.values()]
            table = coincidence_table(counts, _CITED)
            table += uncited * coincidence_table([{False: len(marks)}], _CITED)
        tables.append(table)
    return _nominal("documents cited", tables, len(annotators), resampling)


def aspect_figure(aspect: str, units: Sequence[RatedUnit[str]], resampling: Resampling) -> AgreementFigure:
    """Return the agreement on an aspect of the answers, rated in words."""
    labels = sorted({label for unit in units for label in unit.ratings.values()})
    annotators = sorted({who for unit in units for who in unit.ratings})
    if len(annotators) == 2:
        a, b = annotators
        tables = _per_query(units, lambda given: pair_table([(each[a], each[b]) for each in given], labels))
    else:
        tables = _per_query(
            units, lambda given: coincidence_table([Counter(each.values()) for each in given], labels)
        )
    return _nominal(aspect, tables, len(annotators), resampling)


def score_figure(score: str, units: Sequence[RatedUnit[float]], resampling: Resampling) -> AgreementFigure:
    """Return the agreement on a quality score of the answers."""
    values = [value for unit in units for value in unit.ratings.values()]
    centre = fsum(values) / len(values)
    totals = _per_query(units, lambda given: moments([[*each.values()] for each in given], centre=centre))
    return _figure(score, INTERVAL_ALPHA, alpha_of_moments(totals, resampling), len(totals))


def _nominal(what: str, tables: Sequence[Floats], annotators: int, resampling: Resampling) -> AgreementFigure:
    if annotators == 2:
        return _figure(what, KAPPA, kappa_of_tables(tables, resampling), len(tables))
    return _figure(what, ALPHA, alpha_of_tables(tables, resampling), len(tables))


def _figure(what: str, measure: str, estimate: Estimate, n_queries: int) -> AgreementFigure:
    return AgreementFigure(what, measure, estimate.value, estimate.interval, n_queries)


def _per_query(
    units: Sequence[RatedUnit[T]], totals: Callable[[Sequence[Mapping[str, T]]], Floats]
) -> list[Floats]:
    """Return the totals of each query, whose answers may have been several."""
    queries: dict[str, list[Mapping[str, T]]] = {}
    for unit in units:
        queries.setdefault(unit.query_id, []).append(unit.ratings)
    return [totals(given) for given in queries.values()]
