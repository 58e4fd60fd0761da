"""The same work for many items, by one thread or several, with the results in the order of the items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rag_evaluation_framework.errors import UsageError, shown

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, workers: int) -> list[Result]:
    """Return the result of each item, in order; the number of workers changes the time and nothing else."""
    check_workers(workers)
    if workers == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def check_workers(workers: object) -> None:
    """Refuse anything but a whole number of at least 1."""
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise UsageError(f"workers: expected a whole number of at least 1, got {shown(workers)}")
