"""Which documents of a corpus have to do with one another, by the words that mark each of them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np

from rag_evaluation_framework.judging.words.content_tokens import content_keys
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.retrieval.bm25 import BM25Index

# A document is looked for by so many of its words.
_MARKING_WORDS = 24
_NEIGHBOURS = 30


class RelatedDocuments:
    """The nearest documents of each, nearest first; the same corpus gives the same ones."""

    def __init__(self, corpus: Corpus) -> None:
        self._documents = [document for document in corpus if document.content.strip()]
        self._places = {document.id: place for place, document in enumerate(self._documents)}
        counts = [Counter(content_keys(document.content)) for document in self._documents]
        holding = Counter(word for words in counts for word in words)
        total = len(counts)
        self._rarity = {word: log(1 + total / number) for word, number in holding.items()}
        self._marking = [self._most_marking(words) for words in counts]
        self._index = BM25Index(list(words.elements()) for words in counts)
        self._near = [self._nearest(place) for place in range(total)]

    def __len__(self) -> int:
        return len(self._documents)

    def near(self, document: Document, number: int = _NEIGHBOURS) -> list[Document]:
        """Return the documents that have most to do with one, if there are any."""
        nearest = self._near[self._places[document.id]]
        return [self._documents[place] for place, _ in nearest[:number]]

    def groups(self, number: int, *, size: int) -> list[tuple[Document, ...]]:
        """Return groups of up to ``size`` documents that belong together, the closest first.

        If it can be avoided, no document is in two groups, so that the groups are spread over the corpus.
        There may be fewer groups than asked for.
        """
        by_closeness = sorted(
            (place for place in range(len(self)) if self._near[place]),
            key=lambda place: (-self._near[place][0][1], place),
        )
        candidates = [
            (place, *(other for other, _ in self._near[place][: size - 1])) for place in by_closeness
        ]
        chosen: dict[frozenset[int], tuple[int, ...]] = {}
        used: Counter[int] = Counter()
        for most in range(1, len(self) + 1):
            for group in candidates:
                if len(chosen) == number:
                    break
                if frozenset(group) not in chosen and all(used[place] < most for place in group):
                    chosen[frozenset(group)] = group
                    used.update(group)
        return [tuple(self._documents[place] for place in group) for group in chosen.values()]

    def most_about(self, texts: Sequence[str], documents: Sequence[Document]) -> int:
        """Return which of the texts says most about these documents; of equal ones the first."""
        words = {word for document in documents for word in self._marking[self._places[document.id]]}
        weights = [
            sum(self._rarity.get(word, 0.0) for word in words & set(content_keys(text))) for text in texts
        ]
        return weights.index(max(weights))

    def _most_marking(self, words: Counter[str]) -> list[str]:
        by_weight = sorted(words, key=lambda word: (-words[word] * self._rarity[word], word))
        return by_weight[:_MARKING_WORDS]

    def _nearest(self, place: int) -> list[tuple[int, float]]:
        scores = self._index.scores(self._marking[place])
        own = scores[place] or 1.0
        scores[place] = 0.0
        found = np.flatnonzero(scores)
        best = found[np.lexsort((found, -scores[found]))][:_NEIGHBOURS]
        return [(int(other), float(scores[other] / own)) for other in best]
