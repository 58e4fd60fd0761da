"""A call in a thread of its own: what it returns or raises reaches whoever awaits it."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

import pytest

from rag_evaluation_framework.workers import in_own_thread

place = contextvars.ContextVar("place", default="")


def awaited(call: Callable[[], object]) -> object:
    return asyncio.run(in_own_thread(call, name="test"))


def test_a_call_runs_in_another_thread_with_the_context_of_its_caller() -> None:
    place.set("here")
    assert awaited(lambda: (threading.current_thread().name, place.get())) == ("test", "here")


def leave() -> NoReturn:
    sys.exit(3)


@pytest.mark.parametrize(
    ("call", "raised"),
    [
        (lambda: {}["key"], KeyError),
        (leave, SystemExit),
        (lambda: next(iter(())), RuntimeError),  # no coroutine may raise StopIteration
    ],
)
def test_whatever_a_call_raises_is_raised_where_it_is_awaited(
    call: Callable[[], object], raised: type[BaseException]
) -> None:
    with pytest.raises(raised):
        awaited(call)


def test_a_call_that_outlives_its_loop_disturbs_nobody() -> None:
    may_end = threading.Event()

    async def impatient() -> None:
        async with asyncio.timeout(0.01):
            await in_own_thread(may_end.wait, name="late")

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    (late,) = (thread for thread in threading.enumerate() if thread.name == "late")
    may_end.set()
    late.join(timeout=10)
    assert not late.is_alive()
