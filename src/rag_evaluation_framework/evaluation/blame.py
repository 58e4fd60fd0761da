"""Where an answer failed: in retrieval, in generation, or not at all.

====================  ===================================================================================
``ok``                the answer is right, or declines where it should
``retrieval_missed``  what the answer lacks, or gets wrong, was not retrieved
``cut_passage``       a retrieved chunk has a part of it, and its edge cuts off the rest
``not_used``          one retrieved passage has its numbers and names, and the answer does not say it
``contradicted``      it was retrieved, and the answer says otherwise, as a judge or another model found
``invented``          the answer has all that is expected, or nothing is, and says what nothing retrieved says
``wrong_citation``    the answer is right, and what it cites does not bear it out or cannot be opened
``refused_wrongly``   the answer declines although what it needs was retrieved
``answered_wrongly``  the answer should have declined, or says otherwise than a reference that does
``unknown``           not known; ``why`` says what is missing
====================  ===================================================================================

An answer is right when it has all the names, the relation or the steps that its sample expects, or in a
conversation all that the turn's reference adds, as the metrics of these read it. Where nothing of the kind is
expected, it is right when it makes every claim of the reference and contradicts none of the relevant text;
without a reference, when it makes a claim that the relevant text contains. Where parts of an answer decline
or ask back, the others count; only one that tells nothing of what is asked declines. Where the reference
sounds like a refusal ("There are no vegetarian options"), it is right to decline, and right to make a claim
that the reference bears out. An answer that is right has *invented* a claim that neither the retrieved texts
nor what is expected bear out. A :class:`SupportMethod` decides what supports what, and blame is only as
reliable as that method; where a metric has decided already what the contexts support, blame follows it.

A conversation is blamed turn by turn. As a whole it has the blame of the first turn at fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from rag_evaluation_framework.errors import ModelError, UsageError, counted, described
from rag_evaluation_framework.evaluation.retrieved_evidence import (
    RetrievedTruth,
    find_doubt,
    passage_with,
    relevant_passages,
    reported_by_system,
    retrieved_truth,
    texts_retrieved,
)
from rag_evaluation_framework.evaluation.scoring import ONLY_RETRIEVED
from rag_evaluation_framework.judging.answer_verdicts import (
    Reading,
    Told,
    class_of_answer,
    expects_refusal,
    found_once,
    may_be_declined,
    readings_of,
    told_in,
    unmeasured_language,
)
from rag_evaluation_framework.judging.citation_verdicts import CitationVerdicts
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.claims import said_in
from rag_evaluation_framework.judging.expected_points import (
    ExpectedPoints,
    Point,
    expected_points,
    point_of,
    statements_of,
    supported_by,
)
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.metrics.declaration import parse_metric, without_parameters
from rag_evaluation_framework.metrics.safety import DECLINED
from rag_evaluation_framework.metrics.views import LEXICAL_MATCH, LEXICAL_SUPPORT
from rag_evaluation_framework.records.citations import parse_citations
from rag_evaluation_framework.records.responses import (
    NOT_TOLD_BY_TURN,
    RECORDED,
    RETRIEVAL,
    AnsweredTurn,
    Response,
    answered_turns,
    expected_turns,
    is_conversation,
)
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import (
    EMPTY,
    NOT_ANSWERED,
    Blame,
    BlameEvidence,
    BlameKind,
    SupportMethod,
)
from rag_evaluation_framework.results.breakdowns import blame_line
from rag_evaluation_framework.startup import dataclass, replace


def blame(
    sample: Sample, response: Response, support: SupportMethod, *, documents: CitableTexts | None = None
) -> Blame:
    """Find out where an answer failed. ``documents`` are those that spans and citations name."""
    return _Case(sample, response, support, documents).blame_by_turn()


@dataclass(frozen=True)
class _Case:
    """One answer, and what is found out about it when it is first asked for.

    ``doubtful`` are the places of the claims that the contexts do not support, where that is known, each with
    the passage that comes closest. ``is_answer`` where it is known that the answer does not decline,
    ``is_matched`` where a metric has matched its words with those of the reference, ``is_compared`` unless
    it is known that none has looked at what is right, or at where it stands.
    """

    sample: Sample
    response: Response
    support: SupportMethod
    documents: CitableTexts | None
    doubtful: Mapping[tuple[int, int], str | None] | None = None
    is_answer: bool = False
    is_matched: bool = False
    is_compared: bool = True
    turn: AnsweredTurn | None = None

    def blame_by_turn(self) -> Blame:
        """Return the blame of the one answer; of several the first at fault's, or else the first unknown."""
        if not is_conversation(self.sample):
            return self.blame()
        answered = answered_turns(self.sample, self.response)
        turns = {} if answered is None else self._turns(answered)
        if not turns:
            return Blame("unknown", NOT_TOLD_BY_TURN)
        at_fault = [number for number, found in turns.items() if found.kind not in ("ok", "unknown")]
        unknown = [number for number, found in turns.items() if found.kind == "unknown"]
        for number in (*at_fault, *unknown):
            return replace(turns[number], why=f"turn {number}: {turns[number].why}", turns=turns)
        right = "the one turn is" if len(turns) == 1 else f"all {len(turns)} turns are"
        return Blame("ok", f"{right} right", turns=turns)

    def _turns(self, answered: Iterable[AnsweredTurn]) -> dict[int, Blame]:
        # A turn that was not reached has what the whole response has: the failure.
        cases = dict.fromkeys(expected_turns(self.sample), self)
        for turn in answered:
            sample, response = turn.as_sample(self.sample), turn.as_response(self.response)
            cases[turn.number] = replace(
                self, sample=sample, response=response, turn=turn, doubtful=None, is_answer=False
            )
        return {number: case.blame() for number, case in cases.items()}

    def blame(self) -> Blame:
        """Return the blame of the one answer."""
        if self.response.failure is not None:
            return Blame("unknown", f"no answer: {self.response.failure.kind}")
        if isinstance(self.support, LexicalSupport) and (
            language := unmeasured_language(self.sample, self.answer)
        ):
            return Blame("unknown", f"words were not measured on {language}")
        try:
            return self._of_answer() if self.answer.strip() else self._of_nothing()
        except ModelError as error:
            return Blame("unknown", f"no verdict: {error}")

    @property
    def answer(self) -> str:
        return self.response.text or ""

    @found_once
    def readings(self) -> list[str]:
        return readings_of(self.sample)

    @found_once
    def texts(self) -> tuple[str, ...]:
        return texts_retrieved(self.response)

    @found_once
    def reported(self) -> Response:
        """The response with the sources of the system's own alone."""
        return reported_by_system(self.sample, self.response)

    @found_once
    def told(self) -> Told:
        """What the answer tells beside the parts that decline or ask back."""
        return Told(self.answer) if self.is_answer else told_in(self.sample, self.answer)

    @found_once
    def wanted(self) -> ExpectedPoints:
        """What the answer should say, and what it does say of it."""
        told = self.told.text or self.answer
        return self._expected(told)

    def _expected(self, told: str) -> ExpectedPoints:
        return expected_points(
            self.sample,
            told,
            self.texts,
            self.support,
            readings=self.readings,
            is_matched=self.is_matched,
            turn=self.turn,
        )

    @found_once
    def truth(self) -> RetrievedTruth:
        """Whether the relevant text was retrieved."""
        return retrieved_truth(
            self.sample, self.reported, self.support, documents=self.documents, wanted=self.wanted
        )

    @found_once
    def passages(self) -> tuple[str, ...]:
        return relevant_passages(self.sample, self.documents)

    @found_once
    def checked(self) -> list[Point]:
        """Whether the relevant text, else the reference, bears out the claims of the answer."""
        against = self.passages or tuple(filter(None, self.readings))
        return self._claims_by(against) if against else []

    @property
    def _is_located(self) -> bool:
        """Whether it is known where the relevant text stands, or what it says."""
        sample = self.sample
        is_located = sample.relevant_documents or sample.relevant_chunk_ids or sample.relevant_spans
        return bool(is_located or self.passages)

    @property
    def _has_truth(self) -> bool:
        """Whether anything says what is right, or where it stands."""
        return bool(any(self.readings) or self.wanted.points or self._is_located)

    @property
    def _is_unread(self) -> bool:
        """Whether a long reference says what is right, and nobody asked to have anything compared."""
        is_reference = self.sample.expectation is None and self.turn is None
        return not self.is_compared and is_reference and len(self.sample.reference or "") > _LONG_REFERENCE

    def _of_nothing(self) -> Blame:
        """Return the blame of an empty answer, which is wrong; but it does not tell where a refusal fails."""
        if expects_refusal(self.sample) or not (self.wanted.points or self.passages):
            return Blame("unknown", EMPTY)
        found = self._by_truth("not_used", EMPTY)
        is_retrieval = self.response.metadata.get(RECORDED) == RETRIEVAL
        return Blame("unknown", ONLY_RETRIEVED) if is_retrieval and found.kind == "not_used" else found

    def _of_answer(self) -> Blame:
        kind = "answered" if self.is_answer else class_of_answer(self.sample, self.answer).kind
        if expects_refusal(self.sample) or may_be_declined(self.sample):
            return self._where_declining_is_right(kind)
        if kind in NOT_ANSWERED and not self._tells_of_it():
            if not self._has_truth:
                return Blame("unknown", f"{NOT_ANSWERED[kind]}; nothing is known to be relevant")
            if_retrieved: BlameKind = "refused_wrongly" if kind in DECLINED else "not_used"
            return self._by_truth(if_retrieved, NOT_ANSWERED[kind])
        if self._is_unread:
            return self._without_truth(f"no metric compared the answer with its reference ({_COMPARES} does)")
        if not self.wanted.points and not self.passages:
            return self._without_truth(
                "there is no reference and no relevant passage to tell whether the answer is right"
            )
        lacking = self._lacking()
        if not lacking and self.wanted.are_enough:
            return self._of_right_answer(_right(self.wanted))
        checked = () if self.support.name == LEXICAL_SUPPORT else self.checked  # words see no contradiction
        contradicted = [each for each in (*checked, *self.wanted.points) if each.label == "contradicted"]
        if lacking or contradicted:
            return self._of_wrong_answer(lacking, contradicted)
        return self._of_right_answer(_right(self.wanted))

    def _without_truth(self, missing: str) -> Blame:
        if not self.unsupported:
            return Blame("unknown", missing)
        return Blame(
            "invented", f"{_said_by_nothing(self.unsupported)}; {missing}", _evidence(self.unsupported)
        )

    @found_once
    def unsupported(self) -> list[Point]:
        """The claims that what was retrieved does not support; none where that is not known."""
        if not self.texts and not self.response.retrieved_nothing:
            return []
        if self.doubtful is not None and self.is_answer:
            said = said_in(self.answer)
            return [Point(said[slice(*at)], "unsupported", found) for at, found in self.doubtful.items()]
        reading = Reading(self.sample, replace(self.response, contexts=self.texts), self.support)
        if self.doubtful is None:
            return [point_of(each) for each in reading.by_contexts if not each.is_supported]
        doubted = [claim for claim in reading.claims if (claim.start, claim.end) in self.doubtful]
        return [Point(claim.text, "unsupported", self.doubtful[claim.start, claim.end]) for claim in doubted]

    def _is_expected(self, claim: str) -> bool:
        """Tell whether a claim says something that is expected, or that the relevant text bears out."""
        if any(point.is_said for point in self._expected(claim).points):
            return True
        truth = (*filter(None, self.readings), *self.passages)
        verdicts = supported_by(statements_of(claim), truth, self.sample, self.support) if truth else []
        return any(verdict.is_supported for verdict in verdicts)

    def _tells_of_it(self) -> bool:
        """Tell whether the answer says, or denies, anything of what it should say."""
        if self.told.silent is not None:
            return False
        return any(point.label != "unsupported" for point in self.wanted.points or self.checked)

    def _lacking(self) -> list[Point]:
        """Return what the answer should say and does not."""
        if self.wanted.points:
            return [point for point in self.wanted.points if not point.is_said]
        return [] if any(point.is_said for point in self.checked) else self.checked

    def _claims_by(self, texts: Sequence[str]) -> list[Point]:
        """Return the claims of the answer, and whether the texts bear them out."""
        claims = statements_of(self.told.text)
        return [point_of(each) for each in supported_by(claims, texts, self.sample, self.support)]

    def _where_declining_is_right(self, kind: str) -> Blame:
        if kind in DECLINED:
            return Blame("ok", f"{NOT_ANSWERED[kind]}, which is right")
        if kind in NOT_ANSWERED:
            return Blame("unknown", f"{NOT_ANSWERED[kind]} where declining is right")
        if expects_refusal(self.sample):
            return Blame("answered_wrongly", "the answer should have declined")
        claims = self._claims_by(self.readings)
        labels = {point.label for point in claims}
        if "supported" in labels and "contradicted" not in labels:
            return self._of_right_answer("the answer says what its reference says")
        astray = [point for point in claims if not point.is_said]
        why = "the answer neither declines nor says what its reference says"
        return Blame("answered_wrongly", why, _evidence(astray))

    def _by_truth(self, if_retrieved: BlameKind, wrong: str) -> Blame:
        why = f"{wrong}; {self.truth.why}"
        if self.truth.is_retrieved is None:
            return Blame("unknown", why, _evidence(each for each in self.wanted.points if not each.is_said))
        if not self.truth.is_retrieved:
            return Blame(self.truth.missed, why, _missing(self.truth))
        unsaid = [point for point in self.wanted.points if not point.is_said]
        if if_retrieved == "not_used" and self.truth.doubt:
            return Blame("unknown", f"{wrong}; {self.truth.doubt}", _evidence(unsaid))
        return Blame(if_retrieved, why, self._shown(unsaid))

    def _of_wrong_answer(self, lacking: Sequence[Point], contradicted: Sequence[Point]) -> Blame:
        wrong = _wrong(self.wanted, lacking, contradicted)
        why = f"{wrong}; {self.truth.why}"
        if self.truth.is_retrieved is None:
            return Blame("unknown", why, _evidence(contradicted or lacking))
        if not self.truth.is_retrieved:
            absent = self._absent(lacking)
            if absent or not lacking or not self._is_seen(lacking):
                return Blame(self.truth.missed, why, _evidence(absent) or _missing(self.truth))
            why = f"{wrong}; {self.truth.why}, yet what was retrieved has it"
        if contradicted and self.support.name != LEXICAL_SUPPORT:
            return Blame("contradicted", why, _evidence(contradicted))
        if self.truth.is_retrieved and self.truth.doubt:
            return Blame("unknown", f"{wrong}; {self.truth.doubt}", _evidence(lacking))
        return Blame("not_used", why, self._shown(lacking))

    def _absent(self, lacking: Sequence[Point]) -> list[Point]:
        """Return what the answer lacks and no retrieved text has either."""
        texts = texts_retrieved(self.reported)
        if not self.wanted.points or not texts:
            return list(lacking)
        return self.wanted.absent(lacking, texts)

    @property
    def _asked(self) -> tuple[str, str]:
        return self.sample.question, self.answer

    def _is_seen(self, lacking: Sequence[Point]) -> bool:
        return find_doubt(self.wanted, lacking, texts_retrieved(self.reported), self._asked) is None

    def _shown(self, lacking: Sequence[Point]) -> tuple[BlameEvidence, ...]:
        """Return what the answer lacks, each with the retrieved passage that has it, where one was seen."""
        texts, wanted = texts_retrieved(self.reported), self.wanted
        if not wanted.points or not texts:
            return _evidence(lacking)
        found = []
        for point in lacking:
            passage = passage_with(wanted, [point], texts, self._asked)
            shown = None if passage is None else wanted.shown([point], (passage,))[0].shown_by or passage
            found.append(BlameEvidence(point.text, shown))
        return tuple(found)

    def _of_right_answer(self, right: str) -> Blame:
        if invented := [point for point in self.unsupported if not self._is_expected(point.text)]:
            return Blame("invented", f"{right}; {_said_by_nothing(invented)}", _evidence(invented))
        if self.unsupported:
            right = f"{right}, which nothing retrieved says"
        if not self.response.citations and not _has_citations(self.answer):
            return Blame("ok", right)
        reading = Reading(self.sample, self.response, self.support)
        cited = CitationVerdicts(reading, texts=self.documents or CitableTexts(()))
        if not cited.answer.brackets and not self.response.citations:
            return Blame("ok", right)
        if reason := cited.counted.unusable_because:
            return Blame("ok", f"{right}; its citations are not checked: {reason}")
        closed = [each.issue for each in cited.counted.opened if each.issue is not None]
        if closed:
            return Blame("wrong_citation", f"{right}; a citation cannot be opened: {closed[0]}")
        astray = _astray(cited)
        if astray:
            why = f"{right}; what it cites does not bear it out"
            return Blame("wrong_citation", why, tuple(map(BlameEvidence, astray)))
        return Blame("ok", f"{right}, and what it cites bears it out")


