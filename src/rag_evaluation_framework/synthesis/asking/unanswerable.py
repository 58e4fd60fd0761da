"""Whether a question that should have no answer obviously has one: by the words it shares with a sentence.

This finds a passage that has nearly all the words of the question, not one that answers in other words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

from rag_evaluation_framework.judging.words.content_tokens import content_keys
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.sentences import sentence_spans
from rag_evaluation_framework.synthesis.drafts import Draft, Drafts, Rejection

# A sentence that has this share of what a question names, rare words counting more, most likely answers it.
_SHARE = 0.8
_LEAST_WORDS = 3

_ASKS_WHY = re.compile(r"\bwhy\b|\bfor what (?:reason|purpose)\b|为什么|为何|何故|原因", re.IGNORECASE)
_SAYS_WHY = re.compile(
    r"\b(?:because|since|due to|owing to|so that|in order to|the reason|therefore|as a result)\b"
    r"|因为|由于|因此|以便|为了|所以",
    re.IGNORECASE,
)


class ObviousAnswers:
    """The sentences of a corpus, found by the words of a question."""

    def __init__(self, corpus: Corpus) -> None:
        self._sentences: list[str] = []
        self._holding: defaultdict[str, list[int]] = defaultdict(list)
        for document in corpus:
            for start, end in sentence_spans(document.content):
                self._add(document.content[start:end])

    def answering(self, question: str) -> str | None:
        """Return a sentence that obviously answers a question, if there is one."""
        words = sorted(set(content_keys(question)))
        if len(words) < _LEAST_WORDS:
            return None
        weights = {word: self._rarity(word) for word in words}
        shared: Counter[int] = Counter()
        for word, weight in weights.items():
            for number in self._holding.get(word, ()):
                shared[number] += weight  # type: ignore[assignment]  # a counter of weights
        least = _SHARE * sum(weights.values())
        likely = sorted(number for number, weight in shared.items() if weight >= least)
        return self._first_that_says(question, [self._sentences[number] for number in likely])

    def _first_that_says(self, question: str, sentences: Sequence[str]) -> str | None:
        asks_why = _ASKS_WHY.search(question) is not None
        return next((each for each in sentences if not asks_why or _SAYS_WHY.search(each)), None)

    def _add(self, sentence: str) -> None:
        for word in set(content_keys(sentence)):
            self._holding[word].append(len(self._sentences))
        self._sentences.append(sentence)

    def _rarity(self, word: str) -> float:
        return log(1 + (len(self._sentences) + 1) / (len(self._holding.get(word, ())) + 1))


def without_answered(drafts: Drafts, corpus: Corpus) -> Drafts:
    """Reject the unanswerable questions that the corpus obviously answers (``answered-after-all``)."""
    if all(draft.excerpts or draft.chunk_ids for draft in drafts.kept):
        return drafts
    answers = ObviousAnswers(corpus)

    def rejection(draft: Draft) -> Rejection | None:
        if draft.excerpts or draft.chunk_ids:
            return None
        sentence = answers.answering(draft.question)
        if sentence is None:
            return None
        return Rejection("answered-after-all", draft.question, draft.origin, sentence)

    return drafts.sifted(map(rejection, drafts.kept))
