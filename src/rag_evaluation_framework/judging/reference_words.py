"""What words tell of an answer beside its references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rag_evaluation_framework.startup import dataclass
from rag_evaluation_framework.text.normalisation import folded

Kind = Literal["matches", "partly_matches", "contradicts"]


@dataclass(frozen=True, slots=True)
class WordFinding:
    """A finding."""

    kind: Literal["matches", "partly_matches", "contradicts", "undecided"]
    why: str
    leaning: Kind | None = None
    share: float = 0.0


def compare_with_references(
    answer: str, references: Sequence[str], question: str, contexts: Sequence[str] = ()
) -> WordFinding:
    """Return a finding."""
    if any(folded(each).strip(" .。") in folded(answer) for each in references):
        return WordFinding("matches", "contains the reference", share=1.0)
    return WordFinding("undecided", "words cannot tell", leaning="contradicts")


def exceeds_limits(
    answer: str, references: Sequence[str], keys: Sequence[str], question: str, contexts: Sequence[str] = ()
) -> str | None:
    """Return a reason."""
    return None
