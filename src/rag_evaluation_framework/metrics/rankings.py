"""What a run in Python's own containers holds for each query, and how it meets the judgements."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.metrics.judged_rankings import UNJUDGED, Integers, capped

Ranking = Sequence[Any] | Mapping[Any, float]
Run = Mapping[Any, Ranking]
Lookups = Sequence[Mapping[Any, int]]
GradeType = np.dtype[np.signedinteger[Any]]


class Rankings(Protocol):
    """What a block of queries retrieved: ranked lists or scored documents."""

    lengths: npt.NDArray[np.int64]
    """How many documents each query retrieved."""

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


def grade_table(flat: Integers, lengths: npt.NDArray[np.int64]) -> Integers:
    """Return ``grades[rank, query]`` of grades that stand one query after another, padded as unjudged."""
    depth = int(lengths.max(initial=0))
    if len(flat) == depth * len(lengths):
        return np.ascontiguousarray(flat.reshape(len(lengths), depth).T)
    grades = np.full((len(lengths), depth), UNJUDGED, dtype=flat.dtype)
    grades[np.arange(depth) < lengths[:, np.newaxis]] = flat
    return np.ascontiguousarray(grades.T)
