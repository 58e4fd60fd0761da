"""Asks a model for a value that follows a JSON Schema, and takes nothing else.

A reply that cannot be used is asked for once more, with a note that says what was wrong. Nothing of the
reply is in the note, not even a key: it may repeat what the judged text wants to be read. What fails twice is
a :class:`ModelError`, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from rag_evaluation_framework.errors import ModelError, shown
from rag_evaluation_framework.language_models.chat import ChatModel, Completion, Message, with_paragraph
from rag_evaluation_framework.language_models.replies import fitting_value
from rag_evaluation_framework.language_models.reply_schemas import ReplySchema
from rag_evaluation_framework.language_models.spending import total_usage
from rag_evaluation_framework.records.responses import Usage

Check = Callable[[Any], str | None]
"""Tells what is wrong with a value that follows the schema; ``None`` where nothing is."""

REPAIR_REQUEST = """\
An earlier reply to this could not be used: {problem}.
Reply again, with one JSON value that follows the schema and nothing else."""

# What a model is told where there was no reply to read. Its own words on why it refused are left out.
_WITHOUT_A_REPLY: Mapping[str, str] = {
    "truncated": "it was cut off at the limit of tokens, so be brief",
    "refused": "it was a refusal, and nothing is asked for but the JSON value",
    "no-completion": "it was empty",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredReply:
    """The value that a model gave, with every completion that it took, in order."""

    value: Any = field(hash=False)
    completions: tuple[Completion, ...]
    repaired: bool = False

    @property
    def usage(self) -> Usage | None:
        """What all attempts took together, as far as it is known."""
        return total_usage(completion.usage for completion in self.completions)


@runtime_checkable
class Forgetting(Protocol):
    """A model that remembers completions and can be told that one was useless."""

    def forget(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> None: ...


def ask(
    model: ChatModel,
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    *,
    draw: int = 0,
    check: Check | None = None,
) -> StructuredReply:
    """Return the value that a model gives, which follows the schema and passes ``check``.

    Raises :class:`ModelError` if neither the first reply nor the second can be used: ``not-json``,
    ``off-schema``, ``ambiguous``, ``truncated``, ``refused``, ``no-completion``; or whatever else the model
    raises, such as ``http-503``. What ``check`` says is shown to the model.
    """
    question = _Question(model, schema, draw, check)
    try:
        return question.put(messages)
    except BaseException:  # whatever ends the question, Ctrl-C too: raised again
        question.forget()
        raise


class _Question:
    """What is asked of a model, with every conversation that it completed and how."""

    def __init__(self, model: ChatModel, schema: Mapping[str, Any], draw: int, check: Check | None) -> None:
        self._model, self._schema, self._draw, self._check = model, schema, draw, check
        self._followed = ReplySchema(schema)
        self._completed: list[tuple[Sequence[Message], Completion]] = []

    def put(self, messages: Sequence[Message]) -> StructuredReply:
        """Ask, and once more if the reply is useless."""
        try:
            return self._reply(self._value(messages), repaired=False)
        except _UselessReplyError as useless:
            note = REPAIR_REQUEST.format(problem=useless.note)
        try:
            return self._reply(self._value(with_paragraph(messages, note)), repaired=True)
        except _UselessReplyError as useless:
            raise useless.error from useless

    def forget(self) -> None:
        """Make a model that remembers ask again the next time, since these replies were useless."""
        if isinstance(self._model, Forgetting):
            for messages, _ in self._completed:
                self._model.forget(messages, schema=self._schema, draw=self._draw)

    def _value(self, messages: Sequence[Message]) -> Any:
        try:
            completion = self._model.chat(messages, schema=self._schema, draw=self._draw)
        except ModelError as error:
            if error.kind not in _WITHOUT_A_REPLY:
                raise
            raise _UselessReplyError(error, note=_WITHOUT_A_REPLY[error.kind]) from error
        self._completed.append((messages, completion))
        try:
            return self._read(completion.text)
        except ModelError as error:
            told = ModelError(error.kind, f"{error.message}; the reply was {shown(completion.text)}")
            raise _UselessReplyError(told, note=error.message) from error

    def _read(self, text: str) -> Any:
        value = self._followed.known(fitting_value(text, problem=self._followed.problem))
        wrong = self._check(value) if self._check is not None else None
        if wrong is not None:
            raise ModelError("off-schema", wrong)
        return value

    def _reply(self, value: Any, *, repaired: bool) -> StructuredReply:
        completions = tuple(completion for _, completion in self._completed)
        return StructuredReply(value=value, completions=completions, repaired=repaired)


class _UselessReplyError(Exception):
    """A reply that cannot be used: ``note`` tells the model why, ``error`` everyone else."""

    def __init__(self, error: ModelError, *, note: str) -> None:
        self.error, self.note = error, note
        super().__init__(note)
