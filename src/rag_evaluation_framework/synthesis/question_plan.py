"""The texts of a corpus for a model, and the number and kinds of questions to request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from math import lcm, log
from typing import Any, get_args

import msgspec
import numpy as np

from rag_evaluation_framework.errors import UnknownNameError, UsageError, checked_count, shown
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_chunk_id
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.retrieval.bm25 import BM25Index
from rag_evaluation_framework.retrieval.chunkers import RecursiveCharacterChunker
from rag_evaluation_framework.retrieval.markdown_chunker import Section, markdown_sections
from rag_evaluation_framework.retrieval.pipeline import UNPLACED, chunk_corpus
from rag_evaluation_framework.synthesis.drafts import DIFFICULTIES, KINDS, Difficulty, Level, QuestionKind
from rag_evaluation_framework.synthesis.question_prompts import QuestionTask, Shown, Wanted
from rag_evaluation_framework.text.tokens import content_keys

# Windows: documents cut into what a model is shown at once, each with its characters in the document.
#
# A document that fits is one window. A longer one is cut before headings, so that sections stay whole as
# far as they can; a section that does not fit is cut between paragraphs, then sentences, then anywhere.

MAX_CHARACTERS = 12_000
"""About 3,000 tokens of English: fits models with small contexts, and keeps large ones to the point."""

_LEAST_CHARACTERS = 200


def windows_of(document: Document, *, max_characters: int = MAX_CHARACTERS) -> list[Shown]:
    """Return the windows of a document in order; a document without text has none.

    >>> [(window.start, window.end) for window in windows_of(Document("a.md", "# Ferries\\nFour a day."))]
    [(0, 21)]
    """
    text = document.content
    windows: list[Section] = []
    for section in _pieces(text, max_characters) if text.strip() else ():
        last = windows[-1] if windows else None
        if last is not None and section.end - last.start <= max_characters:
            windows[-1] = Section(last.start, section.end, last.headings)
        else:
            windows.append(section)
    return [Shown(document.id, each.start, each.end, each.of(text), "", each.headings) for each in windows]


def shared_out(total: int, lengths: Sequence[int]) -> list[int]:
    """Share ``total`` questions out by length: the largest remainders are rounded up, the earlier first.

    >>> shared_out(5, [6000, 3000, 1000])
    [3, 2, 0]
    """
    whole = sum(lengths)
    if not whole:
        return [0] * len(lengths)
    shares = [total * length // whole for length in lengths]
    remainders = [total * length % whole for length in lengths]
    by_remainder = sorted(range(len(lengths)), key=lambda place: (-remainders[place], place))
    for place in by_remainder[: total - sum(shares)]:
        shares[place] += 1
    return shares


def _pieces(text: str, max_characters: int) -> list[Section]:
    """Return the sections of a text, those that are too long cut again."""
    cutter = RecursiveCharacterChunker(max_characters)
    pieces: list[Section] = []
    for section in markdown_sections(text):
        if section.size <= max_characters:
            pieces.append(section)
            continue
        for start, end in cutter.spans(section.of(text)):
            pieces.append(Section(section.start + start, section.start + end, section.headings))
    return pieces


# Which documents of a corpus have to do with one another, by the words that mark each of them out.

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

    def near(self, document: Document) -> list[Document]:
        """Return the documents that have most to do with one, if there are any."""
        return [self._documents[place] for place, _ in self._near[self._places[document.id]]]

    def groups(self, number: int, *, size: int) -> list[tuple[Document, ...]]:
        """Return groups of up to ``size`` documents that belong together, the closest first.

        If it can be avoided, no document is in two groups, so that the groups are spread over the corpus.
        There may be fewer groups than asked for.
        """
        by_closeness = sorted(
            (place for place, nearest in enumerate(self._near) if nearest),
            key=lambda place: (-self._near[place][0][1], place),
        )
        candidates = [
            (place, *(other for other, _ in self._near[place][: size - 1])) for place in by_closeness
        ]
        chosen: dict[frozenset[int], tuple[int, ...]] = {}
        used: Counter[int] = Counter()
        for most in range(1, len(self._near) + 1):
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


# Plans what a model is asked for: which texts it is shown, and how many questions of which kinds.

Showing = tuple[Shown, ...]
Cut = Callable[[Document, int], list[Showing]]
"""Cuts a document into parts to show at once, each of at most so many characters."""

_DOCUMENTS_TOGETHER = 3
_QUESTIONS_TOGETHER = 2


class QuestionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The number and kinds of the requested questions, and the amount of text per request."""

    level: Level = "token"
    queries_per_doc: int = 5
    kinds: tuple[QuestionKind, ...] = KINDS
    difficulties: tuple[Difficulty, ...] = DIFFICULTIES
    queries_across_docs: int = 0
    unanswerable_per_doc: int = 0
    max_characters: int = MAX_CHARACTERS
    seed: int = 0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            # What was written as JSON comes back as lists.
            if isinstance(value := getattr(self, name), list):
                msgspec.structs.force_setattr(self, name, tuple(value))
        if self.level not in get_args(Level):
            raise UsageError(f"level: expected token or chunk, got {shown(self.level)}")
        _check_names("kind of question", self.kinds, KINDS)
        _check_names("difficulty", self.difficulties, DIFFICULTIES)
        counts = ("queries_per_doc", "queries_across_docs", "unanswerable_per_doc")
        for name in (*counts, "seed"):
            checked_count(name, getattr(self, name), at_least=0)
        checked_count("max_characters", self.max_characters, at_least=_LEAST_CHARACTERS)
        if not any(getattr(self, name) for name in counts):
            raise UsageError(f"expected at least one question: all of {', '.join(counts)} are 0")


