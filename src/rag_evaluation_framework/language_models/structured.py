"""Asks a model for a value that follows a JSON Schema, and takes nothing else.

A reply that cannot be used is asked for once more, with a note that says what was wrong. The reply itself
is not sent back: it may repeat what the judged text wants to be read. What fails twice is a
:class:`ModelError`, never a guess.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from rag_evaluation_framework.errors import ModelError, UsageError, shown
from rag_evaluation_framework.files.values import written_path
from rag_evaluation_framework.language_models.chat import ChatModel, Completion, Message, with_paragraph
from rag_evaluation_framework.language_models.replies import fitting_value
from rag_evaluation_framework.language_models.spending import total_usage
from rag_evaluation_framework.records.responses import Usage

if TYPE_CHECKING:
    import jsonschema_rs

Check = Callable[[Any], str | None]
"""Tells what is wrong with a value that follows the schema; ``None`` where nothing is."""

REPAIR_REQUEST = """\
An earlier reply to this could not be used: {problem}.
Reply again, with one JSON value that follows the schema and nothing else."""

_SHOWN_PROBLEMS = 3
_PROBLEM_CHARACTERS = 300
_MOST_ATTEMPTS = 2


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
    """A model that remembers completions and can be told that one was of no use."""

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

    Raises :class:`ModelError` where neither the first reply nor the second can be used: ``not-json``,
    ``off-schema``, ``ambiguous``, ``truncated``; or what the model itself raises, such as ``refused``.
    What ``check`` says is shown to the model.
    """
    validator = _validator(json.dumps(schema))
    conversations = [messages]
    completions: list[Completion] = []
    while True:
        completion = model.chat(conversations[-1], schema=schema, draw=draw)
        completions.append(completion)
        try:
            value = _value_of(completion.text, validator, check)
        except ModelError as error:
            if len(completions) == _MOST_ATTEMPTS:
                _forget(model, conversations, schema, draw)
                message = f"{error.message}; the reply was {shown(completion.text)}"
                raise ModelError(error.kind, message) from error
            note = REPAIR_REQUEST.format(problem=error.message)
            conversations.append(with_paragraph(messages, note))
        else:
            repaired = len(completions) > 1
            return StructuredReply(value=value, completions=tuple(completions), repaired=repaired)


def _value_of(text: str, validator: jsonschema_rs.Draft202012Validator, check: Check | None) -> Any:
    value = fitting_value(text, problem=lambda candidate: _problem(validator, candidate))
    wrong = check(value) if check is not None else None
    if wrong is not None:
        raise ModelError("off-schema", wrong)
    return value


def _problem(validator: jsonschema_rs.Draft202012Validator, value: Any) -> str | None:
    """Say what the schema does not allow; the values themselves are left out, since a model may read it."""
    if validator.is_valid(value):
        return None
    problems: list[str] = []
    for error in validator.iter_errors(value):
        place = written_path(tuple(error.instance_path))
        problems.append(f"{place}: {error.message}" if place else error.message)
        if len(problems) == _SHOWN_PROBLEMS:
            break
    return "; ".join(problems)[:_PROBLEM_CHARACTERS]


def _forget(
    model: ChatModel, conversations: Sequence[Sequence[Message]], schema: Mapping[str, Any], draw: int
) -> None:
    """Have a model that remembers ask anew the next time, since these replies led nowhere."""
    if isinstance(model, Forgetting):
        for messages in conversations:
            model.forget(messages, schema=schema, draw=draw)


@lru_cache(maxsize=256)
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # costs 27 ms, so only when something is validated

    try:
        return jsonschema_rs.Draft202012Validator(schema, mask="the value", retriever=_refused)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"schema: expected a JSON Schema, got one that is none: {reason}") from None


def _refused(uri: str) -> Any:
    """Fetch nothing: a schema that comes with a prompt holds all that it refers to."""
    raise ValueError(f"{uri} is outside of the schema")
