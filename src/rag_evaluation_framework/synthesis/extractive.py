"""Questions without a model: made by rules from a document's own sentences, tables, definitions, headings.

The rules are in :mod:`rules.english`, :mod:`rules.chinese` and :mod:`rules.structures`. This module decides
which of their questions are taken: of many forms and from all over the document, at most one about the same
passage. The same corpus and seed give the same questions.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.metrics.tokens import has_unspaced_script
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.synthesis.checks.balance import Balance
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
from rag_evaluation_framework.synthesis.generated_datasets import dataset_of
from rag_evaluation_framework.synthesis.quality import QualityControl
from rag_evaluation_framework.synthesis.rules.chinese import chinese_questions
from rag_evaluation_framework.synthesis.rules.english import english_questions, known_words
from rag_evaluation_framework.synthesis.rules.passages import Passages, passages_of
from rag_evaluation_framework.synthesis.rules.questions import Form, MadeQuestion, twofold_questions
from rag_evaluation_framework.synthesis.rules.structures import (
    Property,
    pairs_across,
    properties_of,
    structure_questions,
)
from rag_evaluation_framework.synthesis.rules.wording import Wording

NAME = "extractive"
VERSION = 1

SPARE = 3
"""How many times as many questions as asked for are drafted, if a document has them: some are rejected."""

OnDocument = Callable[[int], None]
"""Called with how many documents have been read."""

_CONSIDERED = 20
_LAST_RESORT = 2
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
    queries_across_docs: int = 0,
    kinds: Collection[QuestionKind] = (),
    chunker: Chunker | PositionAwareChunker | None = None,
    quality: QualityControl | None = None,
    seed: int = 0,
    on_document: OnDocument | None = None,
) -> Extraction:
    """Make a dataset of questions about a corpus without a model.

    ``quality`` checks the questions, by default with every check; its balance follows from the numbers asked
    for, and harder questions are preferred: most of what rules make is easy to find.
    """
    drafts = extractive_drafts(
        corpus,
        queries_per_doc=queries_per_doc,
        queries_across_docs=queries_across_docs,
        kinds=kinds,
        seed=seed,
        on_document=on_document,
    )
    balance = Balance(per_document=queries_per_doc, across_documents=queries_across_docs, harder_first=True)
    checked = replace(quality or QualityControl(), balance=balance).checked(drafts, corpus)
    generator = {
        "name": NAME,
        "version": VERSION,
        "queries_per_doc": queries_per_doc,
        "queries_across_docs": queries_across_docs,
        "kinds": [kind for kind in KINDS if not kinds or kind in kinds],
        "seed": seed,
    }
    dataset = dataset_of(checked, corpus, level=level, chunker=chunker, generator=generator)
    return Extraction(dataset, checked)


def extractive_drafts(
    corpus: Corpus,
    *,
    queries_per_doc: int = 5,
    queries_across_docs: int = 0,
    kinds: Collection[QuestionKind] = (),
    seed: int = 0,
    on_document: OnDocument | None = None,
) -> Drafts:
    """Draft questions about every document, the best of each first.

    Up to :data:`SPARE` times ``queries_per_doc`` are drafted for a document, so that enough remain when some
    are rejected. ``queries_across_docs`` asks in addition for questions that compare two documents. ``kinds``
    are those to ask for, by default all. What a document does not offer is counted (``nothing-to-ask``), so
    that every question asked for is either drafted or accounted for.
    """
    _check(queries_per_doc, queries_across_docs, kinds)
    wanted = frozenset(kinds or KINDS)
    limit = SPARE * queries_per_doc
    known = known_words(document.content for document in corpus)
    wording = Wording((document.content for document in corpus), seed=seed)
    kept: list[Draft] = []
    rejected: list[Rejection] = []
    properties: list[Property] = []
    for number, document in enumerate(corpus, start=1):
        passages = passages_of(document)
        if queries_across_docs:
            properties.extend(properties_of(passages))
        made = [each for each in _made(passages, document, known, wording) if each.kind in wanted]
        rng = _random(seed, document.id)
        considered = _considered(made, limit, rng=rng)
        candidates = [
            each for each in (_draft(one, document, passages, wording) for one in considered) if each
        ]
        natural = [each for each in candidates if each.made.rank < _LAST_RESORT]
        chosen = _chosen(natural, limit)
        if len(chosen) < queries_per_doc:
            chosen = _chosen(candidates, queries_per_doc)
        kept.extend(each.draft for each in chosen)
        rejected += [Rejection("nothing-to-ask", "", document.id)] * (queries_per_doc - len(chosen))
        if on_document is not None:
            on_document(number)
    limit = SPARE * queries_across_docs if "comparative" in wanted else 0
    across = list(_across(corpus, properties, wording, limit=limit, seed=seed))
    kept.extend(across)
    rejected += [Rejection("nothing-to-ask", "")] * (queries_across_docs - len(across))
    return Drafts(tuple(kept), tuple(rejected))


def _check(queries_per_doc: object, queries_across_docs: object, kinds: Collection[str]) -> None:
    for name, value in (("queries_per_doc", queries_per_doc), ("queries_across_docs", queries_across_docs)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UsageError(f"{name}: expected a whole number of at least 0, got {shown(value)}")
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"kinds: expected some of {', '.join(KINDS)}, got {shown(kind)}")


def _made(
    passages: Passages, document: Document, known: frozenset[str], wording: Wording
) -> Iterator[MadeQuestion]:
    chinese = [each for each in passages.statements if has_unspaced_script(each.text)]
    english = [each for each in passages.statements if not has_unspaced_script(each.text)]
    yield from english_questions(english, known)
    yield from chinese_questions(chinese)
    yield from structure_questions(passages, document.content)
    for statement in passages.statements:
        yield from wording.about_terms(statement)


@dataclass(frozen=True, slots=True)
class _Candidate:
    made: MadeQuestion
    draft: Draft


def _considered(made: Sequence[MadeQuestion], limit: int, *, rng: random.Random) -> list[MadeQuestion]:
    """Return a sample of what was made, in random order, with questions that ask for two things at once."""
    passages = {each.places for each in made if each.rank < _LAST_RESORT}
    # A question for two things takes up two passages, which a short document may not have to spare.
    twofold = twofold_questions(made) if len(passages) > limit // SPARE + 1 else ()
    pool = [*made, *twofold]
    rng.shuffle(pool)
    return sorted(pool[: _CONSIDERED * limit], key=lambda each: each.rank)


def _chosen(candidates: Sequence[_Candidate], limit: int) -> list[_Candidate]:
    """Choose by rank, then by difficulty, form and section, those seldom chosen first; no passage twice."""
    alike: defaultdict[_Traits, deque[tuple[int, _Candidate]]] = defaultdict(deque)
    for number, each in enumerate(candidates):
        alike[_traits(each)].append((number, each))
    counts: Counter[object] = Counter()
    taken: list[tuple[int, int]] = []
    chosen: list[_Candidate] = []

    def key(traits: _Traits) -> tuple[float, ...]:
        rank, is_twofold, difficulty, form, headings = traits
        return (
            rank,
            counts["twofold", is_twofold] / (1 if is_twofold else 2),
            counts[difficulty] / _WEIGHTS[difficulty],
            counts[form],
            counts[headings],
            alike[traits][0][0],
        )

    while alike and len(chosen) < limit:
        traits = min(alike, key=key)
        _, best = alike[traits].popleft()
        if not alike[traits]:
            del alike[traits]
        spans = [(place.start, place.end) for place in best.made.places]
        if any(_is_taken(span, taken) for span in spans):
            continue
        chosen.append(best)
        taken = sorted([*taken, *spans])
        _, is_twofold, *others = traits
        counts.update([("twofold", is_twofold), *others])
    return chosen


_Traits = tuple[int, bool, Difficulty, Form, tuple[str, ...]]
"""What decides which question comes next: rank, whether it is twofold, difficulty, form, headings."""


def _traits(each: _Candidate) -> _Traits:
    made = each.made
    is_twofold, headings = made.form == "twofold", made.places[0].headings
    return made.rank, is_twofold, each.draft.difficulty or "medium", made.form, headings


def _is_taken(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    """Tell whether a place overlaps one of those taken, which are in order and do not overlap."""
    before = bisect_left(taken, (span[1],))
    return before > 0 and taken[before - 1][1] > span[0]


def _draft(made: MadeQuestion, document: Document, passages: Passages, wording: Wording) -> _Candidate | None:
    question = wording.question(made, passages.title)
    if question is None:
        return None
    excerpts = tuple(
        Excerpt(document.id, place.start, place.end, document.content[place.start : place.end])
        for place in made.places
    )
    draft = Draft(
        question=question,
        excerpts=excerpts,
        answer=made.answer,
        kind=made.kind,
        difficulty=wording.difficulty(question, excerpts),
        origin=document.id,
    )
    return _Candidate(made, draft)


def _across(
    corpus: Corpus, properties: Sequence[Property], wording: Wording, *, limit: int, seed: int
) -> Iterator[Draft]:
    """Draft questions that compare a property of two documents whose tables both have it."""
    for pair in islice(pairs_across(properties, _random(seed, "across")), limit):
        excerpts = tuple(
            Excerpt(doc_id, place.start, place.end, corpus[doc_id].content[place.start : place.end])
            for doc_id, place in zip(pair.doc_ids, pair.places, strict=True)
        )
        question = wording.finished(pair.text)
        yield Draft(
            question=question,
            excerpts=excerpts,
            answer=pair.answer,
            kind="comparative",
            difficulty=wording.difficulty(question, excerpts),
            origin=" ".join(pair.doc_ids),
        )


def _random(seed: int, name: str) -> random.Random:
    return random.Random(f"{seed} {name}")  # noqa: S311  # draws questions, guards nothing
