"""The movement of the answer to a question between two runs, and asking again about those that got worse."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Generic, Literal, TypeVar

import msgspec

from rag_evaluation_framework.judging.verdict import AnswerVerdict

Movement = Literal[
    "became wrong", "became partly correct", "no longer confirmed", "became correct", "unstable", "unchanged"
]
REGRESSIONS: frozenset[Movement] = frozenset(("became wrong", "no longer confirmed"))
"""The movements that count against ``maxRegressions``."""
MOST_ASKINGS = 5
"""The maximum number of times that a question is asked again."""
_FIRST_ROUND = 2

K = TypeVar("K", bound=Hashable)


def movement_between(
    before: Sequence[AnswerVerdict], now: Sequence[AnswerVerdict], *, is_same_text: bool = False
) -> Movement:
    """Return how a question moved, from the verdicts on all its answers before and now.

    Asked several times, it became wrong if it was correct every time before, or partly correct every time,
    and is wrong every time now; if it is wrong only sometimes, it is unstable. The same text is unchanged.
    """
    if is_same_text or not before or not now:
        return "unchanged"
    if all(each.is_correct for each in before):
        if all(each.is_wrong for each in now):
            return "became wrong"
        if all(each.is_correct for each in now):
            return "unchanged"
        if len(now) > 1 and any(each.is_correct for each in now):
            return "unstable"
        is_partly = all(each.is_partly_correct for each in now)
        return "became partly correct" if is_partly else "no longer confirmed"
    if all(each.is_correct for each in now):
        return "became correct"
    if all(each.is_partly_correct for each in before) and all(each.is_wrong for each in now):
        return "became wrong"
    is_less_wrong = all(each.is_wrong for each in before) and all(each.is_partly_correct for each in now)
    return "became partly correct" if is_less_wrong else "unchanged"


def digits_of(verdicts: Iterable[AnswerVerdict]) -> str:
    """Return a digit for each answer: 1 if it is correct, else 0."""
    return "".join(str(int(each.is_correct)) for each in verdicts)


class AskedAgain(msgspec.Struct, Generic[K], frozen=True):
    """The questions that seemed to get worse, after each was asked again.

    Those that ``became_wrong`` were wrong every time; ``unconfirmed`` were never as good as before and not
    always wrong; ``unstable`` were so at least once. ``calls`` is how many answers that took.
    """

    became_wrong: tuple[K, ...] = ()
    unconfirmed: tuple[K, ...] = ()
    unstable: tuple[K, ...] = ()
    calls: int = 0
    were_judged: bool = False
    """True if any answer to the unconfirmed was judged."""


def ask_again(
    first: Mapping[K, AnswerVerdict],
    ask: Callable[[Collection[K], int], Mapping[K, Sequence[AnswerVerdict]]],
    times: int = MOST_ASKINGS,
    partly_before: Collection[K] = (),
) -> AskedAgain[K]:
    """Ask questions that got worse again: twice, and those still not as good as before three times more.

    ``first`` has the verdict on each answer of the run; ``ask`` puts questions a number of times and returns
    the verdicts on their answers. They were correct before, or only partly.
    """

    def is_good(key: K, verdict: AnswerVerdict) -> bool:
        return verdict.is_correct or (key in partly_before and verdict.is_partly_correct)

    found = {key: [verdict] for key, verdict in first.items()}
    calls = 0
    for round_ in (min(times, _FIRST_ROUND), times - _FIRST_ROUND):
        is_open = [key for key, all_ in found.items() if not any(is_good(key, each) for each in all_)]
        if round_ <= 0 or not is_open:
            break
        for key, verdicts in ask(is_open, round_).items():
            found[key] += verdicts
            calls += len(verdicts)
    wrong: list[K] = []
    unconfirmed: list[K] = []
    unstable: list[K] = []
    for key, verdicts in found.items():
        lost = wrong if all(each.is_wrong for each in verdicts) else unconfirmed
        (unstable if any(is_good(key, each) for each in verdicts) else lost).append(key)
    were_judged = any(each.is_judged for key in unconfirmed for each in found[key])
    return AskedAgain(tuple(wrong), tuple(unconfirmed), tuple(unstable), calls, were_judged)
