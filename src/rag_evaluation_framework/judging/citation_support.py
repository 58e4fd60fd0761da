"""The support that cited passages give to the sentences that cite them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.judging.cited_texts import OpenedCitation
from rag_evaluation_framework.judging.claims import claims_of, without_source_list
from rag_evaluation_framework.records.citations import (
    SOURCE_HEADING,
    Citation,
    ContextCitation,
    InlineCitation,
    MalformedCitation,
    SpanCitation,
    blanked,
    parse_citations,
    without_marks,
)
from rag_evaluation_framework.records.scores import Claim, SupportMethod
from rag_evaluation_framework.text.sentences import sentence_spans

# Which sentence of an answer each of its citations stands at.
#
# A bracket belongs to the sentence it stands in, whether that claims anything or not; between sentences,
# to the one before it on the same line (``It rained. [1] It snowed. [2]``), else to the one after it on
# that line; alone on its line, to what was last claimed before it. What only announces a sentence
# (``Fares [1]:``) is a part of it. A list of sources at the end of an answer is not part of what it says.

Bracket: TypeAlias = InlineCitation | MalformedCitation

# What is left of "([1])" and of "Source: [1]" without the bracket is no sentence of its own.
_NO_SENTENCE = re.compile(rf"[\W_]*+(?:{SOURCE_HEADING}[\W_]*+)?", re.IGNORECASE)
_ANNOUNCES = re.compile(r"[:：][\s*_]*\Z")


class CitedSentence(msgspec.Struct, frozen=True):
    """A sentence, its claims, and the citations that stand at it in reading order.

    A question, a heading or a greeting has no claims. Positions are those of the answer. In the texts of
    sentence and claims there are spaces where the answer has brackets, so that a citation is never taken for
    a part of what is claimed.
    """

    sentence: Claim
    claims: tuple[Claim, ...]
    brackets: tuple[Bracket, ...]


class CitedAnswer(msgspec.Struct, frozen=True):
    """The sentences of an answer that claim or cite something; every citation stands at one of them."""

    sentences: tuple[CitedSentence, ...]

    @property
    def claiming(self) -> tuple[CitedSentence, ...]:
        """The sentences that claim something."""
        return tuple(each for each in self.sentences if each.claims)

    @property
    def brackets(self) -> tuple[Bracket, ...]:
        """Every citation, sentence by sentence."""
        return tuple(bracket for each in self.sentences for bracket in each.brackets)

    @property
    def citations(self) -> tuple[SpanCitation | ContextCitation, ...]:
        """The citations that can be read."""
        return tuple(each.citation for each in self.brackets if isinstance(each, InlineCitation))


def cited_answer(answer: str, *, has_contexts: bool = True) -> CitedAnswer:
    """Find the sentences of an answer and the citations that stand at each.

    Where no contexts came with an answer that cites files, a number in brackets, such as a year, is text.

    >>> found = cited_answer("Paris is old [1]. Rome is older. [2][3]")
    >>> [(each.sentence.text, len(each.brackets)) for each in found.sentences]
    [('Paris is old    .', 1), ('Rome is older.', 2)]
    """
    said = without_source_list(answer)
    found = parse_citations(said)
    brackets: list[Bracket] = sorted((*found.citations, *found.malformed), key=lambda each: each.start)
    if not has_contexts and any(isinstance(each.citation, SpanCitation) for each in found.citations):
        brackets = [each for each in brackets if not _is_number(each)]
    plain = blanked(without_marks(said), ((each.start, each.end) for each in brackets))
    sentences = _sentences(plain)
    standing: list[list[Bracket]] = [[] for _ in sentences]
    for bracket, number in _standing_at(brackets, sentences, said):
        standing[number].append(bracket)
    return CitedAnswer(
        tuple(
            CitedSentence(one.sentence, one.claims, tuple(own))
            for one, own in zip(sentences, standing, strict=True)
            if one.claims or own
        )
    )


class _WrittenSentence(NamedTuple):
    begin: int  # where it is written from: "根据资料[1]，" and "Fares [1]:" stand before its claim
    end: int
    sentence: Claim
    claims: tuple[Claim, ...]


def _sentences(text: str) -> list[_WrittenSentence]:
    """Return the sentences of a text, each with its claims; one claim is the sentence itself.

    A text without any sentence is one that claims nothing.
    """
    spans = sentence_spans(text)
    starts = [start for start, _ in spans]
    claims: dict[int, list[Claim]] = {}
    for claim in claims_of(text):
        claims.setdefault(bisect_right(starts, claim.start) - 1, []).append(claim)
    found: list[_WrittenSentence] = []
    announced: int | None = None
    for number, (start, end) in enumerate(spans):
        begin, own = start if announced is None else announced, claims.get(number, [])
        if own:
            start, end = own[0].start, max(own[-1].end, end)
        elif _NO_SENTENCE.fullmatch(text, start, end) or (found and start < found[-1].end):
            continue
        elif _ANNOUNCES.search(text, start, end):
            announced = begin
            continue
        sentence = own[0] if len(own) == 1 else Claim(text[start:end], start, end)
        found.append(_WrittenSentence(begin, end, sentence, tuple(own)))
        announced = None
    return found or [_WrittenSentence(0, len(text), Claim(text, 0, len(text)), ())]


def _standing_at(
    brackets: Sequence[Bracket], sentences: Sequence[_WrittenSentence], answer: str
) -> Iterator[tuple[Bracket, int]]:
    """Yield each bracket with the number of the sentence at which it stands."""
    begins = [one.begin for one in sentences]
    line_ends = [match.start() for match in re.finditer("\n", answer)]
    claiming = [number for number, one in enumerate(sentences) if one.claims] or range(len(sentences))

    def line(place: int) -> int:
        return bisect_left(line_ends, place)

    for bracket in brackets:
        after = bisect_right(begins, bracket.start)
        if after and line(sentences[after - 1].end) >= line(bracket.start):
            yield bracket, after - 1
        elif after < len(sentences) and line(begins[after]) == line(bracket.end):
            yield bracket, after
        else:
            yield bracket, claiming[max(bisect_left(claiming, after) - 1, 0)]


def _is_number(bracket: Bracket) -> bool:
    return isinstance(bracket, InlineCitation) and isinstance(bracket.citation, ContextCitation)


# Whether what an answer cites bears out what it says, sentence by sentence.
#
# The definitions are those of ALCE (Gao et al., EMNLP 2023), for a sentence and the set of what it cites:
#
# - The sentence is *supported* when all that it cites can be opened and, taken together, supports it. A
#   sentence that cites nothing, or something that is not there, is not supported.
# - A citation is *idle* when the sentence is supported without it, and *irrelevant* when it is idle and does
#   not support the sentence alone. It is *relevant* when its sentence is supported and it is not idle: of
#   two citations that each suffice both are relevant; of one that suffices and one that adds nothing, the
#   former only.
#
# A citation in a sentence that claims nothing, such as a question or a heading, is neither relevant nor
# correct. Citing the same place twice in one sentence counts once. The first hundred citations of a
# sentence are weighed; any after them count neither for it nor against it, nor do those of files that are
# none of the documents, nor sentences that cite nothing else. Citations that come beside an
# answer do not tell where they belong: each sentence is then held against all of them that can be opened,
# and a citation counts once, as relevant when it is to at least one sentence.
#
# Beyond ALCE, a citation is *correct* when it alone supports a claim of its sentence. Who decides what
# supports what is a :class:`SupportMethod`.

Cited: TypeAlias = Sequence[OpenedCitation]
Texts: TypeAlias = tuple[str, ...]

# Weighing one citation takes all the others, so that thousands at one sentence would take hours.
MOST_WEIGHED = 100


class CheckedCitation(msgspec.Struct, frozen=True):
    """A citation, and what became of it."""

    opened: OpenedCitation
    is_correct: bool
    is_relevant: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the citation as results hold it."""
        return {**self.opened.to_dict(), "correct": self.is_correct, "relevant": self.is_relevant}


