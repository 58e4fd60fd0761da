"""BM25: ranking by the words that query and text share, the baseline that needs no model.

score(q, d) = Σ over the query's words w of  ln(1 + (N - n(w) + 0.5) / (n(w) + 0.5)) · tf / (tf + norm(d)),
with norm(d) = k1 · (1 - b + b · |d| / mean |d|); a word that the query has twice counts twice. This is
Lucene's form of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
the variant "Lucene (accurate)" of Kamphuis et al., "Which BM25 Do You Mean?" (ECIR 2020): no word has a
negative weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import Specification
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.embedders import check_texts
from rag_evaluation_framework.retrieval.stores import Numbers, check_k, place_order
from rag_evaluation_framework.text.tokens import lexical_tokens
from rag_evaluation_framework.workers import Workforce, in_order

K1 = 1.5
B = 0.75

Scores = npt.NDArray[np.float64]


class BM25Index:
    """The weight of every word in every text, by word: a query adds up a few short columns."""

    def __init__(self, texts: Iterable[Sequence[str]], *, k1: float = K1, b: float = B) -> None:
        """Weigh texts that are split into words already."""
        vocabulary: dict[str, int] = {}
        lengths: list[int] = []
        words: list[int] = []
        for text in texts:
            lengths.append(len(text))
            words.extend([vocabulary.setdefault(word, len(vocabulary)) for word in text])
        self.size = len(lengths)
        self._vocabulary = vocabulary
        owners = np.repeat(np.arange(self.size), lengths)
        # One integer for a word in a text; distinct ones come out sorted by word, then by text.
        pairs, counts = np.unique(np.array(words, np.int64) * max(self.size, 1) + owners, return_counts=True)
        word, text_number = np.divmod(pairs, max(self.size, 1))
        holding = np.bincount(word, minlength=len(vocabulary))
        rarity = np.log1p((self.size - holding + 0.5) / (holding + 0.5))
        mean_length = sum(lengths) / max(self.size, 1) or 1.0
        norms = k1 * (1.0 - b + b * np.array(lengths, np.float64) / mean_length)
        self._texts = text_number.astype(np.intp)
        self._weights: Scores = rarity[word] * (counts / (counts + norms[text_number]))
        self._ends = np.concatenate([[0], np.cumsum(holding)])

    def scores(self, query: Sequence[str]) -> Scores:
        """Return the score of every text for a query that is split into words; 0 where no word is shared."""
        scores = np.zeros(self.size)
        for word, count in Counter(query).items():
            number = self._vocabulary.get(word)
            if number is not None:
                column = slice(self._ends[number], self._ends[number + 1])
                np.add.at(scores, self._texts[column], count * self._weights[column])
        return scores


class BM25Retriever:
    """BM25 over words. Only chunks that share a word with the query are found."""

    engines = ("processes", "ray")

    def __init__(
        self, k1: float = K1, b: float = B, *, tokenize: Callable[[str], Sequence[str]] = lexical_tokens
    ) -> None:
        if not 0 <= k1 < float("inf") or not 0 <= b <= 1:
            raise UsageError(
                f"bm25: expected k1 of at least 0 and b from 0 to 1, got {shown(k1)}, {shown(b)}"
            )
        self.k1, self.b = k1, b
        self._tokenize = tokenize
        self.index([])

    def __repr__(self) -> str:
        return str(Specification("bm25", {"k1": self.k1, "b": self.b}))

    def index(self, chunks: Sequence[PositionAwareChunk]) -> None:
        """Index these chunks in place of those before."""
        self._chunks = list(chunks)
        self._index = BM25Index(
            (self._tokenize(chunk.content) for chunk in self._chunks), k1=self.k1, b=self.b
        )
        self._tie_order = place_order(self._chunks)

    def retrieve(
        self, queries: Sequence[str], k: int, *, workers: Workforce = 1
    ) -> list[list[PositionAwareChunk]]:
        """Return for each query the k chunks with the highest scores, ties by (doc_id, start).

        Workers are sent the words of the index and return places in it; the chunks stay here.
        """
        check_k(k)
        check_texts(queries)
        search = partial(
            _best_numbers, index=self._index, tie_order=self._tie_order, tokenize=self._tokenize, k=k
        )
        found = in_order(search, queries, workers=workers, total=len(queries))
        return [[self._chunks[number] for number in best] for best in found]

    def score(self, query: str, chunks: Sequence[PositionAwareChunk]) -> list[float]:
        """Return the score of each of the chunks, which are indexed."""
        numbers = {(chunk.doc_id, chunk.start, chunk.end): n for n, chunk in enumerate(self._chunks)}
        scores = self._index.scores(self._tokenize(query))
        return [float(scores[numbers[chunk.doc_id, chunk.start, chunk.end]]) for chunk in chunks]


def _best_numbers(
    query: str, *, index: BM25Index, tie_order: Numbers, tokenize: Callable[[str], Sequence[str]], k: int
) -> list[int]:
    """Return the numbers of the k best texts for a query."""
    scores = index.scores(tokenize(query))
    found = np.flatnonzero(scores)
    if len(found) > k:
        # Everything as good as the k-th stays in, so that ties are cut by place and not by chance.
        least = np.partition(scores[found], len(found) - k)[len(found) - k]
        found = found[scores[found] >= least]
    best: list[int] = found[np.lexsort((tie_order[found], -scores[found]))][:k].tolist()
    return best
