"""Whether a question leads back to its own passage, and to no crowd of others.

The corpus is cut into passages of a few sentences, and each question is put to BM25 over them, by the words
that carry content. A question whose passage is not among the first has words that do not connect it with the
passage; one that many other passages fit as well is too general to have one truth.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rag_evaluation_framework.judging.words.content_tokens import content_keys
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.bm25 import BM25Index, Scores
from rag_evaluation_framework.retrieval.markdown_chunker import MarkdownHeadingChunker
from rag_evaluation_framework.synthesis.drafts import Draft, Excerpt, Rejection

PASSAGE_CHARACTERS = 500

_NUMBERED = re.compile(r"[^\W_]*\d[^\W_]*")


@dataclass(frozen=True, slots=True)
class Returned:
    """How a question leads back: why it does not, if so; and how well the best other passage fits it, where 1
    means as well as its own. A question without a passage is not judged.
    """

    rejection: Rejection | None
    rivalry: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """Rejects a question whose passage is not among the first ``k``, or that more than ``most_rivals`` other
    passages fit at least ``rival_share`` as well.
    """

    k: int = 20
    most_rivals: int = 5
    rival_share: float = 0.95

    def judged(self, drafts: Sequence[Draft], corpus: Corpus) -> list[Returned]:
        """Return for each draft how it leads back."""
        index = _PassageIndex(corpus)
        return [self._judged(draft, index) if draft.excerpts else Returned(None, 0.0) for draft in drafts]

    def _judged(self, draft: Draft, index: _PassageIndex) -> Returned:
        scores = index.scores(draft.question)
        own = sorted({number for excerpt in draft.excerpts for number in index.holding(excerpt)})
        of_own = scores[own]
        best = float(of_own.max(initial=0.0))
        if best <= 0.0:
            return Returned(_rejection("passage-not-found", draft, "no word in common"), 1.0)
        rank = int(np.count_nonzero(scores > best)) + 1
        if rank > self.k:
            return Returned(_rejection("passage-not-found", draft, f"at rank {rank}"), 1.0)
        scores[own] = 0.0
        rivals = int(np.count_nonzero(scores >= self.rival_share * best))
        rivalry = float(scores.max(initial=0.0)) / best
        if rivals > self.most_rivals:
            return Returned(_rejection("many-passages-fit", draft, f"{rivals} others"), rivalry)
        return Returned(None, rivalry)


def _rejection(reason: str, draft: Draft, detail: str) -> Rejection:
    return Rejection(reason, draft.question, draft.origin, detail)


class _PassageIndex:
    """The passages of a corpus, by their words and by their places."""

    def __init__(self, corpus: Corpus) -> None:
        self._spans: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        self._index = BM25Index(self._cut(corpus))

    def _cut(self, corpus: Corpus) -> Iterator[list[str]]:
        chunker = MarkdownHeadingChunker(PASSAGE_CHARACTERS)
        number = 0
        for document in corpus:
            for chunk in chunker.chunk_with_positions(document):
                self._spans[document.id].append((chunk.start, chunk.end, number))
                number += 1
                # A passage is about what its headings say, even where it does not repeat them.
                headings = " ".join(chunk.metadata.get("headings", ()))
                yield _words(f"{headings}\n{chunk.content}")

    def scores(self, question: str) -> Scores:
        return self._index.scores(_words(question))

    def holding(self, excerpt: Excerpt) -> Iterator[int]:
        """Yield the passages that share characters with an excerpt."""
        for start, end, number in self._spans[excerpt.doc_id]:
            if start < excerpt.end and excerpt.start < end:
                yield number


def _words(text: str) -> list[str]:
    """Return the words of a text that carry content, and its numbers and codes."""
    return content_keys(text) + _NUMBERED.findall(text.casefold())
