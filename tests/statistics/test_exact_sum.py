"""The sum behind every mean is rounded once, whatever the order of the values."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.statistics.resampling import exact_sum


@given(st.lists(st.floats(0, 1)))
def test_exact_sum_has_the_bits_of_fsum(values: list[float]) -> None:
    assert exact_sum(np.array(values)) == math.fsum(values)


def test_exact_sum_does_not_depend_on_the_order() -> None:
    values = 1 / np.random.default_rng(3).integers(1, 1000, size=10_000)
    sums = {exact_sum(np.random.default_rng(seed).permutation(values)) for seed in range(20)}
    assert sums == {math.fsum(values)}
