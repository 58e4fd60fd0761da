"""Questions with exact excerpts; rejections; balance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, get_args

from rag_evaluation_framework.synthesis.english_clauses import is_plural
from rag_evaluation_framework.synthesis.passages import Place
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.spans import Spanned

Level = Literal["token", "chunk"]
"""What a question's truth is made of: characters of documents, or chunks of one chunker."""

QuestionKind = Literal["factual", "analytical", "comparative", "temporal"]
Difficulty = Literal["easy", "medium", "hard"]

KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)


@dataclass(frozen=True, slots=True)
class Excerpt(Spanned):
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


# Balance over documents: none has more questions than asked for, and a limit is shared out evenly.


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """The most questions to keep: about each document, about several documents together, and in all.

    Earlier questions are kept; with ``harder_first``, those of each kind that other passages fit nearly as
    well (see the round trip). A total is filled by taking one question of each document in turn.
    """

    per_document: int | None = None
    across_documents: int | None = None
    total: int | None = None
    harder_first: bool = False

    def applied(self, drafts: Drafts) -> Drafts:
        """Return the drafts without those beyond the limits, in their order."""
        kept = self._taken_in_turn(self._capped(drafts.kept))
        places = set(kept)
        spare = [
            Rejection("more-than-asked-for", draft.question, draft.origin)
            for number, draft in enumerate(drafts.kept)
            if number not in places
        ]
        return Drafts(
            tuple(draft for number, draft in enumerate(drafts.kept) if number in places),
            (*drafts.rejected, *spare),
        )

    def _capped(self, drafts: Sequence[Draft]) -> dict[tuple[str, ...], list[int]]:
        """Return the numbers of the drafts within the caps, by the documents that they are about."""
        groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        counts: Counter[object] = Counter()
        for number, draft in enumerate(drafts):
            documents = tuple(sorted({excerpt.doc_id for excerpt in draft.excerpts}))
            cap = self.across_documents if len(documents) > 1 else self.per_document
            counted = "across" if len(documents) > 1 else documents
            # What cannot be answered is asked for by itself, and is about no document.
            if documents and cap is not None and counts[counted] >= cap:
                continue
            counts[counted] += 1
            groups[documents].append(number)
        return groups

    def _taken_in_turn(self, groups: dict[tuple[str, ...], list[int]]) -> list[int]:
        turns = [
            (turn, place, number)
            for place, numbers in enumerate(groups.values())
            for turn, number in enumerate(numbers)
        ]
        return [number for _, _, number in sorted(turns)[: self.total]]


def harder_first(drafts: Sequence[Draft], rivalry: Sequence[float]) -> list[int]:
    """Return the numbers of the drafts in a new order: kinds of questions in turn, of each the hardest first.

    ``rivalry`` is how well the best other passage fits each question. Documents stay in their order.
    """
    hardest = sorted(range(len(drafts)), key=lambda number: -rivalry[number])
    turns: Counter[object] = Counter()
    places: dict[str, int] = {}
    for draft in drafts:
        places.setdefault(draft.origin, len(places))
    keys: dict[int, tuple[int, int, float]] = {}
    for number in hardest:
        draft = drafts[number]
        turn = (draft.origin, draft.kind, len(draft.excerpts) > 1)
        keys[number] = (places[draft.origin], turns[turn], -rivalry[number])
        turns[turn] += 1
    return sorted(keys, key=lambda number: keys[number])


# What the makers of questions hand over: a question, what answers it, and how much it is worth
# asking.

Form = Literal[
    "definition", "quantity", "time", "place", "cause", "condition", "person", "superlative", "change",
    "manner", "decision", "object", "cell", "comparison", "listing", "heading", "topic", "terms", "twofold",
]  # fmt: skip
"""What a question asks for; questions of a document are drawn from many forms before one comes twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestion:
    """A question without its final mark, with the places that answer it.

    ``rank`` orders what is taken first: 0 reads as people ask, 2 is a last resort. ``needs_topic`` says that
    the question would not be understood without what the document or section is about.
    """

    text: str
    places: tuple[Place, ...]
    answer: str
    form: Form
    kind: QuestionKind
    rank: int = 0
    needs_topic: bool = False
    subject: str = ""
    """What is spoken of, where that is known; in a question for two things it is not named twice."""


_LONGEST_TWOFOLD = 26
_NEAR = 600
_TOGETHER = frozenset({"definition", "quantity", "time", "place", "cause", "person", "change", "manner"})


def twofold_questions(made: Sequence[MadeQuestion]) -> Iterator[MadeQuestion]:
    """Yield questions for two things that one section tells, as people ask who need both.

    Each sentence gives its best question; neighbours that are asked for different things are joined.
    """
    best: dict[tuple[Place, ...], MadeQuestion] = {}
    for each in made:
        if each.form in _TOGETHER and each.rank == 0:
            best.setdefault(each.places, each)
    listed = list(best.values())
    for first, second in pairwise(listed):
        is_near = 0 < second.places[0].start - first.places[-1].end < _NEAR
        if is_near and first.places[0].headings == second.places[0].headings:
            text = _joined(first, second)
            if len(text.split()) <= _LONGEST_TWOFOLD:
                yield MadeQuestion(
                    text=text,
                    places=first.places + second.places,
                    answer=f"{first.answer}; {second.answer}",
                    form="twofold",
                    kind=first.kind,
                    needs_topic=first.needs_topic or second.needs_topic,
                )


def _joined(first: MadeQuestion, second: MadeQuestion) -> str:
    if has_unspaced_script(first.text):
        return f"{first.text}，{second.text}"
    later = second.text
    if first.subject and first.subject == second.subject:
        pronoun = "they" if is_plural(first.subject) else "it"
        later = later.replace(second.subject, pronoun, 1)
    return f"{first.text}, and {later}"
