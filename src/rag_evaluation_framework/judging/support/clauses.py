"""The clauses of a sentence, each with what it denies; and the one of them that speaks of a claim's matter.

In "Cards are accepted, cash is not" it is the second that decides on "Cash is accepted", although most of the
words stand in the first: what a denial leaves out is taken from the words before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

WHAT_WAS_SAID = ""
"""Denied by a clause that says no more than *not*."""


class Clause(NamedTuple):
    """A clause by its words, as they are compared."""

    words: tuple[str, ...]
    content: frozenset[str]
    """The words that are more than grammar."""
    cues: int
    """How often it denies."""
    denied: frozenset[str]
    borrowed: frozenset[str] = frozenset()
    """Content of the clauses before it that it leaves out and means, where it denies."""

    @property
    def matter(self) -> frozenset[str]:
        return self.content | self.borrowed


def deciding(clauses: Sequence[Clause], matter: frozenset[str]) -> list[Clause]:
    """Return the clauses with most of a matter; of those with as much, the ones that say it themselves."""
    most = max((len(matter & clause.matter) for clause in clauses), default=0)
    best = [clause for clause in clauses if len(matter & clause.matter) == most]
    return [clause for clause in best if not clause.borrowed] or best


def matter_of(clauses: Iterable[Clause]) -> frozenset[str]:
    """Return all that clauses speak of."""
    return frozenset[str]().union(*(clause.matter for clause in clauses))


def denies(clauses: Sequence[Clause], others: Sequence[Clause]) -> bool:
    """Tell whether clauses deny a word that others have, and that they do not also affirm."""
    written = [word for clause in clauses for word in clause.words]
    affirmed = matter_of(others)
    return any(
        (word == WHAT_WAS_SAID and bool(clause.borrowed)) or (word in affirmed and written.count(word) == 1)
        for clause in clauses
        for word in clause.denied
    )
