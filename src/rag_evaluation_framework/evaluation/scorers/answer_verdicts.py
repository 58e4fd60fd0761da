"""Everything that a method says of one answer, found when it is first asked for.

Several metrics look at the same verdicts. :class:`VerdictMemory` gives them the same object, so each claim is
looked at once, and a judge is asked once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from rag_evaluation_framework.errors import ModelError, ModelOutageError
from rag_evaluation_framework.evaluation.scorers.expected_answers import class_of_answer
from rag_evaluation_framework.judging.citations.said_text import said_in
from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.classes.answer_classes import AnswerClass, classify_answer
from rag_evaluation_framework.judging.judges.judge_support import JudgeSupport
from rag_evaluation_framework.judging.judges.judged_answers import judge_answer_class
from rag_evaluation_framework.judging.verdicts import Claim, ClaimVerdict, SupportMethod
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample

_REMEMBERED = 256
_FAILED_SECONDS = 60.0  # long enough for the next metric, short enough for who scores the answer again
_NOT_ANSWERED = {
    "refused": "the answer refuses",
    "dont_know": "the answer says that it does not know",
    "asks_back": "the answer asks back",
}


T = TypeVar("T")


class found_once(Generic[T]):  # noqa: N801  # used as a decorator
    """A property that is found when first asked for and then kept, as ``functools.cached_property``.

    That one holds a lock for all objects at once before Python 3.12, so judges would be asked one by one. An
    answer is scored by one thread, so no lock is needed.

    That a model's endpoint failed is kept as well, for a minute: the metrics that come next would only put
    the same question again, and wait for it as long.
    """

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self._failure = f"failure of {find.__name__}"
        self.__doc__ = find.__doc__

    def __get__(self, owner: Any, kind: type | None = None) -> T:
        failed_at, failure = owner.__dict__.get(self._failure, (0.0, None))
        if failure is not None and time.monotonic() - failed_at < _FAILED_SECONDS:
            raise failure.with_traceback(None)
        try:
            found = owner.__dict__[self._find.__name__] = self._find(owner)
        except ModelOutageError:
            raise  # whoever goes on after an outage has reason to ask again
        except ModelError as error:
            if error.is_of_endpoint:
                owner.__dict__[self._failure] = (time.monotonic(), error)
            raise
        return found


class AnswerVerdicts:
    """The claims of an answer and of its reference, against the contexts and against each other.

    ``answer`` and ``reference`` are what they say: spaces stand where they cite, every place is the same.
    """

    def __init__(self, sample: Sample, response: Response, support: SupportMethod) -> None:
        self.sample, self.response = sample, response
        self.answer, self.reference = said_in(response.text or ""), said_in(sample.reference or "")
        if not self.reference.strip():
            self.reference = sample.reference or ""  # a bracket is all that is expected
        self._support = support

    @found_once
    def answer_class(self) -> AnswerClass:
        """Whether the answer answers at all. Where it seems not to, a judge decides, if there is one."""
        if self._seems_to_answer or not isinstance(self._support, JudgeSupport):
            return self._class_by_patterns
        return judge_answer_class(self._support.judge, self.sample.question, self.response.text or "")

    @found_once
    def claims(self) -> list[Claim]:
        """The claims of the answer; to refuse, not to know and to ask back claim nothing."""
        if self.answer_class.kind != "answered":
            return []
        claims = claims_of(self.answer)
        if self._seems_to_answer:
            return claims
        # An answer all the same: only the sentences that decline are none of its claims.
        return [claim for claim in claims if self._is_answer(claim.text)] or claims

    @property
    def no_claims_because(self) -> str:
        """Why there are no claims, where there are none."""
        return _NOT_ANSWERED.get(self.answer_class.kind, "the answer claims nothing")

    @found_once
    def reference_claims(self) -> list[Claim]:
        """The claims of the reference."""
        return claims_of(self.reference)

    @found_once
    def by_contexts(self) -> list[ClaimVerdict]:
        """Whether the contexts support the claims of the answer."""
        return self._supports(self.claims, self.response.contexts)

    @found_once
    def by_reference(self) -> list[ClaimVerdict]:
        """Whether the reference supports the claims of the answer."""
        return self._supports(self.claims, [self.reference])

    @found_once
    def recalled(self) -> list[ClaimVerdict]:
        """Whether the answer supports the claims of the reference."""
        return self._supports(self.reference_claims, [self.answer])

    @found_once
    def retrieved(self) -> list[ClaimVerdict]:
        """Whether the contexts support the claims of the reference."""
        return self._supports(self.reference_claims, self.response.contexts)

    @found_once
    def attributed(self) -> list[ClaimVerdict]:
        """Whether the contexts support the claims of the reference contexts."""
        contexts = map(said_in, self.sample.reference_contexts)
        truth = [claim for context in contexts for claim in claims_of(context)]
        return self._supports(truth, self.response.contexts)

    @found_once
    def useful_contexts(self) -> list[bool]:
        """Whether each context supports a claim of the reference, or of the answer where there is none."""
        sought = self.reference_claims or self.claims
        return [
            any(verdict.is_supported for verdict in self._supports(sought, [context]))
            for context in self.response.contexts
        ]

    @found_once
    def misled(self) -> list[bool]:
        """Whether each claim of the answer is supported by a context that supports the reference too."""
        relevant = [
            context
            for context, is_useful in zip(self.response.contexts, self.useful_contexts, strict=True)
            if is_useful
        ]
        return flags(self._supports(self.claims, relevant)) if relevant else [False] * len(self.claims)

    @found_once
    def _class_by_patterns(self) -> AnswerClass:
        return class_of_answer(self.sample, self.response.text or "")

    @property
    def _seems_to_answer(self) -> bool:
        return self._class_by_patterns.kind == "answered"

    def _is_answer(self, text: str) -> bool:
        return classify_answer(text, self.sample.question).kind == "answered"

    def _supports(self, claims: Sequence[Claim], evidence: Sequence[str]) -> list[ClaimVerdict]:
        return self._support.supports(claims, evidence, question=self.sample.question) if claims else []


def flags(verdicts: Sequence[ClaimVerdict]) -> list[bool]:
    """Return for each claim whether it is supported."""
    return [verdict.is_supported for verdict in verdicts]


class VerdictMemory:
    """The verdicts on the answers of late, by the very sample and response; threads may share it."""

    def __init__(self, support: SupportMethod) -> None:
        self.support = support
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], AnswerVerdicts] = OrderedDict()

    def verdicts_on(self, sample: Sample, response: Response) -> AnswerVerdicts:
        """Return the verdicts on a response; the same object for the same sample and response."""
        # What is kept holds on to sample and response, so their ids cannot pass to others meanwhile.
        key = id(sample), id(response)
        with self._lock:
            verdicts = self._kept.get(key)
            if verdicts is None:
                verdicts = self._kept[key] = AnswerVerdicts(sample, response, self.support)
                if len(self._kept) > _REMEMBERED:
                    self._kept.popitem(last=False)
            return verdicts
