"""A language model behind an OpenAI-compatible endpoint as the system under test.

What it is asked: the prompt that the dataset recorded (``rag_prompt``), else the recorded contexts with
the question in :data:`TEMPLATE`, else the conversation as it stands.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rag_evaluation_framework.adapters.http_agent import HttpAgent
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.records.responses import Request, Response
from rag_evaluation_framework.records.samples import Sample, Turn

BASE_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"

TEMPLATE = """\
Answer the question from the numbered contexts alone, and cite them as [1], [2].
If they do not hold the answer, say so.

Contexts:
{contexts}

Question: {question}"""


class OpenAIModel:
    """Fulfils ``extensions.Target``. ``temperature=None`` leaves the endpoint's own, which some models
    require.

    The key is read from the environment variable ``key_env``. Only ``api.openai.com`` cannot do without one.
    """

    takes_history = True  # each turn is sent with those before it

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        key_env: str | None = None,
        temperature: float | None = 0,
        max_tokens: int | None = None,
        mask: Callable[[str], str] | None = None,
    ) -> None:
        key = os.environ.get(key_env or KEY_VARIABLE, "").strip()
        if not key and (key_env or base_url == BASE_URL):
            raise UsageError(f"openai: expected a key in the environment variable {key_env or KEY_VARIABLE}")
        options: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
        self._agent = HttpAgent(
            base_url,
            path="/chat/completions",
            protocol="openai-compatible",
            model=model,
            secret_headers={"Authorization": f"Bearer {key}"} if key else None,
            body={name: value for name, value in options.items() if value is not None},
            mask=mask,
        )
        self.name = model

    async def answer(self, request: Request) -> Response:
        """Ask the model once, or turn by turn where the sample is a conversation without contexts."""
        return await self._agent.answer(replace(request, sample=prompted(request.sample)))

    async def close(self) -> None:
        await self._agent.close()


def prompted(sample: Sample) -> Sample:
    """Return the sample as the model is asked it: one user turn, where there is a prompt to make."""
    recorded = sample.recorded
    if recorded is None or not (recorded.prompt or recorded.contexts):
        return sample
    prompt = recorded.prompt or TEMPLATE.format(
        contexts="\n".join(map(_numbered, range(1, len(recorded.contexts) + 1), recorded.contexts)),
        question=sample.question,
    )
    return replace(sample, turns=(Turn(role="user", content=prompt),))


def _numbered(number: int, context: str) -> str:
    mark = f"[{number}]"
    return context if context.startswith(mark) else f"{mark} {context}"
