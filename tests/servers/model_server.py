"""Language models of known quality behind ``POST /v1/chat/completions``: a real HTTP server in a thread.

``careful`` gives the reference back, ``hasty`` its second half, ``flaky`` fails on every third prompt and is
careful on the others. Any other name is a model that the server does not have.

    with running_models({"the prompt": "the reference"}) as models: …
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from chat_server import Asked, ChatReply, ChatServer, failing, hanging, serving_chat


class ModelServer(ChatServer):
    """What the server knows; ``hold_after`` so many requests, those that follow hang until it is None."""

    def __init__(self, references: Mapping[str, str], key: str | None, hold_after: int | None) -> None:
        super().__init__(self._reply, key=key)
        self.references, self.hold_after = references, hold_after

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The requests, each with its key of idempotency."""
        both = zip(self.requests, self.headers, strict=True)
        return [{**body, "idempotency": headers.get("idempotency-key")} for body, headers in both]

    def prompts(self, model: str) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.requests if body["model"] == model]

    def _reply(self, asked: Asked) -> ChatReply | str:
        if self.hold_after is not None and len(self.requests) > self.hold_after:
            return hanging()
        prompt = asked["messages"][-1]["content"]
        reference = self.references.get(prompt, "I cannot tell.")
        match asked["model"]:
            case "careful":
                return reference
            case "hasty":
                return reference[len(reference) // 2 :]
            case "flaky" if list(self.references).index(prompt) % 3 == 0:
                return failing(422, "The prompt cannot be processed")
            case "flaky":
                return reference
        return failing(404, f"The model {asked['model']} does not exist")


@contextmanager
def running_models(
    references: Mapping[str, str], *, key: str | None = None, hold_after: int | None = None
) -> Iterator[ModelServer]:
    """Serve for as long as the block lasts."""
    with serving_chat(ModelServer(references, key, hold_after)) as models:
        yield models
