"""Score, Claim, ClaimVerdict, Evidence, Blame."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.text.display import short_repr
from rag_evaluation_framework.text.spans import Spanned

Status = Literal["scored", "skipped", "failed"]

ENDPOINT_ERROR = "endpoint_error"
"""The key under which a failed score's details name the endpoint error that was the reason, if one was."""

NO_CONTEXTS = "no contexts: neither the system nor the dataset gave any"
"""Reason why an applicable score is skipped: the system did not report its retrieval."""

EMPTY = "the answer is empty"
UNCLEAR = "unclear whether it refuses"
"""Reason why an answer has no score: its patterns do not show if it refuses."""

NOT_DRAWN = "not drawn for the judge"
"""Reason why a sample is not judged under a budget of calls: it was not drawn."""
SETTLED = "decided without the judge"
"""Reason why an answer is not judged: a label, a check or the user's own metric decides it."""
BAND = "band"
"""The key under which a score says between which probabilities a calibrated local model is not sure."""
CLASS_BY = "class_by"
"""The key under which a judged score says that patterns gave the class, where they settle the verdict."""
CHEAP_SCORE = "cheap_score"
"""Key, in the details of a score that can be drawn for a judge, of the value from a cheap method."""

NOT_ANSWERED = {
    "refused": "the answer refuses",
    "dont_know": "the answer says that it does not know",
    "asks_back": "the answer asks back",
}
"""The classes of answers that answer nothing, in words."""

TIMING_METHOD = "timing"
"""The method of scores that measure time, such as the latency."""


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number of 309 digits, as a file may hold
        return False


PROBABILITY_UNSUPPORTED = "probability_unsupported"
"""The key under which a score has the probability that the answer contains unsupported text."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one metric on one sample.

    A score never has a zero or a NaN for "unknown". Build one with :meth:`scored`, :meth:`skipped` or
    :meth:`failed`.

    Args:
        metric: Name of the metric.
        method: Method of the value, such as ``exact``.
        status: ``scored``; ``skipped`` if the metric does not apply; ``failed`` after an error.
        value: Finite value of a scored metric.
        reason: Reason why there is no value.
        details: Verdicts and other details.

    Raises:
        InputError: The status contradicts the value or the reason.

    Example:
        >>> from rag_evaluation_framework import Score
        >>> Score(metric="exact_match", method="exact", status="scored", value=1.0).value
        1.0
    """

    metric: str
    method: str
    status: Status
    value: float | None = None
    reason: str | None = None
    details: Mapping[str, Any] = {}

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if self.status not in ("scored", "skipped", "failed"):
            raise invalid("status", "'scored', 'skipped' or 'failed'", self.status)
        if self.status == "scored":
            if self.value is None or not _is_finite(self.value):
                raise invalid("value", "a finite number for a scored sample", self.value)
            if self.reason is not None:
                raise invalid("reason", "none for a scored sample", self.reason)
        else:
            if self.value is not None:
                raise invalid("value", f"none for a {self.status} sample", self.value)
            if not self.reason:
                raise invalid("reason", f"the reason why the sample was {self.status}", self.reason)

    @property
    def may_be_retried(self) -> bool:
        """Return True if a model's endpoint caused the failure, so that a retry may give a value."""
        return self.status == "failed" and ENDPOINT_ERROR in self.details

    @property
    def is_undrawn(self) -> bool:
        """Return True if the sample was not drawn for the judge; its value stays unknown."""
        return self.status == "skipped" and self.reason == NOT_DRAWN

    def goodness(self, *, higher_is_better: bool) -> float | None:
        """Return what answers are ordered by: more is better, and a share is turned round where less is.

        The probability of unsupported text orders answers better than the share of claims.
        """
        probability = self.details.get(PROBABILITY_UNSUPPORTED)
        if probability is not None:
            return 1.0 - float(probability)
        if self.value is None or higher_is_better:
            return self.value
        return 1.0 - self.value

    def succeeded_by(self, made: Score | None) -> Score:
        """Return the score that was made again, with what a cheap method gave before it was judged."""
        if made is None:
            return self
        if CHEAP_SCORE not in self.details or CHEAP_SCORE in made.details:
            return made
        return replace(made, details={**made.details, CHEAP_SCORE: self.details[CHEAP_SCORE]})

    @classmethod
    def scored(
        cls, metric: str, value: float, *, method: str, details: Mapping[str, Any] | None = None
    ) -> Score:
        """Return a score that has a value."""
        try:
            number = float(value)
        except OverflowError:
            raise invalid(metric, "a number with fewer than 309 digits", value) from None
        return cls(metric=metric, method=method, status="scored", value=number, details=details or {})

    @classmethod
    def skipped(
        cls, metric: str, reason: str, *, method: str, details: Mapping[str, Any] | None = None
    ) -> Score:
        """Return the score of a sample to which the metric does not apply."""
        return cls(metric=metric, method=method, status="skipped", reason=reason, details=details or {})

    @classmethod
    def failed(
        cls, metric: str, reason: str, *, method: str, details: Mapping[str, Any] | None = None
    ) -> Score:
        """Return the score of a sample on which the metric broke."""
        return cls(metric=metric, method=method, status="failed", reason=reason, details=details or {})


