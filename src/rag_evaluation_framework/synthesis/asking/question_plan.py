"""Plans what a model is asked for: which texts it is shown, and how many questions of which kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, get_args

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_chunk_id
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.retrieval.chunking import UNPLACED
from rag_evaluation_framework.synthesis.asking.question_tasks import (
    QuestionTask,
    Shown,
    Wanted,
    checked_names,
    question_mix,
)
from rag_evaluation_framework.synthesis.asking.related_documents import RelatedDocuments
from rag_evaluation_framework.synthesis.asking.windows import (
    MAX_CHARACTERS,
    check_size,
    shared_out,
    windows_of,
)
from rag_evaluation_framework.synthesis.drafts import DIFFICULTIES, KINDS, Difficulty, Level, QuestionKind

Showing = tuple[Shown, ...]
Cut = Callable[[Document, int], list[Showing]]
"""Cuts a document into parts to show at once, each of at most so many characters."""

_DOCUMENTS_TOGETHER = 3
_QUESTIONS_TOGETHER = 2
_LEAST_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSettings:
    """How many questions of which kinds are asked for, and how much text is shown at once."""

    level: Level = "token"
    queries_per_doc: int = 5
    kinds: tuple[QuestionKind, ...] = KINDS
    difficulties: tuple[Difficulty, ...] = DIFFICULTIES
    queries_across_docs: int = 0
    unanswerable_per_doc: int = 0
    max_characters: int = MAX_CHARACTERS
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            # What was written as JSON comes back as lists.
            if isinstance(value := getattr(self, field.name), list):
                object.__setattr__(self, field.name, tuple(value))
        if self.level not in get_args(Level):
            raise UsageError(f"level: expected token or chunk, got {shown(self.level)}")
        checked_names("kind of question", self.kinds, KINDS)
        checked_names("difficulty", self.difficulties, DIFFICULTIES)
        check_size(self.max_characters)
        counts = ("queries_per_doc", "queries_across_docs", "unanswerable_per_doc")
        for name in (*counts, "seed"):
            _check_count(name, getattr(self, name))
        if not any(getattr(self, name) for name in counts):
            raise UsageError(f"expected at least one question: all of {', '.join(counts)} are 0")


def planned_tasks(corpus: Corpus, settings: QuestionSettings, cut: Cut) -> list[QuestionTask]:
    """Return the tasks in the order of the corpus: about each document, across several, unanswerable."""
    mix = question_mix(settings.kinds, settings.difficulties, seed=settings.seed)
    tasks = [*_document_tasks(corpus, settings, cut, mix)]
    if settings.queries_across_docs or settings.unanswerable_per_doc:
        related = RelatedDocuments(corpus)
        tasks += _across_tasks(related, settings, cut, mix)
        tasks += _unanswerable_tasks(corpus, related, settings, mix)
    if not tasks:
        raise UsageError("corpus: expected a document with text, got none")
    return tasks


def window_cut(document: Document, max_characters: int) -> list[Showing]:
    """Show a document window by window."""
    return [
        (
            Shown(
                document.id, each.start, each.end, document.content[each.start : each.end], "", each.headings
            ),
        )
        for each in windows_of(document, max_characters=max_characters)
    ]


def chunk_cut(chunks: Sequence[PositionAwareChunk], corpus: Corpus) -> Cut:
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


def _document_tasks(
    corpus: Corpus, settings: QuestionSettings, cut: Cut, mix: Iterator[Wanted]
) -> Iterator[QuestionTask]:
    prompt = "token_level" if settings.level == "token" else "chunk_level"
    for document in corpus if settings.queries_per_doc else ():
        showings = cut(document, settings.max_characters)
        shares = shared_out(settings.queries_per_doc, [_length(showing) for showing in showings])
        for number, (showing, share) in enumerate(zip(showings, shares, strict=True), start=1):
            if share:
                yield QuestionTask(
                    id=f"{document.id}#{number}",
                    prompt=prompt,  # type: ignore[arg-type]  # one of two names
                    shown=showing,
                    wanted=tuple(islice(mix, share)),
                    kinds=settings.kinds,
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
        raise UsageError("queries_across_docs: expected documents that have words in common, got none")
    shares = shared_out(wanted, [1] * len(showings))
    for number, (showing, share) in enumerate(zip(showings, shares, strict=True), start=1):
        yield QuestionTask(
            id=f"across#{number}",
            prompt="across_documents" if settings.level == "token" else "across_chunks",
            shown=showing,
            wanted=tuple(islice(mix, share)),
            kinds=settings.kinds,
        )


def _shown_together(
    group: Sequence[Document], settings: QuestionSettings, related: RelatedDocuments, cut: Cut
) -> Showing:
    """Return the part of each document that has most to do with the others of its group."""
    room = max(settings.max_characters // len(group), _LEAST_SHOWN)
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
        showings = window_cut(document, settings.max_characters)
        if not showings:
            continue
        titles = tuple(_title(other) for other in (document, *related.near(document)))
        shares = shared_out(settings.unanswerable_per_doc, [_length(showing) for showing in showings])
        for number, (showing, share) in enumerate(zip(showings, shares, strict=True), start=1):
            if share:
                yield QuestionTask(
                    id=f"{document.id}#unanswerable-{number}",
                    prompt="unanswerable",
                    shown=showing,
                    wanted=tuple(islice(mix, share)),
                    titles=titles,
                )


def _place_of(chunk: PositionAwareChunk, text: str) -> tuple[int, int]:
    """Return where a chunk is; one without a position has a place only if its text occurs once."""
    if not chunk.metadata.get(UNPLACED):
        return chunk.start, chunk.end
    start = text.find(chunk.content)
    if start < 0 or text.find(chunk.content, start + 1) >= 0:
        return 0, 0
    return start, start + len(chunk.content)


def _length(showing: Showing) -> int:
    return sum(len(part.text) for part in showing)


def _title(document: Document) -> str:
    return f"{document.id}: {document.title}" if document.title else document.id


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise UsageError(f"{name}: expected a whole number of at least 0, got {shown(value)}")
