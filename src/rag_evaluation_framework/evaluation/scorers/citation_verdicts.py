"""Everything that a method says of the citations of one answer, found when it is first asked for.

Citations written in the answer are used where there is something to open them in, because they tell which
sentence they belong to; else those that came beside it. The kinds are never counted together: an answer that
cites characters of files and numbered contexts alike has no score. Citations beside an answer that its reader
could not read count among those that cannot be opened.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property

from rag_evaluation_framework.errors import Issue
from rag_evaluation_framework.evaluation.scorers.answer_verdicts import AnswerVerdicts, found_once
from rag_evaluation_framework.judging.citations.citation_support import (
    CitationReport,
    check_inline_citations,
    check_listed_citations,
    open_brackets,
)
from rag_evaluation_framework.judging.citations.cited_sentences import CitedAnswer, cited_answer
from rag_evaluation_framework.judging.citations.cited_texts import (
    CHARACTERS,
    CONTEXTS,
    TOKENS,
    CitableTexts,
    OpenedCitation,
    cited_kinds,
)
from rag_evaluation_framework.judging.verdicts import ClaimVerdict, SupportMethod
from rag_evaluation_framework.records.citations import Citation, SpanCitation
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample

_REMEMBERED = 64
_MOST_UNREAD = 1000
_UNREAD = OpenedCitation(citation=None, issue=Issue("unreadable-citation", "a citation", "something else"))


class CitationVerdicts:
    """The citations of an answer, opened and held against what it says."""

    def __init__(
        self, sample: Sample, response: Response, *, texts: CitableTexts, support: SupportMethod
    ) -> None:
        self.sample, self.response = sample, response
        self._texts, self._support = texts, support
        self._lock = threading.Lock()
        self._report: CitationReport | None = None
        self._consistency: list[ClaimVerdict] | None = None

    @cached_property
    def answer(self) -> CitedAnswer:
        """The sentences of the answer with the citations written in it."""
        return cited_answer(self.response.text or "", has_contexts=bool(self.response.contexts))

    @found_once
    def nothing_claimed_because(self) -> str | None:
        """Why there is nothing to cite for, or ``None``; to refuse and not to know claim nothing."""
        verdicts = AnswerVerdicts(self.sample, self.response, self._support)
        is_answer = verdicts.answer_class.kind == "answered"
        return None if is_answer and self.answer.sentences else verdicts.no_claims_because

    @cached_property
    def unusable_because(self) -> str | None:
        """Why the citations cannot be opened at all, or ``None``."""
        written = self._obstacle(self.answer.citations)
        if written is None and (self.answer.brackets or not self.response.citations):
            return None
        beside = self._obstacle(self.response.citations) if self.response.citations else written
        return None if beside is None else written or beside

    @property
    def are_written(self) -> bool:
        """Whether the citations that count are those written in the answer."""
        return bool(self.answer.brackets) and self._obstacle(self.answer.citations) is None

    @cached_property
    def opened(self) -> list[OpenedCitation]:
        """Every citation that counts."""
        if self.are_written:
            return open_brackets(self.answer.brackets, self._opened)
        beside = [self._opened(citation) for citation in self.response.citations]
        return beside + [_UNREAD] * self.unread

    def report(self) -> CitationReport:
        """Return what becomes of the citations and of the sentences they stand at; it is found once."""
        # Not a cached property: up to Python 3.11 its lock is one for all answers, and a judge is waited for.
        with self._lock:
            if self._report is None:
                self._report = self._checked()
            return self._report

    @cached_property
    def evidence(self) -> list[str]:
        """What the claims are held against: the contexts, else the documents that are cited or relevant."""
        if any(context.strip() for context in self.response.contexts):
            return list(self.response.contexts)
        cited = (*self.answer.citations, *self.response.citations, *self.sample.relevant_spans)
        files = (each.file for each in cited if isinstance(each, SpanCitation))
        names = dict.fromkeys((*self.sample.relevant_documents, *files))
        found = filter(None, map(self._texts.document, names))
        return list({document.id: document.content for document in found}.values())

    @property
    def no_evidence_because(self) -> str | None:
        """Why the claims cannot be held against anything, or ``None``."""
        return None if self.evidence else "neither contexts nor documents to hold the answer against"

    def consistency(self) -> list[ClaimVerdict]:
        """Return whether the evidence supports each claim, whatever it cites; it is found once."""
        with self._lock:
            if self._consistency is None:
                claims = [claim for sentence in self.answer.sentences for claim in sentence.claims]
                question = self.sample.question
                self._consistency = self._support.supports(claims, self.evidence, question=question)
            return self._consistency

    def _checked(self) -> CitationReport:
        question = self.sample.question
        if self.are_written:
            return check_inline_citations(self.answer, self._support, opened=self._opened, question=question)
        return check_listed_citations(self.answer, self._support, listed=self.opened, question=question)

    @property
    def unreadable(self) -> int:
        """How many citations were meant and cannot be read, of those that came beside it or are written."""
        if self.response.citations or not self.answer.brackets:
            return self.unread
        return len(self.answer.brackets) - len(self.answer.citations)

    @property
    def unread(self) -> int:
        """How many citations beside the answer could not be read."""
        count = self.response.metadata.get("unread_citations", 0)
        return min(count, _MOST_UNREAD) if type(count) is int else 0

    def _opened(self, citation: Citation) -> OpenedCitation:
        return self._texts.opened(citation, self.response.contexts)

    def _obstacle(self, citations: Sequence[Citation]) -> str | None:
        kinds = cited_kinds(citations)
        if len(kinds) > 1:
            return f"the answer cites {' and '.join(sorted(kinds))}, which are never counted together"
        if kinds == {TOKENS}:
            return "the answer cites tokens of files, which only their tokenizer could find"
        if kinds == {CONTEXTS} and not self.response.contexts:
            return "the answer cites numbered contexts, and none came with it"
        if kinds == {CHARACTERS} and not self._texts:
            return "the answer cites characters of files, and there are no documents to open them in"
        return None


class CitationMemory:
    """The verdicts on the citations of late, by the very sample and response; threads may share it."""

    def __init__(self, texts: CitableTexts, support: SupportMethod) -> None:
        self.texts, self.support = texts, support
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], CitationVerdicts] = OrderedDict()

    def verdicts_on(self, sample: Sample, response: Response) -> CitationVerdicts:
        """Return the verdicts on a response; the same object for the same sample and response."""
        # What is kept holds on to sample and response, so their ids cannot pass to others meanwhile.
        key = id(sample), id(response)
        with self._lock:
            verdicts = self._kept.get(key)
            if verdicts is None:
                verdicts = CitationVerdicts(sample, response, texts=self.texts, support=self.support)
                self._kept[key] = verdicts
                if len(self._kept) > _REMEMBERED:
                    self._kept.popitem(last=False)
            return verdicts
