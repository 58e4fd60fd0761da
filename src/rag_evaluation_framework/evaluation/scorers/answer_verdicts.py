"""Everything that a method says about one answer, found when it is first asked for.

Several metrics look at the same verdicts. They share the object, so each claim is looked at once, and a judge
is asked once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from rag_evaluation_framework.evaluation.scorers.expected_answers import class_of_answer, reference_declines
from rag_evaluation_framework.evaluation.scorers.found_once import found_once
from rag_evaluation_framework.judging.answer_classes import AnswerClass, classify_answer
from rag_evaluation_framework.judging.answer_text import said_in
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.judged_answers import JudgeSupport, judge_answer_class
from rag_evaluation_framework.metrics.safety import DECLINED
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, SupportMethod

NOT_ANSWERED = {
    "refused": "the answer refuses",
    "dont_know": "the answer says that it does not know",
    "asks_back": "the answer asks back",
}
"""The classes of answers that answer nothing, in words."""


class AnswerVerdicts:
    """The claims of an answer and of its reference, against the contexts and against each other.

    ``answer`` and ``reference`` are what they say: citations are blanked out, so every place stays the same.
    """

    def __init__(self, sample: Sample, response: Response, support: SupportMethod) -> None:
        self.sample, self.response = sample, response
        self.answer = said_in(response.text or "")
        self._support = support

    @found_once
    def reference(self) -> str:
        """What the reference says; a bracket where that is all that is expected."""
        said = said_in(self.sample.reference or "")
        return said if said.strip() else self.sample.reference or ""

    @found_once
    def answer_class(self) -> AnswerClass:
        """Whether the answer answers at all. Where it seems not to, a judge decides, if there is one."""
        if self._seems_to_answer or not isinstance(self._support, JudgeSupport):
            return self._class_by_patterns
        return judge_answer_class(self._support.judge, self.sample.question, self.response.text or "")

    @found_once
    def claims(self) -> list[Claim]:
        """The claims of the answer; to refuse, not to know and to ask back claim nothing."""
        if self.response.is_empty or self.answer_class.kind != "answered":
            return []
        claims = claims_of(self.answer)
        if self._seems_to_answer:
            return claims
        # It is an answer all the same: only the sentences that decline are not claims.
        return [claim for claim in claims if self._is_answer(claim.text)] or claims

    @property
    def no_claims_because(self) -> str:
        """Why there are no claims, where there are none."""
        if self.response.is_empty:
            return "the answer is empty"
        return NOT_ANSWERED.get(self.answer_class.kind, "the answer claims nothing")

    @found_once
    def reference_claims(self) -> list[Claim]:
        """The claims of the reference; where it declines, and the answer does too, it makes none."""
        if reference_declines(self.sample) and self.answer_class.kind in DECLINED:
            return []
        return claims_of(self.reference)

    @found_once
    def by_contexts(self) -> list[ClaimVerdict]:
        """Whether the contexts support the claims of the answer."""
        return self._decided(self.claims, self.response.contexts)

    @found_once
    def by_reference(self) -> list[ClaimVerdict]:
        """Whether the reference supports the claims of the answer."""
        return self._decided(self.claims, [self.reference])

    @found_once
    def reference_by_answer(self) -> list[ClaimVerdict]:
        """Whether the answer supports the claims of the reference."""
        return self._decided(self.reference_claims, [self.answer])

    @found_once
    def reference_by_contexts(self) -> list[ClaimVerdict]:
        """Whether the contexts support the claims of the reference."""
        return self._decided(self.reference_claims, self.response.contexts)

    @found_once
    def truth_by_contexts(self) -> list[ClaimVerdict]:
        """Whether the contexts support the claims of the reference contexts."""
        contexts = map(said_in, self.sample.reference_contexts)
        truth = [claim for context in contexts for claim in claims_of(context)]
        return self._decided(truth, self.response.contexts)

    @property
    def sought_claims(self) -> list[Claim]:
        """What useful contexts support: the claims of the reference, or of the answer where it makes none."""
        return self.reference_claims or self.claims

    @found_once
    def useful_contexts(self) -> list[bool]:
        """Whether each context supports one of the claims that are sought."""
        return [
            any(verdict.is_supported for verdict in self._decided(self.sought_claims, [context]))
            for context in self.response.contexts
        ]

    @found_once
    def by_useful_contexts(self) -> list[ClaimVerdict]:
        """Whether the useful contexts support the claims of the answer."""
        useful = list(compress(self.response.contexts, self.useful_contexts))
        if not useful:
            return [ClaimVerdict(claim=claim, label="unsupported") for claim in self.claims]
        return self._decided(self.claims, useful)

    @found_once
    def _class_by_patterns(self) -> AnswerClass:
        return class_of_answer(self.sample, self.response.text or "")

    @property
    def _seems_to_answer(self) -> bool:
        return self._class_by_patterns.kind == "answered"

    def _is_answer(self, text: str) -> bool:
        return classify_answer(text, self.sample.question).kind == "answered"

    def _decided(self, claims: Sequence[Claim], evidence: Sequence[str]) -> list[ClaimVerdict]:
        return self._support.decide(claims, evidence, question=self.sample.question) if claims else []
