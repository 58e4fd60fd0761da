"""Support of claims by their words alone: what the evidence has, what the claim adds, what conflicts.

It sees additions; of contradictions only those in numbers, in records, in denials, and where a name or an
opposite stands in the place of another. See the method's card for what that is worth.
"""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.judging.support.claim_features import ClaimFeatures, EvidenceBody
from rag_evaluation_framework.judging.support.conflicts import compared, record_conflicts
from rag_evaluation_framework.judging.support.evidence_texts import evidence_text
from rag_evaluation_framework.judging.support.support_model import SupportModel, probability, shipped_model
from rag_evaluation_framework.judging.verdicts import Claim, ClaimVerdict, Label
from rag_evaluation_framework.metrics.inline_citations import without_citations

NAME = "lexical support, screening"
VERSION = 1


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
        features, evidence, found = compared(said, body)
        for record in body.records:
            found += record_conflicts(said, record, features.new_numbers)
        conflicts = sorted(set(found), key=lambda conflict: (conflict.kind, conflict.phrase))
        supported = 1.0 - probability(self._model.claim_odds(features, conflicts))
        label: Label = "supported" if supported >= self._model.threshold else "unsupported"
        if label == "unsupported" and conflicts:
            label = "contradicted"
        return ClaimVerdict(
            claim=claim,
            label=label,
            probability=supported,
            evidence=evidence,
            new_tokens=tuple(_new_tokens(claim, features)),
            conflicts=tuple(conflict.phrase for conflict in conflicts),
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
