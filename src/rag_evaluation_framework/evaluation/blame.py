"""Where an answer failed that is not correct: in retrieval or in generation.

====================  ===================================================================================
``retrieval_missed``  what the answer lacks, or gets wrong, was not retrieved
``cut_passage``       a retrieved chunk has a part of it, and its edge cuts off the rest
``not_used``          one retrieved passage states it of what was asked, and the answer does not say it
``contradicted``      it was retrieved, and the answer says otherwise, as a judge found
``wrong_citation``    the answer has what is expected, and what it cites does not bear it out or open
``unknown``           not known; ``why`` says what is missing
====================  ===================================================================================

The verdict of an answer decides if it is correct (:mod:`..judging.verdict`); a correct one has no blame but
that of its citations. The points that the answer lacks are found by words. A conversation is blamed turn by
turn. As a whole it has the blame of the first turn whose cause is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import described
from rag_evaluation_framework.evaluation.retrieved_evidence import (
    RetrievedTruth,
    find_doubt,
    passage_with,
    reported_by_system,
    retrieved_truth,
    texts_retrieved,
)
from rag_evaluation_framework.judging.answer_verdicts import (
    Reading,
    class_of_answer,
    found_once,
    may_be_declined,
    readings_of,
    told_in,
    unmeasured_language,
)
from rag_evaluation_framework.judging.citation_verdicts import CitationVerdicts
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.expected_points import ExpectedPoints, Point, expected_points
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.judging.verdict import AnswerVerdict, decide_result
from rag_evaluation_framework.records.citations import parse_citations
from rag_evaluation_framework.records.responses import AnsweredTurn, Response, answered_turns, expected_turns
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import NOT_ANSWERED, Blame, BlameEvidence
from rag_evaluation_framework.results.breakdowns import blame_line


class _Case(msgspec.Struct, frozen=True, dict=True, weakref=True):
    """One answer, and what is found out about it when it is first asked for."""

    sample: Sample
    response: Response
    documents: CitableTexts | None
    turn: AnsweredTurn | None = None

    def find_blame(self, verdict: AnswerVerdict) -> Blame | None:
        """Return the blame of an answer, or of a conversation by its turns, as far as its verdict asks."""
        if not verdict.turns:
            if verdict.needs_cause:
                return self._find_cause(verdict)
            return self._find_wrong_citation() if verdict.is_correct else None
        cases = {
            turn.number: replace(
                self, sample=turn.as_sample(self.sample), response=turn.as_response(self.response), turn=turn
            )
            for turn in answered_turns(self.sample, self.response) or ()
        }
        numbered = zip(expected_turns(self.sample), verdict.turns, strict=True)
        return Blame.of_turns(
            {number: cases[number].find_blame(each) if number in cases else None for number, each in numbered}
        )

    @property
    def answer(self) -> str:
        return self.response.text or ""

    @found_once
    def texts(self) -> tuple[str, ...]:
        """Return the texts that were retrieved, by the system's own sources alone."""
        return texts_retrieved(reported_by_system(self.sample, self.response))

    @found_once
    def expected_points(self) -> ExpectedPoints:
        """Return the points the answer should make, read from it without parts that decline or ask back."""
        told = told_in(self.sample, self.answer).text or self.answer
        texts, readings = texts_retrieved(self.response), readings_of(self.sample)
        return expected_points(self.sample, told, texts, readings=readings, turn=self.turn)

    @found_once
    def truth(self) -> RetrievedTruth:
        """Return the finding on the retrieval of the relevant text."""
        reported = reported_by_system(self.sample, self.response)
        return retrieved_truth(self.sample, reported, documents=self.documents, wanted=self.expected_points)

    @property
    def _exchange(self) -> tuple[str, str]:
        return self.sample.question, self.answer

    def _find_cause(self, verdict: AnswerVerdict) -> Blame | None:
        if language := unmeasured_language(self.sample, self.answer):
            return Blame("unknown", f"word overlap is not validated for {language}")
        if may_be_declined(self.sample):  # no text has what such a reference says
            return None
        wanted, truth = self.expected_points, self.truth
        lacking = [point for point in wanted.points if not point.is_supported]
        kind = class_of_answer(self.sample, self.answer).kind
        if kind in NOT_ANSWERED and not self._tells_of_it():
            wrong = NOT_ANSWERED[kind]
        elif lacking or not wanted.points or verdict.is_contradiction:
            wrong = _wrong(wanted, lacking)
        else:
            return self._find_wrong_citation() or Blame("unknown", "word overlap finds no missing statement")
        why = f"{wrong}; {truth.why}"
        if truth.is_retrieved is None:
            return Blame("unknown", why, _evidence(lacking))
        if not truth.is_retrieved:
            absent = wanted.absent(lacking, self.texts) if self.texts else lacking
            if absent or not lacking or find_doubt(wanted, lacking, self.texts, self._exchange) is not None:
                evidence = _evidence(absent) or tuple(map(BlameEvidence, truth.missing))
                return Blame("cut_passage" if truth.is_cut else "retrieval_missed", why, evidence)
            why += ", but a retrieved passage contains it"
        if verdict.is_contradiction:
            return Blame("contradicted", why, _evidence(lacking))
        if truth.is_retrieved and truth.doubt:
            return Blame("unknown", f"{wrong}; {truth.doubt}", _evidence(lacking))
        return Blame("not_used", why, self._shown(lacking))

    def _tells_of_it(self) -> bool:
        """Return True if the answer says, or denies, anything of what it should say."""
        is_silent = told_in(self.sample, self.answer).silent is not None
        return not is_silent and any(point.label != "unsupported" for point in self.expected_points.points)

    def _shown(self, lacking: Sequence[Point]) -> tuple[BlameEvidence, ...]:
        """Return what the answer lacks, each with the retrieved passage that has it, where one was seen."""
        found = []
        for point in lacking:
            passage = passage_with(self.expected_points, [point], self.texts, self._exchange)
            shown = (
                None
                if passage is None
                else self.expected_points.shown([point], (passage,))[0].shown_by or passage
            )
            found.append(BlameEvidence(point.text, shown))
        return tuple(found)

    def _find_wrong_citation(self) -> Blame | None:
        """Return what a right answer cites wrongly; ``None`` if nothing, or if that cannot be checked."""
        written = parse_citations(self.answer)
        if not (self.response.citations or written.citations or written.malformed):
            return None
        reading = Reading(self.sample, self.response, LexicalSupport())
        cited = CitationVerdicts(reading, texts=self.documents or CitableTexts(()))
        if not (cited.answer.brackets or self.response.citations) or cited.counted.unusable_because:
            return None
        if closed := [each.issue for each in cited.counted.opened if each.issue and each.is_resolved]:
            return Blame("wrong_citation", f"a citation cannot be opened: {closed[0]}")
        if astray := _astray(cited):
            why = "the cited passage does not support the answer"
            return Blame("wrong_citation", why, tuple(map(BlameEvidence, astray)))
        return None


