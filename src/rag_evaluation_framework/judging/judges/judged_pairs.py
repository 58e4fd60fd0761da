"""Which of two answers is better, asked both ways round: judges favour a place as well as an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag_evaluation_framework.judging.judges.judge import Judge

Winner = Literal["first", "second", "tie"]

_AS_ASKED: dict[str, Winner] = {"answer_1": "first", "answer_2": "second", "tie": "tie"}
_SWAPPED: dict[str, Winner] = {"answer_1": "second", "answer_2": "first", "tie": "tie"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """The better answer. Where the two orders disagree it is a tie, and ``is_consistent`` is false.

    ``reasons`` are those given with the answers in order and swapped.
    """

    winner: Winner
    is_consistent: bool
    reasons: tuple[str, str]


def judge_preference(judge: Judge, question: str, first: str, second: str) -> Preference:
    """Compare two answers to a question in both orders."""
    in_order = judge.verdict("preference", {"question": question, "answer_1": first, "answer_2": second})
    swapped = judge.verdict("preference", {"question": question, "answer_1": second, "answer_2": first})
    winners = {_AS_ASKED[in_order.values["label"]], _SWAPPED[swapped.values["label"]]}
    return Preference(
        winner=winners.pop() if len(winners) == 1 else "tie",
        is_consistent=not winners,
        reasons=(in_order.values["reason"], swapped.values["reason"]),
    )
