"""Questions with exact excerpts, and those that were rejected with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import msgspec

from rag_evaluation_framework.text.spans import Spanned

Level = Literal["token", "chunk"]
"""What a question's truth is made of: characters of documents, or chunks of one chunker."""

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
    """What it was made from: a document, a window of one, or several documents."""
    flags: tuple[str, ...] = ()
    """What a reader should look at; a flagged question is kept."""


class Rejection(msgspec.Struct, frozen=True):
    """A question that was rejected: a stable reason, and what it was about."""

    reason: str
    question: str
    origin: str = ""
    detail: str = ""


class Drafts(msgspec.Struct, frozen=True):
    """What was made, and what was rejected on the way."""

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
    "nothing-to-ask": "the documents give nothing more to ask",
    "fewer-than-asked": "the model gave fewer questions",
    "more-than-asked": "the model gave more questions",
    "malformed-question": "no question in it, or passages that are not texts",
    "kind-not-asked-for": "of another kind than those asked for",
    "refers-to-the-text": "speaks of a text that whoever searches has not seen",
    "other-language": "in another script than its source",
    "no-excerpt": "no passage with it",
    "empty-excerpt": "a passage without a word",
    "excerpt-not-found": "a passage that is not in the document",
    "ambiguous-excerpt": "a passage that occurs in several places",
    "overlong-excerpt": "a passage that is most of a long text",
    "unknown-chunk-id": "cites a chunk that was not shown; the id alone is dropped",
    "no-chunk": "cites no chunk that was shown",
    "one-document": "across documents, but a single one answers it",
    "duplicate-question": "asked before in the same words",
    "copies-passage": "repeats its passage word by word",
    "gives-answer-away": "says its own answer",
    "passage-not-found": "does not lead back to its passage",
    "many-passages-fit": "fits many passages as well",
    "near-duplicate": "asks what an earlier question asks",
    ABOUT_A_SECTION: "asks for a whole section by its heading",
    "more-than-asked-for": "good, but more than were asked for",
}
"""Why a question is rejected or flagged, in words; ``model-<kind>`` where there was no usable reply."""