def _astray(cited: CitationVerdicts) -> list[str]:
    """Return the sentences whose citations do not support them.

    Citations that come beside the answer do not tell where they belong: one sentence that they support is
    enough.
    """
    sentences, are_written = cited.report.sentences, cited.counted.are_written
    if not are_written and any(each.is_supported for each in sentences):
        return []
    return [
        " ".join(each.sentence.text.split())
        for each in sentences
        if not each.is_supported and (any(each.cited_claims) or not are_written)
    ]


def _wrong(wanted: ExpectedPoints, lacking: Sequence[Point]) -> str:
    if not lacking:
        return "the answer contradicts its reference" if wanted.points else "the answer is wrong"
    told = f"the answer is missing {len(lacking)} of {len(wanted.points)} {wanted.what}"
    told_wrongly = sum(point.label == "contradicted" for point in lacking)
    return f"{told}, {told_wrongly} {wanted.denied}" if told_wrongly else told


def _evidence(points: Iterable[Point]) -> tuple[BlameEvidence, ...]:
    return tuple(BlameEvidence(point.text, point.shown_by) for point in points)


def find_blame(
    sample: Sample, result: SampleResult, verdict: AnswerVerdict | None, documents: CitableTexts | None
) -> Blame | None:
    """Find out where an answer of a run failed, if its verdict asks."""
    try:
        return None if verdict is None else _Case(sample, result.response, documents).find_blame(verdict)
    except Exception as error:  # noqa: BLE001 - one odd text must not end a run whose scores are made
        return Blame("unknown", f"finding the cause failed: {described(error)}")


class Blaming(msgspec.Struct, frozen=True):
    """Tells where an answer failed; called, as a line of the run's file."""

    methods: Methods

    def find(self, sample: Sample, result: SampleResult, verdict: AnswerVerdict | None) -> Blame | None:
        """Return where an answer failed."""
        documents = None if self.methods.corpus is None else self.methods.documents.texts
        return find_blame(sample, result, verdict, documents)

    def __call__(self, item: tuple[Sample, SampleResult]) -> bytes:
        return blame_line(item[1].sample_id, self.find(*item, decide_result(*item)))

    def name_of(self, item: tuple[Sample, object]) -> str:
        """Return the name of the item in messages."""
        return f"sample {item[0].id}"
