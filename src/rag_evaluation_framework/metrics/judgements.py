"""Judgements (qrels) in Python's own containers: brought into one shape and checked."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np

from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.metrics.judged_rankings import Integers, capped

Judgements = Mapping[Any, int] | Collection[Any]
Qrels = Mapping[Any, Judgements]

# Wide enough for any scale of grades, narrow enough that sums of gains stay exact.
GRADE_RANGE = np.iinfo(np.int32)


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
