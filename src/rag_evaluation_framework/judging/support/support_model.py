"""The small model of lexical support: features to the probability of being supported.

Its coefficients are data, ``data/lexical_support.json``; how they were found stands in the method's card.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rag_evaluation_framework.judging.support.claim_features import ClaimFeatures

# The longest claim that the weights were fitted on: beyond it, length must not speak for a claim any further.
_LONGEST_CLAIM = 45
# Odds are kept within e^±15, so that no probability is exactly 0 or 1.
_FURTHEST = 15.0


def feature_values(features: ClaimFeatures) -> dict[str, float]:
    """Return the features as numbers; all but two, of length and of records, grow with what is missing."""
    return {
        "form_share": features.new_forms / (features.words + 3),
        "names": math.log1p(features.new_names),
        "numbers": math.log1p(len(features.new_numbers)),
        "number_share": len(features.new_numbers) / (len(features.numbers) + 1),
        "pair_share": features.parted_pairs / (features.pairs + 2),
        "uncovered": 1.0 - features.covered_by_two,
        "length": math.log1p(min(len(features.keys), _LONGEST_CLAIM)) / 3,
        "of_record": float(features.is_of_record),
        "withheld": float(features.is_withheld),
    }


@dataclass(frozen=True, slots=True)
class SupportModel:
    """Log-odds of being unsupported: ``bias + Σ weight · feature``.

    However well the rest of a claim is covered, a figure that the evidence does not have leaves it at least
    ``least_odds``, and so does what a record withholds.
    """

    bias: float
    weights: Mapping[str, float]
    least_odds: float
    threshold: float
    pooling_exponent: float
    answer_slope: float
    answer_bias: float

    def claim_odds(self, features: ClaimFeatures) -> float:
        """Return the log-odds that a claim is not supported."""
        values = feature_values(features)
        odds = self.bias + math.fsum([weight * values[name] for name, weight in self.weights.items()])
        is_lacking = features.has_new_figure or features.is_withheld
        return _bounded(max(odds, self.least_odds) if is_lacking else odds)

    def pooled_odds(self, odds: Sequence[float]) -> float:
        """Pool the odds of an answer's claims: ``log Σ exp(odds) − exponent · log n``.

        An exponent of 0 adds the odds up, as if every claim were a chance of its own to be wrong; with 1 it
        is their mean, and the number of claims does not count.
        """
        highest = max(odds)
        total = math.fsum(math.exp(each - highest) for each in odds)
        return highest + math.log(total) - self.pooling_exponent * math.log(len(odds))

    def answer_probability(self, odds: Sequence[float]) -> float:
        """Return the probability that an answer with such claims has an unsupported part."""
        return probability(_bounded(self.answer_slope * self.pooled_odds(odds) + self.answer_bias))


def probability(odds: float) -> float:
    """Return the probability that belongs to log-odds."""
    return 1.0 / (1.0 + math.exp(-odds))


@cache
def shipped_model() -> SupportModel:
    """Return the model that comes with the package."""
    data = json.loads((files(__package__) / "data" / "lexical_support.json").read_text(encoding="utf-8"))
    return SupportModel(**data["model"])


def _bounded(odds: float) -> float:
    return max(-_FURTHEST, min(_FURTHEST, odds))
