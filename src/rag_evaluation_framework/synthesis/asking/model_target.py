"""A language model as the system that a run asks: a sample's turns go in, a JSON value comes out.

So asking a model for many things is a run like any other, with the same journal: answers are on the disk, and
a resumed run asks nothing twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import ModelError, ModelOutageError, TargetError
from rag_evaluation_framework.evaluation.runs.own_thread import in_own_thread
from rag_evaluation_framework.language_models.chat import ChatModel, Completion, Message
from rag_evaluation_framework.language_models.spending import total_usage
from rag_evaluation_framework.language_models.structured import Forgetting, ask
from rag_evaluation_framework.records.responses import Failure, Request, Response, Usage
from rag_evaluation_framework.records.samples import Sample

Schema = Mapping[str, Any]

# The endpoint answered; its answer is useless.
_USELESS = frozenset({"not-json", "off-schema", "ambiguous", "truncated", "refused"})
# The endpoint was not there, which says nothing of the sample: the run waits, then stops and can be resumed.
_GONE = "connection-failed"
_NOT_REACHED = frozenset({_GONE, "connect-timeout"})


class ModelTarget:
    """Fulfils ``extensions.Target``. A response's text is the value that the model gave, as JSON.

    ``schema`` is what the model is told to follow, for each sample; ``accepted`` is the least that a reply
    must have to be taken, the same for all. The chat model retries by its own rules, so nothing is retried
    here.
    """

    def __init__(self, model: ChatModel, *, schema: Callable[[Sample], Schema], accepted: Schema) -> None:
        self.name = model.name
        self._model = model
        self._schema = schema
        self._accepted = accepted
        self._has_answered = False

    async def answer(self, request: Request) -> Response:
        """Ask the model in a thread of its own."""
        try:
            async with asyncio.timeout(request.timeout):
                return await in_own_thread(lambda: self._answered(request.sample), name="model")
        except TimeoutError:
            raise TargetError("timeout", "no answer in time") from None
        except ModelError as error:
            # An endpoint that answered and then fails everyone is as good as gone, whatever it says.
            is_gone = self._has_answered and isinstance(error, ModelOutageError)
            kind = _GONE if is_gone else error.kind
            raise TargetError(kind, error.message, retry=kind in _NOT_REACHED) from error

    async def close(self) -> None:
        """Leave the model open: whoever made it closes it."""

    def _answered(self, sample: Sample) -> Response:
        messages = [Message(turn.role, turn.content or "") for turn in sample.turns]
        model = _HeldTo(self._model, self._schema(sample))
        try:
            reply = ask(model, messages, self._accepted)
            self._has_answered = True
        except ModelError as error:
            if error.kind not in _USELESS:
                raise
            return Response(failure=Failure(kind=error.kind, message=error.message), usage=model.usage)
        text = json.dumps(reply.value, ensure_ascii=False, separators=(",", ":"))
        return Response(
            text=text, usage=model.usage, metadata={"asked_twice": True} if reply.repaired else {}
        )


class _HeldTo:
    """Fulfils ``ChatModel``: the model under a schema of its own, whatever is accepted; one conversation."""

    def __init__(self, model: ChatModel, schema: Schema) -> None:
        self.name = model.name
        self._model = model
        self._schema = schema
        self._usages: list[Usage | None] = []

    @property
    def usage(self) -> Usage | None:
        """What the conversation took, including useless replies."""
        return total_usage(self._usages)

    def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> Completion:
        completion = self._model.chat(messages, schema=self._schema, draw=draw)
        if not completion.is_cached:
            self._usages.append(completion.usage)
        return completion

    def forget(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> None:
        if isinstance(self._model, Forgetting):
            self._model.forget(messages, schema=self._schema, draw=draw)
