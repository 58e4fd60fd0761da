"""The class of an answer in the light of what its sample expects."""

from __future__ import annotations

import unicodedata

from rag_evaluation_framework.judging.classes.answer_classes import AnswerClass, classify_answer
from rag_evaluation_framework.records.samples import Refusal, Sample

_FINAL_MARKS = ".!?。"


def class_of_answer(sample: Sample, answer: str) -> AnswerClass:
    """Return the class of an answer by the patterns; the reference is an answer, whatever it sounds like.

    "The guide does not mention dogs" declines nothing where that is what should be said.
    """
    if is_the_reference(sample, answer):
        return AnswerClass("answered")
    return classify_answer(answer, sample.question)


def is_the_reference(sample: Sample, answer: str) -> bool:
    """Tell whether a sample expects an answer and this is it, up to case, width, white space, final marks."""
    if sample.reference is None or isinstance(sample.expectation, Refusal):
        return False
    expected = literal(sample.reference).rstrip(_FINAL_MARKS)
    return bool(expected) and literal(answer).rstrip(_FINAL_MARKS) == expected


def literal(text: str) -> str:
    """Return a text as it is compared literally: without white space, case and width."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
