"""Questions without a model.

The rules are in :mod:`english_questions`, :mod:`chinese_questions` and :mod:`passages`. This module decides
which of their questions are taken: of many forms and from all over the document, at most one about the same
passage. The same corpus and seed give the same questions.
"""

from __future__ import annotations

import random
import time
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.synthesis.chinese_questions import chinese_questions
from rag_evaluation_framework.synthesis.draft_quality import QualityControl
from rag_evaluation_framework.synthesis.drafts import (
    KINDS,
    Difficulty,
    Draft,
    Drafts,
    Excerpt,
    Level,
    QuestionKind,
    Rejection,
)
from rag_evaluation_framework.synthesis.english_questions import english_questions, known_words
from rag_evaluation_framework.synthesis.generated_datasets import dataset_of
from rag_evaluation_framework.synthesis.passages import (
    Form,
    MadeQuestion,
    Passages,
    is_question,
    is_short,
    passages_of,
    section_of,
    title_of,
)
from rag_evaluation_framework.synthesis.structure_questions import structure_questions
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.tokens import content_keys

# How a question is worded: after the name of its document, unless that is in it already, and with its mark.

_EASY, _MEDIUM = 0.8, 0.5


def worded(made: MadeQuestion, passages: Passages) -> str | None:
    """Return a question as it is asked about a document; ``None`` if that has no name and needs one."""
    title = "" if is_question(passages.title) else passages.title
    if made.place.headings and title_of(made.place.headings[0]) != title:
        title = ""  # this stands beside what the title heads, not below
    asked = made.text.casefold()
    is_named = bool(title) and f" {title.casefold()} " in f" {asked} "
    if is_named or not is_short(title):
        return _finished(made.text) if is_named or not made.needs_topic else None
    if not title:
        return None if made.needs_topic else _finished(made.text)
    if passages.is_manual:
        return _finished(f"according to the manual page of {title}, {made.text}")
    heading = section_of(made.place)
    heading = "" if heading.casefold() in asked else heading
    if has_unspaced_script(made.text):
        part = f"的“{heading}”部分" if heading else ""
        return _finished(f"根据《{title.replace('《', '〈').replace('》', '〉')}》{part}，{made.text}")
    part = f"“{heading}” in " if heading else ""
    return _finished(f"according to {part}“{title.strip('“”')}”, {made.text}")


def _finished(text: str) -> str:
    """Return a question with its capital and its mark."""
    return f"{text[0].upper()}{text[1:]}{'？' if has_unspaced_script(text) else '?'}"


def _difficulty(question: str, passage: str) -> Difficulty:
    """Tell how hard a question is by the share of its words that its passage has."""
    asked = set(content_keys(question))
    share = len(asked.intersection(content_keys(passage))) / len(asked) if asked else 0.0
    return "easy" if share >= _EASY else "medium" if share >= _MEDIUM else "hard"


NAME = "extractive"
VERSION = 6

SPARE = 3
"""How many times as many questions as asked for are drafted, if a document has them: some are rejected."""

_USUAL_QUALITY = QualityControl()
_UNCHECKED = QualityControl(leakage=None, round_trip=None, near_duplicates=None)
_CONSIDERED = 20
_WEIGHTS: dict[Difficulty, int] = {"easy": 1, "medium": 2, "hard": 3}


@dataclass(frozen=True, slots=True)
class Extraction:
    """The dataset, and the drafts behind it with everything that was rejected."""

    dataset: Dataset
    drafts: Drafts


