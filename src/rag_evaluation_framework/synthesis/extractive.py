"""Questions without a model.

The rules are in :mod:`rules.english`, :mod:`rules.chinese` and :mod:`rules.structures`. This module decides
which of their questions are taken: of many forms and from all over the document, at most one about the same
passage. The same corpus and seed give the same questions.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.synthesis.chinese_questions import chinese_questions
from rag_evaluation_framework.synthesis.draft_quality import QualityControl
from rag_evaluation_framework.synthesis.drafts import (
    KINDS,
    Balance,
    Difficulty,
    Draft,
    Drafts,
    Excerpt,
    Form,
    Level,
    MadeQuestion,
    QuestionKind,
    Rejection,
    twofold_questions,
)
from rag_evaluation_framework.synthesis.english_questions import english_questions, known_words
from rag_evaluation_framework.synthesis.generated_datasets import dataset_of
from rag_evaluation_framework.synthesis.passages import Passages, Statement, passages_of
from rag_evaluation_framework.synthesis.structures import (
    Property,
    pairs_across,
    properties_of,
    structure_questions,
)
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.tokens import content_keys, content_tokens

# How a question is worded: with its topic if it would be unclear, and with its mark.
#
# A question needs its document's topic if it points elsewhere ("its limit"), or if its words are so
# common that other documents would fit as well.

_OPENINGS = ("regarding {}, ", "as for {}, ", "with regard to {}, ")
_CHINESE_OPENING = "关于{}，"
_LONGEST_TOPIC = 8
# So many documents are expected by chance to hold all words of a question: it may be about any of them.
_UNCLEAR_FROM = 0.5
_EASY, _MEDIUM = 0.8, 0.5
_FEWEST_TERM_WORDS = 6


class Wording:
    """Puts questions about the documents of one corpus."""

    def __init__(self, texts: Iterable[str], *, seed: int = 0) -> None:
        self._seed = seed
        self._documents = 0
        self._holding: Counter[str] = Counter()
        for text in texts:
            self._documents += 1
            self._holding.update(set(content_keys(text)))

    def question(self, made: MadeQuestion, title: str) -> str | None:
        """Return a question as it is asked about a document of this title; ``None`` if it cannot be clear."""
        topic = self._topic(made, title)
        if not topic:
            return None if made.needs_topic and topic is not None else self.finished(made.text)
        if has_unspaced_script(made.text):
            return self.finished(_CHINESE_OPENING.format(topic) + made.text)
        opening = self._drawn(made.text).choice(_OPENINGS)
        return self.finished(opening.format(topic) + made.text)

    def finished(self, text: str) -> str:
        """Return a question with its capital and its mark."""
        mark = "？" if has_unspaced_script(text) else "?"
        return f"{text[0].upper()}{text[1:]}{mark}"

    def difficulty(self, question: str, excerpts: Sequence[Excerpt]) -> Difficulty:
        """Tell how hard a question is by the share of its words that its passage has."""
        asked = set(content_keys(question))
        told = {key for excerpt in excerpts for key in content_keys(excerpt.text)}
        share = len(asked & told) / len(asked) if asked else 0.0
        if len(excerpts) > 1:
            return "medium" if share >= _MEDIUM else "hard"
        return "easy" if share >= _EASY else "medium" if share >= _MEDIUM else "hard"

    def about_terms(self, statement: Statement) -> Iterator[MadeQuestion]:
        """Ask about the rarest words of a sentence, a last resort for sentences that no rule reads."""
        tokens = content_tokens(statement.text)
        if len(tokens) < _FEWEST_TERM_WORDS:
            return
        rarest = sorted(tokens, key=lambda token: (self._holding[token.text], token.start))[:2]
        if has_unspaced_script(statement.text):
            terms = "和".join(token.of(statement.text) for token in sorted(rarest, key=_start))
            text = f"{terms}是怎么回事"
        else:
            terms = " and ".join(token.of(statement.text) for token in sorted(rarest, key=_start))
            text = f"what is said about {terms}"
        yield MadeQuestion(
            text=text,
            places=(statement.place,),
            answer=statement.text,
            form="terms",
            kind="factual",
            rank=3,
            needs_topic=True,
        )

    def _topic(self, made: MadeQuestion, title: str) -> str | None:
        """Return what the question must name to be clear: ``None`` if nothing, empty if that is unknown."""
        asked = made.text.casefold()
        named = bool(title) and title.casefold() in asked
        headings = [each for each in made.places[0].headings[1:] if each.casefold() not in asked]
        if made.needs_topic and headings and not _is_question(headings[-1]):
            heading = headings[-1]
            is_clear = named or not title or not self._is_unclear(f"{made.text} {heading}")
            whole = heading if is_clear else f"{heading} ({title})"
            return whole if _is_short(whole) else heading
        if named or not (made.needs_topic or self._is_unclear(made.text)):
            return None
        return title if _is_short(title) else ""

    def _is_unclear(self, text: str) -> bool:
        """Tell whether the words of a question would be found together in other documents too."""
        keys = set(content_keys(text))
        expected = float(self._documents)
        for key in keys:
            expected *= max(self._holding[key], 1) / self._documents
        return self._documents > 1 and expected >= _UNCLEAR_FROM

    def _drawn(self, text: str) -> random.Random:
        return random.Random(f"{self._seed} {text}")  # noqa: S311  # draws words, guards nothing


def _start(token: tuple[str, int, int]) -> int:
    return token[1]


def _is_short(topic: str) -> bool:
    return len(topic.split()) <= _LONGEST_TOPIC and len(topic) <= 60


def _is_question(heading: str) -> bool:
    return heading.rstrip().endswith(("?", "？"))


NAME = "extractive"
VERSION = 2

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
