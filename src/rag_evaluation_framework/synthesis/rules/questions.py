"""What the makers of questions hand over: a question, what answers it, and how much it is worth asking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rag_evaluation_framework.metrics.tokens import has_unspaced_script
from rag_evaluation_framework.synthesis.drafts import QuestionKind
from rag_evaluation_framework.synthesis.rules.english_clauses import is_plural
from rag_evaluation_framework.synthesis.rules.passages import Place

Form = Literal[
    "definition", "quantity", "time", "place", "cause", "condition", "person", "superlative", "change",
    "manner", "decision", "object", "cell", "comparison", "listing", "heading", "topic", "terms", "twofold",
]  # fmt: skip
"""What a question asks for; questions of a document are drawn from many forms before one comes twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestion:
    """A question without its final mark, with the places that answer it.

    ``rank`` orders what is taken first: 0 reads as people ask, 2 is a last resort. ``needs_topic`` says that
    the question would not be understood without what the document or section is about.
    """

    text: str
    places: tuple[Place, ...]
    answer: str
    form: Form
    kind: QuestionKind
    rank: int = 0
    needs_topic: bool = False
    subject: str = ""
    """What is spoken of, where that is known; in a question for two things it is not named twice."""


_LONGEST_TWOFOLD = 26
_NEAR = 600
_TOGETHER = frozenset({"definition", "quantity", "time", "place", "cause", "person", "change", "manner"})


def twofold_questions(made: Sequence[MadeQuestion]) -> Iterator[MadeQuestion]:
    """Yield questions for two things that one section tells, as people ask who need both.

    Each sentence gives its best question; neighbours that are asked for different things are joined.
    """
    best: dict[tuple[Place, ...], MadeQuestion] = {}
    for each in made:
        if each.form in _TOGETHER and each.rank == 0:
            best.setdefault(each.places, each)
    listed = list(best.values())
    for first, second in pairwise(listed):
        is_near = 0 < second.places[0].start - first.places[-1].end < _NEAR
        if is_near and first.places[0].headings == second.places[0].headings:
            text = _joined(first, second)
            if len(text.split()) <= _LONGEST_TWOFOLD:
                yield MadeQuestion(
                    text=text,
                    places=first.places + second.places,
                    answer=f"{first.answer}; {second.answer}",
                    form="twofold",
                    kind=first.kind,
                    needs_topic=first.needs_topic or second.needs_topic,
                )


def _joined(first: MadeQuestion, second: MadeQuestion) -> str:
    if has_unspaced_script(first.text):
        return f"{first.text}，{second.text}"
    later = second.text
    if first.subject and first.subject == second.subject:
        pronoun = "they" if is_plural(first.subject) else "it"
        later = later.replace(second.subject, pronoun, 1)
    return f"{first.text}, and {later}"
