"""What a number of queries can show, and how many queries a difference needs to show."""

from __future__ import annotations

import math
from numbers import Real

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.statistics.arrays import LARGEST, require_count, require_share
from rag_evaluation_framework.statistics.distributions import normal_quantile, t_quantile

# So many differences to the standard deviation need 10^17 pairs, and no more can be told apart as floats.
_MOST_SD = 1e8


def smallest_detectable_difference(sd: float, n: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the mean difference that a two-sided paired test at ``alpha`` finds with probability ``power``.

    Formula: ``(t(1 - alpha/2) + t(power)) sd / sqrt(n)`` with n - 1 degrees of freedom, where ``sd`` is the
    standard deviation of the differences of the n pairs. It holds for the t test and, closely, for the
    randomisation test: from 20 pairs on, the power by the noncentral t is within 0.01 of the one asked for.

    Source: Snedecor and Cochran, Statistical Methods, 1989.
    """
    _require_size(sd, "sd")
    require_count(n, "n", least=2)
    critical = t_quantile(1.0 - require_share(alpha, "alpha") / 2.0, n - 1)
    return max(0.0, critical + t_quantile(require_share(power, "power"), n - 1)) * sd / math.sqrt(n)


def sample_size(difference: float, sd: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return the fewest pairs whose smallest detectable difference is at most this one, up or down."""
    _require_size(sd, "sd")
    if not isinstance(difference, Real):
        raise UsageError(f"difference: expected a number, got {shown(difference)}")
    _require_size(abs(difference), "difference")
    if difference == 0.0 or abs(difference) * _MOST_SD < sd:
        raise UsageError(f"difference: expected one that a number of pairs can show, got {difference!r}")
    z = normal_quantile(1.0 - require_share(alpha, "alpha") / 2.0) + normal_quantile(
        require_share(power, "power")
    )
    # The normal distribution has the shorter tails, so it never asks for more pairs than t does.
    n = max(2, math.ceil((max(0.0, z) * sd / difference) ** 2))
    while smallest_detectable_difference(sd, n, power=power, alpha=alpha) > abs(difference):
        n += 1
    return n


def _require_size(value: float, name: str) -> None:
    if not (isinstance(value, Real) and 0.0 <= float(value) <= LARGEST):
        raise UsageError(f"{name}: expected a finite number of at least 0, got {shown(value)}")
