"""A short way to put a sample to a target, as the engine would."""

from __future__ import annotations

import asyncio

from rag_evaluation_framework import Request, Response, Sample, Turn
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import History


def answer_of(
    target: Target,
    question: str = "q",
    *,
    sample: Sample | None = None,
    timeout: float = 10.0,
    key: str = "k1",
    thread_id: str = "t1",
    history: History = "own",
) -> Response:
    """Return what a target answers, which is closed then."""
    sample = sample or Sample(id="s1", turns=(Turn(role="user", content=question),))
    request = Request(sample=sample, key=key, thread_id=thread_id, timeout=timeout, history=history)

    async def ask() -> Response:
        try:
            return await target.answer(request)
        finally:
            await target.close()

    return asyncio.run(ask())
