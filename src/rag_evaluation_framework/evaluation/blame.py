"""Where an answer failed: in retrieval, in generation, or not at all.

====================  ===================================================================================
``ok``                the answer is right, or declines where it should
``retrieval_missed``  what the answer lacks, or gets wrong, was not retrieved
``not_used``          it was retrieved, and the answer does not say it
``contradicted``      it was retrieved, and the answer says otherwise
``wrong_citation``    the answer is right, and what it cites does not bear it out or cannot be opened
``refused_wrongly``   the answer declines although what it needs was retrieved
``answered_wrongly``  the answer should have declined
``unknown``           cannot be told; ``why`` says what is missing
====================  ===================================================================================

An answer is right when it makes every claim of the reference and contradicts none of the relevant text;
without a reference, when it makes a claim that stands in the relevant text. Who decides what supports what is
a :class:`SupportMethod`, and blame is worth as much as that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.evaluation.retrieved_truth import (
    RetrievedTruth,
    relevant_passages,
    retrieved_truth,
    statements_of,
    supported_by,
    texts_retrieved,
)
from rag_evaluation_framework.evaluation.scorers.citation_verdicts import CitationVerdicts
from rag_evaluation_framework.judging.citations.cited_texts import CitableTexts
from rag_evaluation_framework.judging.classes.answer_classes import classify_answer
from rag_evaluation_framework.judging.verdicts import ClaimVerdict, SupportMethod
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Refusal, Sample

BlameKind = Literal[
    "ok",
    "retrieval_missed",
    "not_used",
    "contradicted",
    "wrong_citation",
    "refused_wrongly",
    "answered_wrongly",
    "unknown",
]
BLAME_KINDS: tuple[BlameKind, ...] = get_args(BlameKind)

_DECLINES = {"refused": "the answer refuses", "dont_know": "the answer says that it does not know"}


@dataclass(frozen=True, slots=True)
class BlameEvidence:
    """A claim that shows it, or a relevant text that is missing, and the passage it was held against."""

    claim: str
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class Blame:
    """Where one answer failed, why that is said, and what shows it."""

    kind: BlameKind
    why: str
    evidence: tuple[BlameEvidence, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the blame as results hold it."""
        return asdict(self)


def blame(
    sample: Sample, response: Response, support: SupportMethod, *, documents: CitableTexts | None = None
) -> Blame:
    """Say where an answer failed. ``documents`` are those that spans and citations name."""
    if response.failure is not None:
        return Blame("unknown", f"there is no answer: {response.failure.kind}")
    if response.text is None or not response.text.strip():
        return Blame("unknown", "the answer is empty")
    try:
        return _Case(sample, response, support, documents or CitableTexts(())).blame()
    except ModelError as error:
        return Blame("unknown", f"no verdict: {error}")


