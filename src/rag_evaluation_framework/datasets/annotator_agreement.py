"""The agreement of annotators, and the ground truth of the majority."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from math import fsum
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from rag_evaluation_framework.datasets.annotations import (
    OVERALL,
    Answer,
    Marks,
    RatedUnit,
    annotator_of,
    aspect_ratings,
    judged_answers,
    marks_by_query,
    quality_scores,
    read_annotation_files,
)
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.samples import (
    AnnotatedTruth,
    Annotation,
    AnnotationSet,
    AnswerQualityAnnotation,
    CitationAnnotation,
)
from rag_evaluation_framework.statistics.agreement import (
    Resampling,
    alpha_of_moments,
    alpha_of_tables,
    coincidence_table,
    kappa_of_tables,
    moments,
    pair_table,
)
from rag_evaluation_framework.statistics.intervals import Interval, mean_interval
from rag_evaluation_framework.statistics.resampling import Floats
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.text.spans import Spanned

# The figures of agreement between annotators, each with a bootstrap interval over queries.
#
# ===================  =====================================================================================
# what                 figure
# ===================  =====================================================================================
# characters marked    Jaccard of each pair of annotators: the mean over a query's pairs, then over queries
# documents cited      cited or not, for each query and each document that anyone ever cited
# an aspect            the words given to an answer
# a quality score      the numbers given to an answer
# ===================  =====================================================================================
#
# Words are compared by Cohen's kappa where just two annotators gave them, else by Krippendorff's alpha;
# numbers by interval alpha.

TARGET_JACCARD = 0.85
"""The mean pairwise Jaccard from which marked characters count as agreed upon."""

KAPPA = "Cohen's kappa"
ALPHA = "Krippendorff's alpha"
INTERVAL_ALPHA = "Krippendorff's alpha (interval)"

_CITED = (False, True)
T = TypeVar("T")


class AgreementFigure(msgspec.Struct, frozen=True):
    """The agreement of annotators on one field; ``value`` is ``None`` if they could not have disagreed."""

    what: str
    measure: str
    value: float | None
    interval: Interval | None
    n_queries: int
    target: float | None = None


def jaccard_figure(of_queries: Sequence[float], resampling: Resampling) -> AgreementFigure:
    """Return the mean of the queries' Jaccards, beside the target."""
    interval = mean_interval(
        of_queries, confidence=resampling.confidence, resamples=resampling.resamples, seed=resampling.seed
    )
    n = len(of_queries)
    mean = fsum(of_queries) / n
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
    found = alpha_of_moments(totals, resampling)
    return AgreementFigure(score, INTERVAL_ALPHA, found.value, found.interval, len(totals))


def _nominal(what: str, tables: Sequence[Floats], annotators: int, resampling: Resampling) -> AgreementFigure:
    agreement, measure = (kappa_of_tables, KAPPA) if annotators == 2 else (alpha_of_tables, ALPHA)
    found = agreement(tables, resampling)
    return AgreementFigure(what, measure, found.value, found.interval, len(tables))


def _per_query(
    units: Sequence[RatedUnit[T]], totals: Callable[[Sequence[Mapping[str, T]]], Floats]
) -> list[Floats]:
    """Return the totals of each query, whose answers may have been several."""
    queries: dict[str, list[Mapping[str, T]]] = {}
    for unit in units:
        queries.setdefault(unit.query_id, []).append(unit.ratings)
    return [totals(given) for given in queries.values()]


# Who marked which characters: spans of several annotators laid over one another.
#
# The spans of one query are cut into stretches that the same annotators marked throughout. Everything else is
# counting: what two of them share, and what most of them marked. Each character counts once for an annotator,
# however often it was marked. Pages count where every span of a file has one; else they are left out.


class MarkedStretch(msgspec.Struct, Spanned, frozen=True):
    """The characters ``[start, end)`` of a file, marked by exactly these annotators."""

    file: str
    page: int | None
    start: int
    end: int
    annotators: frozenset[str]


