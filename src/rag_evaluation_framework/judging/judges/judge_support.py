"""Support by a judge: whether the evidence supports each claim, proved by a quote that stands in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag_evaluation_framework.judging.judges.judge import Judge, failed_votes
from rag_evaluation_framework.judging.judges.prompts import load_prompt
from rag_evaluation_framework.judging.judges.quotes import find_quote
from rag_evaluation_framework.judging.verdicts import Claim, ClaimVerdict, Evidence

CLAIMS_AT_ONCE = 20
"""Judges lose count in long lists, and a reply for more could be cut off."""

FEWEST_WORDS = 2
"""What a quote must have: one word by itself stands in too many places to prove a claim."""

_PROMPT = "claim_support"


class JudgeSupport:
    """Fulfils ``SupportMethod`` by asking a judge.

    A claim is *supported* or *contradicted* only with a quote that is found in the evidence, of two words or
    more or a whole sentence; a judge who gives none is asked once more, and then there is no verdict but a
    :class:`ModelError`. Evidence is never cut.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.name = judge.name
        self.version = load_prompt(_PROMPT).version

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        """Return a verdict for each claim, in order. Where there is no evidence, no claim is supported."""
        if not any(text.strip() for text in evidence):
            return [ClaimVerdict(claim=claim, label="unsupported") for claim in claims]
        verdicts: list[ClaimVerdict] = []
        for start in range(0, len(claims), CLAIMS_AT_ONCE):
            verdicts += self._of_batch(claims[start : start + CLAIMS_AT_ONCE], evidence, question)
        return verdicts

    def _of_batch(
        self, claims: Sequence[Claim], evidence: Sequence[str], question: str
    ) -> list[ClaimVerdict]:
        fields = {
            "question": question,
            "claims": [claim.text for claim in claims],
            "evidence": list(evidence),
        }
        verdict = self.judge.verdict(_PROMPT, fields, check=lambda value: _problem(value, evidence))
        entries = verdict.values["claims"]
        failed = failed_votes(verdict.details)
        shares = verdict.shares or (None,) * len(entries)
        return [
            replace(_verdict(claim, entry, evidence), agreement=share, failed_votes=failed)
            for claim, entry, share in zip(claims, entries, shares, strict=True)
        ]


def _problem(value: Mapping[str, Any], evidence: Sequence[str]) -> str | None:
    """Say which claims were decided without a quote from the evidence; no words, since they may be bait."""
    decided = [entry for entry in value["claims"] if entry["label"] != "unsupported"]
    nowhere = [str(entry["number"]) for entry in decided if not 1 <= entry["evidence"] <= len(evidence)]
    if nowhere:
        return f"claims {', '.join(nowhere)}: expected the number of an evidence text, 1 to {len(evidence)}"
    unproved = [str(entry["number"]) for entry in decided if _quoted(entry, evidence) is None]
    if not unproved:
        return None
    return (
        f"claims {', '.join(unproved)}: expected a quote copied character by character, unbroken, from the "
        f"evidence, of {FEWEST_WORDS} whole words or more; a claim without one is unsupported"
    )


def _quoted(entry: Mapping[str, Any], evidence: Sequence[str]) -> Evidence | None:
    return find_quote(entry["quote"], evidence, expected=entry["evidence"] - 1, fewest_words=FEWEST_WORDS)


def _verdict(claim: Claim, entry: Mapping[str, Any], evidence: Sequence[str]) -> ClaimVerdict:
    found = _quoted(entry, evidence)
    label = entry["label"]
    conflicts = (f"evidence says: {found.text}",) if label == "contradicted" and found is not None else ()
    return ClaimVerdict(claim=claim, label=label, evidence=found, conflicts=conflicts)
