"""When a sample is asked again: attempts, waits and the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.attempts import (
    Attempts,
    RetryBudget,
    shows_congestion,
    was_reached,
)

BUSY = TargetError("http-503", "busy", retry=True)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def attempts(key: str = "k", *, seed: int = 0) -> Attempts:
    return Attempts(key, 5, seed)


def tries(error: TargetError) -> int:
    """Count the attempts that a sample gets whose attempts all fail in this way; 50 stands for no end."""
    made = attempts()
    for number in range(1, 50):
        made.failed(error)
        if not made.may_go_on(error):
            return number
    return 50


@pytest.mark.parametrize(
    ("error", "count"),
    [
        (TargetError("http-503", "", retry=True), 5),
        (TargetError("timeout", "", retry=True), 5),
        (TargetError("http-429", "", retry=True, throttled=True), 5),
        (TargetError("malformed-json", "", retry=True), 2),
        (TargetError("http-400", ""), 1),
        (TargetError("connection-failed", "", retry=True), 50),
        (TargetError("connect-timeout", "", retry=True), 50),
    ],
    ids=lambda value: value.kind if isinstance(value, TargetError) else str(value),
)
def test_how_often_a_sample_is_asked(error: TargetError, count: int) -> None:
    assert tries(error) == count


def test_malformed_json_gets_one_more_attempt_after_other_failures_too() -> None:
    made, malformed = attempts(), TargetError("malformed-json", "", retry=True)
    made.failed(BUSY)
    made.failed(malformed)
    assert made.may_go_on(malformed)
    made.failed(malformed)
    assert not made.may_go_on(malformed)


@given(st.integers(0, 2**32), st.text(max_size=8))
def test_waits_grow_with_jitter_up_to_a_bound_and_depend_on_seed_and_sample_alone(
    seed: int, key: str
) -> None:
    one, two = attempts(key, seed=seed), attempts(key, seed=seed)
    for number in range(1, 12):
        one.failed(BUSY)
        two.failed(BUSY)
        longest = min(30.0, 0.5 * 2 ** (number - 1))
        wait = one.delay(BUSY)
        assert longest / 2 <= wait <= longest
        assert wait == two.delay(BUSY)


@pytest.mark.parametrize(
    ("asked", "least", "most"), [(None, 0.25, 0.5), (0.0, 0.25, 0.5), (7.0, 7, 7), (1e9, 60, 60)]
)
def test_retry_after_is_honoured_up_to_a_minute(asked: float | None, least: float, most: float) -> None:
    made = attempts()
    error = TargetError("http-429", "", retry=True, throttled=True, retry_after=asked)
    made.failed(error)
    assert least <= made.delay(error) <= most


def test_the_budget_bounds_retries_to_a_share_of_samples_plus_a_few_a_second() -> None:
    clock = Clock()
    budget = RetryBudget(16, clock=clock)
    spent = 0
    for _ in range(1000):
        budget.sample_begun()
        while budget.spend():
            spent += 1
    # 10 to begin with and 0.7 for each of the 1,000 samples, less a rounding; no time has passed.
    assert spent in (709, 710)
    clock.now = 5.0
    assert sum(budget.spend() for _ in range(100)) in (10, 11)  # 2 a second, and the rounding


def test_a_long_calm_does_not_save_up_an_endless_budget() -> None:
    clock = Clock()
    budget = RetryBudget(16, clock=clock)
    for _ in range(100_000):
        budget.sample_begun()
    clock.now = 1e6
    assert sum(budget.spend() for _ in range(1000)) == 100


def test_what_asks_for_fewer_requests_at_once() -> None:
    assert shows_congestion(TargetError("http-429", "", throttled=True))
    assert shows_congestion(TargetError("timeout", ""))
    assert shows_congestion(TargetError("connection-failed", ""))
    assert not shows_congestion(TargetError("http-500", "", retry=True))
    assert not was_reached(TargetError("connect-timeout", ""))
    assert was_reached(TargetError("connection-reset", "", retry=True))
