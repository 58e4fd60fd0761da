"""Makes one verdict out of several: the label of more than half of the votes, the median of numbers.

A vote that failed counts among all, so a label wins only if no reply that is missing could have changed
that. A number needs every vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.judging.judges.prompts import Prompt
from rag_evaluation_framework.records.responses import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What one model replied in one draw, or why it gave nothing."""

    model: str
    draw: int
    values: Mapping[str, Any] | None = field(default=None, hash=False)
    usage: Usage | None = None
    error: ModelError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the votes agreed on, and the share of votes that say just that, for each text that is judged."""

    values: Mapping[str, Any] = field(hash=False)
    shares: tuple[float, ...]

    @property
    def agreement(self) -> float:
        return sum(self.shares) / len(self.shares)


def outcome(prompt: Prompt, votes: Sequence[Vote]) -> Outcome:
    """Return what the votes agree on, or raise :class:`ModelError`.

    What stands beside the deciding value (reasons, quotes) is taken from the first vote for it.
    """
    replies = [vote.values for vote in votes if vote.values is not None]
    errors = [vote.error for vote in votes if vote.error is not None]
    if not replies:
        raise errors[0]
    try:
        if prompt.listed is None:
            winner, share = _decided(prompt, replies, len(votes))
            return Outcome(values=winner, shares=(share,))
        columns = zip(*(reply[prompt.listed] for reply in replies), strict=True)
        decided = [_decided(prompt, column, len(votes)) for column in columns]
    except ModelError:
        # With the votes that are missing there might have been a majority: they are what went wrong.
        raise (errors[0] if errors else _no_majority(prompt, len(votes))) from None
    winners = [winner for winner, _ in decided]
    shares = tuple(share for _, share in decided)
    return Outcome(values={**replies[0], prompt.listed: winners}, shares=shares)


def said(prompt: Prompt, values: Mapping[str, Any]) -> Any:
    """Return what decides in one reply: a value, or one for each text."""
    if prompt.listed is None:
        return values[prompt.decides]
    return [entry[prompt.decides] for entry in values[prompt.listed]]


def _decided(
    prompt: Prompt, entries: Sequence[Mapping[str, Any]], asked: int
) -> tuple[Mapping[str, Any], float]:
    """Return the entry that the votes agree on, and the share of votes that say the same."""
    values = [entry[prompt.decides] for entry in entries]
    winner = _winner(values, asked)
    if winner is None:
        raise _no_majority(prompt, asked)
    share = values.count(winner) / asked
    if winner in values:
        return entries[values.index(winner)], share
    # The middle of an even number of numbers: the words of the vote that comes nearest.
    nearest = min(entries, key=lambda entry: abs(entry[prompt.decides] - winner))
    return {**nearest, prompt.decides: winner}, share


def _winner(values: Sequence[Any], asked: int) -> Any:
    """Return the label of more than half of all votes, or the median of numbers, or ``None``."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return median(values) if len(values) == asked else None
    label, count = Counter(values).most_common(1)[0]
    return label if 2 * count > asked else None


def _no_majority(prompt: Prompt, asked: int) -> ModelError:
    return ModelError("no-majority", f"{prompt.name}: no verdict has more than half of {asked} votes")
