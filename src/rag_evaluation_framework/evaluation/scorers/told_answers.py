"""What an answer tells, where parts of it decline or ask back.

"The mayor is Anna Berg, but I can't share her number" tells who the mayor is. So an answer that is classified
as a refusal, as "don't know" or as a question back is read part by part, and tells what the other parts say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rag_evaluation_framework.evaluation.scorers.answer_verdicts import NOT_ANSWERED
from rag_evaluation_framework.evaluation.scorers.expected_answers import class_by_patterns, class_of_answer
from rag_evaluation_framework.judging.mentions import only_doubts, phrase, says
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.scripts import CLOSERS
from rag_evaluation_framework.text.sentences import sentence_spans

# Where another part begins inside a sentence: at a contrast, or where the user is asked.
_JOINT = re.compile(
    r"(?<=[;；])"
    r"|\b(?=(?:but|however|nevertheless|nonetheless|although|though)\b)|(?=但|不过|不過|然而|可是)"
    r"|(?<=[,，])(?=\s*(?:请问|請問|[您你]|(?:do|would|could|can|what|which|shall|may)\b[^,，]*[?？]))",
    re.IGNORECASE,
)
_CONCEDED = re.compile(r"\s*(?:(?:while|although|though)\b|虽然|雖然|尽管|儘管)[^,，]*[,，]", re.IGNORECASE)
_CLAUSE = re.compile(r"[^,，]+")
_ASKS = re.compile(rf"[?？][\s{CLOSERS}]*\Z")


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer tells, and the class of one that tells nothing."""

    text: str
    silent: str | None = None

    @property
    def details(self) -> dict[str, Any]:
        """Say why nothing is told."""
        return {} if self.silent is None else {"class": self.silent, "reason": NOT_ANSWERED[self.silent]}


def told_in(sample: Sample, answer: str) -> Told:
    """Return what an answer tells: all of it, or where it declines or asks, the parts that do not.

    One that sounds like its reference, because nothing more can be said, tells all that it says.
    """
    kind = class_of_answer(sample, answer).kind
    if kind not in NOT_ANSWERED:
        return Told(answer)
    if sample.reference and class_by_patterns(sample.reference, sample.question).kind == kind:
        return Told(answer)
    parts = list(_parts(answer))
    telling = {part for part in parts if _tells(sample, part)}
    # A bare doubt tells nothing, but it makes guesses of what stands beside it.
    kept = [part for part in parts if part in telling or only_doubts(comparable(part))]
    return Told("".join(kept)) if telling else Told("", kind)


def _tells(sample: Sample, part: str) -> bool:
    if not part.strip() or _ASKS.search(part):
        return False
    return class_of_answer(sample, part).kind not in NOT_ANSWERED


def _parts(answer: str) -> Iterator[str]:
    """Yield the parts of an answer, which together are all of it."""
    begins = [start for start, _ in sentence_spans(answer)]
    for start, end in pairwise([0, *begins[1:], len(answer)]):
        sentence = answer[start:end]
        conceded = _CONCEDED.match(sentence)
        first = conceded.end() if conceded else 0
        joints = {found.start() for found in _JOINT.finditer(sentence, first)} - {0}
        places = sorted({0, first, *joints, *_spliced(sentence), len(sentence)})
        yield from (sentence[begin:stop] for begin, stop in pairwise(places))


def _spliced(sentence: str) -> Iterator[int]:
    """Yield where a clause begins that only a comma parts from another: "I have no price, it opens at 9"."""
    clauses = [(found.start(), comparable(found[0])) for found in _CLAUSE.finditer(sentence)]
    for (_, before), (start, after) in pairwise(clauses):
        if says("depends", before):
            return
        if phrase("statement").match(before) and phrase("statement").match(after):
            yield start
