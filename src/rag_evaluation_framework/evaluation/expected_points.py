"""What an answer should say, point by point, and whether the text that says it was retrieved.

Where a sample says by itself what counts, the points are read as its own metric reads them: the names, the
relation or the steps that are expected, and in a conversation what the turn's reference adds. Otherwise they
are the claims of the reference, and who decides what supports them is a :class:`SupportMethod`.

Whether the text was retrieved is told by the most reliable truth a sample has, in this order: relevant
characters against the characters retrieved; relevant passages (reference contexts, or the text of relevant
characters) against the texts retrieved; relevant chunks; relevant documents; and at last what the answer
should say against the texts retrieved. Every relevant place must be found, but one document is enough, since
each may hold the answer. Documents are looked up by their names on both sides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from rag_evaluation_framework.evaluation.hit_views import ranked_documents
from rag_evaluation_framework.judging.cited_texts import CitableTexts, quotes
from rag_evaluation_framework.judging.claims import claims_of, said_in
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.judging.milestones import first_tellings
from rag_evaluation_framework.judging.reference_match import kept_match
from rag_evaluation_framework.judging.relations import RelationReading, read_relation
from rag_evaluation_framework.judging.turn_matching import TurnMatch, match_reference
from rag_evaluation_framework.metrics.spans import merge_spans
from rag_evaluation_framework.metrics.views import NOTHING_RETRIEVED
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId
from rag_evaluation_framework.records.responses import AnsweredTurn, Response
from rag_evaluation_framework.records.samples import Entities, Milestones, Relation, Sample
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, Label, SupportMethod
from rag_evaluation_framework.startup import dataclass, replace
from rag_evaluation_framework.text.tokens import content_keys

# A passage may be cut by the edge of a chunk; with half of it, it counts as found.
_ENOUGH = 0.5
# How much of a claim of the reference an answer must have to make it, where its words are matched: half of a
# few, most of more. "It opens at noon" is no support for "it opens at nine", so that brief references always
# are. ``python -m benchmarks.said_claims`` tells how often people agree.
_BRIEF, _HALF, _MOST = 6, 0.5, 0.6


@dataclass(frozen=True, slots=True)
class Point:
    """Something that should be said, whether a text says it or denies it, and the passage that shows it."""

    text: str
    label: Label
    passage: str | None = None
    find: Callable[[], str | None] | None = None
    """Who finds the passage where it is to be shown."""

    @property
    def is_said(self) -> bool:
        return self.label == "supported"

    @property
    def shown_by(self) -> str | None:
        """The passage that shows it."""
        return self.passage if self.find is None else self.find()


class ExpectedPoints(ABC):
    """The points of one kind with what an answer makes of each.

    ``what`` says what they are, ``denied`` how one is told that is told wrongly. ``are_enough`` tells whether
    an answer that has all of them is right, whatever else it says.
    """

    what: str
    denied: str
    are_enough = True

    def __init__(self, points: Iterable[Point]) -> None:
        self.points = tuple(points)

    @abstractmethod
    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        """Return those of the points that stand in none of the texts."""

    def shown(self, points: Sequence[Point], texts: Sequence[str]) -> Sequence[Point]:
        """Return the points with the passages of the texts that show them, where these were looked at."""
        return points


def expected_points(
    sample: Sample,
    answer: str,
    texts: Sequence[str],
    support: SupportMethod,
    *,
    readings: Sequence[str],
    is_matched: bool = False,
    turn: AnsweredTurn | None = None,
) -> ExpectedPoints:
    """Return what an answer should say, by the surest that its sample, or its turn, tells.

    ``readings`` are the texts that the reference allows: the one counts of which the answer says most, and of
    equal ones that of which ``texts``, the retrieved ones, say most. ``is_matched``: a metric has matched the
    words of the answer and the reference already, and is followed.
    """
    if turn is not None:
        return _News(turn, answer)
    match sample.expectation:
        case Entities(names=names) if names:
            return _Names(names, answer, sample.question)
        case Milestones(steps=steps) if steps:
            return _Steps(steps, answer)
        case Relation() as expected:
            relation = _RelationTold(sample, expected, answer)
            if relation.points:
                return relation
    claims = [_Claims(text, sample, answer, support, is_matched=is_matched) for text in readings]
    if len(claims) == 1:
        return claims[0]
    return min(claims, key=lambda each: (each.lacking, len(each.absent(each.points, texts))))


def statements_of(text: str) -> Sequence[Claim]:
    """Return the claims of a text; one that is no sentence, such as a name, is a claim as a whole."""
    claims = claims_of(text)
    bare = text.strip()
    if claims or not bare:
        return claims
    start = text.index(bare)
    return [Claim(bare, start, start + len(bare))]


def supported_by(
    claims: Sequence[Claim], texts: Sequence[str], sample: Sample, support: SupportMethod
) -> list[ClaimVerdict]:
    """Return a verdict for each claim; nobody is asked where there are none."""
    return support.decide(claims, texts, question=sample.question) if claims else []


def point_of(verdict: ClaimVerdict) -> Point:
    """Return a claim and the verdict on it as a point."""
    return Point(
        verdict.claim.text, verdict.label, None if verdict.evidence is None else verdict.evidence.text
    )


class _Claims(ExpectedPoints):
    """The claims of one reading of the reference."""

    what = "claims of the reference"
    denied = "contradicted"
    are_enough = False

    def __init__(
        self, reference: str, sample: Sample, answer: str, support: SupportMethod, *, is_matched: bool
    ) -> None:
        self._sample, self._support = sample, support
        said = said_in(reference)
        statements = statements_of(said if said.strip() else reference)
        self._claims = {claim.text: claim for claim in statements}
        self._points: dict[tuple[str, ...], dict[str, Point]] = {}
        claims, by_words = list(self._claims.values()), isinstance(support, LexicalSupport)
        told = (claims[0].text, reference) if claims else ()  # the first claim alone says more most often
        is_brief = by_words and bool(told) and all(len(content_keys(text)) <= _BRIEF for text in told)
        by_match = is_brief or (by_words and is_matched)
        super().__init__(self._matched(claims, answer) if by_match else self._found(claims, (answer,)))

    def _matched(self, claims: Sequence[Claim], answer: str) -> Iterator[Point]:
        """Yield the points, said where the answer has their words and numbers; metrics match the same."""
        said, wanted = ([claim.text for claim in each] for each in (statements_of(said_in(answer)), claims))
        match = kept_match(tuple(said), tuple(wanted), self._sample.question)
        for claim, share, has_figures in zip(claims, match.recalled, match.has_figures, strict=True):
            is_most = share >= _MOST or (share >= _HALF and len(content_keys(claim.text)) <= _BRIEF)
            yield _point(claim.text, is_most and has_figures)

    @property
    def lacking(self) -> int:
        return sum(not point.is_said for point in self.points)

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        found = self._found([self._claims[point.text] for point in points], tuple(texts))
        return [point for point in found if not point.is_said]

    def shown(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        known = self._points.get(tuple(texts), {})
        return [known.get(point.text, point) for point in points]

    def _found(self, claims: Sequence[Claim], texts: tuple[str, ...]) -> list[Point]:
        """Return whether texts bear claims out; each is held against the same texts once."""
        known = self._points.setdefault(texts, {})
        unknown = [claim for claim in claims if claim.text not in known]
        support, question = self._support, self._sample.question
        if isinstance(support, LexicalSupport):
            flags = support.are_supported(unknown, texts, question=question) if unknown else []
            for claim, flag in zip(unknown, flags, strict=True):
                find = partial(support.closest, claim, texts, question=question)
                known[claim.text] = Point(claim.text, "supported" if flag else "unsupported", find=find)
        else:
            for verdict in supported_by(unknown, texts, self._sample, support):
                known[verdict.claim.text] = point_of(verdict)
        return [known[claim.text] for claim in claims]


class _Names(ExpectedPoints):
    """The names that are expected, "A/B" being either."""

    what = "expected names"
    denied = "denied"

    def __init__(self, names: Sequence[str], answer: str, question: str) -> None:
        self._question = question
        super().__init__(map(_point, names, names_in(answer, names, question=question)))

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        named = names_in("\n".join(texts), [point.text for point in points], question=self._question)
        return [_point(point.text, False) for point, found in zip(points, named, strict=True) if not found]


class _Steps(ExpectedPoints):
    """The steps that are expected; one that is told before a step that it should follow is told wrongly."""

    what = "expected steps"
    denied = "told too early"

    def __init__(self, steps: Sequence[str], answer: str) -> None:
        places = first_tellings(answer, steps)
        latest = [
            max((each for each in places[:n] if each is not None), default=0) for n in range(len(places))
        ]
        super().__init__(map(_step, steps, places, latest))

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        places = first_tellings("\n".join(texts), [point.text for point in points])
        return [_point(point.text, False) for point, at in zip(points, places, strict=True) if at is None]


class _RelationTold(ExpectedPoints):
    """The relation that is expected; no point where no words are known for it."""

    what = "expected relations"
    denied = "told the wrong way round"

    def __init__(self, sample: Sample, expected: Relation, answer: str) -> None:
        self._sample, self._triple = sample, (expected.subject, expected.relation, expected.object)
        reading = self._reading(answer)
        text = " ".join(self._triple)
        super().__init__([] if reading.relation is None else [Point(text, _label_of(reading))])

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        # A context often names one end only; that the relation is told in it is what can be seen.
        if any(self._reading(text).relation for text in texts):
            return []
        return [_point(point.text, False) for point in points]

    def _reading(self, text: str) -> RelationReading:
        asked, reference = self._sample.question, self._sample.reference or ""
        return read_relation(text, self._triple, question=asked, reference=reference)


class _News(ExpectedPoints):
    """What the reference of a turn says beyond its question and the turns before."""

    what = "new parts of the reference"
    denied = "contradicted"

    def __init__(self, turn: AnsweredTurn, answer: str) -> None:
        self._turn = turn
        match = self._match(answer)
        said, unsaid = ((), ()) if match is None else (match.said, match.unsaid)
        super().__init__([*(_point(text, True) for text in said), *(_point(text, False) for text in unsaid)])

    def absent(self, points: Sequence[Point], texts: Sequence[str]) -> list[Point]:
        # A yes stands in a text that says what was asked, and in no other words.
        said = {part for text in texts if (match := self._match(text)) for part in match.said}
        return [
            _point(point.text, False)
            for point in points
            if point.text not in said and not any(_has(text, point.text) for text in texts)
        ]

    def _match(self, text: str) -> TurnMatch | None:
        turn = self._turn
        return match_reference(text, turn.expected.reference or "", turn.question, before=turn.before)


def _has(text: str, part: str) -> bool:
    match = match_reference(text, part)
    return match is not None and match.value == 1


def _point(text: str, is_said: bool) -> Point:
    return Point(text, "supported" if is_said else "unsupported")


def _step(text: str, place: int | None, latest: int) -> Point:
    return (
        Point(text, "contradicted")
        if place is not None and place < latest
        else _point(text, place is not None)
    )


def _label_of(reading: RelationReading) -> Label:
    if not reading.relation or not all(reading.ends) or reading.direction == "not told":
        return "unsupported"
    return "contradicted" if reading.direction == "wrong" else "supported"


@dataclass(frozen=True, slots=True)
class RetrievedTruth:
    """Whether the relevant text was retrieved (``None`` if that is not known), why, and what is missing."""

    is_retrieved: bool | None
    why: str
    missing: tuple[str, ...] = ()


def texts_retrieved(response: Response) -> tuple[str, ...]:
    """Return the texts that the system answered from: its contexts, else the texts of its hits."""
    contexts = tuple(text for text in response.contexts if text.strip())
    return contexts or tuple(hit.text for hit in response.hits if hit.text and hit.text.strip())


def relevant_passages(sample: Sample, documents: CitableTexts | None) -> tuple[str, ...]:
    """Return the relevant passages whose words are known."""
    given = tuple(text for text in sample.reference_contexts if text.strip())
    return given or tuple(dict.fromkeys(filter(None, _texts_of_spans(sample, documents))))


def retrieved_truth(
    sample: Sample,
    response: Response,
    support: SupportMethod,
    *,
    documents: CitableTexts | None,
    wanted: ExpectedPoints,
) -> RetrievedTruth:
    """Find out whether the text that answers a sample was retrieved; ``wanted`` is what to answer."""
    texts = texts_retrieved(response)
    if response.retrieved_nothing and not texts:
        return RetrievedTruth(False, NOTHING_RETRIEVED, relevant_passages(sample, documents))
    if not texts and not response.hits:
        return RetrievedTruth(None, "the system returned neither contexts nor hits")
    by_characters = _by_characters(sample, response, documents)
    if by_characters is not None:
        return by_characters
    passages = relevant_passages(sample, documents)
    if passages and texts:
        missing = [text for text in passages if not _is_found(text, texts, sample, support)]
        return _found("relevant passages", len(passages), missing)
    ids = {hit.id for hit in response.hits}
    if sample.relevant_chunk_ids and ids:
        chunks = sample.relevant_chunk_ids
        return _found("relevant chunks", len(chunks), [each for each in chunks if each not in ids])
    by_documents = _by_documents(sample, response, documents)
    if by_documents is not None and by_documents.is_retrieved is not None:
        return by_documents
    if wanted.points and texts:
        sought = [point for point in wanted.points if not point.is_said] or wanted.points
        missing = [point.text for point in wanted.absent(sought, texts)]
        truth, came = _found(wanted.what, len(sought), missing), len(sought) - len(missing)
        if len(sought) == len(wanted.points):
            return truth
        return replace(truth, why=f"{came or 'none'} of the {len(sought)} it lacks came")
    if wanted.points or passages:
        return RetrievedTruth(None, "no texts came with the hits")
    return by_documents or RetrievedTruth(None, "nothing is known to be relevant")


def _found(what: str, total: int, missing: Sequence[str], *, one_is_enough: bool = False) -> RetrievedTruth:
    found = total - len(missing)
    is_retrieved = found > 0 if one_is_enough else not missing
    return RetrievedTruth(is_retrieved, f"{found} of {total} {what} retrieved", tuple(missing))


def _by_characters(
    sample: Sample, response: Response, documents: CitableTexts | None
) -> RetrievedTruth | None:
    """Compare characters, where both sides have them in documents of the same names."""
    spans = [hit.span for hit in response.hits if hit.span is not None]
    if not spans or not sample.relevant_spans:
        return None
    documents = documents or CitableTexts(())
    hits = merge_spans(replace(span, doc_id=DocumentId(documents.id_of(span.doc_id))) for span in spans)
    placed = [documents.placed(span) for span in sample.relevant_spans]
    names = {span.doc_id for span in hits}
    if not documents and not any(span.file in names for span in placed):
        return None
    missing = []
    for span in placed:
        wanted = CharacterSpan(DocumentId(span.file), span.start, span.end)
        if sum(wanted.overlap_chars(hit) for hit in hits) < _ENOUGH * wanted.length():
            missing.append(span.text or f"{span.file}, characters {span.start} to {span.end}")
    return _found("relevant passages", len(placed), missing)


def _by_documents(
    sample: Sample, response: Response, documents: CitableTexts | None
) -> RetrievedTruth | None:
    """Compare documents, if some are relevant and there are hits."""
    relevant = [document for document, grade in sample.relevant_documents.items() if grade > 0]
    if not relevant or not response.hits:
        return None
    documents = documents or CitableTexts(())
    ranked = ranked_documents(response.hits, documents)
    if isinstance(ranked, str):
        return RetrievedTruth(None, ranked)
    missing = [document for document in relevant if documents.id_of(document) not in ranked]
    return _found("relevant documents", len(relevant), missing, one_is_enough=True)


def _is_found(passage: str, texts: Sequence[str], sample: Sample, support: SupportMethod) -> bool:
    if any(quotes(passage, text) for text in texts):
        return True
    verdicts = supported_by(statements_of(passage), texts, sample, support)
    return sum(verdict.is_supported for verdict in verdicts) >= _ENOUGH * len(verdicts)


def _texts_of_spans(sample: Sample, documents: CitableTexts | None) -> Iterator[str | None]:
    for span in sample.relevant_spans:
        opened = documents.opened(span) if span.text is None and documents else None
        yield span.text if opened is None else opened.text
