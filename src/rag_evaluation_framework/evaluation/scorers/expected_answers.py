"""What a sample expects of an answer, and the class of the answer in the light of it."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from rag_evaluation_framework.judging.answer_classes import AnswerClass, classify_answer
from rag_evaluation_framework.metrics.safety import DECLINED
from rag_evaluation_framework.records.samples import Refusal, Sample

_FINAL_MARKS = ".!?。"
# The metrics of an answer ask one after another, and as many answers are scored at once as there are threads.
_REMEMBERED = 64

class_by_patterns = lru_cache(maxsize=_REMEMBERED)(classify_answer)
"""Returns the class of an answer to a question; several metrics of one answer find it once."""


def class_of_answer(sample: Sample, answer: str) -> AnswerClass:
    """Return the class of an answer by the patterns; one that holds the words of a refusal is one."""
    if is_the_refusal(sample, answer):
        return AnswerClass("refused")
    return class_by_patterns(answer, sample.question)


def expects_refusal(sample: Sample) -> bool:
    """Tell whether a sample says that it expects a refusal."""
    return isinstance(sample.expectation, Refusal)


def may_be_declined(sample: Sample) -> bool:
    """Tell whether a sample expects nothing but a reference that sounds like a refusal.

    To decline is right then, and so is to say what the reference says: "There are no vegetarian options" may
    be a fact.
    """
    return sample.expectation is None and reference_declines(sample)


def reference_declines(sample: Sample) -> bool:
    """Tell whether the reference refuses, or does not know: "The guide does not mention dogs"."""
    reference = sample.reference or ""
    return bool(reference.strip()) and class_by_patterns(reference, sample.question).kind in DECLINED


def is_the_reference(sample: Sample, answer: str) -> bool:
    """Tell whether a sample expects an answer and this is it, up to case, width, white space, final marks."""
    if sample.reference is None or isinstance(sample.expectation, Refusal):
        return False
    expected = literal(sample.reference).rstrip(_FINAL_MARKS)
    return bool(expected) and literal(answer).rstrip(_FINAL_MARKS) == expected


def is_the_refusal(sample: Sample, answer: str) -> bool:
    """Tell whether a sample says how its refusal should sound, and this answer holds that text."""
    expected = sample.expectation
    if not isinstance(expected, Refusal) or not expected.pattern:
        return False
    wanted = literal(expected.pattern.rstrip(" .…。"))
    return bool(wanted) and wanted in literal(answer)


def literal(text: str) -> str:
    """Return a text as it is compared literally: without white space, case and width."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