class CheckedSentence(msgspec.Struct, frozen=True):
    """A sentence, whether all that it cites supports it, and which of its claims are cited."""

    sentence: Claim
    is_supported: bool
    cited_claims: tuple[bool, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence as results hold it; its text is the answer's at this place."""
        place = {"start": self.sentence.start, "end": self.sentence.end}
        return {**place, "supported": self.is_supported, "cited": any(self.cited_claims)}


class CitationReport(msgspec.Struct, frozen=True):
    """The sentences of an answer that claim something, and its citations sentence by sentence."""

    sentences: tuple[CheckedSentence, ...]
    citations: tuple[CheckedCitation, ...]

    @property
    def supported(self) -> list[bool]:
        return [sentence.is_supported for sentence in self.sentences]

    @property
    def cited(self) -> list[bool]:
        """A flag for each claim, not for each sentence."""
        return [cited for sentence in self.sentences for cited in sentence.cited_claims]

    @property
    def relevant(self) -> list[bool]:
        return [citation.is_relevant for citation in self.citations]

    @property
    def correct(self) -> list[bool]:
        return [citation.is_correct for citation in self.citations]


def check_inline_citations(
    answer: CitedAnswer,
    support: SupportMethod,
    *,
    opened: Callable[[Citation], OpenedCitation],
    question: str = "",
) -> CitationReport:
    """Check the citations that are written in an answer; ``opened`` opens one."""
    verdicts = _Verdicts(support, question)
    opened_at = zip(answer.sentences, open_sentence_citations(answer, opened), strict=True)
    known = [(each, own, [one for one in own if one.is_resolved]) for each, own in opened_at]
    cited = [(each, resolved[:MOST_WEIGHED]) for each, own, resolved in known if resolved or not own]
    verdicts.ask(pair for each, own in cited for pair in _first_questions(each, own))
    verdicts.ask(pair for each, own in cited for pair in verdicts.without_each(each.sentence, own))
    sentences = tuple(
        CheckedSentence(each.sentence, verdicts.supports(each.sentence, own), (bool(own),) * len(each.claims))
        for each, own in cited
        if each.claims
    )
    citations = tuple(
        CheckedCitation(citation, verdicts.is_correct(citation, each.claims), is_relevant)
        for each, own in cited
        for citation, is_relevant in zip(own, verdicts.relevant(each.sentence, own), strict=True)
    )
    return CitationReport(sentences, citations)


def check_listed_citations(
    answer: CitedAnswer, support: SupportMethod, *, listed: Cited, question: str = ""
) -> CitationReport:
    """Check citations that come beside an answer; those written in it are left aside."""
    verdicts = _Verdicts(support, question)
    listed = each_once(each for each in listed if each.is_resolved)[:MOST_WEIGHED]
    claiming = answer.claiming
    found = [each for each in listed if each.is_open]
    verdicts.ask(pair for each in claiming for pair in _first_questions(each, found))
    verdicts.ask(pair for each in claiming for pair in verdicts.without_each(each.sentence, found))
    sentences = tuple(
        CheckedSentence(
            each.sentence,
            verdicts.supports(each.sentence, found),
            tuple(any(verdicts.is_correct(cited, [claim]) for cited in found) for claim in each.claims),
        )
        for each in claiming
    )
    claims = [claim for each in claiming for claim in each.claims]
    relevant = {
        citation
        for each in claiming
        for citation, is_relevant in zip(found, verdicts.relevant(each.sentence, found), strict=True)
        if is_relevant
    }
    citations = tuple(
        CheckedCitation(each, verdicts.is_correct(each, claims), each in relevant) for each in listed
    )
    return CitationReport(sentences, citations)


def relevant_citations(count: int, suffices: Callable[[tuple[int, ...]], bool]) -> list[bool]:
    """Return which of so many citations are relevant; ``suffices`` tells whether some of them support."""
    everything = tuple(range(count))
    if not count or not suffices(everything):
        return [False] * count
    return [
        suffices((number,)) or not suffices(tuple(other for other in everything if other != number))
        for number in everything
    ]


def open_sentence_citations(
    answer: CitedAnswer, opened: Callable[[Citation], OpenedCitation]
) -> list[list[OpenedCitation]]:
    """Open the citations of each sentence; the same place cited twice in one is one citation."""
    return [each_once(_open_brackets(each.brackets, opened)) for each in answer.sentences]


def each_once(opened: Iterable[OpenedCitation]) -> list[OpenedCitation]:
    """Leave out what cites the same place again; what cannot be read has no place."""
    kept: dict[object, OpenedCitation] = {}
    for number, each in enumerate(opened):
        place = each.span if each.is_open and each.span is not None else each.citation
        kept.setdefault(number if place is None else place, each)
    return list(kept.values())


def _open_brackets(
    brackets: Iterable[Bracket], opened: Callable[[Citation], OpenedCitation]
) -> list[OpenedCitation]:
    """Open what brackets cite; a bracket that cannot be read is a citation that cannot be opened."""
    found = []
    for bracket in brackets:
        if isinstance(bracket, MalformedCitation):
            issue = Issue("unreadable-citation", bracket.expected, shown(bracket.text))
            each = OpenedCitation(citation=None, issue=issue)
        else:
            each = opened(bracket.citation)
        found.append(replace(each, bracket=(bracket.start, bracket.end)))
    return found


class _Verdicts:
    """The verdicts of a method on claims against texts, one call for each set of texts."""

    def __init__(self, support: SupportMethod, question: str) -> None:
        self._support, self._question = support, question
        self._known: dict[tuple[Claim, Texts], bool] = {}

    def ask(self, pairs: Iterable[tuple[Claim, Cited]]) -> None:
        """Find out whether each claim is supported by what is cited beside it."""
        claims_by_texts: dict[Texts, dict[Claim, None]] = {}
        for claim, cited in pairs:
            texts = _texts(cited)
            if any(text.strip() for text in texts) and (claim, texts) not in self._known:
                claims_by_texts.setdefault(texts, {})[claim] = None
        for texts, claims in claims_by_texts.items():
            given = self._support.decide(list(claims), texts, question=self._question)
            self._known |= {
                (claim, texts): verdict.is_supported for claim, verdict in zip(claims, given, strict=True)
            }

    def supports(self, claim: Claim, cited: Cited) -> bool:
        """Return True if citations together support a claim; where nobody was asked, they do not."""
        return self._known.get((claim, _texts(cited)), False)

    def is_correct(self, citation: OpenedCitation, claims: Iterable[Claim]) -> bool:
        """Return True if a citation alone supports one of the claims."""
        return any(self.supports(claim, [citation]) for claim in claims)

    def relevant(self, claim: Claim, cited: Cited) -> list[bool]:
        """Return which citations are relevant to a claim."""
        return relevant_citations(
            len(cited), lambda numbers: self.supports(claim, [cited[number] for number in numbers])
        )

    def without_each(self, claim: Claim, cited: Cited) -> list[tuple[Claim, Cited]]:
        """Return what is still to be asked to tell which citations are relevant: the others without each."""
        if not self.supports(claim, cited):
            return []
        return [
            (claim, [*cited[:number], *cited[number + 1 :]])
            for number, each in enumerate(cited)
            if not self.supports(claim, [each])
        ]


def _first_questions(sentence: CitedSentence, cited: Cited) -> Iterator[tuple[Claim, Cited]]:
    """Yield what is asked of a sentence that claims something: all citations together, then each alone."""
    if not sentence.claims:
        return
    yield sentence.sentence, cited
    for each in cited:
        yield from ((claim, [each]) for claim in (sentence.sentence, *sentence.claims))


def _texts(cited: Cited) -> Texts:
    """Return what citations mean together: nothing where one of them cannot be opened."""
    return tuple(each.text for each in cited) if all(each.is_open for each in cited) else ()