BlameKind = Literal[
    "retrieval_missed", "cut_passage", "not_used", "contradicted", "wrong_citation", "unknown"
]
BLAME_KINDS: tuple[BlameKind, ...] = get_args(BlameKind)

Part = Literal["retrieval", "generation", "neither"]

PART_OF_KIND: Mapping[BlameKind, Part] = {
    "retrieval_missed": "retrieval",
    "cut_passage": "retrieval",
    "not_used": "generation",
    "contradicted": "generation",
    "wrong_citation": "generation",
    "unknown": "neither",
}
"""Part of the system for each kind of failure."""


class BlameEvidence(msgspec.Struct, frozen=True):
    """A claim that shows it, or a relevant text that is missing, and the passage it was held against."""

    claim: str
    passage: str | None = None


class Blame(msgspec.Struct, frozen=True):
    """The place where one answer failed, the method that found it, and the evidence.

    A conversation has in ``turns`` the blame of each turn that expects something, by its number: ``None`` of
    those that are correct.
    """

    kind: BlameKind
    why: str
    evidence: tuple[BlameEvidence, ...] = ()
    turns: Mapping[int, Blame | None] = {}

    __repr__ = short_repr

    @property
    def answers(self) -> tuple[Blame, ...]:
        """The blame of every single answer: of those turns of a conversation that have one, else this one."""
        return tuple(filter(None, self.turns.values())) or (self,)

    @classmethod
    def of_turns(cls, turns: Mapping[int, Blame | None]) -> Blame | None:
        """Return the blame of a conversation: of the first turn with a known cause, else of the first."""
        found = {number: each for number, each in turns.items() if each is not None}
        if not found:
            return None
        first = min(found, key=lambda number: found[number].kind == "unknown")
        return replace(found[first], why=f"turn {first}: {found[first].why}", turns=turns)

    def to_dict(self) -> dict[str, Any]:
        """Return the blame as results hold it; turns are listed there with what else is known of them."""
        evidence = [{"claim": each.claim, "passage": each.passage} for each in self.evidence]
        return {"kind": self.kind, "why": self.why, "evidence": evidence}


# The nouns of judging: claims with their characters, verdicts on them, and who gives verdicts.

Label = Literal["supported", "contradicted", "unsupported"]


class Claim(msgspec.Struct, Spanned, frozen=True):
    """A statement and its place: ``answer[start:end] == text``."""

    text: str
    start: int
    end: int


class Evidence(msgspec.Struct, Spanned, frozen=True):
    """The characters ``[start, end)`` of one of the evidence texts, counted from 0."""

    number: int
    start: int
    end: int
    text: str


EditKind = Literal["number", "name", "negation", "words"]


class Edit(NamedTuple):
    """A difference of a claim to the sentence that it copies, in the answer's characters ``[start, end)``."""

    kind: EditKind
    start: int
    end: int
    instead_of: str
    """The sentence's text in this place; empty if the claim adds something."""


class ClaimVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a claim: is it supported by the evidence.

    ``probability`` is that of being supported, where the method gives one; ``agreement`` the share of a
    panel's votes for the label, where there were several, and ``failed_votes`` how many of them gave nothing.
    ``evidence`` is the best passage found, for supported claims and others alike. ``new_tokens`` are words of
    the claim that are in no evidence text, with their places in the answer. ``edits`` are what it changes in
    the sentence of the evidence that it copies. ``conflicts`` are what a judge quotes from the evidence
    against the claim. ``by`` is the stage of a cascade that decided.
    """

    claim: Claim
    label: Label
    probability: float | None = None
    agreement: float | None = None
    failed_votes: int = 0
    evidence: Evidence | None = None
    new_tokens: tuple[Claim, ...] = ()
    edits: tuple[Edit, ...] = ()
    conflicts: tuple[str, ...] = ()
    by: str | None = None

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
