"""Questions with exact excerpts, and those that were rejected with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import msgspec

from rag_evaluation_framework.text.spans import Spanned

Level = Literal["token", "chunk"]
"""Unit of a question's ground truth: characters of documents, or chunks of one chunker."""

QuestionKind = Literal["factual", "analytical", "comparative", "temporal"]
Difficulty = Literal["easy", "medium", "hard"]

KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)


class Excerpt(msgspec.Struct, Spanned, frozen=True):
    """Characters of a document: ``corpus[doc_id].content[start:end] == text``."""

    doc_id: str
    start: int
    end: int
    text: str


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A question that may become a sample. Without excerpts it cannot be answered from the corpus."""

    question: str
    excerpts: tuple[Excerpt, ...]
    answer: str | None = None
    kind: QuestionKind | None = None
    difficulty: Difficulty | None = None
    chunk_ids: tuple[str, ...] = ()
    """At chunk level, the chunks that were cited."""
    origin: str = ""
    """Source of the question: a document, a window of one, or several documents."""
    flags: tuple[str, ...] = ()
    """Points that a reviewer should check; a flagged question is kept."""


class Rejection(msgspec.Struct, frozen=True):
    """A question that was rejected: a stable reason, and what it was about."""

    reason: str
    question: str
    origin: str = ""
    detail: str = ""


class Drafts(msgspec.Struct, frozen=True):
    """The drafts that were generated, and those rejected on the way."""

    kept: tuple[Draft, ...] = ()
    rejected: tuple[Rejection, ...] = ()

    def counts(self) -> Mapping[str, int]:
        """Return how many were rejected for each reason, sorted by reason."""
        return dict(sorted(Counter(rejection.reason for rejection in self.rejected).items()))

    def flagged(self) -> Mapping[str, int]:
        """Return how many of those kept have each flag, sorted by flag."""
        return dict(sorted(Counter(flag for draft in self.kept for flag in draft.flags).items()))

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


ABOUT_A_SECTION = "asks-for-a-section"
REASONS: Mapping[str, str] = {
    "nothing-to-ask": "no suitable sentences left",
    "fewer-than-asked": "the model returned too few questions",
    "more-than-asked": "the model returned too many questions",
    "malformed-question": "malformed: no question, or passages that are not text",
    "kind-not-asked-for": "a kind that was not requested",
    "refers-to-the-text": "refers to a text that the searcher cannot see",
    "other-language": "in a different script than its source",
    "no-excerpt": "has no passage",
    "empty-excerpt": "has an empty passage",
    "excerpt-not-found": "its passage is not in the document",
    "ambiguous-excerpt": "its passage occurs in several places",
    "overlong-excerpt": "its passage covers most of a long text",
    "unknown-chunk-id": "cites a chunk that was not shown (only the id is removed)",
    "no-chunk": "cites no chunk that was shown",
    "one-document": "across documents, but one document answers it",
    "duplicate-question": "duplicate",
    "copies-passage": "copies its passage",
    "gives-answer-away": "reveals the answer",
    "passage-not-found": "a search does not find its passage",
    "many-passages-fit": "ambiguous: fits many passages",
    "near-duplicate": "near duplicate of an earlier question",
    ABOUT_A_SECTION: "asks for a whole section by its heading",
    "more-than-asked-for": "good, but more than requested",
}
"""Reasons why a question is rejected or flagged; ``model-<kind>`` where there was no usable reply."""
