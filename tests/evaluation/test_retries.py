"""When a sample is asked again, how many are asked at once, and when a run gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.attempts import AdaptiveLimit, Attempts, OutageWatch, RetryBudget

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
        budget.count_sample()
        while budget.spend():
            spent += 1
    # 10 to begin with and 0.7 for each of the 1,000 samples, less a rounding; no time has passed.
    assert spent in (709, 710)
    clock.now = 5.0
    assert sum(budget.spend() for _ in range(100)) in (10, 11)  # 2 a second, and the rounding


REFUSED = TargetError("connection-failed", "connection refused", retry=True)


def missed(watch: OutageWatch, clock: Clock, *moments: float) -> list[bool]:
    """Let one attempt fail to connect at each moment; tell after each whether the run stops."""
    stops = []
    for clock.now in moments:
        stops.append(watch.attempt_failed(REFUSED) is not None)
    return stops


def test_five_misses_over_two_seconds_stop_a_run_at_its_start_and_over_half_a_minute_later() -> None:
    clock = Clock()
    watch = OutageWatch(5, clock=clock)
    assert missed(watch, clock, 0, 0, 0, 0, 0.5, 1.9, 2.0) == [False] * 6 + [True]
    for heard in (OutageWatch.answered, lambda watch: watch.attempt_failed(BUSY)):
        watch = OutageWatch(5, clock=clock)
        heard(watch)
        assert missed(watch, clock, *range(100, 131)) == [False] * 30 + [True]
        assert watch.attempt_failed(BUSY) is None  # any reply ends the row of misses
        assert missed(watch, clock, 131, 132, 133, 134, 135) == [False] * 5


def test_failures_that_speak_of_the_sample_never_stop_the_run() -> None:
    for kinds in (["http-422"] * 30, ["http-500"] * 30, ["http-401", "http-422"] * 15):
        watch = OutageWatch(5, clock=Clock())
        assert not any(watch.sample_failed(TargetError(kind, "")) for kind in kinds)


def after_rounds(limit: AdaptiveLimit, rounds: int, *, congested: Callable[[int], bool]) -> list[int]:
    """Return the limit after each round in which every slot was used once."""
    seen = []
    for _ in range(rounds):
        for number in range(limit.limit):
            limit.replied(congested=congested(number))
        seen.append(limit.limit)
    return seen


def test_a_target_is_given_three_times_as_much_each_clean_round_and_half_if_it_refuses_everything() -> None:
    assert [AdaptiveLimit(maximum).limit for maximum in (1, 3, 16, 400)] == [1, 3, 4, 50]
    limit = AdaptiveLimit(100)
    assert after_rounds(limit, 4, congested=lambda _: False) == [36, 100, 100, 100]
    assert after_rounds(limit, 3, congested=lambda _: True) == [50, 25, 12]
    # After trouble a small step a round: 100 / 32 is about 3.
    assert after_rounds(limit, 2, congested=lambda _: False)[1] - 12 in range(5, 8)
    # One refusal in a hundred costs almost nothing.
    limit = AdaptiveLimit(400)
    after_rounds(limit, 3, congested=lambda _: False)
    assert min(after_rounds(limit, 50, congested=lambda number: number % 100 == 0)) >= 390


@given(st.integers(1, 40), st.lists(st.booleans(), max_size=300), st.integers(0, 2**16))
def test_slots_are_never_more_than_the_maximum_and_never_lost(
    maximum: int, congested: list[bool], cancelled: int
) -> None:
    limit = AdaptiveLimit(maximum)
    most = 0

    async def request(number: int, trouble: bool) -> None:
        nonlocal most
        await limit.acquire()
        try:
            most = max(most, limit.in_flight)
            await asyncio.sleep(0)
            limit.replied(congested=trouble)
        finally:
            limit.give_back()

    async def all_of_them() -> None:
        tasks = [asyncio.ensure_future(request(*numbered)) for numbered in enumerate(congested)]
        await asyncio.sleep(0)
        for number, task in enumerate(tasks):
            if (cancelled >> (number % 16)) & 1:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(all_of_them())
    assert most <= maximum
    assert limit.in_flight == 0


def test_a_slot_handed_to_a_request_that_is_cancelled_in_that_instant_is_free_again() -> None:
    async def in_flight() -> int:
        limit = AdaptiveLimit(1)
        await limit.acquire()
        waiting = asyncio.ensure_future(limit.acquire())
        await asyncio.sleep(0)
        limit.give_back()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return limit.in_flight

    assert asyncio.run(in_flight()) == 0
