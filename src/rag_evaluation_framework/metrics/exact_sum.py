"""A sum of many floats that is rounded once: the same bits as ``math.fsum``, at the speed of arrays."""

from __future__ import annotations

import numpy as np

from rag_evaluation_framework.metrics.judged_rankings import Floats

# Bits taken off every value at a time; 2**36 values of 26 bits still add up within 63.
_BITS = 26


def exact_sum(values: Floats) -> float:
    """Return the sum of values from 0 to 1, correctly rounded, so that their order does not matter.

    Each round takes the next 26 binary digits of every value as a whole number and adds these without loss.
    """
    total, digits = 0, 0
    rest = values
    while rest.any():
        shifted = rest * 2.0**_BITS
        whole = np.floor(shifted)
        total = (total << _BITS) + int(whole.astype(np.int64).sum())
        rest = shifted - whole
        digits += _BITS
    return total / (1 << digits)
