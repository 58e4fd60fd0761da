"""Runs in Python's own containers: ranked lists as they are, scores put in order by the tie rule."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, shown

Ranking = Sequence[Any] | Mapping[Any, float]
Ties = Literal["document_ascending", "trec_eval"]


def order_by_score(
    scored: Sequence[Mapping[Any, float]], *, depth: int | None, ties: Ties
) -> list[list[Any]] | None:
    """Return each query's first ``depth`` documents by falling score; ``None`` if a score is not a number.

    Scores that already fall from one document to the next need no sorting, which is how most runs come.
    """
    scores = _flat_scores(scored)
    if scores is None:
        return None
    if ties == "trec_eval":
        with np.errstate(over="ignore"):
            scores = scores.astype(np.float32).astype(np.float64)
    lengths = np.fromiter(map(len, scored), dtype=np.int64, count=len(scored))
    ends = np.cumsum(lengths)
    unordered = _rows_not_falling(scores, ends)
    ordered = [list(islice(each, depth)) for each in scored]
    for row in np.flatnonzero(unordered).tolist():
        own = scores[ends[row] - lengths[row] : ends[row]]
        ordered[row] = _sorted_documents(scored[row], own, ties=ties)[:depth]
    return ordered


def score_issues(query: Hashable, scored: Mapping[Any, float]) -> list[Issue]:
    """Return an issue for each score of a query that is not a finite number."""
    return [
        Issue("score", "a finite score", shown(score), f"run[{query!r}][{document!r}]")
        for document, score in scored.items()
        if not _is_score(score)
    ]


def duplicate_issues(query: Hashable, ranked: Sequence[Any]) -> list[Issue]:
    """Return an issue for each document that a ranked list holds again."""
    first: dict[Any, int] = {}
    issues = []
    for rank, document in enumerate(ranked, start=1):
        if first.setdefault(document, rank) != rank:
            found = f"{shown(document)} at rank {first[document]} and again at rank {rank}"
            issues.append(Issue("duplicate-document", "each document once", found, f"run[{query!r}]"))
    return issues


def _is_score(score: object) -> bool:
    return isinstance(score, int | float | np.integer | np.floating) and bool(np.isfinite(float(score)))


def _flat_scores(scored: Sequence[Mapping[Any, float]]) -> npt.NDArray[np.float64] | None:
    """Return all scores one after another, or ``None`` if one of them is not a finite number."""
    try:
        flat = np.fromiter(chain.from_iterable(each.values() for each in scored), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return flat if np.isfinite(flat).all() else None


def _rows_not_falling(
    scores: npt.NDArray[np.float64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Tell for each query whether some score is not below the one before it."""
    breaks = np.zeros(len(scores) + 1, dtype=np.int64)
    breaks[1:-1] = scores[1:] >= scores[:-1]
    breaks[ends] = 0  # the first score of the next query is compared with nothing
    running = np.concatenate(([0], np.cumsum(breaks)))
    return np.diff(running[ends], prepend=0) > 0


def _sorted_documents(
    scored: Mapping[Any, float], scores: npt.NDArray[np.float64], *, ties: Ties
) -> list[Any]:
    try:
        by_identifier = sorted(scored, reverse=ties == "trec_eval")
    except TypeError:
        raise InputError([Issue("document", "document ids of one type", "several", "run")]) from None
    return sorted(by_identifier, key=dict(zip(scored, scores.tolist(), strict=True)).__getitem__, reverse=True)


def look_up(
    ranked: Sequence[Sequence[Any]], lookups: Sequence[Mapping[Any, int]], *, highest: int
) -> npt.NDArray[np.signedinteger[Any]]:
    """Return ``grades[rank, query]`` of the documents, -1 where there is no judgement or no document."""
    kind = np.int8 if highest <= np.iinfo(np.int8).max else np.int32
    lengths = np.fromiter(map(len, ranked), dtype=np.int64, count=len(ranked))
    depth = int(lengths.max(initial=0))
    found = chain.from_iterable(
        map(lookup.get, documents, repeat(-1)) for documents, lookup in zip(ranked, lookups, strict=True)
    )
    flat = np.fromiter(found, dtype=kind, count=int(lengths.sum()))
    if len(flat) == depth * len(ranked):
        return np.ascontiguousarray(flat.reshape(len(ranked), depth).T)
    grades = np.full((len(ranked), depth), -1, dtype=kind)
    grades[np.arange(depth) < lengths[:, np.newaxis]] = flat
    return np.ascontiguousarray(grades.T)
