"""Judgements and runs in Python's containers, brought into judged blocks."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain, compress, islice, zip_longest
from operator import length_hint
from types import MappingProxyType
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.metrics.judged_rankings import (
    GRADE_RANGE,
    NOT_JUDGED,
    NOT_RETRIEVED,
    UNJUDGED,
    Booleans,
    Floats,
    Integers,
    JudgedBlock,
    JudgedRankings,
    RankingRules,
    Reading,
    Ties,
    as_compared,
    blocks,
    capped,
    count_grades,
    counted,
    grade_table,
    rank_of_first,
    rows_that_rise,
)

# Judgements (qrels) in Python's own containers: brought into one shape and checked.

Judgements = Mapping[Any, int] | Collection[Any]
Qrels = Mapping[Any, Judgements]


def as_lookups(
    queries: Sequence[Any], judgements: Sequence[Judgements], *, qrels: Qrels
) -> Sequence[Mapping[Any, int]]:
    """Return some judgements of the qrels as grades by document; a bare collection means grade 1 for each."""
    kinds = set(map(type, judgements))
    if all(issubclass(kind, Mapping) for kind in kinds):
        return cast("Sequence[Mapping[Any, int]]", judgements)
    if any(map(_is_wrong, kinds)):
        raise InputError(
            capped(
                Issue("judgements", "grades by document, or documents", shown(judged), f"qrels[{query!r}]")
                for query, judged in qrels.items()
                if _is_wrong(type(judged))
            )
        )
    return list(map(_as_lookup, queries, judgements))


def _is_wrong(kind: type) -> bool:
    return not issubclass(kind, Collection) or issubclass(kind, str | bytes)


def _as_lookup(query: Hashable, judged: Judgements) -> Mapping[Any, int]:
    if isinstance(judged, Mapping):
        return judged
    try:
        return dict.fromkeys(judged, 1)
    except TypeError:  # something that cannot be hashed cannot be a document id
        raise invalid(f"qrels[{query!r}]", "document ids", judged) from None


def grade_issues(query: Hashable, lookup: Mapping[Any, int]) -> list[Issue]:
    """Return an issue for each grade of a query that is not a whole number of ordinary size."""
    return [
        Issue("grade", "a whole-number grade", shown(grade), f"qrels[{query!r}][{document!r}]")
        for document, grade in lookup.items()
        if not (isinstance(grade, int | np.integer) and GRADE_RANGE.min <= int(grade) <= GRADE_RANGE.max)
    ]


def flat_grades(lookups: Sequence[Mapping[Any, int]]) -> Integers | None:
    """Return all grades one after another, as bytes if all are small; ``None`` if one is not a grade."""
    grades = [grade for lookup in lookups for grade in lookup.values()]
    # Unlike numpy, the arrays of the standard library take nothing but whole numbers.
    try:
        with suppress(ValueError):
            small = np.asarray(bytearray(grades)).view(np.int8)
            if small.min(initial=0) >= 0:
                return small
        return np.asarray(array("i", grades))
    except (TypeError, OverflowError):
        return None


# What a run in Python's own containers holds for each query, and how it meets the judgements.

Ranking = Sequence[Any] | Mapping[Any, float]
Run = Mapping[Any, Ranking]
Lookups = Sequence[Mapping[Any, int]]
GradeType = np.dtype[np.signedinteger[Any]]


class Rankings(Protocol):
    """The retrieved documents of a block of queries: ranked lists or scored documents."""

    lengths: npt.NDArray[np.int64]
    """Number of documents that each query retrieved."""

    def look_up(self, judgements: Lookups, *, depth: int | None, grade_type: GradeType) -> Integers | None:
        """Return ``grades[rank, query]`` of the first documents; ``None`` if something read is wrong."""

    def first_relevant(
        self, rows: Sequence[int], judgements: Lookups, *, relevance_level: int
    ) -> Integers | None:
        """Return the rank of the first relevant document of some queries, 0 where there is none.

        ``None`` if something is wrong that could change the rank.
        """

    def issues(self, query: Hashable, row: int) -> list[Issue]:
        """Return everything wrong with one query's ranking."""