def marked_stretches(marks: Mapping[str, Sequence[SpanCitation]]) -> list[MarkedStretch]:
    """Cut the spans that annotators marked into stretches, sorted by file, page and start."""
    spans = [span for annotated in marks.values() for span in annotated]
    with_pages = {span.file for span in spans} - {span.file for span in spans if span.page is None}
    edges: dict[tuple[str, int | None], list[tuple[int, int, str]]] = defaultdict(list)
    for annotator, annotated in marks.items():
        for span in annotated:
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
    both = sum(stretch.size for stretch in stretches if {a, b} <= stretch.annotators)
    either = sum(stretch.size for stretch in stretches if stretch.annotators & {a, b})
    return both / either if either else 1.0


class Majority(msgspec.Struct, frozen=True):
    """The characters that more than half of the annotators marked, and how many exactly half of them did."""

    spans: tuple[SpanCitation, ...]
    tied_characters: int


def majority(marks: Mapping[str, Sequence[SpanCitation]]) -> Majority:
    """Keep the characters that more than half marked; a span's confidence is the mean share who did."""
    stretches = marked_stretches(marks)
    kept = [stretch for stretch in stretches if 2 * len(stretch.annotators) > len(marks)]
    tied = sum(stretch.size for stretch in stretches if 2 * len(stretch.annotators) == len(marks))
    sources = [span for spans in marks.values() for span in spans]
    return Majority(tuple(_span(group, len(marks), sources) for group in _touching(kept)), tied)


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
    votes = sum(stretch.size * len(stretch.annotators) for stretch in group)
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


# How far the annotators of a dataset agree, on what, and who disagrees where.
#
# Only what two annotators or more have said something about counts. Disagreements are listed worst first.

Pair = tuple[str, str]
Scores = Mapping[str, Sequence[RatedUnit[float]]]


class QueryAgreement(msgspec.Struct, frozen=True):
    """The agreement of the annotators of one query on its characters, and the pair with the least."""

    query_id: str
    n_annotators: int
    jaccard: float
    furthest_pair: Pair
    furthest_jaccard: float


class ScoreDifference(msgspec.Struct, frozen=True):
    """The quality score on which the annotators of a query differ most, and who gave least and most."""

    query_id: str
    score: str
    difference: float
    lowest: str
    highest: str


class PairAgreement(msgspec.Struct, frozen=True):
    """The agreement of two annotators on characters, and the mean difference of their scores."""

    pair: Pair
    n_queries: int
    jaccard: float | None
    n_scores: int
    score_difference: float | None


