"""The findings of a method on one answer, each computed when first needed, and the sample's expectation.

Several metrics look at the same verdicts, and so does blame. They share a :class:`Reading`, so each claim is
looked at once, and a judge is asked once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, compress
from typing import Any, TypeVar

import msgspec

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.judging.answer_classes import AnswerClass, besides, classify_answer
from rag_evaluation_framework.judging.claim_features import claim_tokens_beside
from rag_evaluation_framework.judging.claims import claims_of, claims_of_key, said_in
from rag_evaluation_framework.judging.judged_answers import JudgeSupport, judge_answer_class
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.reference_match import CONTRARY, Match, kept_match, similarity
from rag_evaluation_framework.judging.turn_matching import Replies, compare_replies
from rag_evaluation_framework.metrics.safety import DECLINED
from rag_evaluation_framework.metrics.views import ENGLISH_AND_CHINESE, LEXICAL_SUPPORT
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Refusal, Sample
from rag_evaluation_framework.records.scores import NOT_ANSWERED, Claim, ClaimVerdict, SupportMethod
from rag_evaluation_framework.text.languages import foreign_language, language_of
from rag_evaluation_framework.text.normalisation import folded, folded_with_places, variants
from rag_evaluation_framework.text.scripts import CLOSERS
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.tokens import content_keys

# From which share on the words of a claim make it one that the other side makes too.
_MOST = 0.5
_FINAL_MARKS = ".!?。"
# The metrics of an answer ask one after another, and as many answers are scored at once as there are threads.
_REMEMBERED = 64

_PART = re.compile(
    r"\b(?=(?:but|however|though|although)\b)|(?=但|不过|不過|然而|可是)|(?<=[;；])", re.IGNORECASE
)
_ASKS = re.compile(rf"[?？][\s{CLOSERS}]*\Z")


T = TypeVar("T")

# An answer with several references is read once for all of them.
class_by_patterns = lru_cache(maxsize=_REMEMBERED)(classify_answer)
"""Returns the class of an answer to a question; several metrics of one answer find it once."""


def class_of_answer(sample: Sample, answer: str) -> AnswerClass:
    """Return the class of an answer by the patterns; one that holds the words of a refusal is one.

    An empty answer does not decline.
    """
    if not answer.strip():
        return AnswerClass("answered")
    if is_the_refusal(sample, answer):
        return AnswerClass("refused")
    return class_by_patterns(answer, sample.question)


def expects_refusal(sample: Sample) -> bool:
    """Return True if a sample expects a refusal."""
    return isinstance(sample.expectation, Refusal)


def may_be_declined(sample: Sample) -> bool:
    """Return True if a sample expects only a reference that sounds like a refusal.

    A refusal is correct then, and so is a repetition of the reference: "There are no vegetarian options"
    may be a fact.
    """
    return sample.expectation is None and reference_declines(sample)


def reference_declines(sample: Sample) -> bool:
    """Return True if the reference refuses, or does not know: "The guide does not mention dogs"."""
    reference = sample.reference or ""
    return bool(reference.strip()) and class_by_patterns(reference, sample.question).kind in DECLINED


def unmeasured_language(sample: Sample, answer: str) -> str | None:
    """Return the language of an answer, if words were not measured on it; of the question, if it is short."""
    told = answer if language_of(answer) else sample.question
    return foreign_language([told], ENGLISH_AND_CHINESE)


def is_the_reference(sample: Sample, answer: str) -> bool:
    """Return True if the answer is the reference, up to case, width, white space, final marks."""
    if sample.reference is None or isinstance(sample.expectation, Refusal):
        return False
    expected = literal(sample.reference).rstrip(_FINAL_MARKS)
    return bool(expected) and literal(answer).rstrip(_FINAL_MARKS) == expected


def is_the_refusal(sample: Sample, answer: str) -> bool:
    """Return True if a sample gives the text of its refusal, and this answer has it."""
    expected = sample.expectation
    if not isinstance(expected, Refusal) or not expected.pattern:
        return False
    wanted = literal(expected.pattern.rstrip(" .…。"))
    return bool(wanted) and wanted in literal(answer)


def literal(text: str) -> str:
    """Return a text as it is compared literally: without white space, case and width."""
    return folded(text).replace(" ", "")


def readings_of(sample: Sample) -> list[str]:
    """Return the texts that are right answers to a sample: its reference, and others where it has several.

    In golden sets "A/B" means either, and dots stand for what is not written.
    """
    is_golden = sample.origin is not None and sample.origin.dialect in GOLDEN_DIALECTS
    texts = [sample.reference or ""]
    if sample.references:  # many only differ in case
        texts = list({folded(text): text for text in reversed((*texts, *sample.references))}.values())[::-1]
    return [each for text in texts for each in variants(text)] if is_golden else texts


class found_once(cached_property[T]):  # noqa: N801  # used as a decorator
    """A ``functools.cached_property`` without the lock that it holds for all objects before Python 3.12.

    With the lock, judges would be asked one by one. An answer is scored by one thread, so none is needed.
    """

    def __get__(self, instance: Any, owner: type | None = None) -> T:  # type: ignore[override]
        if instance is None:  # asked of the class
            return self  # type: ignore[return-value]
        found = instance.__dict__[self.func.__name__] = self.func(instance)
        return found


class Reading:
    """The claims of an answer and of its reference, against the contexts and against each other.

    ``answer`` and ``reference`` are what they say: citations are blanked out, so every place stays the same.
    """

    def __init__(self, sample: Sample, response: Response, support: SupportMethod) -> None:
        self.sample, self.response, self.support = sample, response, support
        self.answer = said_in(response.text or "")

    @found_once
    def reference(self) -> str:
        """Return the reference as text; a bracket if the sample expects only a refusal."""
        said = said_in(self.sample.reference or "")
        return said if said.strip() else self.sample.reference or ""

    @found_once
    def answer_class(self) -> AnswerClass:
        """Return the class of the answer: answered, refused, "don't know" or a question back.

        Where it seems not to, or the patterns do not know its language, a judge decides, if there is one.
        """
        if not isinstance(self.support, JudgeSupport) or (self._seems_to_answer and self._is_understood):
            return self._class_by_patterns
        return judge_answer_class(self.support.judge, self.sample.question, self.response.text or "")

    @found_once
    def claims(self) -> Sequence[Claim]:
        """The claims of the answer; to refuse, not to know and to ask back claim nothing."""
        if self.response.is_empty or self.answer_class.kind != "answered":
            return []
        claims = claims_of(self.answer)
        if self._seems_to_answer:
            return claims
        # It is an answer all the same: only the sentences that decline are not claims.
        kinds = [class_by_patterns(claim.text, self.sample.question).kind for claim in claims]
        return [claim for claim, kind in zip(claims, kinds, strict=True) if kind == "answered"] or claims

    @property
    def answer_claims(self) -> Sequence[Claim]:
        """The claims of the answer, or all that it says where that is as short as what is expected may be."""
        if self.claims or self.response.is_empty or self.answer_class.kind != "answered":
            return self.claims
        return claims_of_key(self.answer)

    @property
    def no_claims_because(self) -> str:
        """Return the reason why there are no claims, if there are none."""
        if self.response.is_empty:
            return "the answer is empty"
        return NOT_ANSWERED.get(self.answer_class.kind, "the answer claims nothing")

    @found_once
    def reference_claims(self) -> Sequence[Claim]:
        """The claims of the reference; where it declines, and the answer does too, it makes none."""
        if self.answer_class.kind in DECLINED and reference_declines(self.sample):
            return []
        return claims_of_key(self.reference)

    @found_once
    def by_contexts(self) -> list[ClaimVerdict]:
        """Return a verdict on each claim of the answer by the contexts."""
        if not any(text.strip() for text in self.response.contexts):  # nobody has to be asked about nothing
            return [ClaimVerdict(claim=claim, label="unsupported") for claim in self.claims]
        return self._decided(self.claims, self.response.contexts)

    @property
    def probability_unsupported(self) -> float | None:
        """The probability that the answer contains unsupported text, by words; ``None`` by other methods."""
        if not isinstance(self.support, LexicalSupport):
            return None
        return self.support.probability_unsupported(self.by_contexts)

    @found_once
    def match(self) -> Match | None:
        """Return the word overlap of answer and reference; ``None`` if a model decides instead."""
        return self.match_by_words if self.support.name == LEXICAL_SUPPORT else None

    @found_once
    def match_by_words(self) -> Match:
        """Return the word overlap of answer and reference, for every method."""
        claims = (
            tuple([claim.text for claim in each]) for each in (self.answer_claims, self.reference_claims)
        )
        found: Match = kept_match(*claims, self.sample.question)
        return found

    @found_once
    def replies(self) -> Replies | None:
        """The yes or no that the reference replies and that of the answer; ``None`` of other references."""
        found: Replies | None = compare_replies(self.answer, self.reference, self.sample.question)
        return found

    @found_once
    def correctness(self) -> float | None:
        """Return the correctness of the answer by its words and its own yes or no.

        ``None`` where one is all that is expected, and the answer plainly says neither.
        """
        found, replies = self.match_by_words.correctness, self.replies
        is_answer = not self.response.is_empty and self.answer_class.kind == "answered"
        if replies is None or not is_answer:
            return found
        if replies.are_equal is None:
            return None if replies.is_bare or not self.reference_claims else found
        if not replies.are_equal:
            return found * CONTRARY
        return 1.0 if replies.is_all else found

    @property
    def similarity(self) -> float | None:
        """Return the similarity of answer and reference by words, scaled to human labels.

        Where both decline, what they say is compared all the same.
        """
        if is_the_reference(self.sample, self.response.text or ""):
            return 1.0
        if (correctness := self.correctness) is None:
            return None
        if not self.reference_claims and self.replies is None:
            claims = (claims_of_key(text) for text in (self.answer, self.reference))
            match = kept_match(*(tuple([claim.text for claim in each]) for each in claims))
            correctness = match.correctness
        found: float = similarity(correctness)
        return found

    @found_once
    def by_reference(self) -> list[ClaimVerdict]:
        """Return a verdict on each claim of the answer by the reference."""
        if self.match is None:
            return self._decided(self.claims, [self.reference])
        return self._matched(self.claims, self.match.agreed[: len(self.claims)], self.reference)

    @found_once
    def reference_by_answer(self) -> list[ClaimVerdict]:
        """Return a verdict on each claim of the reference by the answer."""
        if self.match is None:
            return self._decided(self.reference_claims, [self.answer])
        return self._matched(self.reference_claims, self.match.recalled, self.answer)

    @found_once
    def reference_by_contexts(self) -> list[ClaimVerdict]:
        """Return a verdict on each claim of the reference by the contexts."""
        return self._decided(self.reference_claims, self.response.contexts)

    @found_once
    def truth_by_contexts(self) -> list[ClaimVerdict]:
        """Return a verdict on each claim of the reference contexts by the retrieved contexts."""
        contexts = map(said_in, self.sample.reference_contexts)
        truth = [claim for context in contexts for claim in claims_of(context)]
        return self._decided(truth, self.response.contexts)

    @property
    def sought_claims(self) -> Sequence[Claim]:
        """Return the claims that useful contexts support: the reference's, else the answer's."""
        return self.reference_claims or self.claims

    @found_once
    def useful_contexts(self) -> list[bool]:
        """Return, for each context, True if it supports one of the sought claims."""
        if isinstance(self.support, LexicalSupport):  # nobody is asked, so that the first will do
            texts, asked = self.response.contexts, self.sample.question
            return self.support.are_useful(texts, self.sought_claims, question=asked)
        return [
            any(verdict.is_supported for verdict in self._decided(self.sought_claims, [context]))
            for context in self.response.contexts
        ]

    @found_once
    def by_useful_contexts(self) -> list[ClaimVerdict]:
        """Return a verdict on each claim of the answer by the useful contexts."""
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

    @property
    def _is_understood(self) -> bool:
        return foreign_language([self.answer], ENGLISH_AND_CHINESE) is None

    def _matched(self, claims: Sequence[Claim], shares: Sequence[float], against: str) -> list[ClaimVerdict]:
        """Return what shares of words come to, with the words that the other side does not have."""
        known = {*content_keys(against), *content_keys(self.sample.question)}
        return [
            ClaimVerdict(
                claim=claim,
                label="supported" if share >= _MOST else "unsupported",
                probability=share,
                new_tokens=tuple(
                    [
                        Claim(claim.text[start:end], claim.start + start, claim.start + end)
                        for _, start, end in claim_tokens_beside(known, claim.text)
                    ]
                ),
            )
            for claim, share in zip(claims, shares, strict=True)
        ]

    def _decided(self, claims: Sequence[Claim], evidence: Sequence[str]) -> list[ClaimVerdict]:
        return self.support.decide(claims, evidence, question=self.sample.question) if claims else []


class Told(msgspec.Struct, frozen=True):
    """The assertions of an answer without its refusals, and the class of an answer without assertions.

    "The mayor is Anna Berg, but I can't share her number" tells who the mayor is. So an answer that is
    classified as a refusal, as "don't know" or as a question back tells what its other parts say: sentences,
    and what a contrast parts in them.
    """

    text: str
    silent: str | None = None

    @property
    def details(self) -> dict[str, Any]:
        """Return the reason for which an answer has no assertions."""
        return {} if self.silent is None else {"class": self.silent, "reason": NOT_ANSWERED[self.silent]}


def told_in(sample: Sample, answer: str) -> Told:
    """Return what an answer tells: all of it, or where it declines or asks, the parts that do not.

    One that sounds like its reference, because nothing more can be said, tells all that it says.
    """
    kind = class_of_answer(sample, answer).kind
    if kind not in NOT_ANSWERED:
        return Told(answer)
    if (said := sample.reference or "").strip() and class_by_patterns(said, sample.question).kind == kind:
        return Told(answer)
    parts = (part for start, end in sentence_spans(answer) for part in _PART.split(answer[start:end]))
    told = " ".join(part for part in parts if part.strip() and _tells(sample, part))
    return Told(told) if told else Told("", kind)


def told_besides_refusing(sample: Sample, answer: str) -> Iterator[tuple[str, bool]]:
    """Yield what a refusal states as well, folded, and whether that follows a "but" or "however".

    Parts that decline state nothing, nor do reasons, courtesies, offers of help and advice where to ask.
    """
    goes_on = False
    for start, end in sentence_spans(answer):
        may_go_on = True  # "not only A but B" goes on with nothing
        parts = _PART.split(folded_with_places(answer[start:end])[0])
        for clause in filter(str.strip, chain.from_iterable(map(besides("clause").split, parts))):
            tells = _tells(sample, clause)
            if not besides("of_a_refusal").search(clause):
                goes_on = goes_on or (may_go_on and besides("after_all").search(clause) is not None)
                if tells:
                    yield clause, goes_on
            may_go_on = not tells


def _tells(sample: Sample, part: str) -> bool:
    return not _ASKS.search(part) and class_of_answer(sample, part).kind not in NOT_ANSWERED
