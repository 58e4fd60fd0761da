"""The nouns of judging: claims with their characters, verdicts on them, and who gives verdicts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

Label = Literal["supported", "contradicted", "unsupported"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement and its place: ``answer[start:end] == text``."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """The characters ``[start, end)`` of one of the evidence texts, counted from 0."""

    number: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """Whether the evidence supports a claim.

    ``probability`` is that of being supported, where the method gives one; ``agreement`` the share of a
    panel's votes for the label, where there were several, and ``failed_votes`` how many of them gave nothing.
    ``evidence`` is the best passage found, for supported claims and others alike. ``new_tokens`` are words of
    the claim that are in no evidence text, with their places in the answer. ``conflicts`` are what a judge
    quotes from the evidence against the claim.
    """

    claim: Claim
    label: Label
    probability: float | None = None
    agreement: float | None = None
    failed_votes: int = 0
    evidence: Evidence | None = None
    new_tokens: tuple[Claim, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def is_supported(self) -> bool:
        return self.label == "supported"

    @property
    def score(self) -> float:
        """The probability of being supported; 1 or 0 where the method gives none."""
        return float(self.is_supported) if self.probability is None else self.probability

    def shown_in(self, answer: str) -> dict[str, Any]:
        """Return the claim in the answer's own words, where it is, and its label, as results hold them."""
        start, end = self.claim.start, self.claim.end
        return {"text": answer[start:end], "start": start, "end": end, "label": self.label}


@runtime_checkable
class SupportMethod(Protocol):
    """Decides which claims a body of evidence supports. It may be asked by many threads at once."""

    name: str
    """The method as it is named beside a figure: ``lexical support, screening`` or ``judge:gpt-4o-mini``."""

    version: int

    @abstractmethod
    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        """Return a verdict for each claim, in order; raise :class:`ModelError` if a judge gives none."""
