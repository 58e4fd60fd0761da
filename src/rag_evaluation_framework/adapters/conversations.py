"""A sample put to a system turn by turn, and the response made of what it answered.

The user's turns are replayed in order, each after the answer to the one before. What the system itself
said is the history, unless the request asks for the answers that the dataset expects: then a mistake in one
turn does not spoil the next.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_evaluation_framework.adapters.answer_fields import ReadAnswer
from rag_evaluation_framework.errors import TargetError, UsageError
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import TURNS, History, Request, Response, Usage, unread_field
from rag_evaluation_framework.records.samples import Sample

Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Ask:
    """One turn to be answered: the messages so far, the user's last, and its place among the user's turns."""

    messages: tuple[Message, ...]
    turn: int
    turns: int

    @property
    def text(self) -> str:
        return self.messages[-1]["content"]

    def key(self, key: str) -> str:
        """Return the idempotency key of this turn, which is the sample's own where there is one turn only."""
        return key if self.turns == 1 else f"{key}-{self.turn}"


async def replay(
    sample: Sample, answer: Callable[[Ask], Awaitable[ReadAnswer]], *, history: History = "own"
) -> Response:
    """Ask every turn of the user's and return the response to the last; all of them are in its metadata.

    A turn that fails, fails the conversation: the error names it and has the turns answered before.
    With ``history="reference"`` each turn is asked after the answers that the dataset expects; where it
    expects none, or a refusal, after the system's own.
    """
    turns = sum(turn.role == "user" for turn in sample.turns)
    messages: list[Message] = []
    answers: list[ReadAnswer] = []
    for turn in sample.turns:
        if turn.role == "system" and turn.content is not None:
            messages.append({"role": "system", "content": turn.content})
        if turn.role == "user":
            messages.append({"role": "user", "content": turn.content or ""})
            try:
                answers.append(await answer(Ask(tuple(messages), len(answers) + 1, turns)))
            except TargetError as error:
                if turns == 1:
                    raise
                raise _in_turn(error, _told(messages, answers), turns) from error
            messages.append({"role": "assistant", "content": answers[-1].text})
        if turn.role == "assistant" and turn.reference and history == "reference" and answers:
            messages[-1] = {"role": "assistant", "content": turn.reference}
    return response_of(sample, answers, _told(messages, answers))


class ReferenceHistory:
    """Fulfils ``extensions.Target``: asks another target upon the answers that the dataset expects.

    Only a target that is sent the whole conversation can be asked so; it says it is with ``takes_history``.
    """

    def __init__(self, target: Target) -> None:
        if not getattr(target, "takes_history", False):
            raise UsageError(
                f"history reference: {target.name} is not sent the conversation so far; expected a model, an "
                "agent with protocol openai-compatible, or a function with a parameter history"
            )
        self.name = target.name
        self.is_live = getattr(target, "is_live", True)
        self._target = target

    async def answer(self, request: Request) -> Response:
        """Ask the target."""
        return await self._target.answer(replace(request, history="reference"))

    async def close(self) -> None:
        await self._target.close()


def response_of(
    sample: Sample, answers: Sequence[ReadAnswer], turns: Sequence[Mapping[str, Any]] = ()
) -> Response:
    """Build the response of a sample from its answers, the last of which counts.

    The contexts are the system's where it returned any, else the dataset's, and the response says which.
    """
    last = answers[-1]
    recorded = sample.recorded.contexts if sample.recorded else ()
    metadata: dict[str, Any] = {}
    if len(turns) > 1:
        metadata[TURNS] = list(turns)
    if unread := sum(answer.unread_contexts for answer in answers):
        metadata[unread_field("contexts")] = unread
    if last.unread_citations:
        metadata[unread_field("citations")] = last.unread_citations
    return Response(
        text=last.text,
        hits=last.hits,
        retrieved_nothing=last.retrieved_nothing,
        contexts=last.contexts or recorded,
        context_origin="system" if last.contexts else "dataset" if recorded else None,
        citations=last.citations,
        usage=_total([answer.usage for answer in answers]),
        metadata=metadata,
    )


def _told(messages: Sequence[Message], answers: Sequence[ReadAnswer]) -> list[dict[str, Any]]:
    """Return the turns that have an answer as a response's metadata have them."""
    questions = [message["content"] for message in messages if message["role"] == "user"]
    return [
        {
            "question": question,
            "answer": answer.text,
            "contexts": list(answer.contexts),
            **({"retrieved_nothing": True} if answer.retrieved_nothing else {}),
        }
        for question, answer in zip(questions, answers, strict=False)
    ]


def _in_turn(error: TargetError, answered: Sequence[Mapping[str, Any]], turns: int) -> TargetError:
    """Return the error of a turn as that of its conversation."""
    return error.reworded(f"turn {len(answered) + 1} of {turns}: {error.message}", answered=answered)


def _total(usages: Sequence[Usage | None]) -> Usage | None:
    """Add up what the turns cost; a part that one turn does not tell is not known for all."""
    told = [usage for usage in usages if usage is not None]
    if len(told) < len(usages):
        return None
    if len(told) == 1:
        return told[0]
    return Usage(
        input_tokens=_sum([usage.input_tokens for usage in told]),
        output_tokens=_sum([usage.output_tokens for usage in told]),
        cost_usd=_sum([usage.cost_usd for usage in told]),
    )


def _sum(parts: Sequence[Any]) -> Any:
    return None if None in parts else sum(parts)
