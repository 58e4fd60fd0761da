"""How many requests the target is given at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.evaluation.attempts import AdaptiveLimit


def after_rounds(limit: AdaptiveLimit, rounds: int, *, congested: Callable[[int], bool]) -> list[int]:
    """Return the limit after each round in which every slot was used once."""
    seen = []
    for _ in range(rounds):
        for number in range(limit.limit):
            limit.replied(congested=congested(number))
        seen.append(limit.limit)
    return seen


def test_a_clean_target_is_given_three_times_as_much_each_round_up_to_the_maximum() -> None:
    limit = AdaptiveLimit(100)
    assert limit.limit == 12  # an eighth of 100
    assert after_rounds(limit, 4, congested=lambda _: False) == [36, 100, 100, 100]


def test_a_run_starts_with_four_or_with_all_of_a_smaller_maximum() -> None:
    assert [AdaptiveLimit(maximum).limit for maximum in (1, 3, 16, 400)] == [1, 3, 4, 50]


def test_a_target_that_refuses_everything_is_given_half_each_round_and_one_at_least() -> None:
    limit = AdaptiveLimit(16)
    after_rounds(limit, 3, congested=lambda _: False)
    assert after_rounds(limit, 6, congested=lambda _: True) == [8, 4, 2, 1, 1, 1]


def test_one_refusal_in_a_hundred_costs_almost_nothing() -> None:
    limit = AdaptiveLimit(400)
    after_rounds(limit, 3, congested=lambda _: False)
    assert min(after_rounds(limit, 50, congested=lambda number: number % 100 == 0)) >= 390


def test_after_trouble_growth_is_a_small_step_a_round() -> None:
    limit = AdaptiveLimit(320)
    after_rounds(limit, 3, congested=lambda _: False)
    after_rounds(limit, 2, congested=lambda _: True)
    # 320 → 160 → 80, then about 320/32 = 10 more a round.
    steps = after_rounds(limit, 3, congested=lambda _: False)
    assert steps[0] - 80 in range(8, 12)
    assert steps[2] - 80 in range(24, 34)


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
