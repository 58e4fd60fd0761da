"""Which sentence of an answer each of its citations stands at.

A bracket belongs to the sentence it stands in, whether that claims anything or not; between sentences, to
the one before it on the same line (``It rained. [1] It snowed. [2]``), else to the one after it on that line;
alone on its line, to what was last claimed before it. What only announces a sentence (``Fares [1]:``) is a
part of it. A list of sources at the end of an answer is not part of what it says.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.said_text import without_source_list
from rag_evaluation_framework.judging.verdicts import Claim
from rag_evaluation_framework.metrics.inline_citations import (
    SOURCE_HEADING,
    InlineCitation,
    MalformedCitation,
    blanked,
    parse_citations,
    without_marks,
)
from rag_evaluation_framework.records.citations import ContextCitation, SpanCitation
from rag_evaluation_framework.retrieval.sentences import sentence_spans

Bracket: TypeAlias = InlineCitation | MalformedCitation

# What is left of "([1])" and of "Source: [1]" without the bracket is no sentence of its own.
_NO_SENTENCE = re.compile(rf"[\W_]*+(?:{SOURCE_HEADING}[\W_]*+)?", re.IGNORECASE)
_ANNOUNCES = re.compile(r"[:：][\s*_]*\Z")


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence, its claims, and the citations that stand at it in reading order.

    A question, a heading or a greeting has no claims. Positions are those of the answer. In the texts of
    sentence and claims there are spaces where the answer has brackets, so that a citation is never taken for
    a part of what is claimed.
    """

    sentence: Claim
    claims: tuple[Claim, ...]
    brackets: tuple[Bracket, ...]


@dataclass(frozen=True, slots=True)
class CitedAnswer:
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
