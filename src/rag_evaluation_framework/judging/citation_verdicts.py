"""Everything that a method says about the citations of one answer, found when it is first asked for.

Which citations count is decided here, for every metric: those written in the answer, because they show which
sentence they belong to; where these cannot be used, those that came beside it. Citations that cannot be read
count as citations that cannot be opened, unless the other list has some that can be read. Those whose file
is none of the documents, or may be several, are neither right nor wrong: they do not count. Citations of
several kinds, such as characters of files and numbered contexts, are never counted together. The same place
in one sentence, or twice beside the answer, is one citation. Those of an empty answer do not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from rag_evaluation_framework.errors import Issue
from rag_evaluation_framework.judging.answer_verdicts import Reading, found_once, unmeasured_language
from rag_evaluation_framework.judging.citation_support import (
    CitationReport,
    CitedAnswer,
    check_inline_citations,
    check_listed_citations,
    cited_answer,
    each_once,
    open_sentence_citations,
)
from rag_evaluation_framework.judging.cited_texts import (
    CHARACTERS,
    CONTEXTS,
    TOKENS,
    CitableTexts,
    OpenedCitation,
    cited_kinds,
)
from rag_evaluation_framework.metrics.citations import (
    CitationSpanReport,
    citation_validity,
    evaluate_citation_spans,
    factual_consistency,
)
from rag_evaluation_framework.metrics.views import LEXICAL_SUPPORT
from rag_evaluation_framework.records.citations import Citation, SpanCitation
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict

_MOST_UNREAD = 1000
_UNREAD = OpenedCitation(citation=None, issue=Issue("unreadable-citation", "a citation", "something else"))


class CountedCitations(msgspec.Struct, frozen=True):
    """The citations that count, and why they cannot be used where they cannot."""

    opened: Sequence[OpenedCitation] = ()
    are_written: bool = False
    unusable_because: str | None = None

    @property
    def source(self) -> str:
        """Return a description of their source."""
        return "the answer" if self.are_written else "beside the answer"

    @property
    def are_open(self) -> list[bool]:
        return [each.is_open for each in self.opened if each.is_resolved]


class CitationVerdicts:
    """The citations of an answer, opened and held against what it says; ``reading`` is that of the answer.

    ``beside`` are the citations that came beside the answer, where they are opened already, and ``sources``
    the texts that the claims are held against; by default both are those of the response.
    """

    def __init__(
        self,
        reading: Reading,
        *,
        texts: CitableTexts,
        beside: Sequence[OpenedCitation] | None = None,
        sources: Sequence[str] | None = None,
    ) -> None:
        self.sample, self.response = reading.sample, reading.response
        self._reading, self._texts, self._support = reading, texts, reading.support
        self._beside = self._listed() if beside is None else beside
        self._sources = self.response.contexts if sources is None else sources

    @found_once
    def answer(self) -> CitedAnswer:
        """The sentences of the answer with the citations written in it."""
        return cited_answer(self.response.text or "", has_contexts=bool(self.response.contexts))

    @found_once
    def nothing_claimed_because(self) -> str | None:
        """Return the reason why nothing needs a citation, or ``None``; refusals have no claims."""
        if self._empty_because:
            return self._empty_because
        is_answer = self._reading.answer_class.kind == "answered"
        return None if is_answer and self.answer.claiming else self._reading.no_claims_because

    @found_once
    def claims(self) -> list[Claim]:
        """The claims of the answer."""
        if self.nothing_claimed_because:
            return []
        return [claim for sentence in self.answer.claiming for claim in sentence.claims]

    @found_once
    def counted(self) -> CountedCitations:
        """The citations to open: the first that there is something to open them in."""
        return self._first_usable(self._not_opened_because)

    @found_once
    def compared(self) -> CountedCitations:
        """The citations to compare with the relevant characters: the first that are characters of files."""
        return self._first_usable(_not_compared_because)

    @found_once
    def report(self) -> CitationReport:
        """Return the report on the citations and on the sentences that have them."""
        question = self.sample.question
        if self.counted.are_written:
            return check_inline_citations(self.answer, self._support, opened=self._opened, question=question)
        return check_listed_citations(
            self.answer, self._support, listed=self.counted.opened, question=question
        )

    @property
    def no_spans_because(self) -> str | None:
        """Return the reason why cited and relevant characters cannot be compared, or ``None``."""
        if not self.sample.relevant_spans:
            return "there are no expected citations to compare with"
        return self.compared.unusable_because

    @found_once
    def true_spans(self) -> list[SpanCitation]:
        """The relevant characters; with the documents at hand, by document and place in the whole of it."""
        return [self._texts.placed(each) for each in self.sample.relevant_spans]

    @found_once
    def cited_spans(self) -> list[SpanCitation]:
        """The cited characters, in the same way; without documents, by the names and pages they give."""
        cited = (each.citation for each in self.compared.opened)
        return [self._texts.placed(each) for each in cited if isinstance(each, SpanCitation)]

    @property
    def unreadable(self) -> int:
        """Return the number of additional citations that cannot be read."""
        return sum(each.citation is None for each in self.compared.opened)

    def spans(self, tolerance_chars: int) -> CitationSpanReport:
        """Compare the cited characters with the relevant ones."""
        return evaluate_citation_spans(
            self.true_spans, self.cited_spans, tolerance_chars, unreadable=self.unreadable
        )

    @found_once
    def evidence(self) -> list[str]:
        """Return the evidence for the claims: the sources, else the cited and relevant documents."""
        if any(source.strip() for source in self._sources):
            return list(self._sources)
        beside = [each.citation for each in self._beside]
        cited = (*self.answer.citations, *beside, *self.sample.relevant_spans)
        files = (each.file for each in cited if isinstance(each, SpanCitation))
        names = dict.fromkeys((*self.sample.relevant_documents, *files))
        found = filter(None, map(self._texts.document, names))
        return list({document.id: document.content for document in found}.values())

    @found_once
    def unmeasured_because(self) -> str | None:
        """Return the reason why words cannot decide support (another language), or ``None``."""
        if self._support.name != LEXICAL_SUPPORT:
            return None
        language = unmeasured_language(self.sample, self.response.text or "")
        return None if language is None else f"not measured on {language}"

    @property
    def not_held_because(self) -> str | None:
        """Return the reason why there are no claims, or no evidence for them; else ``None``."""
        if self.unmeasured_because or self.nothing_claimed_because or self.evidence:
            return self.unmeasured_because or self.nothing_claimed_because
        return "no retrieved passages or documents to compare the answer with"

    @found_once
    def consistency(self) -> list[ClaimVerdict]:
        """Return a verdict on each claim by the evidence, cited or not."""
        if self.not_held_because:
            return []
        return self._support.decide(self.claims, self.evidence, question=self.sample.question)

    @property
    def mean_consistency(self) -> float | None:
        """The mean of the probabilities with which the evidence supports the claims."""
        scores = [verdict.score for verdict in self.consistency]
        return math.fsum(scores) / len(scores) if scores else None

    @property
    def missing_parts(self) -> dict[str, str]:
        """Return the parts of ``overall_citation_accuracy`` without a value, with the reasons."""
        cited = self.compared
        not_opened = self._not_opened_because(cited.opened)
        if self.sample.relevant_spans and cited.unusable_because:
            not_opened = cited.unusable_because
        reasons = {
            "tolerance_jaccard": self.no_spans_because,
            "citation_validity": not_opened if cited.opened else self.nothing_claimed_because,
            "mean_consistency": self.not_held_because,
            "no_hallucination": self.not_held_because,
        }
        return {part: reason for part, reason in reasons.items() if reason is not None}

    def overall_parts(self, *, tolerance_chars: int, consistent: Sequence[bool]) -> dict[str, float | None]:
        """Return the parts of ``overall_citation_accuracy``; ``consistent`` has a flag for each claim.

        The first two are of the same citations, those that are compared. Where an answer claims something
        and cites nothing, its validity is 0. Where no cited file is known, there is no such part.
        """
        parts = {
            "tolerance_jaccard": self.spans(tolerance_chars).mean_tolerance_jaccard,
            "citation_validity": citation_validity(self.compared.are_open) or 0.0,
            "mean_consistency": self.mean_consistency,
            "no_hallucination": factual_consistency(consistent),
        }
        if self.compared.opened and not self.compared.are_open:
            del parts["citation_validity"]
        return {part: None if part in self.missing_parts else value for part, value in parts.items()}

    @property
    def _empty_because(self) -> str | None:
        return "the answer is empty" if self.response.is_empty else None

    def _listed(self) -> list[OpenedCitation]:
        """Open the citations beside the answer, also those that its reader could not read."""
        unread = self.response.metadata.get("unread_citations", 0)
        count = min(unread, _MOST_UNREAD) if type(unread) is int else 0
        return [self._opened(citation) for citation in self.response.citations] + [_UNREAD] * count

    def _opened(self, citation: Citation) -> OpenedCitation:
        return self._texts.opened(citation, self.response.contexts)

    def _first_usable(self, obstacle: Callable[[Sequence[OpenedCitation]], str | None]) -> CountedCitations:
        """Return the first citations that no obstacle keeps from counting, else the first there are.

        A list in which nothing can be read counts only where the other list has nothing to read either.
        """
        written = [each for own in open_sentence_citations(self.answer, self._opened) for each in own]
        found = [
            CountedCitations(opened, are_written, self._empty_because or obstacle(opened))
            for opened, are_written in ((written, True), (each_once(self._beside), False))
            if opened
        ]
        nothing = CountedCitations(unusable_because=self._empty_because)
        return min(found, key=_unreadable_then_unusable, default=nothing)

    def _not_opened_because(self, opened: Sequence[OpenedCitation]) -> str | None:
        kinds = _kinds(opened)
        if len(kinds) > 1:
            return f"the answer cites {' and '.join(sorted(kinds))}, which cannot be counted together"
        if kinds == {TOKENS}:
            return "the answer cites tokens of files, which only their tokenizer could find"
        if kinds == {CONTEXTS} and not self.response.contexts:
            return "the answer cites numbered passages, but has no retrieved passages"
        if kinds == {CHARACTERS} and not self._texts:
            return "the answer cites characters of files, but the documents are missing"
        if opened and not any(each.is_resolved for each in opened):
            return f"no cited file is one of the documents: {opened[0].issue}"
        return None


def _unreadable_then_unusable(each: CountedCitations) -> tuple[bool, bool]:
    return not _kinds(each.opened), each.unusable_because is not None


def _not_compared_because(opened: Sequence[OpenedCitation]) -> str | None:
    if (kinds := _kinds(opened)) <= {CHARACTERS}:
        return None
    return f"the answer cites {' and '.join(sorted(kinds))}; the expected citations are characters of files"


def _kinds(opened: Sequence[OpenedCitation]) -> set[str]:
    return cited_kinds(each.citation for each in opened if each.citation is not None)
