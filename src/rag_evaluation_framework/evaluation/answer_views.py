"""Readers of what is said of an answer as a whole: likeness, conduct, and the grades of a rubric."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, cast

import numpy as np

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.evaluation.scoring import Reader
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.judging.answer_verdicts import (
    class_by_patterns,
    class_of_answer,
    expects_refusal,
    found_once,
    is_the_reference,
    is_the_refusal,
    may_be_declined,
)
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import (
    ContextGrades,
    Rating,
    answer_class_verdict,
    judge_relevance_grades,
    judge_relevancy,
    judge_safety,
    panel_fields,
)
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.judging.nuggets import (
    NUGGETS,
    Nugget,
    NuggetVerdicts,
    assign_nuggets,
    make_nuggets,
    rate_nuggets,
    read_nuggets,
)
from rag_evaluation_framework.judging.profanity import ProfanityScreening, screen_profanity
from rag_evaluation_framework.judging.rubrics import Rubric, RubricVerdict, default_rubric, judge_rubric
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.safety import DECLINED
from rag_evaluation_framework.metrics.views import NO_REPLY, NoValueError
from rag_evaluation_framework.records.scores import UNCLEAR
from rag_evaluation_framework.retrieval.embedders import embedded


class AnswerReader(Reader):
    """A reader of an answer's text."""

    @property
    def answer(self) -> str:
        return self.response.text or ""

    @property
    def judge(self) -> Judge:
        """The judge, where that is the method."""
        return cast("Judge", self.methods.judge)


class LikenessReader(AnswerReader):
    """The likeness of an answer to its reference, by words or vectors, and to its question, by a model."""

    @property
    def to_reference(self) -> float:
        if self.method == "embedding":
            return self._cosine(self.answer, self.sample.reference or "")
        found = self.methods.reading(self.sample, self.response, self.method).similarity
        if found is None:
            raise NoValueError(NO_REPLY)
        return found

    @found_once
    def to_question(self) -> float:
        if self.method == "embedding":
            return self._cosine(self.sample.question, self.answer)
        return self._rating.value if self.answered else 0.0

    @property
    def answered(self) -> bool:
        return self._class == "answered"

    @found_once
    def _class(self) -> str:
        if self.method == "judge":
            return self.methods.reading(self.sample, self.response, self.method).answer_class.kind
        return class_of_answer(self.sample, self.answer).kind

    @found_once
    def _rating(self) -> Rating:
        return judge_relevancy(self.judge, self.sample.question, self.answer)

    def _cosine(self, first: str, second: str) -> float:
        return cosine(cast("Embedder", self.methods.embedder), first, second)

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return the class of the answer, or the judge's rating of one that answers."""
        if self.method == "judge" and self.answered:
            return rating_fields(self._rating)
        return {"answer_class": self._class}


def cosine(embedder: Embedder, first: str, second: str) -> float:
    """Return the cosine of two texts' vectors; 0 where one of them has no direction."""
    one, other = embedded(embedder, [first, second]).astype(np.float64)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0


class ConductReader(AnswerReader):
    """The conduct of an answer: if it declines and should, and if it may be shown to people.

    A sample may give the text of its refusal (``pattern``). That text is matched literally, regardless of
    case, width and white space: an answer that contains it is a refusal, regardless of its other text.
    Patterns decide if the reference declines, so no judge is asked about an answer that is the reference.
    """

    is_literal = property(lambda self: is_the_refusal(self.sample, self.answer))
    should_decline = property(lambda self: expects_refusal(self.sample))
    may_decline = property(lambda self: may_be_declined(self.sample))
    unbiased = property(lambda self: self._bias.value)

    @property
    def unclear(self) -> str | None:
        """Why a refusal that patterns found may be none: the answer complies as well, or states more."""
        is_told = self.is_literal or self.response.is_empty or self.method == "judge"
        if is_told or self.answer_class not in DECLINED:
            return None
        return None if self._refusing == "refuses" else UNCLEAR

    @found_once
    def _refusing(self) -> str:
        from rag_evaluation_framework.judging.answer_evidence import AnswerEvidence

        return AnswerEvidence(self.sample, self.response, ()).refusal.kind

    @property
    def answer_class(self) -> str:
        kind: str = self._class["class"]
        return kind

    @property
    def clean(self) -> float:
        if self.method == "judge":
            return self._toxicity.value
        return (self._screened.sentences - self._screened.flagged) / self._screened.sentences

    @found_once
    def _class(self) -> dict[str, Any]:
        if is_the_refusal(self.sample, self.answer):
            return {"class": "refused", "pattern": "the sample's own"}
        if self.method == "judge" and not is_the_reference(self.sample, self.answer):
            verdict = answer_class_verdict(self.judge, self.sample.question, self.answer)
            said = {"class": verdict.values["label"], "reason": verdict.values["reason"]}
            return {**said, **panel_fields(verdict.agreement, verdict.details)}
        found = class_by_patterns(self.answer, self.sample.question)
        if found.pattern is None or (self.should_decline and self._refusing == "answers"):
            return {"class": "answered" if found.kind in DECLINED else found.kind}
        place = {"start": found.start, "end": found.end, "text": self.answer[found.start : found.end]}
        return {"class": found.kind, "pattern": found.pattern, **place}

    @found_once
    def _screened(self) -> ProfanityScreening:
        return screen_profanity(self.answer)

    @found_once
    def _toxicity(self) -> Rating:
        return judge_safety(self.judge, "toxicity", self.answer)

    @found_once
    def _bias(self) -> Rating:
        return judge_safety(self.judge, "bias", self.answer)

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return the class and how it is known, the words found with their places, or the judge's ratings."""
        found: dict[str, Any] = {}
        if "answer_class" in shows:
            found |= self._class
        if "clean" in shows and self.method == "judge":
            found |= rating_fields(self._toxicity)
        elif "clean" in shows:
            words = self._screened.words
            found["words"] = [{"text": word.text, "start": word.start, "end": word.end} for word in words]
        return found | rating_fields(self._bias) if "unbiased" in shows else found


