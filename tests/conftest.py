"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from own_metrics import own_metrics

__all__ = ["own_metrics"]

# The same examples every time, so that a run that passed here passes elsewhere; `explore` looks further.
settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
