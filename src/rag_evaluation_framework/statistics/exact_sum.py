"""A sum of many floats that is rounded once: the same bits as ``math.fsum``, at the speed of arrays."""

from __future__ import annotations

import numpy as np

from rag_evaluation_framework.statistics.arrays import Floats

# Bits taken off every value at a time: a piece of 2**13 such numbers adds up within 53.
_BITS = 40
# As many values as stay in the processor's cache.
_PIECE = 2**13


def exact_sum(values: Floats) -> float:
    """Return the sum of values from 0 to 1, correctly rounded, so that their order does not matter.

    Each round takes the next 40 binary digits of every value as a whole number and adds these without loss.
    """
    rounds: list[int] = []
    for start in range(0, len(values), _PIECE):
        rest = values[start : start + _PIECE]
        digits = 0
        while rest.any():
            shifted = rest * 2.0**_BITS
            whole = np.floor(shifted)
            if digits == len(rounds):
                rounds.append(0)
            rounds[digits] += int(whole.sum())
            rest = shifted - whole
            digits += 1
    total = 0
    for each in rounds:
        total = (total << _BITS) + each
    return total / (1 << _BITS * len(rounds))