def check_kinds(rankings: Iterable[Ranking], *, scores: bool, run: Run) -> None:
    """Refuse some rankings of a run unless all are scores by document, or else all are ranked lists."""
    kinds = set(map(type, rankings))
    if all(issubclass(kind, Mapping) if scores else _is_list(kind) for kind in kinds):
        return
    raise InputError(
        capped(
            Issue("ranking", "a ranked list of document ids", shown(ranking), f"run[{query!r}]")
            for query, ranking in run.items()
            if not _is_list(type(ranking))
        )
    )


def _is_list(kind: type) -> bool:
    return issubclass(kind, Sequence) and not issubclass(kind, str | bytes)


def counted_lengths(sized: Sequence[Any]) -> npt.NDArray[np.int64]:
    return np.fromiter(map(len, sized), dtype=np.int64, count=len(sized))


def grades_of(tops: Iterable[Sequence[Any]], judgements: Lookups, *, grade_type: GradeType) -> Integers:
    """Return the grades of each query's first documents, one query after another.

    ``grade_type`` is that of the judgements' own grades: bytes, none of them negative, or wider integers.
    """
    in_bytes = grade_type == np.int8
    unjudged = UNJUDGED % 256 if in_bytes else UNJUDGED
    found = [
        lookup[document] if document in lookup else unjudged  # noqa: SIM401 - quicker than get
        for lookup, top in zip(judgements, tops, strict=True)
        for document in top
    ]
    return np.asarray(bytearray(found)).view(np.int8) if in_bytes else np.asarray(array("i", found))


# Runs given as ranked lists: read from the top, and only as far as a metric looks.

_LISTS_AT_A_TIME = 128


class RankedLists:
    """A block of ranked lists, best document first."""

    nothing: Sequence[Any] = ()

    def __init__(self, lists: Sequence[Sequence[Any]], lengths: npt.NDArray[np.int64], *, ties: Ties) -> None:
        self.lists = lists
        self.lengths = lengths

    def look_up(self, judgements: Lookups, *, depth: int | None, grade_type: GradeType) -> Integers | None:
        pieces = [np.zeros(0, dtype=grade_type)]
        distinct = 0
        # A few lists at a time: what one pass brings into the processor's cache the next finds there.
        for start in range(0, len(self.lists), _LISTS_AT_A_TIME):
            few = slice(start, start + _LISTS_AT_A_TIME)
            tops = [ranked[:depth] for ranked in self.lists[few]]
            # Pairs of document and score would match no judgement and pass for documents nobody judged.
            if not all(map(_is_document_id, {type(top[0]) for top in tops if top})):
                return None
            try:
                distinct += sum(map(len, map(set, tops)))
            except TypeError:  # something that cannot be hashed cannot be a document id
                return None
            pieces.append(grades_of(tops, judgements[few], grade_type=grade_type))
        grades = np.concatenate(pieces)
        if distinct < len(grades):
            return None
        lengths = self.lengths if depth is None else np.minimum(self.lengths, depth)
        return grade_table(grades, lengths)

    def first_relevant(
        self, rows: Sequence[int], judgements: Lookups, *, relevance_level: int
    ) -> Integers | None:
        try:
            first = [_first_relevant(self.lists[row], judgements[row], relevance_level) for row in rows]
        except TypeError:  # as above
            return None
        for row, rank in zip(rows, first, strict=True):
            if len(set(self.lists[row][:rank])) < rank:
                return None
        return np.array(first, dtype=np.int64)

    def issues(self, query: Hashable, row: int) -> list[Issue]:
        first: dict[Any, int] = {}
        issues = []
        for rank, document in enumerate(self.lists[row], start=1):
            if not _is_document_id(type(document)):
                issues.append(
                    Issue("document", "a document id", shown(document), f"run[{query!r}][{rank - 1}]")
                )
            elif first.setdefault(document, rank) != rank:
                found = f"duplicate {shown(document)} at ranks {first[document]} and {rank}"
                issues.append(Issue("duplicate-document", "unique documents", found, f"run[{query!r}]"))
        return issues


def _first_relevant(ranked: Sequence[Any], lookup: Mapping[Any, int], relevance_level: int) -> int:
    documents = ranked if isinstance(ranked, list | tuple) else list(ranked)
    judged, rest = lookup.keys(), iter(documents)
    # Each search stops behind a judged document, and what is left of the list tells its rank.
    while not judged.isdisjoint(rest):
        rank = len(documents) - length_hint(rest)
        if lookup[documents[rank - 1]] >= relevance_level:
            return rank
    return 0


def _is_document_id(kind: type) -> bool:
    return issubclass(kind, str | int | np.integer)