class AgreementReport(msgspec.Struct, frozen=True):
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
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


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
    cited = {span.file for given in marks.values() for spans in given.values() for span in spans}
    figures = [
        *([jaccard_figure([query.jaccard for query in queries], resampling)] if queries else []),
        *([document_figure(shared, documents=len(cited), resampling=resampling)] if shared else []),
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


# One truth out of several annotators': what more than half of them say.
#
# A character is kept when more than half of the annotators of its query marked it; of two annotators that
# is what both marked. Scores are averaged. A rating in words is kept when more than half gave it.
# Characters that exactly half marked, and aspects without a majority, are left out and stated in the
# annotation's metadata.

MERGED = "majority"
"""The annotator of a merged annotation."""


def merged_truth(annotations: AnnotationSet) -> AnnotationSet:
    """Return one annotation of the characters of each query, and one of each answer that was judged."""
    sources: dict[str, list[Annotation]] = {}
    for annotation in annotations.annotations:
        if annotation.citations is not None:
            sources.setdefault(annotation.query_id, []).append(annotation)
    merged: list[Annotation] = [
        _merged_marks(query, marks, sources[query])
        for query, marks in marks_by_query(annotations.annotations).items()
    ]
    answers: Counter[str] = Counter()
    for answer in judged_answers(annotations.annotations):
        answers[answer.query_id] += 1
        merged.append(_merged_answer(answer, number=answers[answer.query_id]))
    return replace(annotations, annotations=tuple(merged))


def _merged_marks(query: str, marks: Marks, sources: Sequence[Annotation]) -> CitationAnnotation:
    kept = majority(marks)
    return CitationAnnotation(
        annotation_id=f"merged_{query}",
        query_id=query,
        annotator_id=MERGED,
        timestamp=_latest(sources),
        citations=kept.spans,
        extra={"metadata": _provenance(sources) | {"tied_characters": kept.tied_characters}},
    )


def _merged_answer(answer: Answer, *, number: int) -> AnswerQualityAnnotation:
    sources = list(answer.ratings.values())
    scores: dict[str, list[float]] = defaultdict(list)
    ratings: dict[str, Counter[str]] = defaultdict(Counter)
    for annotation in sources:
        for name, score in annotation.quality_scores.items():
            scores[name].append(score)
        for aspect, rating in annotation.aspect_ratings.items():
            ratings[aspect][rating] += 1
    leading = {aspect: given.most_common(1)[0] for aspect, given in ratings.items()}
    decided = {
        aspect: rating for aspect, (rating, votes) in leading.items() if 2 * votes > ratings[aspect].total()
    }
    undecided = [aspect for aspect in ratings if aspect not in decided]
    merged = AnswerQualityAnnotation(
        annotation_id=f"merged_answer_{answer.query_id}" + (f"_{number}" if number > 1 else ""),
        query_id=answer.query_id,
        annotator_id=MERGED,
        timestamp=_latest(sources),
        answer_text=sources[0].answer_text,
        quality_scores={name: fsum(given) / len(given) for name, given in scores.items()},
        aspect_ratings=decided,
        extra={"metadata": _provenance(sources) | {"undecided_aspects": undecided}},
    )
    return replace(merged, overall_score=merged.mean_score)


def _provenance(sources: Sequence[Annotation]) -> dict[str, Any]:
    return {
        "merged_from": [annotation.annotation_id for annotation in sources],
        "annotators": [annotator_of(annotation) for annotation in sources],
    }


def _latest(sources: Sequence[Annotation]) -> str | None:
    """Return the text of the last time at which one of them was made."""
    times = [annotation.timestamp for annotation in sources if annotation.timestamp is not None]
    return max(times, key=_moment, default=None)


def _moment(timestamp: str) -> tuple[float, str]:
    try:
        return datetime.fromisoformat(timestamp).timestamp(), timestamp
    except (ValueError, OverflowError):
        return 0.0, timestamp  # a leap second, which Python does not know


# What was agreed upon holds until somebody annotates the query again.


def truth_in(agreed_file: Path | None, own_files: Sequence[Path]) -> AnnotatedTruth:
    """Return the truth that annotation files give: what was agreed upon, and what each annotator says."""
    files = () if agreed_file is None else (agreed_file,)
    agreed = read_annotation_files(files).annotations
    said = read_annotation_files(own_files).annotations
    settled, marked = marks_by_query(agreed), marks_by_query(said)
    agreed_at, said_at = _times(agreed), _times(said)
    chosen = settled | {
        query: marks
        for query, marks in marked.items()
        if query not in settled or said_at[query] > agreed_at[query]
    }
    return AnnotatedTruth(
        {query: majority(marks).spans for query, marks in chosen.items()}, (*files, *own_files)
    )


def _times(annotations: Sequence[Annotation]) -> dict[str, float]:
    """Return when the spans of each query were last annotated; 0 where nobody says."""
    times: dict[str, float] = {}
    for each in annotations:
        if each.citations is not None:
            when = 0.0 if each.timestamp is None else _moment(each.timestamp)[0]
            times[each.query_id] = max(when, times.get(each.query_id, 0.0))
    return times