def generate_extractively(
    corpus: Corpus,
    *,
    level: Level = "token",
    queries_per_doc: int = 5,
    kinds: Collection[QuestionKind] = KINDS,
    chunker: Chunker | PositionAwareChunker | None = None,
    quality: QualityControl | None = _USUAL_QUALITY,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> Extraction:
    """Make a dataset of questions about a corpus without a model.

    ``quality`` checks the questions, by default with every check, with ``None`` by none; no document has more
    of them than asked for, and harder ones are preferred: most of what rules make is easy to find.
    """
    drafts = extractive_drafts(
        corpus, queries_per_doc=queries_per_doc, kinds=kinds, seed=seed, on_progress=on_progress
    )
    checked = replace(quality or _UNCHECKED, per_document=queries_per_doc).checked(drafts, corpus)
    generator = {
        "name": NAME,
        "version": VERSION,
        "queries_per_doc": queries_per_doc,
        "kinds": [kind for kind in KINDS if kind in kinds],
        "seed": seed,
    }
    dataset = dataset_of(checked, corpus, level=level, chunker=chunker, generator=generator)
    return Extraction(dataset, checked)


def extractive_drafts(
    corpus: Corpus,
    *,
    queries_per_doc: int = 5,
    kinds: Collection[QuestionKind] = KINDS,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> Drafts:
    """Draft questions about every document, the best of each first.

    Up to :data:`SPARE` times ``queries_per_doc`` are drafted for a document, so that enough remain when some
    are rejected. ``kinds`` are those to ask for, by default all. What a document does not offer is counted
    (``nothing-to-ask``), so that every question asked for is either drafted or accounted for.
    """
    if not isinstance(queries_per_doc, int) or isinstance(queries_per_doc, bool) or queries_per_doc < 0:
        expected = "a whole number of at least 0"
        raise UsageError(f"queries_per_doc: expected {expected}, got {shown(queries_per_doc)}")
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"kinds: expected some of {', '.join(KINDS)}, got {shown(kind)}")
    known = known_words(document.content for document in corpus)
    kept: list[Draft] = []
    rejected: list[Rejection] = []
    begun = time.monotonic()
    for number, document in enumerate(corpus, start=1):
        passages = passages_of(document)
        pool = [each for each in _made(passages, document, known) if each.kind in kinds]
        random.Random(f"{seed} {document.id}").shuffle(pool)  # noqa: S311  # draws questions, guards nothing
        considered = sorted(pool[: _CONSIDERED * SPARE * queries_per_doc], key=lambda each: each.rank)
        drafted = (_draft(made, document, passages) for made in considered)
        candidates = [each for each in drafted if each is not None]
        chosen = _chosen(candidates, SPARE * queries_per_doc)
        kept.extend(each.draft for each in chosen)
        rejected += [Rejection("nothing-to-ask", "", document.id)] * (queries_per_doc - len(chosen))
        if on_progress is not None:
            elapsed = time.monotonic() - begun
            on_progress(Progress(total=len(corpus), done=number, failed=0, elapsed=elapsed))
    return Drafts(tuple(kept), tuple(rejected))


def _made(passages: Passages, document: Document, known: frozenset[str]) -> Iterator[MadeQuestion]:
    chinese = [each for each in passages.statements if has_unspaced_script(each.text)]
    english = [each for each in passages.statements if not has_unspaced_script(each.text)]
    yield from english_questions(english, known, document.content, passages.title)
    yield from chinese_questions(chinese)
    yield from structure_questions(passages, document.content)


@dataclass(frozen=True, slots=True)
class _Candidate:
    made: MadeQuestion
    draft: Draft
    difficulty: Difficulty


def _draft(made: MadeQuestion, document: Document, passages: Passages) -> _Candidate | None:
    question = worded(made, passages)
    if question is None:
        return None
    excerpt = Excerpt(document.id, made.place.start, made.place.end, made.place.of(document.content))
    difficulty = _difficulty(question, excerpt.text)
    draft = Draft(
        question=question,
        excerpts=(excerpt,),
        answer=made.answer,
        kind=made.kind,
        difficulty=difficulty,
        origin=document.id,
    )
    return _Candidate(made, draft, difficulty)


def _chosen(candidates: Sequence[_Candidate], limit: int) -> list[_Candidate]:
    """Choose by rank, then by difficulty, form and section, those seldom chosen first; no passage twice."""
    alike: defaultdict[_Traits, deque[tuple[int, _Candidate]]] = defaultdict(deque)
    for number, each in enumerate(candidates):
        traits = each.made.rank, each.difficulty, each.made.form, each.made.place.headings
        alike[traits].append((number, each))
    counts: Counter[object] = Counter()
    taken: list[tuple[int, int]] = []
    chosen: list[_Candidate] = []

    def key(traits: _Traits) -> tuple[float, ...]:
        rank, difficulty, form, headings = traits
        seldom = counts[difficulty] / _WEIGHTS[difficulty]
        return rank, seldom, counts[form], counts[headings], alike[traits][0][0]

    while alike and len(chosen) < limit:
        traits = min(alike, key=key)
        _, best = alike[traits].popleft()
        if not alike[traits]:
            del alike[traits]
        span = (best.made.place.start, best.made.place.end)
        if _is_taken(span, taken):
            continue
        chosen.append(best)
        taken = sorted([*taken, span])
        counts.update(traits[1:])
    return chosen


_Traits = tuple[int, Difficulty, Form, tuple[str, ...]]
"""What decides which question comes next: rank, difficulty, form, headings."""


def _is_taken(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a place overlaps one of those taken, which are in order and do not overlap."""
    before = bisect_left(taken, (span[1],))
    return before > 0 and taken[before - 1][1] > span[0]