# Runs given as scores by document: put in order by falling score and the tie rule.


class ScoredDocuments:
    """A block of document-to-score mappings, each read whole."""

    nothing: Mapping[Any, float] = MappingProxyType({})

    def __init__(
        self, scored: Sequence[Mapping[Any, float]], lengths: npt.NDArray[np.int64], *, ties: Ties
    ) -> None:
        self.scored = scored
        self.lengths = lengths
        self.ends = np.cumsum(lengths)
        self.ties = ties

    @cached_property
    def scores(self) -> Floats:
        """All scores one after another, as the tie rule compares them; none at all if one is not finite."""
        try:
            # The sum refuses what numpy would read without a word: numbers written as text.
            sum(chain.from_iterable(each.values() for each in self.scored))
            values = chain.from_iterable(each.values() for each in self.scored)
            flat = np.fromiter(values, dtype=np.float64, count=int(self.lengths.sum()))
        except (TypeError, ValueError, OverflowError):
            return np.zeros(0)
        return as_compared(flat, self.ties) if np.isfinite(flat).all() else np.zeros(0)

    def look_up(self, judgements: Lookups, *, depth: int | None, grade_type: GradeType) -> Integers | None:
        if len(self.scores) != self.lengths.sum():
            return None
        lengths = self.lengths if depth is None else np.minimum(self.lengths, depth)
        return grade_table(grades_of(self._tops(depth), judgements, grade_type=grade_type), lengths)

    def first_relevant(
        self, rows: Sequence[int], judgements: Lookups, *, relevance_level: int
    ) -> Integers | None:
        """Count the scores above the best relevant one; only where that one is tied is anything sorted."""
        best = np.full(len(self.scored), np.inf)
        for row in rows:
            scored, lookup = self.scored[row], judgements[row]
            found = [
                scored[document]
                for document in lookup.keys() & scored.keys()
                if lookup[document] >= relevance_level
            ]
            if found:
                best[row] = max(found)
        searched = np.isfinite(best)
        threshold = np.repeat(np.where(searched, as_compared(best, self.ties), np.inf), self.lengths)
        above = counted(self.scores > threshold, self.lengths)
        tied = counted(self.scores == threshold, self.lengths)
        ranks = np.where(searched, above + 1, 0)
        for row in np.flatnonzero(tied > 1).tolist():
            lookup = judgements[row]
            ranks[row] = 1 + next(
                place
                for place, document in enumerate(self._sorted(row))
                if lookup.get(document, -1) >= relevance_level
            )
        return ranks[list(rows)]

    def issues(self, query: Hashable, row: int) -> list[Issue]:
        return [
            Issue("score", "a finite score", shown(score), f"run[{query!r}][{document!r}]")
            for document, score in self.scored[row].items()
            if not _is_score(score)
        ]

    def _tops(self, depth: int | None) -> Iterator[Sequence[Any]]:
        """Yield each query's first documents. Most runs come with falling scores, which need no sorting."""
        rises = rows_that_rise(self.scores, self.lengths)
        tops = self._sorted_tops(rises, depth)
        for scored, rise in zip(self.scored, rises.tolist(), strict=True):
            yield next(tops) if rise else list(islice(scored, depth))

    def _sorted_tops(self, chosen: Booleans, depth: int | None) -> Iterator[Sequence[Any]]:
        """Yield the first documents of the chosen queries, whose scores are in no order."""
        rows = np.flatnonzero(chosen)
        lengths = self.lengths[rows, np.newaxis]
        places = np.arange(lengths.max(initial=0))
        falling = np.full((len(rows), len(places)), np.inf)
        falling[places < lengths] = -self.scores[np.repeat(chosen, self.lengths)]
        order = np.argsort(falling, axis=1)[:, : None if depth is None else depth + 1]
        in_order = np.take_along_axis(falling, order, axis=1)
        tied = ((in_order[:, 1:] == in_order[:, :-1]) & np.isfinite(in_order[:, 1:])).any(axis=1)
        for row, has_ties, best in zip(rows.tolist(), tied.tolist(), order.tolist(), strict=True):
            if has_ties:
                yield self._sorted(row)[:depth]
            else:
                documents = list(self.scored[row])
                yield [documents[place] for place in best[: min(len(documents), depth or len(documents))]]

    def _sorted(self, row: int) -> list[Any]:
        """Order one query's documents by falling score, equal scores by document id."""
        scored, end = self.scored[row], self.ends[row]
        scores = dict(zip(scored, self.scores[end - len(scored) : end].tolist(), strict=True))
        try:
            by_identifier = sorted(scored, reverse=self.ties == "trec_eval")
        except TypeError:
            kinds = sorted({type(document).__name__ for document in scored})
            raise invalid("run", "document ids of one type to break ties", kinds) from None
        return sorted(by_identifier, key=scores.__getitem__, reverse=True)


