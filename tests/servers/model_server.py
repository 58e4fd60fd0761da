"""Language models of known quality behind ``POST /v1/chat/completions``: a real HTTP server in a thread.

``careful`` gives the reference back, ``hasty`` its second half, ``flaky`` fails on every third prompt and is
careful on the others. Any other name is a model that the server does not have.

    with running_models({"the prompt": "the reference"}) as models: …
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from serving import QuietHandler, serving


@dataclass
class ModelServer:
    """What the server knows, what it asks of a caller, and what it was asked."""

    references: Mapping[str, str]
    key: str | None = None
    delay: float = 0.0
    url: str = ""
    hold_after: int | None = None
    """After so many requests, those that follow wait until ``released`` is set."""
    released: threading.Event = field(default_factory=threading.Event)
    asked: list[dict[str, Any]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def prompts(self, model: str) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.asked if body["model"] == model]

    def reply(self, body: dict[str, Any], authorization: str | None, key: str | None) -> tuple[int, Any]:
        number = next(self._numbers)  # each request has its own, however many come at once
        self.asked.append({**body, "idempotency": key})
        time.sleep(self.delay)
        if self.hold_after is not None and number > self.hold_after:
            self.released.wait()
        if self.key is not None and authorization != f"Bearer {self.key}":
            return 401, {"error": {"message": f"Incorrect API key provided: {authorization}"}}
        prompt = body["messages"][-1]["content"]
        answer = self.answer(body["model"], prompt)
        if answer is None:
            return 404, {"error": {"message": f"The model {body['model']} does not exist"}}
        if not answer:
            return 422, {"error": {"message": "The prompt cannot be processed"}}
        return 200, {
            "choices": [{"message": {"role": "assistant", "content": answer}}],
            "usage": {"prompt_tokens": len(prompt.split()), "completion_tokens": len(answer.split())},
        }

    def answer(self, model: str, prompt: str) -> str | None:
        reference = self.references.get(prompt, "I cannot tell.")
        if model == "careful":
            return reference
        if model == "hasty":
            return reference[len(reference) // 2 :]
        if model == "flaky":
            return "" if list(self.references).index(prompt) % 3 == 0 else reference
        return None


@contextmanager
def running_models(
    references: Mapping[str, str],
    *,
    key: str | None = None,
    delay: float = 0.0,
    hold_after: int | None = None,
) -> Iterator[ModelServer]:
    """Serve for as long as the block lasts."""
    models = ModelServer(references, key=key, delay=delay, hold_after=hold_after)

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            headers = self.headers
            status, value = 404, {"error": {"message": f"no {self.path}"}}
            if self.path == "/v1/chat/completions":
                body = json.loads(self.sent())
                status, value = models.reply(body, headers["Authorization"], headers["Idempotency-Key"])
            self.reply(status, value)

    with serving(Handler) as address:
        models.url = f"{address}/v1"
        try:
            yield models
        finally:
            models.released.set()
