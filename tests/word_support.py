"""A method of support that can be followed by hand: every word of the claim stands in the evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_evaluation_framework.records.scores import Claim, ClaimVerdict

# A Chinese character is a word of its own.
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")


def words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


class WordSupport:
    """Supports a claim whose words all stand in the evidence taken together; keeps what it was asked."""

    name = "every word"
    version = 1

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], list[str]]] = []

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        self.asked.append(([claim.text for claim in claims], list(evidence)))
        known = words("\n".join(evidence))
        return [
            ClaimVerdict(claim=claim, label="supported" if words(claim.text) <= known else "unsupported")
            for claim in claims
        ]