class _Case:
    """One answer, and what is found out about it when it is first asked for."""

    def __init__(
        self, sample: Sample, response: Response, support: SupportMethod, documents: CitableTexts
    ) -> None:
        self.sample, self.response = sample, response
        self.support, self.documents = support, documents
        self.answer = response.text or ""

    @cached_property
    def truth(self) -> RetrievedTruth:
        """Whether the relevant text was retrieved."""
        return retrieved_truth(self.sample, self.response, self.support, documents=self.documents)

    @cached_property
    def passages(self) -> tuple[str, ...]:
        return relevant_passages(self.sample, self.documents)

    @cached_property
    def recalled(self) -> list[ClaimVerdict]:
        """Whether the answer makes the claims of the reference."""
        wanted = statements_of(self.sample.reference or "")
        return supported_by(wanted, [self.answer], self.sample, self.support)

    @cached_property
    def checked(self) -> list[ClaimVerdict]:
        """Whether the relevant text, else the reference, bears out the claims of the answer."""
        against = self.passages or tuple(filter(None, [self.sample.reference]))
        if not against:
            return []
        return supported_by(statements_of(self.answer), against, self.sample, self.support)

    def blame(self) -> Blame:
        kind = classify_answer(self.answer, self.sample.question).kind
        if isinstance(self.sample.expectation, Refusal):
            return self._of_expected_refusal(kind)
        if kind in _DECLINES:
            return self._without_answer("refused_wrongly", _DECLINES[kind])
        if kind == "asks_back":
            return self._without_answer("not_used", "the answer asks back")
        if not self.recalled and not self.passages:
            missing = "there is no reference and no relevant passage to tell whether the answer is right"
            return Blame("unknown", missing)
        contradicted = [each for each in (*self.checked, *self.recalled) if each.label == "contradicted"]
        lacking = self._lacking()
        if lacking or contradicted:
            return self._of_wrong_answer(lacking, contradicted)
        return self._of_right_answer()

    def _lacking(self) -> list[ClaimVerdict]:
        """Return what the answer should say and does not."""
        if self.recalled:
            return [verdict for verdict in self.recalled if not verdict.is_supported]
        return [] if any(verdict.is_supported for verdict in self.checked) else self.checked

    def _of_expected_refusal(self, kind: str) -> Blame:
        if kind in _DECLINES:
            return Blame("ok", f"{_DECLINES[kind]}, as it should")
        if kind == "asks_back":
            return Blame("unknown", "the answer asks back where it should decline")
        return Blame("answered_wrongly", "the answer should have declined")

    def _without_answer(self, if_retrieved: BlameKind, what: str) -> Blame:
        why = f"{what}; {self.truth.why}"
        if self.truth.is_retrieved is None:
            return Blame("unknown", why)
        if self.truth.is_retrieved:
            return Blame(if_retrieved, why)
        return Blame("retrieval_missed", why, _missing(self.truth))

    def _of_wrong_answer(
        self, lacking: Sequence[ClaimVerdict], contradicted: Sequence[ClaimVerdict]
    ) -> Blame:
        wrong = _wrong(len(lacking), len(self.recalled), len(contradicted))
        why = f"{wrong}; {self.truth.why}"
        if self.truth.is_retrieved is None:
            return Blame("unknown", why)
        if not self.truth.is_retrieved:
            absent = self._absent(lacking)
            if absent or not lacking:
                return Blame("retrieval_missed", why, _evidence(absent) or _missing(self.truth))
            why = f"{wrong}; {self.truth.why}, yet what was retrieved has it"
        if contradicted:
            return Blame("contradicted", why, _evidence(contradicted))
        return Blame("not_used", why, _evidence(lacking))

    def _absent(self, lacking: Sequence[ClaimVerdict]) -> list[ClaimVerdict]:
        """Return the claims of the reference that no retrieved text supports either."""
        texts = texts_retrieved(self.response)
        if not self.recalled or not texts:
            return list(lacking)
        found = supported_by([verdict.claim for verdict in lacking], texts, self.sample, self.support)
        return [verdict for verdict in found if not verdict.is_supported]

    def _of_right_answer(self) -> Blame:
        right = _right(len(self.recalled))
        cited = CitationVerdicts(self.sample, self.response, texts=self.documents, support=self.support)
        if not cited.answer.brackets and not self.response.citations:
            return Blame("ok", right)
        if cited.unusable_because is not None:
            return Blame("ok", f"{right}; its citations are not checked: {cited.unusable_because}")
        closed = [each.issue for each in cited.opened if each.issue is not None]
        if closed:
            return Blame("wrong_citation", f"{right}; a citation cannot be opened: {closed[0]}")
        astray = _astray(cited)
        if astray:
            why = f"{right}; what it cites does not bear it out"
            return Blame("wrong_citation", why, tuple(map(BlameEvidence, astray)))
        return Blame("ok", f"{right}, and what it cites bears it out")


def _astray(cited: CitationVerdicts) -> list[str]:
    """Return the sentences whose citations do not support them.

    Citations that come beside the answer do not tell where they belong: one sentence that they support is
    enough.
    """
    sentences = cited.report().sentences
    unsupported = [
        " ".join(each.sentence.text.split())
        for each in sentences
        if not each.is_supported and (any(each.cited_claims) or not cited.are_written)
    ]
    if not cited.are_written and any(each.is_supported for each in sentences):
        return []
    return unsupported


def _wrong(lacking: int, wanted: int, contradicted: int) -> str:
    parts = []
    if lacking and wanted:
        parts.append(f"the answer lacks {lacking} of {wanted} claims of the reference")
    elif lacking:
        parts.append("nothing that the answer claims stands in the relevant text")
    if contradicted:
        parts.append(f"{contradicted} {'claim is' if contradicted == 1 else 'claims are'} contradicted")
    return ", ".join(parts)


def _right(wanted: int) -> str:
    if not wanted:
        return "what the answer claims stands in the relevant text"
    return f"the answer makes {'the one claim' if wanted == 1 else f'all {wanted} claims'} of the reference"


def _evidence(verdicts: Iterable[ClaimVerdict]) -> tuple[BlameEvidence, ...]:
    return tuple(
        BlameEvidence(verdict.claim.text, None if verdict.evidence is None else verdict.evidence.text)
        for verdict in verdicts
    )


def _missing(truth: RetrievedTruth) -> tuple[BlameEvidence, ...]:
    return tuple(map(BlameEvidence, truth.missing))