def _said_by_nothing(points: Sequence[Point]) -> str:
    return f"{counted(len(points), 'claim is', 'claims are')} in nothing that was retrieved"


def _has_citations(answer: str) -> bool:
    """Tell whether an answer cites in brackets, be it only in a list of sources at its end."""
    found = parse_citations(answer)
    return bool(found.citations or found.malformed)


def _astray(cited: CitationVerdicts) -> list[str]:
    """Return the sentences whose citations do not support them.

    Citations that come beside the answer do not tell where they belong: one sentence that they support is
    enough.
    """
    sentences = cited.report.sentences
    unsupported = [
        " ".join(each.sentence.text.split())
        for each in sentences
        if not each.is_supported and (any(each.cited_claims) or not cited.counted.are_written)
    ]
    if not cited.counted.are_written and any(each.is_supported for each in sentences):
        return []
    return unsupported


def _wrong(wanted: ExpectedPoints, lacking: Sequence[Point], contradicted: Sequence[Point]) -> str:
    parts = []
    if lacking and wanted.points:
        parts.append(f"the answer lacks {len(lacking)} of {len(wanted.points)} {wanted.what}")
    elif lacking:
        parts.append("nothing that the answer claims is in the relevant text")
    told_wrongly = sum(point in contradicted for point in wanted.points)
    claims = len(contradicted) - told_wrongly
    if told_wrongly and wanted.are_enough:
        parts.append(f"{told_wrongly} {wanted.denied}")
    elif not claims:
        # The contradiction was only seen from the side of the reference.
        claims = told_wrongly
    if claims:
        parts.append(f"{counted(claims, 'claim is', 'claims are')} contradicted")
    return ", ".join(parts)


