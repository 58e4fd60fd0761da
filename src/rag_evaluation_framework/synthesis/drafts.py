"""The nouns of synthesis: a question with the exact characters that answer it, and what was rejected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Level = Literal["token", "chunk"]
"""What a question's truth is made of: characters of documents, or chunks of one chunker."""

QuestionKind = Literal["factual", "analytical", "comparative", "temporal"]
Difficulty = Literal["easy", "medium", "hard"]

KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Characters of a document: ``corpus[doc_id].content[start:end] == text``."""

    doc_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A question that may become a sample. Without excerpts it cannot be answered from the corpus."""

    question: str
    excerpts: tuple[Excerpt, ...]
    answer: str | None = None
    kind: QuestionKind | None = None
    difficulty: Difficulty | None = None
    chunk_ids: tuple[str, ...] = ()
    """At chunk level, the chunks that were cited."""
    origin: str = ""
    """What it was made from: a document, a window of one, or several documents."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A question that was rejected: a stable reason, and what it was about."""

    reason: str
    question: str
    origin: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Drafts:
    """What was made, and what was rejected on the way."""

    kept: tuple[Draft, ...] = ()
    rejected: tuple[Rejection, ...] = field(default=())

    def counts(self) -> Mapping[str, int]:
        """Return how many were rejected for each reason, sorted by reason."""
        return dict(sorted(Counter(rejection.reason for rejection in self.rejected).items()))

    def sifted(self, rejections: Iterable[Rejection | None]) -> Drafts:
        """Return the drafts without those rejected; each draft has a rejection or ``None``."""
        pairs = list(zip(self.kept, rejections, strict=True))
        return Drafts(
            tuple(draft for draft, rejection in pairs if rejection is None),
            (*self.rejected, *(rejection for _, rejection in pairs if rejection is not None)),
        )

    @classmethod
    def joined(cls, parts: Iterable[Drafts]) -> Drafts:
        """Return all parts as one, in order."""
        listed = list(parts)
        return cls(
            tuple(draft for part in listed for draft in part.kept),
            tuple(rejection for part in listed for rejection in part.rejected),
        )
