"""Support of claims by their words alone: what the evidence has, and what the claim adds.

It sees additions. Words alone never say ``contradicted``: a claim is supported, or it is not. The method's
card tells what that is worth.
"""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.judging.support.claim_features import ClaimFeatures, EvidenceBody
from rag_evaluation_framework.judging.support.evidence_texts import evidence_text
from rag_evaluation_framework.judging.support.support_model import SupportModel, probability, shipped_model
from rag_evaluation_framework.judging.verdicts import Claim, ClaimVerdict
from rag_evaluation_framework.metrics.inline_citations import without_citations

NAME = "lexical support, screening"
VERSION = 2


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

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        """Return a verdict for each claim, in order.

        Words of the question count as given beside something that the evidence has.
        """
        body = EvidenceBody([evidence_text(text) for text in evidence], question)
        return [self._verdict(claim, body) for claim in claims]

    def _verdict(self, claim: Claim, body: EvidenceBody) -> ClaimVerdict:
        said = without_citations(claim.text)
        features = body.features(said)
        supported = 1.0 - probability(self._model.claim_odds(features))
        return ClaimVerdict(
            claim=claim,
            label="supported" if supported >= self._model.threshold else "unsupported",
            probability=supported,
            evidence=body.evidence(features.closest[0]) if features.closest else None,
            new_tokens=tuple(_new_tokens(claim, features)),
        )


def _new_tokens(claim: Claim, features: ClaimFeatures) -> list[Claim]:
    """Return what the claim adds, in the answer's characters; overlapping Chinese pairs become one."""
    added: list[list[int]] = [[token.start, token.end] for token in features.new]
    added += [[quantity.start, quantity.end] for quantity in features.new_numbers]
    merged: list[list[int]] = []
    for start, end in sorted(added):
        if merged and start < merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return [Claim(claim.text[start:end], claim.start + start, claim.start + end) for start, end in merged]