def rating_fields(rating: Rating) -> dict[str, Any]:
    """Return a rating as plain values: the label, why, what a panel said, and where in the answer."""
    found: dict[str, Any] = {"label": rating.label, "reason": rating.reason}
    if rating.quote is not None:
        quote = rating.quote
        found["quote"] = {"text": quote.text, "start": quote.start, "end": quote.end}
    return {**found, **panel_fields(rating.agreement, rating.details)}


class GradesReader(AnswerReader):
    """The grades that a judge gives to an answer on each criterion; the sum and the pass are computed."""

    grades = property(lambda self: self._verdict.scores)
    weights = property(lambda self: {criterion.name: criterion.weight for criterion in self._rubric.criteria})
    pass_at = property(lambda self: self._rubric.pass_at)
    floor = property(lambda self: self._rubric.floor)

    @staticmethod
    def method_name(method: str, methods: Methods) -> str:
        """Return the name of the method with its rubric, and a hash of the rubric if not the default."""
        rubric = methods.rubric or default_rubric()
        own = "" if rubric == default_rubric() else blake2b(repr(rubric).encode(), digest_size=3).hexdigest()
        return f"{method}, rubric {rubric.name}{own and f' ({own})'}"

    @property
    def _rubric(self) -> Rubric:
        return self.methods.rubric or default_rubric()

    @found_once
    def _verdict(self) -> RubricVerdict:
        return judge_rubric(
            self.judge,
            self._rubric,
            question=self.sample.question,
            answer=self.answer,
            reference=self.sample.reference,
            contexts=self.response.contexts,
        )

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return the grades, and why."""
        verdict = self._verdict
        return {
            "grades": dict(verdict.scores),
            "reasons": dict(verdict.reasons),
            **panel_fields(verdict.agreement, verdict.details),
        }


class RelevanceReader(AnswerReader):
    """The grades that a judge gives to what was retrieved, by the question alone."""

    context_grades = property(lambda self: self._graded.grades)

    @found_once
    def _graded(self) -> ContextGrades:
        return judge_relevance_grades(self.judge, self.sample.question, self.response.contexts)

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return the grade of each context and why; with their documents, they are relevance judgements."""
        graded, recorded = self._graded, self.sample.recorded
        named = ([hit.id for hit in self.response.hits], recorded.sources if recorded else ())
        names = next((list(each) for each in named if len(each) == len(graded.grades)), [])
        return {
            "grades": [int(each) if each == int(each) else each for each in graded.grades],
            "reasons": graded.reasons,
            **({"documents": names} if names else {}),
            **panel_fields(graded.agreement, {"votes": graded.votes}),
        }


class NuggetsReader(AnswerReader):
    """The nuggets of a question, given or made from what is known to be right, and which an answer holds."""

    held = property(lambda self: self._verdicts.grades)
    vital = property(lambda self: self._verdicts.vital)

    @property
    def unknown(self) -> str | None:
        if self._given is not None or any(text.strip() for text in self._sources):
            return None
        return "the sample has no nuggets, reference or reference contexts"

    @property
    def _sources(self) -> list[str]:
        """Return the texts known to be right: references, and documents that hold the answer."""
        sample = self.sample
        return [sample.reference or "", *sample.references, *sample.reference_contexts]

    @found_once
    def _given(self) -> list[Nugget] | None:
        written = self.sample.extra.get(NUGGETS, self.sample.metadata.get(NUGGETS))
        try:
            return None if written is None else read_nuggets(written)
        except InputError as error:
            raise NoValueError(str(error), failed=True) from None

    @found_once
    def _verdicts(self) -> NuggetVerdicts:
        sample, nuggets = self.sample, self._given
        if nuggets is None:
            nuggets = make_nuggets(self.judge, sample.question, self._sources)
        if not nuggets:
            raise NoValueError("no nugget answers the question")
        nuggets = rate_nuggets(self.judge, sample.question, nuggets)
        return assign_nuggets(self.judge, sample.question, self.answer, nuggets)

    def details(self, shows: tuple[str, ...], metric: BoundMetric) -> dict[str, Any]:
        """Return each nugget with its importance and whether the answer holds it."""
        return self._verdicts.to_dict()
