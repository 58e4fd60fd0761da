"""Which sentence of an answer each of its citations stands at.

Only sentences that claim something count. A bracket inside a sentence belongs to it; one between sentences
to the sentence before it on the same line (``It rained. [1] It snowed. [2]``), else to the one after it. A
list of sources at the end of an answer is not part of what it says.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.said_text import without_source_list
from rag_evaluation_framework.judging.verdicts import Claim
from rag_evaluation_framework.metrics.inline_citations import (
    InlineCitation,
    MalformedCitation,
    blanked,
    parse_citations,
    without_marks,
)
from rag_evaluation_framework.records.citations import ContextCitation, SpanCitation
from rag_evaluation_framework.retrieval.sentences import sentence_spans

Bracket: TypeAlias = InlineCitation | MalformedCitation


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence, its claims, and the citations that stand at it in reading order.

    Positions are those of the answer. In the texts of sentence and claims there are spaces where the answer
    has brackets, so that a citation is never taken for a part of what is claimed.
    """

    sentence: Claim
    claims: tuple[Claim, ...]
    brackets: tuple[Bracket, ...]


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """The sentences of an answer that claim something, and every citation written in it."""

    sentences: tuple[CitedSentence, ...]
    brackets: tuple[Bracket, ...]

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
    sentences = _claiming_sentences(plain)
    standing: list[list[Bracket]] = [[] for _ in sentences]
    for bracket, number in _standing_at(brackets, sentences, said):
        standing[number].append(bracket)
    return CitedAnswer(
        tuple(
            CitedSentence(one.sentence, one.claims, tuple(own))
            for one, own in zip(sentences, standing, strict=True)
        ),
        tuple(brackets),
    )


class _ClaimingSentence(NamedTuple):
    begin: int  # where it is written from: "根据资料[1]，" stands before its claim
    sentence: Claim
    claims: tuple[Claim, ...]


def _claiming_sentences(text: str) -> list[_ClaimingSentence]:
    """Return the sentences that claim something, each with its claims; one claim is the sentence itself."""
    spans = sentence_spans(text)
    starts = [start for start, _ in spans]
    claims: dict[int, list[Claim]] = {}
    for claim in claims_of(text):
        claims.setdefault(bisect_right(starts, claim.start) - 1, []).append(claim)
    found = []
    for number, own in claims.items():
        first, last = own[0].start, max(own[-1].end, spans[number][1])
        sentence = own[0] if len(own) == 1 else Claim(text[first:last], first, last)
        found.append(_ClaimingSentence(min(first, spans[number][0]), sentence, tuple(own)))
    return found


def _standing_at(
    brackets: Sequence[Bracket], sentences: Sequence[_ClaimingSentence], answer: str
) -> Iterator[tuple[Bracket, int]]:
    """Yield each bracket with the number of the sentence at which it stands."""
    starts = [one.begin for one in sentences]
    line_ends = [answer.find("\n", one.sentence.end) for one in sentences]
    for bracket in brackets if sentences else ():
        before = bisect_right(starts, bracket.start) - 1
        is_on_next_line = before >= 0 and -1 < line_ends[before] < bracket.start
        if before < 0 or (is_on_next_line and before + 1 < len(sentences)):
            before += 1
        yield bracket, before


def _is_number(bracket: Bracket) -> bool:
    return isinstance(bracket, InlineCitation) and isinstance(bracket.citation, ContextCitation)