def _check_names(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    """Refuse an empty list, and names that are not known."""
    if isinstance(given, str) or not given:
        raise UsageError(f"{what}: expected a list of {', '.join(known)}, got {shown(given)}")
    for name in given:
        if name not in known:
            raise UnknownNameError(what, name, known)


def question_mix(
    kinds: Sequence[QuestionKind], difficulties: Sequence[Difficulty], *, seed: int = 0
) -> Iterator[Wanted]:
    """Yield kinds with difficulties forever, each pair as often as any other; ``seed`` says where to begin.

    >>> mix = question_mix(["factual", "temporal"], ["easy", "hard"])
    >>> [next(mix) for _ in range(4)]
    [('factual', 'easy'), ('temporal', 'hard'), ('factual', 'hard'), ('temporal', 'easy')]
    """
    both = lcm(len(kinds), len(difficulties))
    for number in count(seed):
        turn = number + number // both
        yield kinds[number % len(kinds)], difficulties[turn % len(difficulties)]


def planned_tasks(
    corpus: Corpus, settings: QuestionSettings, chunker: Chunker | PositionAwareChunker | None = None
) -> list[QuestionTask]:
    """Return the tasks in the order of the corpus: about each document, across several, unanswerable.

    At chunk level the chunks of the ``chunker`` are shown with their ids, else windows of the documents.
    """
    cut: Cut = _window_cut
    if settings.level == "chunk":
        if chunker is None:
            raise UsageError("chunker is missing; level=chunk needs one")
        cut = _chunk_cut(chunk_corpus(corpus, chunker, distinct=True).chunks, corpus)
    mix = question_mix(settings.kinds, settings.difficulties, seed=settings.seed)
    tasks = [*_document_tasks(corpus, settings, cut, mix)]
    if settings.queries_across_docs or settings.unanswerable_per_doc:
        related = RelatedDocuments(corpus)
        tasks += _across_tasks(related, settings, cut, mix)
        tasks += _unanswerable_tasks(corpus, related, settings, mix)
    if not tasks:
        raise UsageError("corpus contains no text")
    return tasks


def _window_cut(document: Document, max_characters: int) -> list[Showing]:
    return [(each,) for each in windows_of(document, max_characters=max_characters)]


def _chunk_cut(chunks: Sequence[PositionAwareChunk], corpus: Corpus) -> Cut:
    """Show a document's chunks under their ids, as many at once as fit."""
    by_document: dict[str, list[Shown]] = {}
    for chunk in chunks:
        start, end = _place_of(chunk, corpus[chunk.doc_id].content)
        part = Shown(chunk.doc_id, start, end, chunk.content, generate_chunk_id(chunk.content))
        by_document.setdefault(chunk.doc_id, []).append(part)

    def cut(document: Document, max_characters: int) -> list[Showing]:
        showings: list[list[Shown]] = []
        room = 0
        for part in by_document.get(document.id, ()):
            if not showings or len(part.text) > room:
                showings.append([])
                room = max_characters
            showings[-1].append(part)
            room -= len(part.text)
        return [tuple(parts) for parts in showings]

    return cut


def _shared_tasks(
    name: str, showings: Sequence[Showing], shares: Sequence[int], mix: Iterator[Wanted], **task: Any
) -> Iterator[QuestionTask]:
    """Yield a task for each showing that has a share of the questions."""
    for number, (showing, share) in enumerate(zip(showings, shares, strict=True), start=1):
        if share:
            wanted = tuple(islice(mix, share))
            yield QuestionTask(id=f"{name}{number}", shown=showing, wanted=wanted, **task)


def _by_length(total: int, showings: Sequence[Showing]) -> list[int]:
    return shared_out(total, [sum(len(part.text) for part in showing) for showing in showings])


def _document_tasks(
    corpus: Corpus, settings: QuestionSettings, cut: Cut, mix: Iterator[Wanted]
) -> Iterator[QuestionTask]:
    prompt = "token_level" if settings.level == "token" else "chunk_level"
    for document in corpus if settings.queries_per_doc else ():
        showings = cut(document, settings.max_characters)
        shares = _by_length(settings.queries_per_doc, showings)
        yield from _shared_tasks(
            f"{document.id}#", showings, shares, mix, prompt=prompt, kinds=settings.kinds
        )


def _across_tasks(
    related: RelatedDocuments, settings: QuestionSettings, cut: Cut, mix: Iterator[Wanted]
) -> Iterator[QuestionTask]:
    wanted = settings.queries_across_docs
    if not wanted:
        return
    groups = related.groups(-(-wanted // _QUESTIONS_TOGETHER), size=_DOCUMENTS_TOGETHER)
    showings = [_shown_together(group, settings, related, cut) for group in groups]
    showings = [showing for showing in showings if len({part.doc_id for part in showing}) > 1]
    if not showings:
        raise UsageError("queries_across_docs: no documents share words")
    prompt = "across_documents" if settings.level == "token" else "across_chunks"
    shares = shared_out(wanted, [1] * len(showings))
    yield from _shared_tasks("across#", showings, shares, mix, prompt=prompt, kinds=settings.kinds)


def _shown_together(
    group: Sequence[Document], settings: QuestionSettings, related: RelatedDocuments, cut: Cut
) -> Showing:
    """Return the part of each document that has most to do with the others of its group."""
    room = max(settings.max_characters // len(group), _LEAST_CHARACTERS)
    together: list[Shown] = []
    for document in group:
        if showings := cut(document, room):
            texts = ["\n".join(part.text for part in showing) for showing in showings]
            others = [other for other in group if other is not document]
            together += showings[related.most_about(texts, others)]
    return tuple(together)


def _unanswerable_tasks(
    corpus: Corpus, related: RelatedDocuments, settings: QuestionSettings, mix: Iterator[Wanted]
) -> Iterator[QuestionTask]:
    for document in corpus if settings.unanswerable_per_doc else ():
        showings = _window_cut(document, settings.max_characters)
        if showings:
            titles = tuple(_title(other) for other in (document, *related.near(document)))
            shares = _by_length(settings.unanswerable_per_doc, showings)
            name = f"{document.id}#unanswerable-"
            yield from _shared_tasks(name, showings, shares, mix, prompt="unanswerable", titles=titles)


def _place_of(chunk: PositionAwareChunk, text: str) -> tuple[int, int]:
    """Return where a chunk is; one without a position has a place only if its text occurs once."""
    if not chunk.metadata.get(UNPLACED):
        return chunk.start, chunk.end
    start = text.find(chunk.content)
    if start < 0 or text.find(chunk.content, start + 1) >= 0:
        return 0, 0
    return start, start + len(chunk.content)


def _title(document: Document) -> str:
    return f"{document.id}: {document.title}" if document.title else document.id