def _is_score(score: object) -> bool:
    try:
        return isinstance(score, int | float | np.integer | np.floating) and math.isfinite(score)
    except OverflowError:  # a whole number beyond every float
        return False


# Qrels and runs in Python's own containers, brought together into blocks of judged rankings.

# Few enough that what one pass brings into the processor's cache is there for the next.
_QUERIES_AT_A_TIME = 2048
# A judged grade takes one byte, a value of a metric eight.
_GRADES_PER_CELL = 8


def judge_mappings(qrels: Qrels, run: Run, *, rules: RankingRules, reading: Reading) -> Iterator[JudgedBlock]:
    """Yield the queries of the qrels, in their order, in blocks of judged rankings.

    A query that the run lacks is yielded as one that retrieved nothing, or left out, as the rules say. Wrong
    values are collected over all the blocks and raised together at the end.
    """
    scores = isinstance(next(iter(run.values())), Mapping)
    kind = ScoredDocuments if scores else RankedLists
    issues: list[Issue] = []
    # Some queries of the qrels and their judgements, some of the run and what they retrieved.
    pieces = map(_pieces, (qrels, qrels.values(), run, run.values()))
    for queries, given, retrieved_queries, retrieved in zip_longest(*pieces, fillvalue=()):
        check_kinds(retrieved, scores=scores, run=run)
        judgements = as_lookups(queries, given, qrels=qrels)
        # Most runs hold the queries of the qrels in their order; in others they are looked up.
        if queries != retrieved_queries:
            yield [query for query in retrieved_queries if query not in qrels], NOT_JUDGED
            if rules.missing_queries == "skip":
                yield [query for query in queries if query not in run], NOT_RETRIEVED
                known = [query in run for query in queries]
                queries, judgements = list(compress(queries, known)), list(compress(judgements, known))
            retrieved = [run.get(query, kind.nothing) for query in queries]
            check_kinds(retrieved, scores=scores, run=run)
        lengths, judged_counts = counted_lengths(retrieved), counted_lengths(judgements)
        read = lengths if scores or reading.depth is None else np.minimum(lengths, reading.depth)
        for block in blocks(np.maximum(read, judged_counts // _GRADES_PER_CELL)):
            rankings = kind(retrieved[block], lengths[block], ties=rules.ties)
            judged = _judged(judgements[block], judged_counts[block], rankings, rules=rules, reading=reading)
            if judged is not None:
                yield queries[block], judged
                continue
            for row, query in enumerate(queries[block]):
                issues += grade_issues(query, judgements[block][row])
                issues += rankings.issues(query, row)
    if issues:
        raise InputError(capped(issues))


def _pieces(values: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(values)
    while piece := list(islice(rest, _QUERIES_AT_A_TIME)):
        yield piece


def _judged(
    judgements: Lookups,
    judged_counts: npt.NDArray[np.int64],
    rankings: Rankings,
    *,
    rules: RankingRules,
    reading: Reading,
) -> JudgedRankings | None:
    """Grade a block's rankings as deep as the metrics look; ``None`` if something read is wrong."""
    grades = flat_grades(judgements)
    if grades is None:
        return None
    table = grade_table(grades, judged_counts)
    counts = count_grades(table, relevance_level=rules.relevance_level, depth=reading.depth)
    top = rankings.look_up(judgements, depth=reading.depth, grade_type=grades.dtype)
    if top is None:
        return None
    first_hit = None
    if reading.first_hit and reading.depth is not None:
        first_hit = rank_of_first(top >= rules.relevance_level)
        missed = np.flatnonzero((first_hit == 0) & (rankings.lengths > reading.depth)).tolist()
        below = rankings.first_relevant(missed, judgements, relevance_level=rules.relevance_level)
        if below is None:
            return None
        first_hit[missed] = below
    return JudgedRankings(top, rankings.lengths, *counts, rules.relevance_level, first_hit)
