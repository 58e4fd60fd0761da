"""Metrics of golden sets: what a hand-written answer key asks of an answer, in figures.

Pure functions of what was read in the answer: which names it has, which steps it tells and where, what it
says of a relation, how far each turn of a conversation says what it should. How answers are read, in Chinese
and in English, is the business of the judging room.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import GOLDEN
from rag_evaluation_framework.statistics.resampling import exact_mean

T = TypeVar("T")


@metric("entity_coverage", version=3, reads=GOLDEN, shows=("named",))
def entity_coverage(named: Sequence[bool]) -> float:
    """The share of the expected names and words that the answer contains.

    Formula: names that the answer has and does not deny / names expected. "A/B" is one name that either
    part fulfils. Asked who is the mayor, "Anna is not the mayor" does not name Anna. Compared after NFKC,
    case folding and folding of traditional to simplified characters; Chinese anywhere in the text, other
    words whole, in the answer also with a plural's ending (-s, -es, -ies); numbers by their value.

    Empty: without an expected name there is nothing to cover: an error, and the sample is skipped. An answer
    that only refuses, does not know or asks back names nothing: 0.

    Source: the field expected_entities of golden sets.
    """
    return sum(_some(named, "named")) / len(named)


@metric("relation_match", version=3, reads=GOLDEN, shows=("relation",))
def relation_match(ends: Sequence[bool], relation: bool, direction: float) -> float:
    """The correctness of the stated relation, including its direction.

    Formula: ends named / 2 × relation (1 expressed and not denied, else 0) × direction (1 right, or the
    relation has none; 0.5 not stated; 0 wrong). An end that only the question names counts where the answer
    points back to it (她们, they). Relations are expressed by words of a table, English and Chinese; one that
    is not in it by its own words alone. They must be said of the one end and the other directly, actively or
    passively: "the mother of Bob's wife" is not the mother of Bob.

    Empty: where the words of a relation are not known for the answer's language, the sample is skipped. An
    answer that only refuses, does not know or asks back says nothing of it: 0.

    Source: the field relationship_triple of golden sets.
    """
    if len(ends) != 2:
        raise invalid("ends", "two ends", list(ends))
    if not 0 <= direction <= 1:
        raise invalid("direction", "a number from 0 to 1", direction)
    return sum(ends) / 2 * relation * direction


@metric("milestone_recall", version=3, reads=GOLDEN, shows=("places",))
def milestone_recall(places: Sequence[int | None]) -> float:
    """The share of the expected steps that the answer covers.

    Formula: steps covered / steps expected. A step is covered where a sentence has three quarters of its
    units in order and close together, not denied: Chinese by the character, other words by their stems,
    numbers by their value.

    Empty: without an expected step there is nothing to cover: an error, and the sample is skipped. An answer
    that only refuses, does not know or asks back covers nothing: 0.

    Source: the field timeline_milestones of golden sets.
    """
    return sum(place is not None for place in _some(places, "places")) / len(places)


@metric("milestone_order", version=3, reads=GOLDEN, shows=("places",), unless=("untold",))
def milestone_order(places: Sequence[int | None]) -> float:
    """The share of the covered steps that come in the expected order.

    Formula: longest subsequence of the steps covered whose first mentions do not go back / steps covered. It
    is the order of the text: "before that …" is read as later.

    Empty: an answer that covers no step has no order: an error, and the sample is skipped.

    Source: the field timeline_milestones of golden sets; longest increasing subsequence.
    """
    told = _some([place for place in places if place is not None], "places")
    tails: list[int] = []
    for place in told:
        at = bisect_right(tails, place)
        tails[at : at + 1] = [place]
    return len(tails) / len(told)


@metric("hop_coverage", reads=GOLDEN, shows=("found_places",))
def hop_coverage(found_places: int, hops: int) -> float:
    """The share of the places that must be combined that the system retrieved.

    Formula: min(places, hops) / hops. Where the sample has golden snippets, a place is one of those that a
    retrieved context holds, at least half of it; else it is a retrieved context that tells one of the steps,
    those that repeat another left out.

    Empty: without hops or contexts, the sample is skipped; for a system that reports an empty list of
    contexts it is 0.

    Source: the field context_hops of golden sets.
    """
    if hops < 1:
        raise invalid("hops", "a whole number of at least 1", hops)
    return min(found_places, hops) / hops


@metric("turn_correctness", version=4, reads=GOLDEN, shows=("turns",))
def turn_correctness(turns: Sequence[float]) -> float:
    """The mean correctness of the answers of a conversation, turn by turn.

    Formula: mean over the assistant's turns of: the share of what the reference says beyond its question and
    the turns before that the answer says too (Chinese by characters in pairs or more, other words by their
    stems, numbers by value; a yes or no that is asked for is one part, and the wrong one makes it 0); by a
    judge, the share of the reference's claims that the answer makes, in any words; for a turn that
    should be declined, 1 if the answer declines or does not know, else 0; 1 where both the answer and the
    reference of a turn decline.

    Empty: a conversation without a turn that can be scored is skipped. A turn that only refuses, does not
    know or asks back, and should not, is 0.

    Source: the field conversation of golden sets.
    """
    return exact_mean(_some(turns, "matches"))


@metric("context_turn_correctness", version=4, reads=GOLDEN, shows=("dependent_turns",))
def context_turn_correctness(dependent_turns: Sequence[float]) -> float:
    """The mean correctness of the answers in the turns that depend on earlier turns.

    Formula: turn_correctness over the assistant's turns that have context_needs alone.

    Empty: a conversation without such a turn is skipped.

    Source: the fields conversation and context_needs of golden sets.
    """
    return exact_mean(_some(dependent_turns, "matches"))


def _some(values: Sequence[T], name: str) -> Sequence[T]:
    if not values:
        raise invalid(name, "at least one", list(values))
    return values
