"""Quality control of questions: leakage, round trip, near-duplicates, and no more than asked for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.bm25 import BM25Index, Scores
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder, embedded
from rag_evaluation_framework.retrieval.markdown_chunker import MarkdownHeadingChunker
from rag_evaluation_framework.retrieval.stores import unit_vectors
from rag_evaluation_framework.synthesis.drafts import ABOUT_A_SECTION, Draft, Drafts, Excerpt, Rejection
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.tokens import content_keys, word_tokens

# Questions that copy their passage or contain their own answer: to find the passage then proves nothing.

_SHORT_ANSWER_WORDS = 8


class Leakage(msgspec.Struct, frozen=True, kw_only=True):
    """Rejects what repeats ``longest_run`` words of its passage in a row, or a run that makes up
    ``largest_share`` of a question of at least ``fewest_words``; and what contains its answer.

    Of Chinese, twice as many characters count as words.
    """

    longest_run: int = 10
    largest_share: float = 0.8
    fewest_words: int = 7

    def rejection(self, draft: Draft) -> Rejection | None:
        """Return why a question leaks, or ``None``."""
        asked = word_tokens(draft.question)
        if not asked or not draft.excerpts:
            return None
        run = max(longest_common_run(asked, word_tokens(excerpt.text)) for excerpt in draft.excerpts)
        most = self.longest_run * (2 if has_unspaced_script(draft.question) else 1)
        if run >= most or (
            run >= self.largest_share * len(asked)
            and len(asked) >= self.fewest_words * most // self.longest_run
        ):
            return Rejection("copies-passage", draft.question, draft.origin, f"{run} words in a row")
        if draft.answer and _holds(asked, word_tokens(draft.answer)):
            return Rejection("gives-answer-away", draft.question, draft.origin, draft.answer)
        return None


def longest_common_run(first: list[str], second: list[str]) -> int:
    """Return how many words in a row two texts share at most.

    >>> longest_common_run("when does the ferry leave".split(), "the ferry leaves".split())
    2
    """
    places: dict[str, list[int]] = {}
    for place, word in enumerate(second):
        places.setdefault(word, []).append(place)
    longest = 0
    ending: dict[int, int] = {}
    for word in first:
        ending = {place: ending.get(place - 1, 0) + 1 for place in places.get(word, ())}
        longest = max(longest, max(ending.values(), default=0))
    return longest


def _holds(asked: list[str], answer: list[str]) -> bool:
    """Return True if a question contains a short answer word for word."""
    if not 0 < len(answer) <= _SHORT_ANSWER_WORDS:
        return False
    size = len(answer)
    return any(asked[place : place + size] == answer for place in range(len(asked) - size + 1))


# Questions that ask nearly the same, found by their embeddings.

_NUMBER = re.compile(r"\d+")
_DIMENSIONS = 256
_BLOCK = 256


class NearDuplicates(msgspec.Struct, frozen=True, kw_only=True):
    """Rejects a question as like an earlier one as ``threshold`` (cosine), unless their numbers differ.

    "Revenue in 2023" and "revenue in 2024" are two questions.
    """

    threshold: float = 0.92
    embedder: Embedder = msgspec.field(default_factory=lambda: HashingEmbedder(_DIMENSIONS))

    def rejections(self, drafts: Sequence[Draft]) -> Iterator[Rejection | None]:
        """Yield for each draft which earlier kept one it repeats, or ``None``."""
        vectors = unit_vectors(embedded(self.embedder, [draft.question for draft in drafts]))
        numbers = [_NUMBER.findall(draft.question) for draft in drafts]
        kept = np.ones(len(drafts), dtype=bool)
        for begin in range(0, len(drafts), _BLOCK):
            end = min(begin + _BLOCK, len(drafts))
            like = vectors[begin:end] @ vectors[:end].T >= self.threshold
            for row in range(begin, end):
                earlier = np.flatnonzero(like[row - begin, :row] & kept[:row]).tolist()
                repeated = next((place for place in earlier if numbers[place] == numbers[row]), None)
                # What asks for a section differs from others of its kind in the name alone.
                if repeated is None or ABOUT_A_SECTION in drafts[row].flags:
                    yield None
                    continue
                kept[row] = False
                draft = drafts[row]
                yield Rejection("near-duplicate", draft.question, draft.origin, drafts[repeated].question)


# Whether a question leads back to its own passage, and to no crowd of others.
#
# The corpus is cut into passages of a few sentences, and each question is put to BM25 over them, by the
# words that carry content. A question whose passage is not among the first has words that do not connect
# it with the passage; one that many other passages fit as well is too general to have one truth.

PASSAGE_CHARACTERS = 500

# Looked for where a word begins: a run of letters without a number is then read once, not from each of them.
_NUMBERED = re.compile(r"(?<![^\W_])[^\W_]*\d[^\W_]*")


Returned = tuple[Rejection | None, float]
"""Round trip of a question: the rejection, if its passage is not found; and the score of the best other
passage, where 1 means as good as its own. A question without a passage is not judged.
"""


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """Flags a question whose passage is not among the first ``k``, or that more than ``most_rivals`` other
    passages fit at least ``rival_share`` as well; ``drops`` rejects it instead.

    Words are searched, so dropping keeps only questions that words can find.
    """

    k: int = 20
    most_rivals: int = 5
    rival_share: float = 0.95
    drops: bool = False

    def judged(self, drafts: Sequence[Draft], corpus: Corpus) -> list[Returned]:
        """Return for each draft how it leads back."""
        index = _PassageIndex(corpus)
        return [self._judged(draft, index) if draft.excerpts else (None, 0.0) for draft in drafts]

    def _judged(self, draft: Draft, index: _PassageIndex) -> Returned:
        scores = index.scores(draft.question)
        own = sorted({number for excerpt in draft.excerpts for number in index.holding(excerpt)})
        of_own = scores[own]
        best = float(of_own.max(initial=0.0))
        if best <= 0.0:
            return _rejection("passage-not-found", draft, "no shared words"), 1.0
        rank = int(np.count_nonzero(scores > best)) + 1
        if rank > self.k:
            return _rejection("passage-not-found", draft, f"at rank {rank}"), 1.0
        scores[own] = 0.0
        rivals = int(np.count_nonzero(scores >= self.rival_share * best))
        rivalry = float(scores.max(initial=0.0)) / best
        if rivals > self.most_rivals:
            return _rejection("many-passages-fit", draft, f"{rivals} others"), rivalry
        return None, rivalry


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
                headings = " ".join(chunk.metadata.get("headings", ()))[:PASSAGE_CHARACTERS]
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


# Quality control: questions that would make an evaluation easier, vaguer or more lopsided than it should be.
#
# In this order: what copies its passage or gives its answer away; what does not lead back to its own
# passage, which is flagged; what repeats an earlier question; and what is beyond the number asked for.
# Each has a reason.


class QualityControl(msgspec.Struct, frozen=True, kw_only=True):
    """Checks questions by each part that is not ``None``.

    With ``per_document`` no document has more questions than that: those of each kind are preferred that
    other passages fit nearly as well, which are harder to answer.
    """

    leakage: Leakage | None = msgspec.field(default_factory=Leakage)
    round_trip: RoundTrip | None = msgspec.field(default_factory=RoundTrip)
    near_duplicates: NearDuplicates | None = msgspec.field(default_factory=NearDuplicates)
    per_document: int | None = None

    def checked(self, drafts: Drafts, corpus: Corpus) -> Drafts:
        """Return the drafts without those that are rejected, which are counted; doubtful ones have flags."""
        if self.leakage is not None:
            drafts = drafts.sifted(map(self.leakage.rejection, drafts.kept))
        if self.round_trip is not None:
            returned = self.round_trip.judged(drafts.kept, corpus)
            if self.per_document is not None:
                # Where there are more than enough, a doubtful one is not taken before a sound one.
                order = harder_first(
                    drafts.kept, [rivalry if sound is None else -rivalry for sound, rivalry in returned]
                )
                drafts = Drafts(tuple(drafts.kept[number] for number in order), drafts.rejected)
                returned = [returned[number] for number in order]
            reasons = [rejection for rejection, _ in returned]
            drafts = drafts.sifted(reasons) if self.round_trip.drops else _flagged(drafts, reasons)
        if self.near_duplicates is not None:
            drafts = drafts.sifted(self.near_duplicates.rejections(drafts.kept))
        if self.per_document is not None:
            drafts = drafts.sifted(_beyond(drafts.kept, self.per_document))
        return drafts


def _flagged(drafts: Drafts, reasons: Sequence[Rejection | None]) -> Drafts:
    """Return the drafts, each with the reason that would reject it as a flag."""
    pairs = zip(drafts.kept, reasons, strict=True)
    kept = (
        draft if reason is None else replace(draft, flags=(*draft.flags, reason.reason))
        for draft, reason in pairs
    )
    return Drafts(tuple(kept), drafts.rejected)


def harder_first(drafts: Sequence[Draft], rivalry: Sequence[float]) -> list[int]:
    """Return the numbers of the drafts in a new order: kinds of questions in turn, of each the hardest first.

    ``rivalry`` is how well the best other passage fits each question. Documents stay in their order.
    """
    places = {origin: place for place, origin in enumerate(dict.fromkeys(draft.origin for draft in drafts))}
    turns: Counter[object] = Counter()
    keys: dict[int, tuple[int, int, float]] = {}
    for number in sorted(range(len(drafts)), key=lambda number: -rivalry[number]):
        draft = drafts[number]
        keys[number] = (places[draft.origin], turns[draft.origin, draft.kind], -rivalry[number])
        turns[draft.origin, draft.kind] += 1
    return sorted(keys, key=lambda number: keys[number])


def _beyond(drafts: Sequence[Draft], most: int) -> Iterator[Rejection | None]:
    """Yield a rejection for what a document has beyond its number; what cannot be answered is about none."""
    counts: Counter[frozenset[str]] = Counter()
    for draft in drafts:
        documents = frozenset(excerpt.doc_id for excerpt in draft.excerpts)
        counts[documents] += 1
        is_spare = bool(documents) and counts[documents] > most
        yield Rejection("more-than-asked-for", draft.question, draft.origin) if is_spare else None
