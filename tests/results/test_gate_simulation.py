"""How often the gate errs, simulated: a smaller run of what ``python -m benchmarks.gate`` prints."""

from __future__ import annotations

import pytest
from benchmarks.gate import FAILING, alarms, share

REPETITIONS = 400
TWO_STANDARD_ERRORS = 2 * (0.05 * 0.95 / REPETITIONS) ** 0.5


@pytest.mark.parametrize(("n", "metrics", "datasets"), [(18, 1, 1), (18, 3, 3), (100, 1, 3), (100, 3, 1)])
def test_the_same_noisy_agent_is_seldom_called_worse(n: int, metrics: int, datasets: int) -> None:
    rate = share(alarms(n, metrics, datasets, worse=FAILING, repetitions=REPETITIONS))
    assert rate <= 0.05 + TWO_STANDARD_ERRORS


def test_an_agent_that_fails_three_times_in_ten_is_called_worse() -> None:
    assert share(alarms(18, 1, 1, worse=0.3, repetitions=REPETITIONS)) > 0.4
    assert share(alarms(100, 1, 1, worse=0.3, repetitions=REPETITIONS)) > 0.99
