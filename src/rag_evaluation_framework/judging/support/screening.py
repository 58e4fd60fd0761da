"""Screens a whole answer: the probability that some part of it is not supported by its contexts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.support.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.support.support_model import SupportModel, shipped_model
from rag_evaluation_framework.judging.verdicts import ClaimVerdict


@dataclass(frozen=True, slots=True)
class Screening:
    """What lexical support says of an answer; ``None`` where the answer claims nothing."""

    probability_unsupported: float | None
    verdicts: tuple[ClaimVerdict, ...]

    @property
    def unsupported(self) -> tuple[ClaimVerdict, ...]:
        """The verdicts on the claims that are not supported, in reading order."""
        return tuple(verdict for verdict in self.verdicts if not verdict.is_supported)


def screen_answer(
    answer: str, contexts: Sequence[str], *, question: str = "", model: SupportModel | None = None
) -> Screening:
    """Look at every claim of an answer and pool what is found into one probability.

    >>> screening = screen_answer("Rome is old. It has a port for submarines.", ["Rome is an old city."])
    >>> [verdict.claim.text for verdict in screening.unsupported]
    ['It has a port for submarines.']
    """
    model = model or shipped_model()
    verdicts = LexicalSupport(model).decide(claims_of(answer), contexts, question=question)
    if not verdicts:
        return Screening(None, ())
    odds = [_odds(verdict.probability) for verdict in verdicts if verdict.probability is not None]
    return Screening(model.answer_probability(odds), tuple(verdicts))


def _odds(supported: float) -> float:
    """Return the log-odds of being unsupported."""
    return math.log1p(-supported) - math.log(supported)
