"""The server that the tests of targets ask, and short ways to ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from fault_agent import RunningServer, running_server

from rag_evaluation_framework import Request, Response, Sample, Turn
from rag_evaluation_framework.extensions import Target


@pytest.fixture(scope="session")
def server() -> Iterator[RunningServer]:
    with running_server() as running:
        yield running


@pytest.fixture
def answered() -> Callable[..., Response]:
    return answer_of


def answer_of(
    target: Target,
    question: str = "q",
    *,
    sample: Sample | None = None,
    timeout: float = 10.0,
    key: str = "k1",
    thread_id: str = "t1",
) -> Response:
    """Put one sample to a target, as the engine would."""
    sample = sample or Sample(id="s1", turns=(Turn(role="user", content=question),))

    async def ask() -> Response:
        try:
            return await target.answer(Request(sample=sample, key=key, thread_id=thread_id, timeout=timeout))
        finally:
            await target.close()

    return asyncio.run(ask())