def _right(wanted: ExpectedPoints) -> str:
    number = len(wanted.points)
    if not number:
        return "what the answer claims is in the relevant text"
    return f"the answer has {number} of {number} {wanted.what}"


def _evidence(points: Iterable[Point]) -> tuple[BlameEvidence, ...]:
    return tuple(BlameEvidence(point.text, point.shown_by) for point in points)


def _missing(truth: RetrievedTruth) -> tuple[BlameEvidence, ...]:
    return tuple(map(BlameEvidence, truth.missing))


def _passage(claim: Mapping[str, Any], contexts: Sequence[str]) -> str | None:
    found = claim.get("evidence")
    return None if found is None else contexts[found["number"]][found["start"] : found["end"]]


# The metrics that hold the claims of an answer against its contexts.
_OF_CONTEXTS = ("faithfulness", "hallucination")
_COMPARES = "answer_correctness"
_TRUTH = frozenset(
    ("reference", "reference_contexts", "relevant_documents", "relevant_chunk_ids", "relevant_spans")
)
# Comparing a reference of more characters with the answer takes longer than all else that is found out.
_LONG_REFERENCE = 200
# No judge is asked: what a run costs does not depend on what is told of it.
BLAMED_BY = LexicalSupport.name


def blamed(sample: Sample, result: SampleResult, documents: CitableTexts | None) -> Blame:
    """Find out where an answer of a run failed; what its metrics say of its claims is not said otherwise."""
    doubtful, is_answer = None, False
    is_compared = any(_reads_truth(score.metric) for score in result.scores)
    is_matched = any(score.value is not None and score.method == LEXICAL_MATCH for score in result.scores)
    for score in result.scores:
        if without_parameters(score.metric) in _OF_CONTEXTS and "claims" in score.details:
            claims = score.details["claims"]
            is_answer = bool(claims) and score.method == BLAMED_BY  # what declines makes no claims
            doubtful = {
                (each["start"], each["end"]): _passage(each, result.response.contexts)
                for each in claims
                if each["label"] != "supported"
            }
    case = _Case(
        sample, result.response, LexicalSupport(), documents, doubtful, is_answer, is_matched, is_compared
    )
    try:
        return case.blame_by_turn()
    except Exception as error:  # noqa: BLE001 - one odd text must not end a run whose scores are made
        return Blame("unknown", f"finding the cause broke: {described(error)}")


@cache
def _reads_truth(metric: str) -> bool:
    try:
        return not _TRUTH.isdisjoint(parse_metric(metric).metric.needs)
    except UsageError:  # somebody else's, which may
        return True


@dataclass(frozen=True, slots=True)
class Blaming:
    """Tells where an answer failed, as a line of the run's file."""

    methods: Methods

    def __call__(self, item: tuple[Sample, SampleResult]) -> bytes:
        documents = None if self.methods.corpus is None else self.methods.documents.texts
        return blame_line(item[1].sample_id, blamed(*item, documents))

    def name_of(self, item: tuple[Sample, object]) -> str:
        """Say which item it is."""
        return f"sample {item[0].id}"
