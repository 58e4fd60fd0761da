"""Support by words, its fitted model, screening of whole answers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from operator import mul

import msgspec

from rag_evaluation_framework.judging.claim_features import ClaimFeatures, EvidenceBody, evidence_text
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.records.citations import without_citations
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, Edit

# The small model of lexical support: features to the probability of being supported.
#
# Its coefficients are data, ``data/lexical_support.json``; how they were found stands in the method's card.

# The longest claim that the weights were fitted on: beyond it, length must not speak for a claim any further.
_LONGEST_CLAIM = 45
# As many as the metrics of a few answers ask about.
_KEPT_BODIES = 32
# What is certainly not supported is by more than this.
_ROUNDING = 1e-9
# Odds are kept within e^±15, so that no probability is exactly 0 or 1.
_FURTHEST = 15.0


_FEATURES = (
    *("form_share", "names", "numbers", "number_share", "pair_share"),
    *("uncovered", "length", "of_record", "withheld"),
)


_OF_WHAT_LACKS = tuple(name for name in _FEATURES if name not in ("length", "of_record"))


def feature_values(features: ClaimFeatures) -> dict[str, float]:
    """Return the features as numbers; all but two, of length and of records, grow with what is missing."""
    return dict(zip(_FEATURES, _values(features), strict=True))


def _values(features: ClaimFeatures) -> tuple[float, ...]:
    keys, _, names, words, new_forms, numbers, new, _, pairs, parted, _, covered, *of_record = features
    return (
        new_forms / (words + 3),
        math.log1p(names) if names else 0.0,
        math.log1p(len(new)) if new else 0.0,
        len(new) / (len(numbers) + 1),
        parted / (pairs + 2),
        1.0 - covered,
        _length(len(keys)),
        *map(float, of_record),  # and withheld
    )


def _length(keys: int) -> float:
    return _LENGTHS[keys] if keys < _LONGEST_CLAIM else _LENGTHS[_LONGEST_CLAIM]


_LENGTHS = [math.log1p(length) / 3 for length in range(_LONGEST_CLAIM + 1)]
_ADDITION, _WITHHELD = map(ClaimFeatures._fields.index, ("has_addition", "is_withheld"))


class SupportModel(msgspec.Struct, frozen=True):
    """Log-odds of being unsupported: ``bias + Σ weight · feature``.

    However well the rest of a claim is covered, a figure or a name that the evidence does not have leaves it
    at least ``least_odds``, and so do several new words in a row, what a record withholds, and a change in a
    sentence that the claim copies.
    """

    bias: float
    weights: Mapping[str, float]
    least_odds: float
    threshold: float
    pooling_exponent: float
    answer_slope: float
    answer_bias: float

    @property
    def row(self) -> tuple[float, ...]:
        """The weights in the order of the features."""
        return tuple([self.weights.get(name, 0.0) for name in _FEATURES])

    def claim_odds(
        self, features: ClaimFeatures, row: Sequence[float] = (), *, is_edited: bool = False
    ) -> float:
        """Return the log-odds that a claim is not supported; ``row`` has the weights, if at hand."""
        # The sum is exact, so that a feature without a weight changes nothing, nor does their order.
        odds = self.bias + math.fsum(map(mul, row or self.row, _values(features)))
        if is_edited or features[_ADDITION] or features[_WITHHELD]:
            odds = max(odds, self.least_odds)
        return _bounded(odds) if odds * odds > _FURTHEST * _FURTHEST else odds

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


# Support of claims by their words alone: what the evidence has, and what the claim adds.
#
# It sees additions. Words alone never say ``contradicted``: a claim is supported, or it is not. The
# method's card tells what that is worth.

NAME = "lexical support, screening"
VERSION = 4


class LexicalSupport:
    """Gives verdicts on claims without a model, from the texts alone. Safe to share between threads.

    >>> claim = Claim("Rome has 3 million people.", 0, 26)
    >>> verdict, = LexicalSupport().decide([claim], ["About 3,000,000 people live in Rome."])
    >>> verdict.label, verdict.evidence.text
    ('supported', 'About 3,000,000 people live in Rome.')
    """

    name = NAME
    version = VERSION

    def __init__(self, model: SupportModel | None = None) -> None:
        self._model = model or shipped_model()
        self._row = self._model.row
        least = self._model.threshold
        # Of claims that are supported.
        self._highest_odds = math.log(1 / least - 1) if probability(-_FURTHEST) < least < 1 else math.inf
        self._is_bounded = all(self._model.weights.get(name, 0.0) >= 0 for name in _OF_WHAT_LACKS)

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        """Return a verdict for each claim, in order.

        Words of the question count as given.
        """
        body, told = _body(tuple(evidence), question), list(map(_plain_text, claims))
        return [self._verdict(*each, body) for each in zip(claims, told, strict=True)]

    def are_useful(self, texts: Sequence[str], claims: Sequence[Claim], *, question: str = "") -> list[bool]:
        """Tell of each text whether it supports one of the claims at least; the others are not looked at."""
        told = list(map(_plain_text, claims))
        return [any(self._each_supported(told, (text,), question)) for text in texts]

    def are_supported(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[bool]:
        """Return, for each claim, True if the evidence supports it, without passages."""
        return list(self._each_supported(list(map(_plain_text, claims)), tuple(evidence), question))

    def closest(self, claim: Claim, evidence: Sequence[str], *, question: str = "") -> str | None:
        """Return the passage that :meth:`decide` holds a claim against."""
        found = _body(tuple(evidence), question).closest(_plain_text(claim))
        return None if found is None else found.text

    def probability_unsupported(self, verdicts: Iterable[ClaimVerdict]) -> float | None:
        """Return the probability that some part of an answer with these claims is not supported."""
        odds = [_odds(verdict.probability) for verdict in verdicts if verdict.probability is not None]
        return self._model.answer_probability(odds) if odds else None

    def _each_supported(
        self, told: Sequence[str], evidence: tuple[str, ...], question: str
    ) -> Iterator[bool]:
        """Decide by a bound where it tells: most claims are far from the threshold."""
        body, least = _body(evidence, question), self._model.threshold
        for text in told:
            lacking = body.least_lacking(text) if self._is_bounded else None
            if lacking is not None and self._lacks_too_much(*lacking):
                yield False
            else:
                yield self._probability(text, body)[0] >= least

    def _lacks_too_much(self, forms: float, pairs: float, uncovered: float, keys: int) -> bool:
        of_forms, _, _, _, of_pairs, of_uncovered, of_length, *_ = self._row
        odds = self._model.bias + of_forms * forms + of_pairs * pairs + of_uncovered * uncovered
        return odds + of_length * _length(keys) > self._highest_odds + _ROUNDING

    def _verdict(self, claim: Claim, told: str, body: EvidenceBody) -> ClaimVerdict:
        supported, edits = self._probability(told, body)
        features = body.features(told)
        return ClaimVerdict(
            claim=claim,
            label="supported" if supported >= self._model.threshold else "unsupported",
            probability=supported,
            evidence=None if features.closest is None else body.evidence(features.closest),
            new_tokens=tuple(_new_tokens(claim, features)),
            edits=tuple(
                [each._replace(start=claim.start + each.start, end=claim.start + each.end) for each in edits]
            ),
        )

    def _probability(self, told: str, body: EvidenceBody) -> tuple[float, Sequence[Edit]]:
        """Return how probable it is that a claim is supported, and what it changes."""
        features, edits = body.features(told), body.edits(told)
        odds = self._model.claim_odds(features, self._row, is_edited=bool(edits))
        if features.numbers and odds < self._model.least_odds:
            edits = list(body.numbers_of_others(told))
            odds = max(odds, self._model.least_odds) if edits else odds
        return 1.0 - probability(odds), edits


def _plain_text(claim: Claim) -> str:
    return without_citations(claim.text)


@lru_cache(maxsize=_KEPT_BODIES)
def _body(evidence: tuple[str, ...], question: str) -> EvidenceBody:
    """Put evidence together; the metrics of an answer, and blame, ask about the same texts."""
    return EvidenceBody([evidence_text(text) for text in evidence], question)


def _new_tokens(claim: Claim, features: ClaimFeatures) -> list[Claim]:
    """Return what the claim adds, in the answer's characters; overlapping Chinese pairs become one."""
    if not features.new and not features.new_numbers:
        return []
    added: list[list[int]] = [[start, end] for _, start, end in features.new]
    added += [[quantity.start, quantity.end] for quantity in features.new_numbers]
    merged: list[list[int]] = []
    for start, end in sorted(added):
        if merged and start < merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return [Claim(claim.text[start:end], claim.start + start, claim.start + end) for start, end in merged]


# Screens a whole answer: the probability that some part of it is not supported by its contexts.


class Screening(msgspec.Struct, frozen=True):
    """The finding of lexical support on an answer; ``None`` if the answer makes no claims."""

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
    support = LexicalSupport(model)
    verdicts = support.decide(claims_of(answer), contexts, question=question)
    return Screening(support.probability_unsupported(verdicts), tuple(verdicts))


def _odds(supported: float) -> float:
    """Return the log-odds of being unsupported."""
    return math.log1p(-supported) - math.log(supported)
