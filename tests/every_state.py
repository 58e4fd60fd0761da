"""One small run in which every state of an answer occurs, for the tests of every surface that shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripted_judge import Reading, entries, read_question

from cases import tables_beside
from rag_evaluation_framework import Evaluation, Judge, Options, Refusal, Response, Sample, Turn, evaluate
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.models.chat import Completion, Message

TABLES = tables_beside(__file__)

SAILS = "The ferry sails at nine. A ticket costs four crowns. Dogs travel free."
CAFE = "The cafe opens at ten. It sells pancakes. The harbor has two piers."

ANSWERS: dict[str, tuple[str, str | None, str]] = TABLES["answers"]
"""Question, expected answer and answer, by the state that the judge's replies make of it.

Those without an expected answer expect a refusal, but for the one that is not judged.
"""
TALK = {
    "When does the ferry sail?": ("The ferry sails at nine.", "The ferry sails at nine."),
    "And what does a ticket cost?": ("A ticket costs four crowns.", "A ticket costs five crowns."),
}
"""A conversation whose second turn is wrong: what is expected and answered, by question."""
METRICS = ("claim_recall", "faithfulness", "turn_correctness", "refusal_recall", "over_refusal")
GRADES = {"correct": 4, "partly_correct": 1, "wrong": 6, "not_judged": 2}
"""How many answers there are of each grade, the turns of the conversation one by one."""
_REPLIES = {question: answer for question, _, answer in ANSWERS.values()}
_REPLIES |= {question: answer for question, (_, answer) in TALK.items()}


def every_sample() -> list[Sample]:
    """Return a sample for each state, one whose answer is flagged, and the conversation."""
    found = [
        Sample(
            id=name,
            turns=(Turn(role="user", content=question),),
            reference=reference,
            expectation=None if reference is not None or name == "not_judged" else Refusal(),
        )
        for name, (question, reference, _) in ANSWERS.items()
    ]
    turns = [
        turn
        for question, (reference, _) in TALK.items()
        for turn in (Turn(role="user", content=question), Turn(role="assistant", reference=reference))
    ]
    return [*found, Sample(id="talk", turns=tuple(turns))]


def answer(question: str) -> Response:
    """Answer as the table says; where it has no answer, the request fails."""
    if not (text := _REPLIES[question]):
        raise TargetError("timeout", "no answer within 5 s")
    return Response(text=text, contexts=(SAILS, CAFE))


class LiteralJudge:
    """Supports a claim that the evidence contains word for word, and knows refusals by their first word."""

    name = "literal"

    def chat(self, messages: Sequence[Message], *, schema: Any = None, draw: int = 0) -> Completion:
        reading = read_question({"messages": [{"content": each.content} for each in messages]})
        return Completion(text=reply(reading))


def reply(reading: Reading) -> str:
    """Return what the judge replies; a script of the chat server may call it too."""
    if reading.prompt.name == "answer_class":
        text = reading.texts["answer"]
        label = "refused" if text.startswith("Sorry") else "asks_back" if text.endswith("?") else "answered"
        return json.dumps({"reason": "by its words", "label": label})
    return json.dumps({"claims": entries(*(_said(claim, reading) for claim in reading.several("claims")))})


def _said(claim: str, reading: Reading) -> dict[str, Any]:
    words = _words(claim)
    for number, text in enumerate(reading.several("evidence"), start=1):
        for sentence in re.split(r"(?<=[.!?])\s", text):
            if words in _words(sentence):
                return {"label": "supported", "evidence": number, "quote": sentence.rstrip(".")}
    return {"label": "unsupported", "evidence": 0, "quote": ""}


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", re.sub(r"\[\d+\]", "", text).casefold()))


def evaluate_every_state(runs: Path | None = None, **wish: Any) -> Evaluation:
    """Evaluate the samples; ``runs`` keeps the run, and ``wish`` is that of :func:`evaluate`."""
    options = Options(allow_missing=True, max_attempts=1)
    wish = {"metrics": METRICS, "options": options, **wish}
    return evaluate(every_sample(), target=answer, judge=Judge(LiteralJudge()), runs_directory=runs, **wish)
